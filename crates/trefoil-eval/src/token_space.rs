//! What the tokens of an embedder have in common, and how near they are where a text answers.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use trefoil::{
    Error, Language, Result,
    index::Role,
    model::{
        Array2, OnnxEmbedder, QuestionCodes, TokenCodes, TokenMeans, TokenSpace, ndarray::Array1,
    },
    text::language_of,
};

use crate::{lines::parse_toml, statistic::mean};

/// Characters of the shortest paragraph that counts.
const SHORTEST: usize = 80;
/// The percentile, of questions with the texts that answer them, that counts as a perfect match.
const PERFECT: f64 = 0.9;

/// Texts, and questions about them with the names of those that answer.
#[derive(Debug, Default)]
pub struct TokenSamples {
    texts: BTreeMap<String, Vec<String>>,
    questions: Vec<(String, Vec<String>)>,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
    #[serde(default)]
    answers: Vec<String>,
}

impl TokenSamples {
    /// Adds the paragraphs of the Markdown and text files below a folder, or the `question`s of a
    /// TOML file's tables with their `answers`, which are paths below such a folder.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::MalformedLine`].
    pub fn add(&mut self, source: &Path) -> Result<()> {
        if source.is_dir() {
            return self.add_folder(source, source);
        }
        let text = read(source)?;
        let file: BTreeMap<String, toml::Value> = parse_toml(source, &text)?;
        for table in file.into_values().filter_map(|one| one.as_array().cloned()).flatten() {
            if let Ok(Asked { question, answers }) = table.try_into() {
                self.questions.push((question, answers));
            }
        }
        Ok(())
    }

    fn add_folder(&mut self, root: &Path, folder: &Path) -> Result<()> {
        let failed = |error| Error::io("read", folder, error);
        let entries = std::fs::read_dir(folder).map_err(failed)?;
        for entry in entries.collect::<Result<Vec<_>, _>>().map_err(failed)? {
            let path = entry.path();
            let is_text = path.extension().is_some_and(|one| one == "md" || one == "txt");
            if path.is_dir() {
                self.add_folder(root, &path)?;
            } else if is_text {
                let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
                let text = read(&path)?;
                let paragraphs = text.split("\n\n").map(str::trim);
                let long = paragraphs.filter(|text| text.len() >= SHORTEST).map(str::to_owned);
                self.texts.insert(name, long.collect());
            }
        }
        Ok(())
    }

    /// Measures: the means of the token vectors of questions and texts in each language; the mean
    /// similarity of the questions with texts that answer others; and the 90th percentile with the
    /// paragraph that suits each best of those that answer it.
    ///
    /// # Errors
    /// Those of the embedder; [`Error::InvalidConfig`] without questions or texts, or if what
    /// answers is no nearer than what does not.
    pub fn measure(&self, embedder: &OnnxEmbedder) -> Result<TokenSpace> {
        let (mut questions, mut passages) = (Sums::default(), Sums::default());
        let asked: Vec<&str> = self.questions.iter().map(|(text, _)| text.as_str()).collect();
        let asked = embedder.word_vectors(Role::Query, &asked)?;
        for ((text, _), vectors) in self.questions.iter().zip(&asked) {
            questions.add(text, vectors);
        }
        let mut texts: Vec<(&str, &str, Array2<f32>)> = Vec::new();
        for (name, paragraphs) in &self.texts {
            let each: Vec<&str> = paragraphs.iter().map(String::as_str).collect();
            for (text, vectors) in each.iter().zip(embedder.word_vectors(Role::Passage, &each)?) {
                passages.add(text, &vectors);
                texts.push((name, text, vectors));
            }
        }
        let (questions, passages) = (questions.means(), passages.means());
        let space = TokenSpace::new(questions.clone(), passages.clone(), [0.0, 1.0], None)?;
        let code = |(name, text, vectors): &(&str, &str, Array2<f32>)| {
            let centred = space.centred(Role::Passage, language_of(text), &vectors.view());
            ((*name).to_owned(), TokenCodes::of(&centred.view()))
        };
        let codes: Vec<(String, TokenCodes)> = texts.iter().map(code).collect();
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for ((question, answers), vectors) in self.questions.iter().zip(&asked) {
            let asked = space.centred(Role::Query, language_of(question), &vectors.view());
            let asked = QuestionCodes::of(&asked.view());
            let mut best = f32::NEG_INFINITY;
            for (name, text) in codes.iter().filter(|_| !answers.is_empty()) {
                let similarity = space.similarity_of_codes(&asked, text);
                if answers.contains(name) {
                    best = best.max(similarity);
                } else {
                    others.push(f64::from(similarity));
                }
            }
            own.extend(Some(best).filter(|best| best.is_finite()));
        }
        own.sort_by(f32::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place in the list"
        )]
        let perfect = own.get((own.len() as f64 * PERFECT) as usize).copied();
        #[expect(clippy::cast_possible_truncation, reason = "a cosine")]
        let unrelated = mean(&others) as f32;
        let range = [unrelated, perfect.unwrap_or_default()].map(|x| (x * 100.0).round() / 100.0);
        TokenSpace::new(questions, passages, range, None)
    }
}

/// Sums of token vectors in each language, and how many there are.
#[derive(Default)]
struct Sums(BTreeMap<Language, (Array1<f64>, usize)>);

impl Sums {
    fn add(&mut self, text: &str, vectors: &Array2<f32>) {
        let zero = || (Array1::zeros(vectors.ncols()), 0);
        let (sum, count) = self.0.entry(language_of(text)).or_insert_with(zero);
        vectors.rows().into_iter().for_each(|row| *sum += &row.mapv(f64::from));
        *count += vectors.nrows();
    }

    /// With four digits a number, as they are written.
    fn means(self) -> TokenMeans {
        #[expect(clippy::cast_possible_truncation, reason = "the mean of unit vectors fits")]
        let round = |x: f64| ((x * 1e4).round() / 1e4) as f32;
        let mean = |(sum, count): (Array1<f64>, usize)| {
            (sum / count.max(1) as f64).into_iter().map(round).collect()
        };
        self.0.into_iter().map(|(language, sums)| (language, mean(sums))).collect()
    }
}

/// Writes a token space as the `tokens.toml` of a model, four digits a number.
///
/// # Errors
/// [`Error::Io`].
pub fn write_token_space(path: impl AsRef<Path>, space: &TokenSpace) -> Result<()> {
    let path = path.as_ref();
    let side = |name, means: &TokenMeans| {
        let line = |(language, mean): (&Language, &Vec<f32>)| {
            let numbers: Vec<String> = mean.iter().map(|x| format!("{x:?}")).collect();
            format!("{language} = [{}]\n", numbers.join(", "))
        };
        format!("\n[{name}]\n{}", means.iter().map(line).collect::<String>())
    };
    let [unrelated, perfect] = space.cosine_range();
    let text = format!(
        "# The mean vectors of the tokens of questions and passages, and the similarities of \
         questions with\n# texts that do not answer them and with those that do, by \
         `trefoil calibrate --tokens`.\n\ncosine-range = [{unrelated:?}, {perfect:?}]\n{}{}",
        side("question", space.means(Role::Query)),
        side("passage", space.means(Role::Passage)),
    );
    std::fs::write(path, text).map_err(|error| Error::io("write", path, error))
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| Error::io("read", path, error))
}
