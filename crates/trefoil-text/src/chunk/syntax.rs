//! Source code to blocks, through tree-sitter.

use tree_sitter::{Language, Node, Parser};

use super::block::{Block, BlockKind};

/// Items in items are not looked into below this depth.
const MAX_DEPTH: usize = 12;
/// A smaller node fits into a chunk: what is in it does not matter.
const MIN_BYTES: usize = 1_000;

/// A larger file is generated or hostile; recovery from errors takes seconds a megabyte.
const MAX_BYTES: usize = 256 * 1024;

/// The items of a source file; `None` if it is large or no grammar suits its extension.
/// Comments and attributes belong to the item that they stand above.
pub(super) fn items(path: &str, body: &str) -> Option<Vec<Block>> {
    if body.len() > MAX_BYTES {
        return None;
    }
    let (_, extension) = path.rsplit_once('.')?;
    let language: Language = match extension.to_ascii_lowercase().as_str() {
        "rs" => tree_sitter_rust::LANGUAGE.into(),
        "py" | "pyi" => tree_sitter_python::LANGUAGE.into(),
        "js" | "jsx" | "mjs" | "cjs" => tree_sitter_javascript::LANGUAGE.into(),
        _ => return None,
    };
    let mut parser = Parser::new();
    parser.set_language(&language).ok()?;
    let tree = parser.parse(body, None)?;
    Some(children(tree.root_node(), body, 0))
}

fn children(node: Node<'_>, body: &str, depth: usize) -> Vec<Block> {
    if depth == MAX_DEPTH {
        return Vec::new();
    }
    let mut cursor = node.walk();
    node.children(&mut cursor)
        .filter(|child| !leads_to_the_next(child.kind()))
        .filter(|child| {
            body.is_char_boundary(child.start_byte()) && body.is_char_boundary(child.end_byte())
        })
        .map(|child| {
            let span = child.byte_range();
            let children =
                if span.len() < MIN_BYTES { Vec::new() } else { children(child, body, depth + 1) };
            Block { span, kind: BlockKind::Lines, children }
        })
        .collect()
}

fn leads_to_the_next(kind: &str) -> bool {
    kind.contains("comment") || kind.contains("attribute_item") || kind == "decorator"
}
