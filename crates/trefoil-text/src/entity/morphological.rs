use std::path::Path;

use trefoil_core::{EntityExtractor, Extraction, Language, Result, TitledText};

use super::{
    extraction,
    found::Found,
    japanese, japanese_nouns, korean, korean_nouns,
    nouns::Nouns,
    tagger::{Tagger, Worker},
};
use crate::script::{Script, runs};

/// The extractor that finds the nouns of Japanese and Korean by dictionaries. All else
/// is read as [`ScriptExtractor`](crate::ScriptExtractor) reads it, and so is a language
/// without a dictionary.
#[derive(Clone, Debug)]
pub struct MorphologicalExtractor {
    japanese: Option<Tagger>,
    korean: Option<Tagger>,
}

impl MorphologicalExtractor {
    /// With the dictionaries `ipadic` and `ko-dic`, each in the folder that it was
    /// compiled into.
    ///
    /// # Errors
    /// [`Error::ModelMissing`](trefoil_core::Error::ModelMissing) if a folder does not
    /// hold its dictionary.
    pub fn open(ipadic: Option<&Path>, ko_dic: Option<&Path>) -> Result<Self> {
        let open = |folder: Option<&Path>, name| folder.map(|f| Tagger::open(f, name)).transpose();
        Ok(Self { japanese: open(ipadic, "ipadic")?, korean: open(ko_dic, "ko-dic")? })
    }
}

impl EntityExtractor for MorphologicalExtractor {
    fn fingerprint(&self) -> String {
        let name = |tagger: &Option<Tagger>, name| if tagger.is_some() { name } else { "script" };
        let (ja, ko) = (name(&self.japanese, "ipadic"), name(&self.korean, "ko-dic"));
        format!("morphological 1, {ja}, {ko}")
    }

    fn extract(&self, texts: &[TitledText<'_>]) -> Result<Vec<Extraction>> {
        let worker = |tagger: &Option<Tagger>| tagger.as_ref().map(Tagger::worker);
        let mut nouns =
            TaggedNouns { japanese: worker(&self.japanese), korean: worker(&self.korean) };
        texts.iter().map(|text| extraction(text, &mut nouns)).collect()
    }
}

/// Nouns by dictionary, or by script in a language that has none.
struct TaggedNouns {
    japanese: Option<Worker>,
    korean: Option<Worker>,
}

impl Nouns for TaggedNouns {
    fn push(
        &mut self,
        part: &str,
        offset: usize,
        language: Language,
        found: &mut Found<'_>,
    ) -> Result<()> {
        let has = |wanted: &[Script]| runs(part).any(|run| wanted.contains(&run.script));
        // Kanji alone may be Chinese or Korean.
        let is_japanese = language == Language::Ja || has(&[Script::Hiragana, Script::Katakana]);
        match &mut self.japanese {
            Some(worker) if is_japanese => japanese_nouns::extract(part, offset, worker, found)?,
            _ => japanese::extract(part, offset, found),
        }
        match &mut self.korean {
            Some(worker) if has(&[Script::Hangul]) => {
                korean_nouns::extract(part, offset, worker, found)
            }
            _ => {
                korean::extract(part, offset, found);
                Ok(())
            }
        }
    }
}
