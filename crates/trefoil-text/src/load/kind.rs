use std::path::Path;

use crate::word_list::WordList;

/// How a file is read, told from its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Markdown,
    Text,
    Code,
    Html,
    Json,
    JsonLines,
    Table {
        delimiter: u8,
    },
    #[cfg(feature = "pdf")]
    Pdf,
    #[cfg(feature = "office")]
    Office,
}

const MARKDOWN: &[&str] = &["markdown", "md", "mdown", "mdx", "mkd"];
const TEXT: &[&str] = &["adoc", "asciidoc", "log", "org", "rst", "tex", "text", "txt"];
const HTML: &[&str] = &["htm", "html", "xhtml"];
const OFFICE: &[&str] = &["docx", "pptx", "xlsx"];
static CODE: WordList = WordList::new(
    "bash bat c cc cfg clj cmake conf cpp cs css cjs dart el elm erl ex exs fish fs go gradle
     graphql groovy h hpp hs ini java jl js jsx kt kts less lisp lua m mjs ml mm nim nix php pl pm
     proto ps1 py pyi r rb rs sass scala scm scss sh sql svelte swift tcl tf toml ts tsx vim vue xml
     yaml yml zig zsh",
);

impl Kind {
    /// The kind, or the reason why there is none. A file without extension is taken for text.
    pub(crate) fn of(path: &Path) -> Result<Self, String> {
        let Some(extension) =
            path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase())
        else {
            return Ok(Self::Text);
        };
        let extension = extension.as_str();
        let is = |extensions: &[&str]| extensions.contains(&extension);
        match extension {
            _ if is(MARKDOWN) => Ok(Self::Markdown),
            _ if is(TEXT) => Ok(Self::Text),
            _ if CODE.contains(extension) => Ok(Self::Code),
            _ if is(HTML) => Ok(Self::Html),
            "json" => Ok(Self::Json),
            "jsonl" | "ndjson" => Ok(Self::JsonLines),
            "csv" => Ok(Self::Table { delimiter: b',' }),
            "tsv" | "tab" => Ok(Self::Table { delimiter: b'\t' }),
            #[cfg(feature = "pdf")]
            "pdf" => Ok(Self::Pdf),
            #[cfg(feature = "office")]
            _ if is(OFFICE) => Ok(Self::Office),
            #[cfg(not(feature = "pdf"))]
            "pdf" => Err("`.pdf` files need the feature `pdf`".to_owned()),
            _ if is(OFFICE) => Err(format!("`.{extension}` files need the feature `office`")),
            _ => Err(format!("`.{extension}` files are not supported")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_in_any_case() {
        let check = |path: &str, kind: Result<Kind, &str>| {
            assert_eq!(Kind::of(Path::new(path)), kind.map_err(str::to_owned), "{path}");
        };
        check("a/README", Ok(Kind::Text));
        check("a.b/LICENSE", Ok(Kind::Text));
        check("a.MD", Ok(Kind::Markdown));
        check("a.min.js", Ok(Kind::Code));
        check("a.tsv", Ok(Kind::Table { delimiter: b'\t' }));
        check("a.PNG", Err("`.png` files are not supported"));
    }
}
