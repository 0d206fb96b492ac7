//! The page to search from: files that are part of the program.

use axum::{
    http::{HeaderValue, header},
    response::Response,
};

use crate::{
    call::{Call, text},
    markup::HTML,
    problem::Problem,
};

pub(crate) const CSS: &str = "text/css; charset=utf-8";
pub(crate) const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Nothing from elsewhere, no inline script or style, and no text that becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'";

/// A file by its name below `/page/`, its media type and what is in it.
type File = (&'static str, &'static str, &'static str);

const INDEX: &str = include_str!("../../page/index.html");
const FILES: [File; 11] = [
    ("style.css", CSS, include_str!("../../page/style.css")),
    ("admin.js", SCRIPT, include_str!("../../page/admin.js")),
    ("api.js", SCRIPT, include_str!("../../page/api.js")),
    ("compare.js", SCRIPT, include_str!("../../page/compare.js")),
    ("document.js", SCRIPT, include_str!("../../page/document.js")),
    ("dom.js", SCRIPT, include_str!("../../page/dom.js")),
    ("graph.js", SCRIPT, include_str!("../../page/graph.js")),
    ("main.js", SCRIPT, include_str!("../../page/main.js")),
    ("memory.js", SCRIPT, include_str!("../../page/memory.js")),
    ("search.js", SCRIPT, include_str!("../../page/search.js")),
    ("words.js", SCRIPT, include_str!("../../page/words.js")),
];

pub(crate) fn index(_: Call) -> Result<Response, Problem> {
    let mut response = text(HTML, INDEX.to_owned());
    let policy = HeaderValue::from_static(POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

pub(crate) fn file(call: Call) -> Result<Response, Problem> {
    let named = FILES.iter().find(|(name, ..)| *name == call.named());
    let (_, media, content) = named.ok_or_else(Problem::not_found)?;
    Ok(text(media, (*content).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_the_page_names_is_there() {
        let names: Vec<&str> = FILES.iter().map(|(name, ..)| *name).collect();
        let scripts = FILES.iter().map(|(.., content)| *content);
        for content in scripts.chain([INDEX]) {
            let parts = content.split(['"', '\'']);
            let files = parts.filter_map(|part| {
                let kind = part.rsplit_once('.').map(|(_, kind)| kind);
                let is_file = matches!(kind, Some("js" | "css"));
                is_file.then(|| part.trim_start_matches("./").trim_start_matches("/page/"))
            });
            for file in files {
                assert!(names.contains(&file), "{file}");
            }
        }
    }

    #[test]
    fn the_page_is_small_and_asks_nobody_else() {
        let all = FILES.iter().map(|(.., content)| content.len()).sum::<usize>() + INDEX.len();
        assert!(all < 150_000, "{all}");
        for (name, _, content) in FILES {
            for bad in ["http://", "https://", "innerHTML", "insertAdjacentHTML", "eval("] {
                assert!(!content.contains(bad), "{bad} in {name}");
            }
        }
    }
}
