use trefoil_core::{Analyzer, Language, Seq};

/// Raised whenever the fields, what goes into them, or their meaning changes.
const FORMAT: u32 = 3;

/// Words, numbers, names, marks and widths in the scripts that analysers treat
/// apart: two analysers that agree on it are taken to be the same.
const SAMPLE: &str = "The engine's engines were running; state-of-the-art C++ useState foo::bar E0502 v1.2.3 \
    naïve ＦＵＬＬ ½ ﬁne — 東京都の天気はどうですか。データベースを検索するコンピューター ﾃﾞｰﾀ ごみの出し方 \
    2026年の売上高 — 서울의 날씨는 어떻습니까? 검색 엔진을 사용했습니다 — Ελλάδα Москва 👍🏽";

/// What a commit says of itself: by what the index was built, and how far it reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommitMetadata {
    builder: String,
    pub(crate) seq: Seq,
}

impl CommitMetadata {
    /// That of this format and analyser, before the first change.
    pub(crate) fn new(analyzer: &dyn Analyzer) -> Self {
        Self {
            builder: format!("keyword {FORMAT} analyzer {:08x}", fingerprint(analyzer)),
            seq: Seq::ZERO,
        }
    }

    /// The same builder at another change.
    pub(crate) fn at(&self, seq: Seq) -> Self {
        Self { builder: self.builder.clone(), seq }
    }

    /// True if an index with `other`'s metadata holds what this builder would write.
    pub(crate) fn same_builder(&self, other: &Self) -> bool {
        self.builder == other.builder
    }

    /// As one line; [`CommitMetadata::decode`] reads it.
    pub(crate) fn encode(&self) -> String {
        format!("{} seq {}", self.builder, self.seq.get())
    }

    /// Reads a line; `None` if it is not one.
    pub(crate) fn decode(line: &str) -> Option<Self> {
        let (builder, seq) = line.rsplit_once(" seq ")?;
        Some(Self { builder: builder.to_owned(), seq: Seq::new(seq.parse().ok()?) })
    }
}

fn fingerprint(analyzer: &dyn Analyzer) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    for language in Language::ALL {
        analyzer.analyze(SAMPLE, language, &mut |token| {
            hash.update(token.term.as_bytes());
            hash.update(&[0, u8::from(token.stop)]);
            hash.update(&token.position.to_le_bytes());
        });
    }
    hash.finalize()
}

#[cfg(test)]
mod tests {
    use trefoil_core::{ByteSpan, Token};

    use super::*;

    #[derive(Debug)]
    struct Words {
        stop: &'static str,
    }

    impl Analyzer for Words {
        fn analyze(&self, text: &str, _: Language, sink: &mut dyn FnMut(Token<'_>)) {
            for (position, word) in (0..).zip(text.split(' ')) {
                sink(Token {
                    term: word.into(),
                    span: ByteSpan::default(),
                    position,
                    stop: word == self.stop,
                });
            }
        }
    }

    #[test]
    fn commit_metadata_survives_its_line() {
        let metadata = CommitMetadata::new(&Words { stop: "" }).at(Seq::new(u64::MAX));
        assert_eq!(CommitMetadata::decode(&metadata.encode()), Some(metadata));
        for bad in ["", "seq 1", "keyword 1 seq", "keyword 1 seq -1"] {
            assert_eq!(CommitMetadata::decode(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn another_analyser_is_another_builder() {
        let metadata = CommitMetadata::new(&Words { stop: "" });
        assert!(metadata.same_builder(&CommitMetadata::new(&Words { stop: "" }).at(Seq::new(9))));
        assert!(!metadata.same_builder(&CommitMetadata::new(&Words { stop: "The" })));
    }
}
