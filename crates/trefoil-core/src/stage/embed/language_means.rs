use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Error, Language, Question, Result};

/// The mean vector of questions in each language, by one embedder.
///
/// Vectors of sentences carry their language: the difference of two means is nearly the same
/// whatever the questions are about. Adding it to the vector of a question gives about the
/// vector that the question has in the other language.
///
/// ```
/// use trefoil_core::{Language::{En, Ja}, LanguageMeans};
///
/// let means = LanguageMeans::new([(En, vec![0.6, 0.0]), (Ja, vec![0.0, 0.6])])?;
/// let moved = means.moved(&[0.8, 0.6], En, Ja).unwrap();
/// assert!((moved[0] - 0.2 / 1.2166).abs() < 1e-3 && moved[1] > 0.98);
/// # Ok::<(), trefoil_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<Language, Vec<f32>>", into = "BTreeMap<Language, Vec<f32>>")]
pub struct LanguageMeans(BTreeMap<Language, Vec<f32>>);

impl LanguageMeans {
    /// Takes one mean a language, which need not be of length 1.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] unless there are at least two, all of one length, with finite
    /// numbers.
    pub fn new(means: impl IntoIterator<Item = (Language, Vec<f32>)>) -> Result<Self> {
        let means: BTreeMap<Language, Vec<f32>> = means.into_iter().collect();
        let mut lengths = means.values().map(Vec::len);
        let length = lengths.next().unwrap_or_default();
        let is_finite = means.values().flatten().all(|x| x.is_finite());
        if means.len() < 2 || length == 0 || lengths.any(|other| other != length) || !is_finite {
            let value = format_args!("{} means, the first of {length} numbers", means.len());
            let allowed = "at least two means of one length with finite numbers";
            return Err(Error::invalid_config("language-means", value, allowed));
        }
        Ok(Self(means))
    }

    /// How many numbers a mean has.
    pub fn dimensions(&self) -> usize {
        self.0.values().next().map_or(0, Vec::len)
    }

    /// The languages that have a mean.
    pub fn languages(&self) -> impl Iterator<Item = Language> + '_ {
        self.0.keys().copied()
    }

    /// The unit vector of a question in language `from` as if it were asked in `to`: `vector`,
    /// scaled to length 1, − mean of `from` + mean of `to`. None if one of the two has no mean,
    /// the vector has another number of dimensions, or nothing has a direction.
    pub fn moved(&self, vector: &[f32], from: Language, to: Language) -> Option<Vec<f32>> {
        let (from, to) = (self.0.get(&from)?, self.0.get(&to)?);
        if vector.len() != from.len() {
            return None;
        }
        let unit = unit(vector)?;
        let moved = unit.iter().zip(from).zip(to).map(|((x, from), to)| x - from + to);
        self::unit(&moved.collect::<Vec<f32>>())
    }
}

fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    (length.is_finite() && length > 0.0).then(|| vector.iter().map(|x| x / length).collect())
}

impl TryFrom<BTreeMap<Language, Vec<f32>>> for LanguageMeans {
    type Error = Error;
    fn try_from(means: BTreeMap<Language, Vec<f32>>) -> Result<Self> {
        Self::new(means)
    }
}

impl From<LanguageMeans> for BTreeMap<Language, Vec<f32>> {
    fn from(means: LanguageMeans) -> Self {
        means.0
    }
}

/// What a question is compared with texts as: one vector for each language of the texts.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryVectors {
    own: Vec<f32>,
    moved: Vec<(Language, Vec<f32>)>,
}

impl From<&[f32]> for QueryVectors {
    /// The same vector for every text.
    fn from(vector: &[f32]) -> Self {
        Self { own: vector.to_vec(), moved: Vec::new() }
    }
}

impl QueryVectors {
    /// The question's `vector`, moved into its [other languages](Question::other_languages) by
    /// the means of the embedder, where it has any.
    pub fn of(question: &Question, vector: &[f32], means: Option<&LanguageMeans>) -> Self {
        let moved = question
            .other_languages
            .iter()
            .filter_map(|&to| Some((to, means?.moved(vector, question.language, to)?)));
        Self { moved: moved.collect(), ..Self::from(vector) }
    }

    /// The same with each vector changed; the first failure ends it.
    ///
    /// # Errors
    /// That of `change`.
    pub fn try_map(&self, change: impl Fn(&[f32]) -> Result<Vec<f32>>) -> Result<Self> {
        let moved = self.moved().map(|(language, vector)| Ok((language, change(vector)?)));
        Ok(Self { own: change(&self.own)?, moved: moved.collect::<Result<_>>()? })
    }

    /// What texts in a language are compared with; those in none that is known, with the vector
    /// itself.
    pub fn for_language(&self, language: Option<Language>) -> &[f32] {
        let moved = self.moved.iter().find(|(to, _)| Some(*to) == language);
        moved.map_or(&self.own, |(_, vector)| vector)
    }

    /// The vector that all texts but those in [moved](Self::moved) languages are compared with.
    pub fn own(&self) -> &[f32] {
        &self.own
    }

    /// The vectors for texts in other languages.
    pub fn moved(&self) -> impl Iterator<Item = (Language, &[f32])> {
        self.moved.iter().map(|(language, vector)| (*language, vector.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn means() -> LanguageMeans {
        let ja = vec![0.0, 0.5, 0.5];
        LanguageMeans::new([(Language::En, vec![0.5, 0.5, 0.0]), (Language::Ja, ja)]).unwrap()
    }

    #[test]
    fn means_that_cannot_be_subtracted_are_refused() {
        use Language::{En, Ja};
        for bad in [
            vec![],
            vec![(En, vec![1.0])],
            vec![(En, vec![]), (Ja, vec![])],
            vec![(En, vec![1.0]), (Ja, vec![1.0, 0.0])],
            vec![(En, vec![1.0]), (Ja, vec![f32::NAN])],
        ] {
            let error = LanguageMeans::new(bad).unwrap_err();
            assert!(matches!(error, Error::InvalidConfig { field: "language-means", .. }));
        }
    }

    #[test]
    fn only_texts_in_other_languages_are_compared_with_a_moved_vector() {
        let vector = [0.6, 0.8, 0.0];
        let question = Question {
            language: Language::En,
            other_languages: vec![Language::Ja, Language::Ko],
            ..Question::default()
        };
        let vectors = QueryVectors::of(&question, &vector, Some(&means()));
        for language in [None, Some(Language::En), Some(Language::Ko)] {
            assert_eq!(vectors.for_language(language), vector, "{language:?}");
        }
        let moved = means().moved(&vector, Language::En, Language::Ja).unwrap();
        assert_eq!(vectors.for_language(Some(Language::Ja)), moved);
        assert_eq!(vectors.moved().count(), 1);
        assert_eq!(QueryVectors::of(&question, &vector, None), QueryVectors::from(&vector[..]));
    }

    proptest! {
        #[test]
        fn a_vector_moves_to_a_language_and_keeps_its_length(
            vector in prop::array::uniform3(-1.0_f32..1.0)
        ) {
            let moved = means().moved(&vector, Language::En, Language::Ja);
            if let Some(moved) = moved {
                let length: f32 = moved.iter().map(|x| x * x).sum();
                prop_assert!((length - 1.0).abs() < 1e-4);
            }
            let there = means().moved(&vector, Language::En, Language::En);
            if let Some(there) = there {
                let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
                for (a, b) in there.iter().zip(vector) {
                    prop_assert!((a * length - b).abs() < 1e-4, "a language to itself");
                }
                let longer = means().moved(&vector.map(|x| 3.0 * x), Language::En, Language::En);
                for (a, b) in there.iter().zip(longer.unwrap()) {
                    prop_assert!((a - b).abs() < 1e-4, "its length does not matter");
                }
            }
            prop_assert_eq!(means().moved(&vector, Language::En, Language::Ko), None);
            prop_assert_eq!(means().moved(&vector[..2], Language::En, Language::Ja), None);
        }
    }
}
