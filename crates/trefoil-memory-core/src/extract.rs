//! What an observation says, as claims.

use std::{collections::BTreeSet, fmt::Debug, sync::Arc};

use jiff::Timestamp;
use trefoil_core::{
    BoundaryClass, ClaimKind, EntityExtractor, EvidenceMethod, Extraction, ObservationKind, Result,
    Scope, Score, SourceType, TitledText,
};
use trefoil_text::{
    ScriptExtractor,
    claims::{ClaimMatch, ClaimRules, ToolOutput, Utterance, due_date, outcomes, source_tags},
    language_of, sentences,
};

use crate::{ClaimDraft, ContentHash, Observation};
use trefoil_policy::Boundary;

/// What was found in an observation.
#[derive(Clone, Debug)]
pub struct Extracted {
    /// What it says, each content once, in the order of the text; their origin is the
    /// observation.
    pub claims: Vec<ClaimDraft>,
    /// What is left to do.
    pub loops: Vec<LoopDraft>,
    /// What it mentions.
    pub extraction: Extraction,
    /// How it was found: what the evidence of each claim says.
    pub method: EvidenceMethod,
}

/// Something that is left to do, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopDraft {
    /// What is to be done.
    pub text: String,
    /// When it is due, if that is said.
    pub due_at: Option<Timestamp>,
    /// Who may see it.
    pub boundary_class: BoundaryClass,
}

/// Finds what an observation says. `Memory::with_extractor` takes one.
///
/// ```
/// use trefoil_core::{EvidenceMethod, Extraction, ObservationId, Result};
/// use trefoil_memory_core::{
///     ClaimDraft, Observation, ObservationDraft,
///     extract::{ClaimExtractor, Extracted},
/// };
/// use trefoil_policy::Boundary;
///
/// /// Each line that begins with `TIL` is a claim.
/// #[derive(Debug)]
/// struct TodayILearned;
///
/// impl ClaimExtractor for TodayILearned {
///     fn extract(&self, observation: &Observation, boundary: &Boundary) -> Result<Extracted> {
///         let may_see = boundary.boundary_classes.contains(&observation.boundary_class);
///         let lines = observation.content.lines().filter(|_| may_see);
///         let claims = lines
///             .filter_map(|line| line.strip_prefix("TIL "))
///             .map(|text| ClaimDraft {
///                 boundary_class: observation.boundary_class,
///                 ..ClaimDraft::observed(text, observation.id.clone())
///             })
///             .collect();
///         let (loops, extraction) = (Vec::new(), Extraction::default());
///         Ok(Extracted { claims, loops, extraction, method: EvidenceMethod::Rule })
///     }
/// }
///
/// let draft = ObservationDraft::message("Hello.\nTIL octopuses have three hearts.");
/// let id = ObservationId::new("obs_1")?;
/// let observation = draft.into_observation(id, jiff::Timestamp::UNIX_EPOCH)?;
/// let found = TodayILearned.extract(&observation, &Boundary::default())?;
/// assert_eq!(found.claims[0].text, "octopuses have three hearts.");
/// # Ok::<(), trefoil_core::Error>(())
/// ```
pub trait ClaimExtractor: Debug + Send + Sync {
    /// Claims, loops and mentions. Every claim's class and scope are within the boundary; if
    /// the observation's are not, nothing is found.
    ///
    /// # Errors
    /// A model is missing or its answer cannot be read.
    fn extract(&self, observation: &Observation, boundary: &Boundary) -> Result<Extracted>;
}

/// Finds by rules, in English, Japanese and Korean, sentence by sentence and clause by clause.
///
/// Only what people write is read so: messages and notes, failures and successes. Of tools and
/// commands it tells what they show: results of tests, failures, commits, and files that were
/// read or changed, each with the source tags that show it.
#[derive(Clone, Debug)]
pub struct RuleExtractor {
    entities: Arc<dyn EntityExtractor>,
}

impl RuleExtractor {
    /// The most claims of an observation.
    pub const MAX_CLAIMS: usize = 12;

    /// Finds mentions with `entities`.
    pub fn new(entities: Arc<dyn EntityExtractor>) -> Self {
        Self { entities }
    }
}

impl Default for RuleExtractor {
    fn default() -> Self {
        Self::new(Arc::new(ScriptExtractor))
    }
}

impl ClaimExtractor for RuleExtractor {
    fn extract(&self, observation: &Observation, boundary: &Boundary) -> Result<Extracted> {
        let mut extracted = nothing();
        let Some(scope) = scope(observation, boundary) else { return Ok(extracted) };
        let (whole, language) = (observation.text(), language_of(&observation.content));
        let text = TitledText { text: &whole, language, ..TitledText::default() };
        extracted.extraction = self.entities.extract(&[text])?.pop().unwrap_or_default();
        read(observation, scope, &mut extracted);
        Ok(extracted)
    }
}

/// The claims and the loops that the rules find in an observation, whoever may see it.
pub fn statements(observation: &Observation) -> (Vec<ClaimDraft>, Vec<LoopDraft>) {
    let mut extracted = nothing();
    read(observation, Scope::Project, &mut extracted);
    (extracted.claims, extracted.loops)
}

fn nothing() -> Extracted {
    let (claims, loops, extraction) = (Vec::new(), Vec::new(), Extraction::default());
    Extracted { claims, loops, extraction, method: EvidenceMethod::Rule }
}

/// The scope of what is found: the project's, else the session's; absent if the observation
/// is outside of the boundary.
fn scope(observation: &Observation, boundary: &Boundary) -> Option<Scope> {
    let has = |scope| boundary.scope.contains(&scope);
    if !boundary.boundary_classes.contains(&observation.boundary_class) {
        None
    } else if has(Scope::Project) {
        Some(Scope::Project)
    } else if has(Scope::Session) && observation.session.is_some() {
        Some(Scope::Session)
    } else {
        has(Scope::Principle).then_some(Scope::Principle)
    }
}

fn is_prose(observation: &Observation) -> bool {
    match observation.kind {
        ObservationKind::Message | ObservationKind::Note => true,
        ObservationKind::Error | ObservationKind::Success => {
            observation.source_type != SourceType::Tool
        }
        ObservationKind::ToolUse | ObservationKind::Bash => false,
    }
}

fn read(observation: &Observation, scope: Scope, extracted: &mut Extracted) {
    if is_prose(observation) {
        read_prose(observation, scope, extracted);
    } else {
        read_outcomes(observation, scope, extracted);
    }
}

/// What programs show has more confidence than what is said.
const SHOWN: f32 = 0.9;

fn read_outcomes(observation: &Observation, scope: Scope, extracted: &mut Extracted) {
    for outcome in outcomes(&output_of(observation)).into_iter().take(RuleExtractor::MAX_CLAIMS) {
        extracted.claims.push(ClaimDraft {
            confidence: Score::clamped(SHOWN),
            subject: Some(outcome.subject),
            predicate: Some(outcome.predicate.to_owned()),
            object: Some(outcome.object),
            sources: outcome.sources,
            ..draft(observation, scope, outcome.text)
        });
    }
}

fn output_of(observation: &Observation) -> ToolOutput<'_> {
    ToolOutput {
        kind: observation.kind,
        source_type: observation.source_type,
        source_id: observation.source_id.as_deref(),
        content: &observation.content,
    }
}

fn read_prose(observation: &Observation, scope: Scope, extracted: &mut Extracted) {
    let language = language_of(&observation.content);
    let sources = source_tags(&output_of(observation));
    let said_at = observation.occurred_at.unwrap_or(observation.created_at);
    let spoken = Utterance::new(&observation.content, observation.actor.as_deref());
    let mut hashes = BTreeSet::new();
    for span in sentences(spoken.text(), language) {
        let sentence = spoken.text().get(span.start..span.end).unwrap_or_default();
        // People change language in the middle of a text.
        let language = language_of(sentence);
        let rules = ClaimRules::of(language);
        for clause in rules.clauses(sentence) {
            let Some(found) = rules.first_match(&clause) else { continue };
            let text = spoken.attributed(&clause);
            if extracted.claims.len() == RuleExtractor::MAX_CLAIMS
                || !hashes.insert(ContentHash::of(&text))
            {
                continue;
            }
            if found.kind == ClaimKind::Task {
                extracted.loops.push(LoopDraft {
                    text: text.clone(),
                    due_at: due_date(sentence, language, said_at),
                    boundary_class: observation.boundary_class,
                });
            }
            let ClaimMatch { kind, confidence, subject, predicate, object } = found;
            let speaker = || spoken.speaker().unwrap_or(USER).to_owned();
            extracted.claims.push(ClaimDraft {
                kind,
                confidence: Score::clamped(confidence),
                subject: subject.or_else(|| predicate.as_ref().map(|_| speaker())),
                predicate,
                object,
                sources: sources.clone(),
                ..draft(observation, scope, text)
            });
        }
    }
}

/// A claim of an observation, as far as the observation says what it is.
fn draft(observation: &Observation, scope: Scope, text: String) -> ClaimDraft {
    ClaimDraft {
        scope,
        boundary_class: observation.boundary_class,
        session: observation.session.clone(),
        occurred_at: observation.occurred_at,
        tags: observation.tags.clone(),
        ..ClaimDraft::observed(text, observation.id.clone())
    }
}

/// The subject of what someone says of themselves, where it is not known who speaks.
const USER: &str = "user";

#[cfg(test)]
mod tests;
