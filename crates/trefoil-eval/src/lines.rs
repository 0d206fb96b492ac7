//! Text files, with errors that name file and line.

use std::{
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    path::Path,
};

use serde::de::DeserializeOwned;
use trefoil::{Error, Result};

/// What is wrong with a line.
pub(crate) type Reason = String;

/// Hands every line that is not blank to `read`, without its line break. What `read`
/// objects to becomes an error that names the file and the line.
pub(crate) fn read_lines(
    path: &Path,
    mut read: impl FnMut(&str) -> Result<(), Reason>,
) -> Result<()> {
    let file = File::open(path).map_err(|source| Error::io("open", path, source))?;
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let length = reader
            .read_until(b'\n', &mut bytes)
            .map_err(|source| Error::io("read", path, source))?;
        if length == 0 {
            break;
        }
        let outcome = match std::str::from_utf8(&bytes) {
            Ok(text) => {
                let text = if line == 1 { text.trim_start_matches('\u{feff}') } else { text };
                let text = text.trim_end_matches(['\n', '\r']);
                if text.trim().is_empty() { Ok(()) } else { read(text) }
            }
            Err(_) => Err("it is not UTF-8".to_owned()),
        };
        outcome.map_err(|reason| Error::MalformedLine { path: path.to_owned(), line, reason })?;
    }
    Ok(())
}

/// One JSON value a line.
pub(crate) fn read_json_lines<T: DeserializeOwned>(
    path: &Path,
    mut take: impl FnMut(T) -> Result<(), Reason>,
) -> Result<()> {
    read_lines(path, |line| {
        take(
            serde_json::from_str(line)
                .map_err(|error| format!("it is not as expected: {error}"))?,
        )
    })
}

/// A TOML text; `path` names it in an error.
pub(crate) fn parse_toml<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Error::malformed_at(path, text, offset, error.message())
    })
}

/// Writes a file through a buffer.
pub(crate) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let wrap = |source| Error::io("write", path, source);
    let mut writer = BufWriter::new(File::create(path).map_err(wrap)?);
    write(&mut writer).and_then(|()| writer.flush()).map_err(wrap)
}

/// The cells of a line: between tabs if it has one, else between white space.
pub(crate) fn cells(line: &str) -> Vec<&str> {
    if line.contains('\t') {
        line.split('\t').map(str::trim).collect()
    } else {
        line.split_whitespace().collect()
    }
}

/// What is wrong with an id, if something is: the files it is written to are tables.
pub(crate) fn check_id(id: &str) -> Result<(), Reason> {
    if id.trim().is_empty() {
        Err("an id is empty".to_owned())
    } else if id.contains(['\t', '\n', '\r']) || id.trim() != id {
        Err(format!("the id {id:?} holds a tab or line break, or begins or ends with a space"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Result<Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        let mut found = Vec::new();
        read_lines(&path, |line| {
            if line == "bad" {
                return Err("it is bad".to_owned());
            }
            found.push(line.to_owned());
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn blank_lines_marks_and_line_breaks_are_left_out() {
        assert_eq!(lines(b"").unwrap(), [""; 0]);
        assert_eq!(lines("\u{feff}a\r\n\n \t\nb ".as_bytes()).unwrap(), ["a", "b "]);
    }

    #[test]
    fn an_error_names_file_and_line() {
        for (bytes, line, why) in [(&b"a\n\nbad"[..], 3, "it is bad"), (b"\xff", 1, "not UTF-8")] {
            let error = lines(bytes).unwrap_err();
            assert!(matches!(&error, Error::MalformedLine { line: found, .. } if *found == line));
            assert!(error.to_string().contains("file` line") && error.to_string().contains(why));
        }
    }

    #[test]
    fn cells_are_between_tabs_where_there_is_one() {
        assert_eq!(cells("a b  c"), ["a", "b", "c"]);
        assert_eq!(cells("a b\tc\t 1 "), ["a b", "c", "1"]);
    }
}
