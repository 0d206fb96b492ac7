use std::sync::OnceLock;

/// Words or endings as a language has them, written with white space between them.
pub(crate) struct WordList {
    written: &'static str,
    sorted: OnceLock<Vec<&'static str>>,
}

impl WordList {
    pub(crate) const fn new(written: &'static str) -> Self {
        Self { written, sorted: OnceLock::new() }
    }

    /// Every word, by code point.
    pub(crate) fn words(&self) -> &[&'static str] {
        self.sorted.get_or_init(|| {
            let mut words: Vec<&str> = self.written.split_whitespace().collect();
            words.sort_unstable();
            words
        })
    }

    pub(crate) fn contains(&self, word: &str) -> bool {
        self.words().binary_search(&word).is_ok()
    }

    /// True if `text` begins with one of them.
    pub(crate) fn begins(&self, text: &str) -> bool {
        self.words().iter().any(|word| text.starts_with(word))
    }

    /// True if `text` ends with one of them.
    pub(crate) fn ends(&self, text: &str) -> bool {
        self.endings(text).next().is_some()
    }

    /// Those that `text` ends with, the longest first.
    pub(crate) fn endings<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let ends = text.char_indices().filter_map(|(at, _)| text.get(at..));
        ends.filter(|end| self.contains(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_endings_are_found() {
        static LIST: WordList = WordList::new(
            "都市 市
             of",
        );
        assert!(LIST.contains("of") && LIST.contains("市"));
        assert!(!LIST.contains("o") && !LIST.contains("") && !LIST.contains("市 of"));
        assert!(LIST.begins("often") && !LIST.begins("soften"));
        assert_eq!(LIST.endings("大都市").collect::<Vec<_>>(), ["都市", "市"]);
        assert!(!LIST.ends("都") && !LIST.ends(""));
    }
}
