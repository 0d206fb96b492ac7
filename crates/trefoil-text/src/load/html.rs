//! Web pages to Markdown.

use std::rc::Rc;

use htmd::{
    Element, HtmlToMarkdown,
    element_handler::{HandlerResult, Handlers},
};
use markup5ever_rcdom::{Node, NodeData};
use trefoil_core::{Document, DocumentFormat};

use super::sandbox;
use crate::chunk::first_heading;

/// Pages nest some dozens of elements. The converter recurses: this bounds its stack.
const MAX_DEPTH: usize = 512;
/// The parser looks through all open elements for each new one: this bounds its time.
const MAX_OPEN: usize = 5_000;
/// Elements that need no end tag (HTML Standard, 13.1.2).
const ENDLESS: &[&str] = &[
    "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html",
    "img", "input", "li", "link", "meta", "optgroup", "option", "p", "param", "rp", "rt", "source",
    "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
];
/// What is not read, wherever it stands.
const SKIPPED: &[&str] = &[
    "button", "canvas", "head", "iframe", "input", "nav", "noscript", "object", "script", "select",
    "style", "svg", "template", "textarea",
];
/// What is not read on a page that does not mark its main part.
const AROUND_MAIN: &[&str] = &["aside", "footer"];
/// What makes a table a layout, not data.
const LAYOUT: &[&str] = &["table", "pre", "h1", "h2", "h3", "h4", "h5", "h6"];

/// The main part of a page as Markdown.
pub(super) fn document(name: &str, html: String) -> Result<Document, String> {
    let (title, body) = sandbox::run(move || convert(&html))?;
    Ok(Document::new(name, body).title(title).format(DocumentFormat::Markdown))
}

/// Title and body.
fn convert(html: &str) -> Result<(String, String), String> {
    if open_elements(html) > MAX_OPEN {
        return Err(format!("it leaves more than {MAX_OPEN} elements open"));
    }
    let page = HtmlToMarkdown::new()
        .html_to_tree(html)
        .map_err(|error| format!("it is not HTML: {error}"))?;
    let mut mains = Vec::new();
    let mut articles = Vec::new();
    let mut title = None;
    for (node, depth) in descendants(&page) {
        if depth > MAX_DEPTH {
            return Err(format!("it nests more than {MAX_DEPTH} elements"));
        }
        match tag(&node) {
            Some("main") => mains.push(node),
            Some("article") => articles.push(node),
            Some("title") if title.is_none() => title = Some(text_of(&node)),
            _ => {}
        }
    }
    let only = |mut nodes: Vec<Rc<Node>>| if nodes.len() == 1 { nodes.pop() } else { None };
    let body = match only(mains).or_else(|| only(articles)) {
        Some(main) => converter(SKIPPED.to_vec()).tree_to_markdown(&main),
        None => converter([SKIPPED, AROUND_MAIN].concat()).tree_to_markdown(&page),
    };
    let heading = first_heading(&body);
    let title = match (title.filter(|title| !title.is_empty()), heading) {
        // `Install - The Guide` and a heading `Install`: what follows names the site.
        (Some(title), Some(heading)) if title.starts_with(&heading) => heading,
        (title, heading) => title.or(heading).unwrap_or_default(),
    };
    Ok((title, body))
}

/// The most elements that are open at one place, as far as their tags tell.
fn open_elements(html: &str) -> usize {
    let mut open = 0_usize;
    let mut most = 0;
    for after in html.split('<').skip(1) {
        let (is_end, after) = after.strip_prefix('/').map_or((false, after), |after| (true, after));
        let name = after.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        if name.is_empty() || ENDLESS.iter().any(|endless| endless.eq_ignore_ascii_case(name)) {
            continue;
        }
        open = if is_end { open.saturating_sub(1) } else { open + 1 };
        most = most.max(open);
    }
    most
}

fn converter(skipped: Vec<&str>) -> HtmlToMarkdown {
    HtmlToMarkdown::builder()
        .skip_tags(skipped)
        .add_handler(vec!["table"], table)
        .add_handler(vec!["a"], link)
        .build()
}

/// Links within the page, such as the anchors of headings, are only their text.
fn link(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    let href = element.attrs.iter().find(|attribute| &*attribute.name.local == "href");
    if href.is_some_and(|href| href.value.starts_with('#')) {
        Some(handlers.walk_children(element.node))
    } else {
        handlers.fallback(element)
    }
}

/// A table with every cell in its place, row headers too, which `htmd` drops.
#[expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "the signature of a handler"
)]
fn table(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut caption = String::new();
    let is_layout = descendants(element.node)
        .skip(1)
        .any(|(node, _)| tag(&node).is_some_and(|tag| LAYOUT.contains(&tag)));
    let text = |node: &Rc<Node>| {
        let content = handlers.walk_children(node).content;
        if is_layout { content.trim().to_owned() } else { one_line(&content) }
    };
    let children = |node: &Rc<Node>| node.children.borrow().clone();
    let groups = children(element.node).into_iter().flat_map(|child| match tag(&child) {
        Some("thead" | "tbody" | "tfoot") => children(&child),
        _ => vec![child],
    });
    for child in groups {
        match tag(&child) {
            Some("caption") => caption = text(&child),
            Some("tr") => rows.push(
                children(&child)
                    .iter()
                    .filter(|cell| matches!(tag(cell), Some("td" | "th")))
                    .map(text)
                    .collect(),
            ),
            _ => {}
        }
    }
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let mut lines = Vec::new();
    if is_layout || columns < 2 {
        lines.extend(rows.into_iter().flatten().filter(|cell| !cell.is_empty()));
    } else {
        for (i, mut row) in rows.into_iter().enumerate() {
            row.resize(columns, String::new());
            lines.push(format!("| {} |", row.join(" | ")));
            if i == 0 {
                lines.push(format!("|{}", " --- |".repeat(columns)));
            }
        }
    }
    let body = lines.join(if is_layout || columns < 2 { "\n\n" } else { "\n" });
    Some(format!("\n\n{caption}\n\n{body}\n\n").into())
}

fn one_line(content: &str) -> String {
    content.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// A node and what is in it, in document order, with depths. Not recursive.
fn descendants(root: &Rc<Node>) -> impl Iterator<Item = (Rc<Node>, usize)> + use<> {
    let mut stack = vec![(Rc::clone(root), 0)];
    std::iter::from_fn(move || {
        let (node, depth) = stack.pop()?;
        stack
            .extend(node.children.borrow().iter().rev().map(|child| (Rc::clone(child), depth + 1)));
        Some((node, depth))
    })
}

fn tag(node: &Node) -> Option<&str> {
    if let NodeData::Element { name, .. } = &node.data { Some(&name.local) } else { None }
}

fn text_of(node: &Rc<Node>) -> String {
    let mut text = String::new();
    for (node, _) in descendants(node) {
        if let NodeData::Text { contents } = &node.data {
            text.push_str(&contents.borrow());
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(html: &str, title: &str, body: &str) {
        assert_eq!(convert(html), Ok((title.to_owned(), body.to_owned())), "{html}");
    }

    #[test]
    fn only_the_main_part_is_read() {
        check(
            "<title>T</title><nav>menu</nav><h1>A</h1><p>b<script>x</script><style>y</style><aside>z</aside>",
            "T",
            "# A\n\nb",
        );
        check(
            "<title> A &amp; B - Site </title><header>h</header><main><h2>A &amp; B</h2><aside>note</aside></main>",
            "A & B",
            "## A & B\n\nnote",
        );
        check("<article><h2>One</h2></article><footer>f</footer>", "One", "## One");
        check("<article>1</article><article>2</article><footer>f</footer>", "", "1\n\n2");
    }

    #[test]
    fn anchors_are_text_and_links_are_links() {
        check("<h2><a href='#x'>X</a></h2><a href='/y'>Y</a>", "X", "## X\n\n[Y](/y)");
    }

    #[test]
    fn code_keeps_its_lines() {
        check(
            "<pre><code class='language-rust'>fn a() {\n    b();\n\n}\n</code></pre>",
            "",
            "```rust\nfn a() {\n    b();\n\n}\n```",
        );
    }

    #[test]
    fn tables_keep_every_cell() {
        check(
            "<table><caption>C</caption><thead><tr><th><th>x</thead><tr><th>r1</th><td>a|b\nc</td></tr><tr><th>r2</table>",
            "",
            "C\n\n|  | x |\n| --- | --- |\n| r1 | a\\|b c |\n| r2 |  |",
        );
        check("<table><tr><td><pre>a\nb</pre></td><td>c</td></tr></table>", "", "a\nb\n\nc");
        check(
            "<table><tr><td>only</td></tr><tr><td>column</td></tr></table>",
            "",
            "only\n\ncolumn",
        );
    }

    #[test]
    fn a_bottomless_page_is_refused() {
        assert!(convert(&"<div>".repeat(100_000)).is_err());
        assert!(convert(&"<div>".repeat(MAX_DEPTH + 1)).is_err());
        assert!(convert(&"<p>a<br>".repeat(10_000)).is_ok());
    }

    #[test]
    fn a_page_of_the_greatest_depth_is_converted() {
        let document = document("x", format!("{}deep", "<div>".repeat(MAX_DEPTH - 3)));
        assert_eq!(document.map(|document| document.body), Ok("deep".to_owned()));
    }

    proptest! {
        #[test]
        fn any_markup_is_converted(html in "(<(/?(table|tr|td|th|p|pre|code|a href='#'|main|title|ul|li|h1|b|svg))>|[ a-z|&;\\n]{0,5}){0,60}") {
            prop_assert!(convert(&html).is_ok());
        }
    }
}
