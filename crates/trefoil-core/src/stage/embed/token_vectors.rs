use std::collections::BTreeMap;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::{Role, TokenCodes, token_codes::QuestionCodes};
use crate::{Error, Language, Result, Score};

/// Log-odds between an unrelated text and a perfect match, and where they are even. Chosen, with the
/// half of the tokens that counts, in sight of the collections that are reported (decision 024).
const LOG_ODDS: f32 = 42.0;
const EVEN: f32 = 7.0 / 12.0;
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
    question: TokenMeans,
    passage: TokenMeans,
    /// Which model of late interaction they are of, if they are of one.
    #[serde(skip)]
    late_interaction: Option<String>,
    /// The range of sentences, where it is another one.
    #[serde(skip)]
    short_range: Option<[f32; 2]>,
}

/// The mean vector of the tokens of texts in each language.
pub type TokenMeans = BTreeMap<Language, Vec<f32>>;

impl TokenSpace {
    /// Takes the mean vectors of the tokens of questions and of passages, and the
    /// [similarities](Self::similarity) that count as unrelated and as a perfect match.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] without a mean on a side, for means of several lengths or a number
    /// that is not finite, or a range that does not rise.
    pub fn new(question: TokenMeans, passage: TokenMeans, cosine_range: [f32; 2]) -> Result<Self> {
        let (late_interaction, short_range) = (None, None);
        Constants { cosine_range, question, passage, late_interaction, short_range }.try_into()
    }

    /// The space of the vectors of a model of late interaction, such as `ColBERT`: `model` says
    /// which, so that another one's are told apart; `short_range` is the range of sentences and
    /// turns of a conversation, if it is another one than that of passages.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] for vectors without numbers, or a range that does not rise.
    pub fn of_late_interaction(
        model: impl Into<String>,
        dimensions: usize,
        cosine_range: [f32; 2],
        short_range: Option<[f32; 2]>,
    ) -> Result<Self> {
        let nothing = || TokenMeans::from([(Language::En, vec![0.0; dimensions])]);
        let (question, passage, late_interaction) = (nothing(), nothing(), Some(model.into()));
        Constants { cosine_range, question, passage, late_interaction, short_range }.try_into()
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
        format!("int4:{:08x}", crc32fast::hash(&means.collect::<Vec<u8>>()))
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
        Score::clamped(on(self.0.short_range.unwrap_or_else(|| self.cosine_range()), similarity))
    }

    /// The same on the scale of a cross-encoder: log-odds of −24.5 for an unrelated text and of 17.5
    /// for a perfect match; of −3.125 and 3.125, and beyond them, for a model of late interaction.
    pub fn log_odds(&self, similarity: f32) -> f32 {
        if self.is_late_interaction() {
            LATE_LOG_ODDS * (on(self.cosine_range(), similarity) - LATE_EVEN)
        } else {
            LOG_ODDS * (self.relevance(similarity).get() - EVEN)
        }
    }

    /// The probability of these [log-odds](Self::log_odds).
    pub fn score(&self, similarity: f32) -> Score {
        Score::clamped(1.0 / (1.0 + (-self.log_odds(similarity)).exp()))
    }

    /// How well a text says what a question does: each of the question's vectors is compared with
    /// the text's nearest (late interaction), and the mean of those cosines is taken; −1 to 1. Both
    /// are [centred](Self::centred), one vector a row; 0 where one of the two has none.
    ///
    /// Of an embedder's vectors only the half of the question's that is matched worst counts. A text
    /// about the same thing that lacks what is asked for matches most of a question well and misses
    /// some of it, which the mean of all would hide. Source: Khattab, Zaharia: `ColBERT`, SIGIR 2020,
    /// where it is the sum over all, of vectors that are trained for it.
    pub fn similarity(&self, question: &ArrayView2<'_, f32>, text: &ArrayView2<'_, f32>) -> f32 {
        if text.is_empty() || question.is_empty() || text.ncols() != question.ncols() {
            return 0.0;
        }
        let cosines = question.dot(&text.t());
        let nearest = |row: ArrayView1<'_, f32>| row.iter().copied().fold(-1.0_f32, f32::max);
        self.mean(cosines.rows().into_iter().map(nearest).collect())
    }

    /// The same with the vectors of a text as they are kept.
    pub fn similarity_of_codes(&self, question: &QuestionCodes, text: &TokenCodes) -> f32 {
        let nearest = question.nearest(text);
        if nearest.is_empty() { 0.0 } else { self.mean(nearest) }
    }

    /// The mean of what counts of the cosines of a question's vectors.
    fn mean(&self, mut nearest: Vec<f32>) -> f32 {
        if !self.is_late_interaction() {
            nearest.sort_by(f32::total_cmp);
            nearest.truncate(nearest.len().div_ceil(2));
        }
        nearest.iter().sum::<f32>() / nearest.len() as f32
    }
}

/// Where a number stands between 0, the first of the range, and 1, its end.
fn on([unrelated, perfect]: [f32; 2], similarity: f32) -> f32 {
    (similarity - unrelated) / (perfect - unrelated)
}

impl TryFrom<Constants> for TokenSpace {
    type Error = Error;
    fn try_from(constants: Constants) -> Result<Self> {
        let Constants { cosine_range, question, passage, short_range, .. } = &constants;
        let [unrelated, perfect] = *cosine_range;
        let length = passage.values().next().map_or(0, Vec::len);
        let means = || question.values().chain(passage.values());
        let is_finite = means().flatten().chain(cosine_range).all(|x| x.is_finite());
        let is_whole =
            !question.is_empty() && length > 0 && means().all(|mean| mean.len() == length);
        let rises = unrelated < perfect && short_range.is_none_or(|[low, high]| low < high);
        if !is_whole || !is_finite || !rises {
            let (questions, passages) = (question.len(), passage.len());
            let value = format_args!(
                "{questions} and {passages} means, the first of {length} numbers; {unrelated} to \
                 {perfect}"
            );
            let allowed = "means of questions and of passages, all of one length and with finite \
                           numbers, and a cosine range that rises";
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
        TokenSpace::new(means(question), means(passage), range)
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
        assert!(TokenSpace::new(TokenMeans::new(), means(vec![1.0]), [0.0, 1.0]).is_err());
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
        assert!((space.score(0.2 + 0.4 * 7.0 / 12.0).get() - 0.5).abs() < 1e-4);
        assert!(space.score(0.2).get() < 1e-10 && space.score(0.6) == Score::ONE);
    }

    #[test]
    fn what_is_kept_depends_on_the_means_of_passages_alone() {
        let of = |question, passage, range| {
            space(vec![question], vec![passage], range).unwrap().fingerprint()
        };
        assert_eq!(of(0.5, 0.25, [0.0, 1.0]), of(0.6, 0.25, [0.1, 0.9]));
        assert_ne!(of(0.5, 0.25, [0.0, 1.0]), of(0.5, 0.5, [0.0, 1.0]));
    }

    #[test]
    fn each_language_and_side_has_its_mean() {
        let (en, ja) = (vec![0.5, 0.0], vec![0.0, 0.5]);
        let passage = TokenMeans::from([(Language::En, en), (Language::Ja, ja)]);
        let space = TokenSpace::new(means(vec![0.0, 0.0]), passage, [0.0, 1.0]).unwrap();
        let vectors = array![[0.5, 0.5]];
        let centred = |side, language| space.centred(side, language, &vectors.view());
        assert_eq!(centred(Role::Passage, Language::En), array![[0.0, 1.0]]);
        assert_eq!(centred(Role::Passage, Language::Ja), array![[1.0, 0.0]]);
        assert_eq!(centred(Role::Passage, Language::Ko), array![[0.0, 1.0]], "as the first");
        assert!((centred(Role::Query, Language::Ja)[[0, 0]] - 0.5_f32.sqrt()).abs() < 1e-6);
        assert_eq!(space.centred(Role::Query, Language::En, &array![[1.0]].view()).sum(), 0.0);
    }

    #[test]
    fn the_tokens_that_are_matched_worst_count_with_their_nearest() {
        let text = TokenCodes::of(&array![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].view());
        assert_eq!(text.bytes().len(), 4);
        let question = array![[0.0, 1.0, 0.0], [0.0, 0.6, 0.8], [0.8, 0.0, 0.6]];
        let similarity = |question: &Array2<f32>, text: &TokenCodes| {
            plain(3).similarity_of_codes(&QuestionCodes::of(&question.view()), text)
        };
        assert!((similarity(&question, &text) - 0.7).abs() < 1e-3);
        assert_eq!(similarity(&question, &TokenCodes::default()), 0.0);
        assert_eq!(similarity(&Array2::zeros((0, 3)), &text), 0.0);
        // A vector that is the mean is near nothing.
        let nothing = TokenCodes::of(&Array2::zeros((1, 3)).view());
        assert_eq!(similarity(&question, &nothing), 0.0);
        // Where a model was trained for it, every token counts.
        let trained =
            TokenSpace::of_late_interaction("colbert 1", 3, [0.0, 1.0], Some([0.2, 0.4])).unwrap();
        let asked = QuestionCodes::of(&question.view());
        let found = trained.similarity_of_codes(&asked, &text);
        assert!((found - 2.4 / 3.0).abs() < 1e-3, "{found}");
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
