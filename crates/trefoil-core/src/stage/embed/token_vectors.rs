use std::collections::BTreeMap;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::{Role, TokenCodes, token_codes::QuestionCodes};
use crate::{Error, Language, Result, Score};

/// Log-odds between an unrelated text and a perfect match, and where they are even. Chosen in sight
/// of the collections that are reported (decision 043).
const LOG_ODDS: f32 = 36.0;
const EVEN: f32 = 0.65;
/// The same of a model of late interaction (decision 028).
const LATE_LOG_ODDS: f32 = 6.25;
const LATE_EVEN: f32 = 0.5;

/// How the vectors of tokens are compared: what all of one language and side have in common is
/// taken away, and what is left is scaled to length 1.
///
/// Vectors of a model of [late interaction](Self::of_late_interaction) were trained to be compared
/// and are taken as they are. The tokens of an embedder share a large part of their vectors, whatever they mean: the model's own,
/// that of their language, and that of questions or passages. Without it the cosines of unrelated
/// tokens are near 0, those of related ones differ, and languages compare.
///
/// ```
/// use trefoil_core::{Language, Role, TokenSpace, ndarray::array};
///
/// let space: TokenSpace = serde_json::from_str(r#"{
///     "cosine-range": [0.0, 1.0],
///     "question": {"en": [0.0, 0.0]},
///     "passage": {"en": [0.9, 0.0]}
/// }"#)?;
/// let centred = space.centred(Role::Passage, Language::En, &array![[0.9, 0.4], [0.4, 0.0]].view());
/// assert_eq!(centred, array![[0.0, 1.0], [-1.0, 0.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Constants", into = "Constants")]
pub struct TokenSpace(Constants);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Constants {
    cosine_range: [f32; 2],
    /// The range of sentences, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    short_cosine_range: Option<[f32; 2]>,
    question: TokenMeans,
    passage: TokenMeans,
    /// Which model of late interaction they are of, if they are of one.
    #[serde(skip)]
    late_interaction: Option<String>,
    /// What makes the vectors, where the name of the embedder's space does not cover it.
    #[serde(skip)]
    made_by: String,
}

/// The mean vector of the tokens of texts in each language.
pub type TokenMeans = BTreeMap<Language, Vec<f32>>;

impl TokenSpace {
    /// Takes the mean vectors of the tokens of questions and of passages, and the
    /// [similarities](Self::similarity) that count as unrelated and as a perfect match; those of
    /// [sentences](Self::short_similarity_of_codes) too, if they differ.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] without a mean on a side, for means of several lengths or a number
    /// that is not finite, or a range that does not rise.
    pub fn new(
        question: TokenMeans,
        passage: TokenMeans,
        cosine_range: [f32; 2],
        short_cosine_range: Option<[f32; 2]>,
    ) -> Result<Self> {
        Constants {
            cosine_range,
            short_cosine_range,
            question,
            passage,
            late_interaction: None,
            made_by: String::new(),
        }
        .try_into()
    }

    /// The space of the vectors of a model of late interaction, such as `ColBERT`: `model` says
    /// which, so that another one's are told apart; `short_cosine_range` is the range of sentences and
    /// turns of a conversation, if it is another one than that of passages.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] for vectors without numbers, or a range that does not rise.
    pub fn of_late_interaction(
        model: impl Into<String>,
        dimensions: usize,
        cosine_range: [f32; 2],
        short_cosine_range: Option<[f32; 2]>,
    ) -> Result<Self> {
        let nothing = || TokenMeans::from([(Language::En, vec![0.0; dimensions])]);
        Constants {
            cosine_range,
            short_cosine_range,
            question: nothing(),
            passage: nothing(),
            late_interaction: Some(model.into()),
            made_by: String::new(),
        }
        .try_into()
    }

    /// The same for vectors that the name of the embedder's space does not cover, such as those of
    /// another output of its model: `what` makes them, and its change is one of the
    /// [fingerprint](Self::fingerprint).
    #[must_use]
    pub fn made_by(self, what: impl Into<String>) -> Self {
        Self(Constants { made_by: what.into(), ..self.0 })
    }

    /// Whether the vectors were trained to be compared: then they order texts in the language of
    /// the question too, better than a short window of each that an embedder reads.
    pub const fn is_late_interaction(&self) -> bool {
        self.0.late_interaction.is_some()
    }

    /// The mean vectors of one side.
    pub const fn means(&self, side: Role) -> &TokenMeans {
        match side {
            Role::Query => &self.0.question,
            Role::Passage => &self.0.passage,
        }
    }

    /// The similarities that count as unrelated and as a perfect match.
    pub const fn cosine_range(&self) -> [f32; 2] {
        self.0.cosine_range
    }

    /// The same of sentences and turns of a conversation.
    pub fn short_cosine_range(&self) -> [f32; 2] {
        self.0.short_cosine_range.unwrap_or(self.0.cosine_range)
    }

    /// How many numbers a vector has.
    pub fn dimensions(&self) -> usize {
        self.0.passage.values().next().map_or(0, Vec::len)
    }

    /// A short text that differs whenever kept vectors are not comparable.
    pub fn fingerprint(&self) -> String {
        if let Some(model) = &self.0.late_interaction {
            return format!("int4:{model}");
        }
        let means = self.0.passage.iter().flat_map(|(language, mean)| {
            let numbers = mean.iter().flat_map(|x| x.to_le_bytes());
            language.code().bytes().chain(numbers)
        });
        let of = means.chain(self.0.made_by.bytes());
        format!("int4:{:08x}", crc32fast::hash(&of.collect::<Vec<u8>>()))
    }

    /// `vectors` of a text in a language, one a row, each of length 1, less the mean of that side,
    /// scaled to length 1. One that is the mean, or of another length than it, is zero. A language
    /// without a mean is taken for the first that has one.
    pub fn centred(
        &self,
        side: Role,
        language: Language,
        vectors: &ArrayView2<'_, f32>,
    ) -> Array2<f32> {
        let mut centred = Array2::zeros((vectors.nrows(), self.dimensions()));
        let means = self.means(side);
        let mean = means.get(&language).or_else(|| means.values().next());
        let mean = mean.map(|mean| ArrayView1::from(mean.as_slice()));
        let Some(mean) = mean.filter(|mean| mean.len() == vectors.ncols()) else { return centred };
        for (mut to, from) in centred.axis_iter_mut(Axis(0)).zip(vectors.rows()) {
            to.assign(&from);
            to -= &mean;
            let length = to.dot(&to).sqrt();
            if length > 0.0 {
                to /= length;
            }
        }
        centred
    }

    /// Where a [similarity](Self::similarity) stands between an unrelated text, 0, and a
    /// perfect match, 1.
    pub fn relevance(&self, similarity: f32) -> Score {
        Score::clamped(on(self.cosine_range(), similarity))
    }

    /// The same for sentences and turns of a conversation.
    pub fn short_relevance(&self, similarity: f32) -> Score {
        Score::clamped(on(self.short_cosine_range(), similarity))
    }

    /// The same on the scale of a cross-encoder, beyond the ends of the range too: log-odds of −23.4
    /// for an unrelated text and of 12.6 for a perfect match; of −3.125 and 3.125 for a model of late
    /// interaction.
    pub fn log_odds(&self, similarity: f32) -> f32 {
        let (log_odds, even) =
            if self.is_late_interaction() { (LATE_LOG_ODDS, LATE_EVEN) } else { (LOG_ODDS, EVEN) };
        log_odds * (on(self.cosine_range(), similarity) - even)
    }

    /// The probability of these [log-odds](Self::log_odds).
    pub fn score(&self, similarity: f32) -> Score {
        Score::clamped(1.0 / (1.0 + (-self.log_odds(similarity)).exp()))
    }

    /// How well a text says what a question does: each of the question's vectors is compared with
    /// the text's nearest (late interaction), and the mean of those cosines is taken; −1 to 1. Both
    /// are [centred](Self::centred), one vector a row; 0 where one of the two has none.
    ///
    /// Source: Khattab, Zaharia: `ColBERT`, SIGIR 2020, where it is the sum, of vectors that are
    /// trained for it.
    pub fn similarity(&self, question: &ArrayView2<'_, f32>, text: &ArrayView2<'_, f32>) -> f32 {
        if text.is_empty() || question.is_empty() || text.ncols() != question.ncols() {
            return 0.0;
        }
        let cosines = question.dot(&text.t());
        let nearest = |row: ArrayView1<'_, f32>| row.iter().copied().fold(-1.0_f32, f32::max);
        mean(&cosines.rows().into_iter().map(nearest).collect::<Vec<f32>>())
    }

    /// The same with the vectors of a text as they are kept.
    pub fn similarity_of_codes(&self, question: &QuestionCodes, text: &TokenCodes) -> f32 {
        let nearest = question.nearest(text);
        if nearest.is_empty() { 0.0 } else { mean(&nearest) }
    }

    /// The same for sentences and turns of a conversation: of an embedder's vectors only the half of
    /// the question's that is matched worst counts. A sentence that lacks some of what is asked for
    /// says something else. A long text has some token that is near to any, so that there the mean
    /// of all tells more (decision 043).
    pub fn short_similarity_of_codes(&self, question: &QuestionCodes, text: &TokenCodes) -> f32 {
        let mut nearest = question.nearest(text);
        if nearest.is_empty() {
            return 0.0;
        }
        if !self.is_late_interaction() {
            nearest.sort_by(f32::total_cmp);
            nearest.truncate(nearest.len().div_ceil(2));
        }
        mean(&nearest)
    }
}

fn mean(numbers: &[f32]) -> f32 {
    numbers.iter().sum::<f32>() / numbers.len() as f32
}

/// Where a number stands between 0, the first of the range, and 1, its end.
fn on([unrelated, perfect]: [f32; 2], similarity: f32) -> f32 {
    (similarity - unrelated) / (perfect - unrelated)
}

impl TryFrom<Constants> for TokenSpace {
    type Error = Error;
    fn try_from(constants: Constants) -> Result<Self> {
        let Constants { cosine_range, question, passage, short_cosine_range, .. } = &constants;
        let [unrelated, perfect] = *cosine_range;
        let length = passage.values().next().map_or(0, Vec::len);
        let means = || question.values().chain(passage.values());
        let ranges = cosine_range.iter().chain(short_cosine_range.iter().flatten());
        let is_finite = means().flatten().chain(ranges).all(|x| x.is_finite());
        let is_whole =
            !question.is_empty() && length > 0 && means().all(|mean| mean.len() == length);
        let rises = unrelated < perfect && short_cosine_range.is_none_or(|[low, high]| low < high);
        if !is_whole || !is_finite || !rises {
            let (questions, passages) = (question.len(), passage.len());
            let value = format_args!(
                "{questions} and {passages} means, the first of {length} numbers; {unrelated} to \
                 {perfect}, of sentences {short_cosine_range:?}"
            );
            let allowed = "means of questions and of passages, all of one length and with finite \
                           numbers, and cosine ranges that rise";
            return Err(Error::invalid_config("token-space", value, allowed));
        }
        Ok(Self(constants))
    }
}

impl From<TokenSpace> for Constants {
    fn from(space: TokenSpace) -> Self {
        space.0
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn means(mean: Vec<f32>) -> TokenMeans {
        TokenMeans::from([(Language::En, mean)])
    }

    fn space(question: Vec<f32>, passage: Vec<f32>, range: [f32; 2]) -> Result<TokenSpace> {
        TokenSpace::new(means(question), means(passage), range, None)
    }

    /// A space without anything in common.
    fn plain(dimensions: usize) -> TokenSpace {
        space(vec![0.0; dimensions], vec![0.0; dimensions], [0.0, 1.0]).unwrap()
    }

    fn unit(rows: &[Vec<f32>]) -> Array2<f32> {
        let space = plain(rows[0].len());
        let shape = (rows.len(), rows[0].len());
        let vectors = Array2::from_shape_vec(shape, rows.concat()).unwrap();
        space.centred(Role::Query, Language::Ko, &vectors.view())
    }

    #[test]
    fn constants_that_compare_nothing_are_refused() {
        for (question, passage, range) in [
            (vec![], vec![], [0.0, 1.0]),
            (vec![1.0], vec![], [0.0, 1.0]),
            (vec![1.0, 0.0], vec![1.0], [0.0, 1.0]),
            (vec![1.0], vec![f32::NAN], [0.0, 1.0]),
            (vec![1.0], vec![1.0], [0.5, 0.5]),
            (vec![1.0], vec![1.0], [0.0, f32::INFINITY]),
        ] {
            let error = space(question, passage, range).unwrap_err();
            assert!(matches!(error, Error::InvalidConfig { field: "token-space", .. }));
        }
        assert!(TokenSpace::new(TokenMeans::new(), means(vec![1.0]), [0.0, 1.0], None).is_err());
        for short in [[0.5, 0.5], [0.0, f32::NAN]] {
            let one = || means(vec![1.0]);
            let error = TokenSpace::new(one(), one(), [0.0, 1.0], Some(short)).unwrap_err();
            assert!(error.to_string().contains("of sentences"), "{error}");
        }
    }

    #[test]
    fn a_space_is_read_as_it_was_written() {
        let space = space(vec![0.5, 0.25], vec![0.0, 1.0], [0.2, 0.6]).unwrap();
        let text = serde_json::to_string(&space).unwrap();
        let expected =
            r#"{"cosine-range":[0.2,0.6],"question":{"en":[0.5,0.25]},"passage":{"en":[0.0,1.0]}}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<TokenSpace>(&text).unwrap(), space);
        assert!((space.relevance(0.3).get() - 0.25).abs() < 1e-5);
        assert_eq!([0.1, 0.7].map(|x| space.relevance(x).get()), [0.0, 1.0]);
        assert!((space.score(0.2 + 0.4 * 0.65).get() - 0.5).abs() < 1e-4);
        assert!(space.score(0.2).get() < 1e-10 && space.score(0.6).get() > 0.999_99);
        assert!(space.log_odds(0.1) < space.log_odds(0.2), "beyond the range too");
        assert!(space.log_odds(0.7) > space.log_odds(0.6), "beyond the range too");
        assert_eq!(space.short_relevance(0.3), space.relevance(0.3));
        let means = || means(vec![1.0]);
        let space = TokenSpace::new(means(), means(), [0.2, 0.6], Some([0.1, 0.5])).unwrap();
        assert!((space.short_relevance(0.3).get() - 0.5).abs() < 1e-5);
        let text = serde_json::to_string(&space).unwrap();
        assert!(text.contains(r#""short-cosine-range":[0.1,0.5]"#), "{text}");
        assert_eq!(serde_json::from_str::<TokenSpace>(&text).unwrap(), space);
    }

    #[test]
    fn what_is_kept_depends_on_the_means_of_passages_and_what_makes_it() {
        let of = |question, passage, range| {
            space(vec![question], vec![passage], range).unwrap().fingerprint()
        };
        assert_eq!(of(0.5, 0.25, [0.0, 1.0]), of(0.6, 0.25, [0.1, 0.9]));
        assert_ne!(of(0.5, 0.25, [0.0, 1.0]), of(0.5, 0.5, [0.0, 1.0]));
        let made = |what: &str| plain(2).made_by(what).fingerprint();
        assert_eq!(made(""), plain(2).fingerprint());
        assert_ne!(made("one output"), made("another"));
    }

    #[test]
    fn each_language_and_side_has_its_mean() {
        let (en, ja) = (vec![0.5, 0.0], vec![0.0, 0.5]);
        let passage = TokenMeans::from([(Language::En, en), (Language::Ja, ja)]);
        let space = TokenSpace::new(means(vec![0.0, 0.0]), passage, [0.0, 1.0], None).unwrap();
        let vectors = array![[0.5, 0.5]];
        let centred = |side, language| space.centred(side, language, &vectors.view());
        assert_eq!(centred(Role::Passage, Language::En), array![[0.0, 1.0]]);
        assert_eq!(centred(Role::Passage, Language::Ja), array![[1.0, 0.0]]);
        assert_eq!(centred(Role::Passage, Language::Ko), array![[0.0, 1.0]], "as the first");
        assert!((centred(Role::Query, Language::Ja)[[0, 0]] - 0.5_f32.sqrt()).abs() < 1e-6);
        assert_eq!(space.centred(Role::Query, Language::En, &array![[1.0]].view()).sum(), 0.0);
    }

    #[test]
    fn each_token_of_a_question_counts_with_its_nearest() {
        let text = TokenCodes::of(&array![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].view());
        assert_eq!(text.bytes().len(), 4);
        let question = array![[0.0, 1.0, 0.0], [0.0, 0.6, 0.8], [0.8, 0.0, 0.6]];
        let similarity = |question: &Array2<f32>, text: &TokenCodes| {
            plain(3).similarity_of_codes(&QuestionCodes::of(&question.view()), text)
        };
        assert!((similarity(&question, &text) - 2.4 / 3.0).abs() < 1e-3);
        // Of a sentence, the half that is matched worst.
        let asked = QuestionCodes::of(&question.view());
        let short =
            |space: &TokenSpace, text: &TokenCodes| space.short_similarity_of_codes(&asked, text);
        assert!((short(&plain(3), &text) - 0.7).abs() < 1e-3);
        assert_eq!(short(&plain(3), &TokenCodes::default()), 0.0);
        let trained = TokenSpace::of_late_interaction("colbert", 3, [0.0, 1.0], None).unwrap();
        assert!((short(&trained, &text) - 2.4 / 3.0).abs() < 1e-3);
        assert_eq!(similarity(&question, &TokenCodes::default()), 0.0);
        assert_eq!(similarity(&Array2::zeros((0, 3)), &text), 0.0);
        // A vector that is the mean is near nothing.
        let nothing = TokenCodes::of(&Array2::zeros((1, 3)).view());
        assert_eq!(similarity(&question, &nothing), 0.0);
    }

    #[test]
    fn vectors_of_late_interaction_are_taken_as_they_are() {
        let trained =
            TokenSpace::of_late_interaction("colbert 1", 3, [0.0, 1.0], Some([0.2, 0.4])).unwrap();
        assert!(trained.is_late_interaction() && !plain(3).is_late_interaction());
        assert_eq!(trained.fingerprint(), "int4:colbert 1");
        assert!((trained.score(0.5).get() - 0.5).abs() < 1e-6);
        assert!(trained.score(1.1) > trained.score(1.0) && trained.score(1.0).get() < 1.0);
        assert!((trained.short_relevance(0.3).get() - 0.5).abs() < 1e-6);
        assert_eq!(plain(3).short_relevance(0.3), plain(3).relevance(0.3));
        for (dimensions, short) in [(0, None), (3, Some([0.4, 0.4]))] {
            let one = TokenSpace::of_late_interaction("one", dimensions, [0.0, 1.0], short);
            assert!(one.is_err());
        }
    }

    proptest! {
        #[test]
        fn codes_are_compared_as_their_vectors_are(
            text in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 33), 1..5),
            question in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 33), 1..5),
        ) {
            let (text, question) = (TokenCodes::of(&unit(&text).view()), unit(&question));
            let trained = TokenSpace::of_late_interaction("colbert", 33, [0.0, 1.0], None).unwrap();
            for space in [plain(33), trained] {
                let asked = QuestionCodes::of(&question.view());
                let codes = space.similarity_of_codes(&asked, &text);
                let vectors = space.similarity(&question.view(), &text.decoded(33).view());
                prop_assert!((codes - vectors).abs() < 5e-3, "{codes} {vectors}");
            }
        }
    }
}
