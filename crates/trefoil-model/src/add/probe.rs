//! What a model makes of texts and questions in three languages, each with the same 55 subjects:
//! whether it works at all, in which languages, and which scores mean what.

use std::{collections::BTreeMap, path::Path, sync::LazyLock};

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use trefoil_core::{Deadline, Embedder, Error, Language, Part, Result, Role};

use crate::{
    card::{Card, ModelRole, RerankerScores},
    embedder::OnnxEmbedder,
    home::ModelHome,
    model::Model,
    progress::PullProgress,
    rerank::{cross_encoder::OnnxReranker, late_interaction::LateInteractionReranker},
};

/// The least share of questions that find their text among all, for a language to be one of a
/// model.
const PASSED: f32 = 0.7;
/// The same where there are few texts, of which chance finds one in three: the default reranker,
/// which reads English alone, has .98 in English and .67 in Japanese.
const PASSED_AMONG_FEW: f32 = 0.85;
/// Texts of other subjects that a reranker scores for each question.
const OTHERS: usize = 2;
/// Scores of unrelated texts and of perfect matches are further apart than this.
const APART: f32 = 0.01;
/// The percentile of the scores of questions with their own texts that counts as a perfect match.
const PERFECT: f32 = 0.9;

/// What was measured of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCheck {
    /// How many questions find the text that answers them, in each language.
    pub languages: Vec<LanguageCheck>,
    /// How many texts are nearest to their translation; of embedders.
    pub translations: Vec<TranslationCheck>,
    /// The scores of unrelated texts and of perfect matches: cosines, logits or similarities.
    pub range: [f32; 2],
}

/// How many questions of a language find the text that answers them among those of other subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LanguageCheck {
    /// The language of questions and texts.
    pub language: Language,
    /// Questions asked.
    pub questions: usize,
    /// Those whose own text scored highest.
    pub found: usize,
}

/// How many texts in one language have their translation as the nearest in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TranslationCheck {
    /// The language of the texts.
    pub from: Language,
    /// The language of the translations.
    pub to: Language,
    /// Texts compared.
    pub texts: usize,
    /// Those whose translation was nearest.
    pub nearest: usize,
}

/// Texts on the same subjects, in the same order, in each language, and a question for each.
struct Probe {
    questions: BTreeMap<Language, Vec<String>>,
    texts: BTreeMap<Language, Vec<String>>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

impl Probe {
    fn built_in() -> Result<&'static Self> {
        static PROBE: LazyLock<Result<Probe, serde_json::Error>> = LazyLock::new(Probe::parse);
        PROBE.as_ref().map_err(|error| {
            Error::backend(Part::Model, "read its built-in texts", error.to_string())
        })
    }

    fn parse() -> Result<Self, serde_json::Error> {
        let texts = include_str!("../../../../fixtures/parallel/corpus.jsonl");
        let questions = include_str!("../../../../fixtures/parallel/queries.jsonl");
        Ok(Self { questions: by_language(questions)?, texts: by_language(texts)? })
    }
}

/// The lines of a file by language, in the order of their subjects.
fn by_language(lines: &str) -> Result<BTreeMap<Language, Vec<String>>, serde_json::Error> {
    let mut sorted: BTreeMap<(Language, String), String> = BTreeMap::new();
    for line in lines.lines() {
        let Line { id, title, text } = serde_json::from_str(line)?;
        let Some((code, subject)) = id.split_once('/') else { continue };
        let language = Language::ALL.into_iter().find(|language| language.code() == code);
        // As a chunk is embedded: behind its title.
        let text = if title.is_empty() { text } else { format!("{title} - {text}") };
        if let Some(language) = language {
            sorted.insert((language, subject.to_owned()), text);
        }
    }
    let mut all: BTreeMap<Language, Vec<String>> = BTreeMap::new();
    for ((language, _), text) in sorted {
        all.entry(language).or_default().push(text);
    }
    Ok(all)
}

/// Scores of questions with their own texts and with others, in one language.
#[derive(Debug, Default)]
struct Scores {
    own: Vec<f32>,
    others: Vec<f32>,
    found: usize,
}

impl Scores {
    /// Takes what a question scored with its own text and with each of the others.
    fn add(&mut self, own: f32, others: &[f32]) {
        self.found += usize::from(others.iter().all(|other| own > *other));
        self.own.push(own);
        self.others.extend(others);
    }
}

/// Runs the model in `folder` and puts what was measured into its card: ranges that it has not, and
/// its languages. What it lacks is told in `remarks`.
pub(super) fn checked(
    home: &ModelHome,
    card: &mut Card,
    folder: &Path,
    progress: &dyn PullProgress,
    remarks: &mut Vec<String>,
) -> Result<ModelCheck> {
    let probe = Probe::built_in()?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let texts = || probe.questions.values().chain(probe.texts.values()).flatten();
    progress.begin(&format!("check {}", card.name), texts().map(|text| text.len() as u64).sum());
    // Any range will do until it is measured.
    let mut opened = card.clone();
    if let Some(embedding) = &mut opened.embedding {
        embedding.cosine_range.get_or_insert([0.0, 1.0]);
    }
    if let Some(late) = &mut opened.late_interaction {
        late.similarity_range.get_or_insert([0.0, 1.0]);
    }
    let (model, opened) = Model::of(home, opened, folder, None, threads)?;
    let mut translations = Vec::new();
    let scores = match card.role {
        ModelRole::Embedder | ModelRole::Runtime | ModelRole::Dictionary => {
            let embedder = OnnxEmbedder::of(model, opened)?;
            embedded(&embedder, probe, progress, &mut translations)?
        }
        ModelRole::Reranker => {
            let reranker = OnnxReranker::of(model, opened)?;
            let never = &Deadline::NEVER;
            reranked(probe, progress, |asked, texts| reranker.logits_until(asked, texts, never))?
        }
        ModelRole::LateInteraction => {
            let reranker = LateInteractionReranker::of(model, opened)?;
            let never = &Deadline::NEVER;
            reranked(probe, progress, |asked, texts| {
                reranker.similarities_until(asked, texts, never)
            })?
        }
    };
    let scores = as_logits(card, scores, remarks);
    let languages: Vec<LanguageCheck> = scores
        .iter()
        .map(|(&language, one)| LanguageCheck {
            language,
            questions: one.own.len(),
            found: one.found,
        })
        .collect();
    let passed = passed(card, &languages, &translations, remarks);
    let range = range(card, &scores, &passed)?;
    note(card, range, &passed);
    Ok(ModelCheck { languages, translations, range })
}

/// Cosines of the questions of each language with its texts, and how many translations are nearest.
fn embedded(
    embedder: &OnnxEmbedder,
    probe: &Probe,
    progress: &dyn PullProgress,
    translations: &mut Vec<TranslationCheck>,
) -> Result<BTreeMap<Language, Scores>> {
    let vectors = |role, all: &BTreeMap<Language, Vec<String>>| {
        let mut vectors: BTreeMap<Language, Array2<f32>> = BTreeMap::new();
        for (&language, texts) in all {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            vectors.insert(language, embedder.embed_checked(role, &texts)?);
            progress.advance(texts.iter().map(|text| text.len() as u64).sum());
        }
        Ok::<_, Error>(vectors)
    };
    let questions = vectors(Role::Query, &probe.questions)?;
    let texts = vectors(Role::Passage, &probe.texts)?;
    let mut all: BTreeMap<Language, Scores> = BTreeMap::new();
    for (language, questions) in &questions {
        let Some(texts) = texts.get(language) else { continue };
        let scores = all.entry(*language).or_default();
        for_own_and_others(&questions.dot(&texts.t()), |own, others| scores.add(own, others));
    }
    for (&from, a) in &texts {
        for (&to, b) in texts.iter().filter(|(to, _)| **to != from) {
            let mut nearest = 0;
            for_own_and_others(&a.dot(&b.t()), |own, others| {
                nearest += usize::from(others.iter().all(|other| own > *other));
            });
            translations.push(TranslationCheck { from, to, texts: a.nrows(), nearest });
        }
    }
    Ok(all)
}

/// For each row what is on the diagonal, and the rest of it.
fn for_own_and_others(cosines: &Array2<f32>, mut each: impl FnMut(f32, &[f32])) {
    for (place, row) in cosines.rows().into_iter().enumerate() {
        let others: Vec<f32> = row
            .iter()
            .enumerate()
            .filter_map(|(at, cosine)| (at != place).then_some(*cosine))
            .collect();
        if let Some(own) = row.get(place) {
            each(*own, &others);
        }
    }
}

/// Scores of each question with its own text and with a few others.
fn reranked(
    probe: &Probe,
    progress: &dyn PullProgress,
    score: impl Fn(&str, &[&str]) -> Result<Vec<f32>>,
) -> Result<BTreeMap<Language, Scores>> {
    let mut all: BTreeMap<Language, Scores> = BTreeMap::new();
    for (language, questions) in &probe.questions {
        let texts = probe.texts.get(language).map_or(&[][..], Vec::as_slice);
        let scores = all.entry(*language).or_default();
        for (place, question) in questions.iter().enumerate() {
            let read: Vec<&str> = texts
                .iter()
                .cycle()
                .skip(place)
                .take((1 + OTHERS).min(texts.len()))
                .map(String::as_str)
                .collect();
            if let Some((own, others)) = score(question, &read)?.split_first() {
                scores.add(*own, others);
            }
            let own = texts.get(place).map_or(0, String::len);
            progress.advance((question.len() + own) as u64);
        }
    }
    Ok(all)
}

/// The scores of a reranker as log-odds: one that gives numbers between 0 and 1 alone gives
/// probabilities, which is noted in its card.
fn as_logits(
    card: &mut Card,
    mut scores: BTreeMap<Language, Scores>,
    remarks: &mut Vec<String>,
) -> BTreeMap<Language, Scores> {
    let Some(reranking) = card.reranking.as_mut().filter(|_| card.role == ModelRole::Reranker)
    else {
        return scores;
    };
    let mut all = scores.values().flat_map(|one| one.own.iter().chain(&one.others));
    if reranking.scores == RerankerScores::Logits && all.all(|one| (0.0..=1.0).contains(one)) {
        reranking.scores = RerankerScores::Probability;
        remarks.push(
            "Every score of the check is between 0 and 1: they were taken for probabilities. Set \
             `scores = \"logits\"` in the table `[reranking]` of its card if they are not."
                .to_owned(),
        );
        let log_odds = |p: &mut f32| {
            let within = p.clamp(f32::EPSILON, 1.0 - f32::EPSILON);
            *p = (within / (1.0 - within)).ln();
        };
        for one in scores.values_mut() {
            one.own.iter_mut().chain(&mut one.others).for_each(log_odds);
        }
    }
    scores
}

/// The languages of a card in which its model passed; the others are told.
fn passed(
    card: &Card,
    checks: &[LanguageCheck],
    translations: &[TranslationCheck],
    remarks: &mut Vec<String>,
) -> Vec<Language> {
    let share = |found: usize, all: usize| found as f32 / all.max(1) as f32;
    let least = if card.role == ModelRole::Embedder { PASSED } else { PASSED_AMONG_FEW };
    let has_passed = |language: Language| {
        let check = checks.iter().find(|check| check.language == language);
        check.is_some_and(|check| share(check.found, check.questions) >= least)
    };
    for LanguageCheck { language, questions, found } in checks {
        if !has_passed(*language) && card.languages.iter().any(|code| code == language.code()) {
            remarks.push(format!(
                "Of {questions} questions in `{language}`, {found} have the text that answers them \
                 first: `{language}` is not among the languages of its card."
            ));
        }
    }
    let passed: Vec<Language> = Language::ALL.into_iter().filter(|&one| has_passed(one)).collect();
    if passed.is_empty() {
        remarks.push(
            "It passed in no language. If it should, compare `pooling`, prefixes and `output` of \
             its card with its page, remove it and add it again with the right ones."
                .to_owned(),
        );
    }
    for TranslationCheck { from, to, texts, nearest } in translations {
        if has_passed(*from) && has_passed(*to) && share(*nearest, *texts) < PASSED {
            remarks.push(format!(
                "Of {texts} texts in `{from}`, {nearest} are nearest to their translation into \
                 `{to}`: a question finds little in another language."
            ));
        }
    }
    passed
}

/// The scores of unrelated texts and of perfect matches, in the languages that it passed in, or in
/// all if it passed in none.
fn range(
    card: &Card,
    scores: &BTreeMap<Language, Scores>,
    passed: &[Language],
) -> Result<[f32; 2]> {
    let counts = |language: &Language| passed.is_empty() || passed.contains(language);
    let counted = || scores.iter().filter(|(language, _)| counts(language)).map(|(_, one)| one);
    let others: Vec<f32> = counted().flat_map(|one| one.others.iter().copied()).collect();
    let mut own: Vec<f32> = counted().flat_map(|one| one.own.iter().copied()).collect();
    own.sort_by(f32::total_cmp);
    let unrelated = others.iter().sum::<f32>() / others.len().max(1) as f32;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a list"
    )]
    let place = ((own.len() as f32 * PERFECT) as usize).min(own.len().saturating_sub(1));
    let perfect = own.get(place).copied().unwrap_or_default();
    let round = |x: f32| (x * 1000.0).round() / 1000.0;
    let range = [unrelated, perfect].map(round);
    let [low, high] = range;
    if high - low >= APART {
        return Ok(range);
    }
    Err(Error::ModelUnusable {
        name: card.name.clone(),
        reason: format!(
            "it does not tell texts apart: unrelated ones score {unrelated}, those that answer \
             {perfect}; compare `pooling`, prefixes and `output` of its card with its page"
        ),
    })
}

/// Puts what was measured into a card.
fn note(card: &mut Card, range: [f32; 2], passed: &[Language]) {
    let codes: Vec<String> = passed.iter().map(|one| one.code().to_owned()).collect();
    card.languages.retain(|code| codes.contains(code));
    for code in codes {
        // Of a page that names others, or none that is checked.
        if !card.languages.contains(&code) {
            card.languages.push(code);
        }
    }
    card.languages.sort();
    if let Some(embedding) = &mut card.embedding {
        embedding.cosine_range.get_or_insert(range);
    }
    if let Some(reranking) = &mut card.reranking {
        reranking.logit_range.get_or_insert(range);
    }
    if let Some(late) = &mut card.late_interaction {
        late.similarity_range.get_or_insert(range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_has_the_same_subjects_in_each_language() {
        let probe = Probe::built_in().unwrap();
        for all in [&probe.questions, &probe.texts] {
            assert_eq!(all.keys().copied().collect::<Vec<_>>(), Language::ALL);
            assert!(all.values().all(|texts| texts.len() == 55));
        }
        let first = |language| probe.texts[&language][0].as_str();
        assert!(first(Language::En).contains(" - "), "{}", first(Language::En));
    }

    fn card(role: &str) -> Card {
        let embedding = "[embedding]\ndimensions = 2\npooling = 'mean'\nquantization = 'f32'\n";
        let text =
            format!("name = 'm'\nrole = '{role}'\nlicense = 'MIT'\nlanguages = ['en', 'ja']\n");
        toml::from_str(&if role == "embedder" { text + embedding } else { text + "[reranking]\n" })
            .unwrap()
    }

    /// Ten questions, `found` of which score `own` with their text; the others score 0.
    fn scores(found: usize, own: f32) -> Scores {
        let mut scores = Scores::default();
        for place in 0..10 {
            scores.add(if place < found { own } else { -0.5 }, &[0.0, 0.0]);
        }
        scores
    }

    #[test]
    fn languages_are_those_that_pass() {
        let mut card = card("embedder");
        let all = BTreeMap::from([(Language::En, scores(10, 0.8)), (Language::Ja, scores(6, 0.4))]);
        let checks: Vec<LanguageCheck> = all
            .iter()
            .map(|(&language, one)| LanguageCheck { language, questions: 10, found: one.found })
            .collect();
        let mut remarks = Vec::new();
        let passed = passed(&card, &checks, &[], &mut remarks);
        assert_eq!(passed, [Language::En]);
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].contains("`ja`") && remarks[0].contains(" 6 "), "{remarks:?}");
        let range = range(&card, &all, &passed).unwrap();
        assert_eq!(range, [0.0, 0.8], "of English alone");
        note(&mut card, range, &passed);
        assert_eq!(card.languages, ["en"]);
        assert_eq!(card.embedding.as_ref().unwrap().cosine_range, Some([0.0, 0.8]));
        // What somebody wrote stays.
        note(&mut card, [0.1, 0.2], &passed);
        assert_eq!(card.embedding.unwrap().cosine_range, Some([0.0, 0.8]));
    }

    #[test]
    fn a_model_that_scores_all_alike_is_refused() {
        let all = BTreeMap::from([(Language::En, scores(10, 0.0))]);
        let error = range(&card("embedder"), &all, &[]).unwrap_err();
        assert!(matches!(error, Error::ModelUnusable { .. }), "{error}");
    }

    #[test]
    fn translations_that_are_far_are_told() {
        let check = |language| LanguageCheck { language, questions: 10, found: 10 };
        let far = TranslationCheck { from: Language::En, to: Language::Ja, texts: 10, nearest: 2 };
        let mut remarks = Vec::new();
        let both = [check(Language::En), check(Language::Ja)];
        passed(&card("embedder"), &both, &[far], &mut remarks);
        assert!(remarks[0].contains("translation into `ja`"), "{remarks:?}");
        let none = passed(&card("embedder"), &[], &[], &mut remarks);
        assert!(none.is_empty() && remarks[1].contains("no language"), "{remarks:?}");
    }

    #[test]
    fn scores_between_0_and_1_are_probabilities() {
        let mut remarks = Vec::new();
        let mut one = Scores::default();
        one.add(0.9, &[0.1, 0.0]);
        let mut reranker = card("reranker");
        let all = as_logits(&mut reranker, BTreeMap::from([(Language::En, one)]), &mut remarks);
        assert_eq!(reranker.reranking.unwrap().scores, RerankerScores::Probability);
        let logits = &all[&Language::En];
        assert!((logits.own[0] - 9.0_f32.ln()).abs() < 1e-4, "{logits:?}");
        assert!(logits.others[1] < -10.0 && logits.others[1].is_finite(), "{logits:?}");
        let mut one = Scores::default();
        one.add(1.5, &[0.1]);
        let mut reranker = card("reranker");
        as_logits(&mut reranker, BTreeMap::from([(Language::En, one)]), &mut remarks);
        assert_eq!(reranker.reranking.unwrap().scores, RerankerScores::Logits);
        assert_eq!(remarks.len(), 1);
    }
}
