use std::{collections::BTreeSet, sync::LazyLock};

use serde::{Deserialize, Serialize};
use trefoil_core::{AffectLabel, ObservationKind, Score, SourceType, string_enum};
use trefoil_text::normalize;

use crate::{Affect, Observation};

string_enum!(
    /// A sign from which reflection told what it did.
    ReflectionReason, "reason of a reflection" {
        /// It is a failure.
        Failure = "failure",
        /// It tells of a test.
        Test = "test",
        /// It is of a file.
        File = "file",
        /// It was noted down.
        Note = "note",
        /// A program saw it.
        Program = "program",
        /// Somebody said it.
        Said = "said",
        /// It was said with a doubt.
        Doubt = "doubt",
        /// Words of feeling stand in it.
        Feeling = "feeling",
    }
);

/// What rules tell of an observation.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reflection {
    /// The feeling it tells of; neutral if none is told.
    pub affect: Affect,
    /// How much it stands out: 1 for a failure, .9 for a test, .7 for a changed file or a
    /// note, .5 for the rest.
    pub salience: Score,
    /// Confidence that it is true: .9 for what a program saw, .7 for what was noted down, .6 for
    /// what was said, .4 for what was said with a doubt.
    pub confidence: Score,
    /// The signs from which this was told.
    pub reasons: BTreeSet<ReflectionReason>,
}

/// The feeling of an observation, its salience and the confidence that it is true, by
/// rules in English, Japanese and Korean.
pub fn reflect(observation: &Observation) -> Reflection {
    let text = normalize(&observation.content).to_lowercase();
    let affect = affect(&text);
    let (salience, stands_out) = salience(observation, &text);
    let (confidence, is_sure) = confidence(observation, &text);
    let felt = (affect.label != AffectLabel::Neutral).then_some(ReflectionReason::Feeling);
    let reasons = stands_out.into_iter().chain([is_sure]).chain(felt).collect();
    Reflection { affect, salience, confidence, reasons }
}

/// Words by what they tell, all languages together.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    joy: Vec<String>,
    sadness: Vec<String>,
    anger: Vec<String>,
    fear: Vec<String>,
    /// Words that turn the feeling of the word after them, or of the clause before.
    not: Vec<String>,
    doubt: Vec<String>,
    test: Vec<String>,
}

static WORDS: LazyLock<Words> =
    LazyLock::new(|| toml::from_str(include_str!("reflect/words.toml")).unwrap_or_default());

fn salience(observation: &Observation, text: &str) -> (Score, Option<ReflectionReason>) {
    let (value, reason) = match (observation.kind, observation.source_type) {
        (ObservationKind::Error, _) => (1.0, Some(ReflectionReason::Failure)),
        (ObservationKind::Bash | ObservationKind::Success | ObservationKind::ToolUse, _)
            if WORDS.test.iter().any(|word| holds(text, word)) =>
        {
            (0.9, Some(ReflectionReason::Test))
        }
        (_, SourceType::File) => (0.7, Some(ReflectionReason::File)),
        (ObservationKind::Note, _) => (0.7, Some(ReflectionReason::Note)),
        _ => (0.5, None),
    };
    (Score::clamped(value), reason)
}

fn confidence(observation: &Observation, text: &str) -> (Score, ReflectionReason) {
    let doubted = WORDS.doubt.iter().any(|word| holds(text, word));
    let (value, reason) = match (observation.kind, observation.source_type) {
        (ObservationKind::Message | ObservationKind::Note, _) if doubted => {
            (0.4, ReflectionReason::Doubt)
        }
        (ObservationKind::Note, _) => (0.7, ReflectionReason::Note),
        (ObservationKind::Message, _) | (_, SourceType::Chat) => (0.6, ReflectionReason::Said),
        (_, SourceType::Tool | SourceType::File | SourceType::Http | SourceType::System) => {
            (0.9, ReflectionReason::Program)
        }
    };
    (Score::clamped(value), reason)
}

/// The feeling that most words tell of; of equals the first. Its intensity is .4 for one
/// word, and .2 more for each further one and for an exclamation mark.
fn affect(text: &str) -> Affect {
    let labels = [AffectLabel::Joy, AffectLabel::Sadness, AffectLabel::Anger, AffectLabel::Fear];
    let words = [&WORDS.joy, &WORDS.sadness, &WORDS.anger, &WORDS.fear];
    let count = |words: &[String]| words.iter().filter(|word| is_felt(text, word)).count();
    let (mut most, mut label) = (0, AffectLabel::Neutral);
    for (candidate, words) in labels.into_iter().zip(words) {
        let found = count(words);
        if found > most {
            (most, label) = (found, candidate);
        }
    }
    let signs = most + usize::from(text.contains('!'));
    let intensity = if most == 0 { 0.0 } else { 0.2 + 0.2 * signs as f32 };
    Affect { label, intensity: Score::clamped(intensity) }
}

/// True if a word of feeling stands in the text and is not denied just before or after it.
fn is_felt(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let end = at + word.len();
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(end..).unwrap_or_default();
        let last = before.split_whitespace().next_back().unwrap_or_default();
        let denied_before = word.is_ascii() && WORDS.not.iter().any(|not| last == not);
        let next: String = after.chars().take(4).collect();
        let denied_after =
            !word.is_ascii() && WORDS.not.iter().any(|not| next.contains(not.as_str()));
        stands(text, at, end) && !denied_before && !denied_after
    })
}

fn holds(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| stands(text, at, at + word.len()))
}

/// True if the bytes `at..end` begin a word, where they are of a script that has words.
fn stands(text: &str, at: usize, end: usize) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let word = text.get(at..end).unwrap_or_default();
    !word.is_ascii()
        || !is_letter(text.get(..at).and_then(|before| before.chars().next_back()))
            && !is_letter(text.get(end..).and_then(|after| after.chars().next()))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use trefoil_core::ObservationId;

    use super::*;
    use crate::ObservationDraft;

    fn told(text: &str, kind: ObservationKind, source_type: SourceType) -> Reflection {
        let draft = ObservationDraft { kind, source_type, ..ObservationDraft::message(text) };
        let id = ObservationId::new("obs_1").unwrap();
        reflect(&draft.into_observation(id, Timestamp::UNIX_EPOCH).unwrap())
    }

    #[track_caller]
    fn check(text: &str, label: AffectLabel) {
        let affect = told(text, ObservationKind::Message, SourceType::Chat).affect;
        assert_eq!(affect.label, label, "{text}");
        assert_eq!(affect.intensity == Score::ZERO, label == AffectLabel::Neutral, "{text}");
    }

    #[test]
    fn feelings_are_told_in_three_languages() {
        use AffectLabel::{Anger, Fear, Joy, Neutral, Sadness};
        check("I'm so happy and thankful!", Joy);
        check("I am not happy about it.", Neutral);
        check("It made me sad, I cried all day.", Sadness);
        check("I'm furious about the delay.", Anger);
        check("I'm worried and nervous.", Fear);
        check("The unhappyness module", Neutral);
        check("とても嬉しいです！", Joy);
        check("嬉しくない", Neutral);
        check("悲しくて泣きました。", Sadness);
        check("腹が立ちます。", Anger);
        check("明日の試験が不安です。", Fear);
        check("정말 행복해요!", Joy);
        check("너무 슬퍼서 울었어요.", Sadness);
        check("화가 나요.", Anger);
        check("시험이 걱정돼요.", Fear);
        check("The meeting is at noon.", Neutral);
    }

    #[test]
    fn more_words_and_a_mark_make_it_stronger() {
        let intensity =
            |text| told(text, ObservationKind::Message, SourceType::Chat).affect.intensity.get();
        assert!((intensity("I'm happy.") - 0.4).abs() < 1e-6);
        assert!((intensity("I'm happy and thankful!") - 0.8).abs() < 1e-6);
    }

    #[test]
    fn salience_and_confidence_follow_the_kind() {
        use ObservationKind::{Bash, Error, Message, Note, Success, ToolUse};
        use SourceType::{Chat, File, Tool};
        let check = |text: &str, kind, source, salience: f32, confidence: f32| {
            let told = told(text, kind, source);
            assert_eq!(
                (told.salience.get(), told.confidence.get()),
                (salience, confidence),
                "{text}"
            );
        };
        check("boom", Error, Tool, 1.0, 0.9);
        check("cargo test: 12 passed", Bash, Tool, 0.9, 0.9);
        check("テスト成功", Success, Tool, 0.9, 0.9);
        check("wrote src/main.rs", ToolUse, File, 0.7, 0.9);
        check("Owls hunt.", Note, Chat, 0.7, 0.7);
        check("Owls hunt.", Message, Chat, 0.5, 0.6);
        check("Maybe owls hunt.", Message, Chat, 0.5, 0.4);
        check("たぶん来ます", Message, Chat, 0.5, 0.4);
        check("아마 올 거예요", Message, Chat, 0.5, 0.4);
        check("ls", Bash, Tool, 0.5, 0.9);
    }

    #[test]
    fn the_signs_are_told_with_it() {
        use ReflectionReason::{Doubt, Feeling, Program, Test};
        let reasons =
            |text, kind, source| told(text, kind, source).reasons.into_iter().collect::<Vec<_>>();
        let test = reasons("cargo test: 12 passed", ObservationKind::Bash, SourceType::Tool);
        assert_eq!(test, [Test, Program]);
        let felt = reasons("Maybe I'm so happy!", ObservationKind::Message, SourceType::Chat);
        assert_eq!(felt, [Doubt, Feeling]);
        let written = serde_json::to_value(told("ls", ObservationKind::Bash, SourceType::Tool));
        let expected = serde_json::json!({
            "affect": {"label": "neutral", "intensity": 0.0},
            "salience": 0.5, "confidence": written.as_ref().unwrap()["confidence"],
            "reasons": ["program"]
        });
        assert_eq!(written.unwrap(), expected);
    }
}
