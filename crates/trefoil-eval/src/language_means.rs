//! Where the questions of each language are in the space of an embedder.

use std::{collections::BTreeMap, path::Path};

use trefoil::{
    Error, Language, Result,
    index::Role,
    model::{Embedder, LanguageMeans},
    text::language_of,
};

use crate::lines::parse_toml;

/// Fewer questions of a language do not make a mean: their subjects would be in it.
const LEAST: usize = 50;

/// The texts under the key `question` in the tables of a TOML file, whatever else these hold.
///
/// # Errors
/// [`Error::Io`], or [`Error::MalformedLine`] for what is no TOML.
pub fn questions(path: impl AsRef<Path>) -> Result<Vec<String>> {
    let path = path.as_ref();
    let text = std::fs::read_to_string(path).map_err(|error| Error::io("read", path, error))?;
    let file: toml::Table = parse_toml(path, &text)?;
    let tables = file.values().filter_map(toml::Value::as_array).flatten();
    let questions = tables.filter_map(|table| Some(table.get("question")?.as_str()?.to_owned()));
    Ok(questions.collect())
}

/// The mean vector of the questions in each language that at least 50 of them are in. What they are
/// about should be about the same in each.
///
/// # Errors
/// Those of the embedder; [`Error::InvalidConfig`] unless there are two languages.
pub fn language_means(embedder: &dyn Embedder, questions: &[String]) -> Result<LanguageMeans> {
    let mut by_language: BTreeMap<Language, Vec<&str>> = BTreeMap::new();
    for question in questions {
        by_language.entry(language_of(question)).or_default().push(question);
    }
    by_language.retain(|_, texts| texts.len() >= LEAST);
    let means = by_language.into_iter().map(|(language, texts)| {
        let vectors = embedder.embed_checked(Role::Query, &texts)?;
        let mut sums = vec![0.0_f64; embedder.space().dimensions];
        for vector in vectors.rows() {
            for (sum, &x) in sums.iter_mut().zip(vector) {
                *sum += f64::from(x);
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "the mean of unit vectors fits")]
        let mean = sums.into_iter().map(|sum| (sum / texts.len() as f64) as f32).collect();
        Ok((language, mean))
    });
    LanguageMeans::new(means.collect::<Result<Vec<_>>>()?)
}

/// Writes means as the `languages.toml` of a model, four digits a number.
///
/// # Errors
/// [`Error::Io`].
pub fn write_language_means(path: impl AsRef<Path>, means: LanguageMeans) -> Result<()> {
    let path = path.as_ref();
    let means: BTreeMap<Language, Vec<f32>> = means.into();
    let line = |(language, mean): (Language, Vec<f32>)| {
        let round = |x: f32| format!("{:?}", (f64::from(x) * 1e4).round() / 1e4);
        let numbers = mean.into_iter().map(round);
        format!("{language} = [{}]\n", numbers.collect::<Vec<_>>().join(", "))
    };
    let lines: String = means.into_iter().map(line).collect();
    let remark =
        "# Mean vectors of questions in each language, by `trefoil calibrate --languages`.";
    std::fs::write(path, format!("{remark}\n\n{lines}"))
        .map_err(|error| Error::io("write", path, error))
}

#[cfg(test)]
mod tests {
    use trefoil::model::{Array2, EmbeddingSpace, Pooling, Quantization};

    use super::*;

    /// A language is an axis, and what is asked another.
    #[derive(Debug)]
    struct Axes(EmbeddingSpace);

    impl Embedder for Axes {
        fn space(&self) -> &EmbeddingSpace {
            &self.0
        }

        fn cosine_range(&self) -> (f32, f32) {
            (0.0, 1.0)
        }

        fn embed(&self, _: Role, texts: &[&str]) -> Result<Array2<f32>> {
            let mut vectors = Array2::zeros((texts.len(), 4));
            for (mut row, text) in vectors.rows_mut().into_iter().zip(texts) {
                let language = language_of(text);
                let axis = Language::ALL.into_iter().position(|one| one == language).unwrap();
                row[axis] = 0.6;
                row[3] = if text.contains('?') { 0.8 } else { -0.8 };
            }
            Ok(vectors)
        }
    }

    fn axes() -> Axes {
        Axes(EmbeddingSpace {
            model: "axes".to_owned(),
            sha256: String::new(),
            dimensions: 4,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            quantization: Quantization::F32,
            max_tokens: 512,
        })
    }

    #[test]
    fn the_mean_of_questions_is_where_their_language_is() {
        let texts = ["which?", "which", "どれ?", "どれ", "어느 것"];
        let many = |count: usize| texts.iter().cycle().take(5 * count).map(|&text| text.to_owned());
        let questions: Vec<String> = many(30).collect();
        let means = language_means(&axes(), &questions).unwrap();
        // Of Korean there are thirty questions only.
        let expected = [(Language::En, [0.6, 0.0, 0.0, 0.0]), (Language::Ja, [0.0, 0.6, 0.0, 0.0])];
        let found: BTreeMap<Language, Vec<f32>> = means.clone().into();
        for ((language, mean), (expected, right)) in found.iter().zip(&expected) {
            assert_eq!(language, expected);
            assert!(mean.iter().zip(right).all(|(a, b)| (a - b).abs() < 1e-6), "{mean:?}");
        }
        assert_eq!(found.len(), 2);
        let few: Vec<String> = many(20).collect();
        assert!(matches!(language_means(&axes(), &few), Err(Error::InvalidConfig { .. })));

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("languages.toml");
        write_language_means(&path, means.clone()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("en = [0.6, 0.0, 0.0, 0.0]\nja = [0.0, 0.6, 0.0, 0.0]\n"), "{text}");
    }

    #[test]
    fn questions_are_read_from_any_tables() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cases.toml");
        let text = "version = 1\n[[case]]\nid = 'a'\nquestion = 'which?'\n[[case]]\nid = 'b'\n";
        std::fs::write(&path, text).unwrap();
        assert_eq!(questions(&path).unwrap(), ["which?"]);
        std::fs::write(&path, "[[case").unwrap();
        assert!(matches!(questions(&path), Err(Error::MalformedLine { .. })));
    }
}
