//! A loader: messages as mail programs save them.

use trefoil::{Date, Document, Result, ingest::Loader};

/// Reads `.eml`: the subject is the title, the date the date, the sender a tag.
#[derive(Debug)]
pub(crate) struct MailLoader;

impl Loader for MailLoader {
    fn fingerprint(&self) -> String {
        "plain mail 1".to_owned()
    }

    fn load(&self, name: &str, bytes: &[u8]) -> Result<Document> {
        let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        let (head, body) = text.split_once("\n\n").unwrap_or(("", &text));
        let header = |wanted: &str| {
            let line = head.lines().find(|line| {
                line.split(':').next().is_some_and(|name| name.eq_ignore_ascii_case(wanted))
            });
            line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()))
        };
        let date =
            header("Date").and_then(|date| Date::strptime("%d %b %Y", after_day(&date)).ok());
        Ok(Document::new(name, body)
            .title(header("Subject").unwrap_or_default())
            .date(date)
            .tags(header("From").map(|from| format!("from:{from}"))))
    }
}

/// `Mon, 02 Mar 2026 …` without the day of the week, and without what follows the year.
fn after_day(date: &str) -> &str {
    let date = date.split_once(", ").map_or(date, |(_, rest)| rest);
    let end = date.match_indices(' ').nth(2).map_or(date.len(), |(at, _)| at);
    date.get(..end).unwrap_or(date)
}
