//! Who speaks, and what is said.

use lazy_regex::{Captures, regex};

use crate::{Redaction, word_list::WordList};

/// A text and who says it.
#[derive(Debug)]
pub struct Utterance<'t> {
    speaker: Option<&'t str>,
    text: String,
}

/// Words before a colon that name no speaker, in small letters.
static LABELS: WordList = WordList::new(
    "note todo error warning fix update re fwd subject info bug question answer reminder メモ 注意
     메모 참고",
);

impl<'t> Utterance<'t> {
    /// What is said by the name before a colon that it begins with, else by `actor`. What
    /// stands in brackets, as the description of a picture, is not said, but for what was cut
    /// out.
    pub fn new(text: &'t str, actor: Option<&'t str>) -> Self {
        let name = regex!(
            r"^\s*(\p{Lu}[\p{L}.'-]{0,20}(?: \p{Lu}[\p{L}.'-]{0,20}){0,2}|[\p{Han}\p{Hiragana}\p{Katakana}ー]{1,10}|\p{Hangul}{1,8})[:：]\s*"
        );
        let named = name.captures(text).and_then(|groups| {
            let name = groups.get(1)?.as_str();
            let said = text.get(groups.get(0)?.end()..)?;
            (!LABELS.contains(&name.to_lowercase())).then_some((name, said))
        });
        let (speaker, said) = named.map_or((actor, text), |(name, said)| (Some(name), said));
        let unsaid = |aside: &Captures<'_>| {
            let aside = aside.get(0).map_or("", |whole| whole.as_str());
            let stands_for_something = Redaction::ALL.iter().any(|kind| kind.mark() == aside);
            if stands_for_something { aside.to_owned() } else { " ".to_owned() }
        };
        let said = regex!(r"\[[^\[\]]{0,400}\]").replace_all(said, unsaid);
        Self {
            speaker: speaker.map(str::trim).filter(|name| !name.is_empty()),
            text: said.into_owned(),
        }
    }

    /// What is said.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who says it, if that is known.
    pub fn speaker(&self) -> Option<&'t str> {
        self.speaker
    }

    /// A clause with who says it, as it is kept.
    pub fn attributed(&self, clause: &str) -> String {
        self.speaker.map_or_else(|| clause.to_owned(), |name| format!("{name}: {clause}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, actor: Option<&str>, speaker: Option<&str>, said: &str) {
        let spoken = Utterance::new(text, actor);
        assert_eq!((spoken.speaker(), spoken.text().trim()), (speaker, said));
    }

    #[test]
    fn a_name_before_a_colon_speaks() {
        check("Mika: I like tea.", None, Some("Mika"), "I like tea.");
        check("Mika Sato: Hi", Some("bo"), Some("Mika Sato"), "Hi");
        check("美香：お茶が好きです", None, Some("美香"), "お茶が好きです");
        check("민수: 안녕", None, Some("민수"), "안녕");
        check("I like tea.", Some("bo"), Some("bo"), "I like tea.");
        check("I like tea.", None, None, "I like tea.");
    }

    #[test]
    fn a_label_or_an_address_does_not_speak() {
        check("TODO: call Bo", None, None, "TODO: call Bo");
        check("Note: tea", None, None, "Note: tea");
        check("https://example.org", None, None, "https://example.org");
        check("at 12:30 we met", None, None, "at 12:30 we met");
    }

    #[test]
    fn what_stands_in_brackets_is_not_said() {
        check("SourceCheck! [shares an image: a photo of a dog]", None, None, "SourceCheck!");
        check("Write to [email].", None, None, "Write to [email].");
    }
}
