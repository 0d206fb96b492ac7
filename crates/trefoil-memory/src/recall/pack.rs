//! What is told to a model of what is remembered.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use jiff::Timestamp;
use serde::Serialize;
use trefoil_core::{BoundaryClass, TokenCounter, UnitState, string_enum};

use crate::{
    Claim, OpenLoop, Policy, RerankPolicy, Scope, UnitId, open_loops, recall::beginning,
    recency_decay,
};

string_enum!(
    /// A part of a context pack, in the order in which they stand.
    SectionKind, "section" {
        /// What the work is about.
        Context = "context",
        /// What holds.
        Facts = "facts",
        /// What happened lately, in short.
        Narrative = "narrative",
        /// How persons and things hang together.
        Relationships = "relationships",
        /// What is left to do.
        Loops = "loops",
        /// What was said that is relevant to it.
        Evidence = "evidence",
    }
);

impl SectionKind {
    /// What is trimmed first, to last.
    const TRIMMED: [Self; 6] = [
        Self::Evidence,
        Self::Loops,
        Self::Narrative,
        Self::Relationships,
        Self::Facts,
        Self::Context,
    ];

    /// The most items of it; absent where there is no such limit.
    pub const fn limit(self) -> Option<usize> {
        match self {
            Self::Facts => Some(12),
            Self::Relationships | Self::Evidence => Some(5),
            Self::Context | Self::Narrative | Self::Loops => None,
        }
    }

    const fn heading(self) -> &'static str {
        match self {
            Self::Context => "Context",
            Self::Facts => "Facts",
            Self::Narrative => "Lately",
            Self::Relationships => "Relationships",
            Self::Loops => "To do",
            Self::Evidence => "Said before",
        }
    }
}

/// What a pack may be made of; the caller has checked that the request may see it.
#[derive(Clone, Debug, Default)]
pub struct PackInput<'a> {
    /// What the work is about, paragraph by paragraph.
    pub context: &'a [String],
    /// Claims, in any order.
    pub facts: &'a [Claim],
    /// What happened lately, as a summary.
    pub narrative: Option<&'a str>,
    /// How things hang together, the closest first.
    pub relationships: &'a [String],
    /// What is left to do, in any order.
    pub loops: &'a [OpenLoop],
    /// What was said, the most telling first.
    pub evidence: &'a [PackEpisode<'a>],
}

/// Something that was said.
#[derive(Clone, Debug)]
pub struct PackEpisode<'a> {
    /// Its id.
    pub id: UnitId,
    /// What was said.
    pub text: &'a str,
    /// When.
    pub happened_at: Timestamp,
}

/// What is told to a model, within its budget.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContextPack {
    /// The parts that are not empty, in their order.
    pub sections: Vec<PackSection>,
    /// The whole as a text.
    pub text: String,
    /// Its tokens.
    pub tokens: usize,
    /// How many tokens it may have.
    pub budget: usize,
}

/// A part of a pack.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackSection {
    /// Which part.
    pub kind: SectionKind,
    /// What it tells.
    pub items: Vec<PackItem>,
}

/// One thing that a pack tells.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PackItem {
    /// The unit that says so, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<UnitId>,
    /// What it says, or the beginning of it.
    pub text: String,
    #[serde(skip)]
    happened_at: Timestamp,
}

/// Share of a model's window that a pack may take.
const SHARE: (usize, usize) = (6, 10);
/// What is compressed is cut to this many tokens.
const COMPRESSED_TOKENS: usize = 32;

/// Makes packs.
#[derive(Clone, Copy, Debug)]
pub struct Packer<'a> {
    /// Counts tokens as the model does.
    pub counter: &'a dyn TokenCounter,
    /// How many tokens one scope may take, and how fast facts age.
    pub policy: &'a Policy,
    /// When it is told.
    pub now: Timestamp,
}

impl Packer<'_> {
    /// How many tokens a pack may have in a window of so many: ⌊.6 · window⌋.
    pub const fn budget(window: usize) -> usize {
        // In two steps, so that no window is too large.
        window / SHARE.1 * SHARE.0 + window % SHARE.1 * SHARE.0 / SHARE.1
    }

    /// The pack for a window of so many tokens.
    ///
    /// Over its budget, the oldest and least important items are compressed first; then items
    /// are left out, of evidence first, then of loops, narrative, relationships, facts and
    /// context, in each the least important first.
    pub fn pack(&self, input: &PackInput<'_>, window: usize) -> ContextPack {
        let budget = Self::budget(window);
        let mut sections = self.sections(input);
        self.compress(&mut sections, budget);
        self.trim(&mut sections, budget);
        let text = written(&sections);
        let tokens = self.counter.count(&text);
        let sections = sections
            .into_iter()
            .filter(|(_, items)| !items.is_empty())
            .map(|(kind, items)| PackSection { kind, items })
            .collect();
        ContextPack { sections, text, tokens, budget }
    }

    fn sections(&self, input: &PackInput<'_>) -> Sections {
        let said =
            |text: &str| PackItem { id: None, text: text.trim().to_owned(), happened_at: self.now };
        let evidence = input.evidence.iter().map(|episode| PackItem {
            id: Some(episode.id.clone()),
            text: episode.text.trim().to_owned(),
            happened_at: episode.happened_at,
        });
        let shown = |kind: SectionKind, items: Vec<PackItem>| {
            let items = items.into_iter().filter(|item| !item.text.is_empty());
            (kind, items.take(kind.limit().unwrap_or(usize::MAX)).collect())
        };
        BTreeMap::from([
            shown(SectionKind::Context, input.context.iter().map(|text| said(text)).collect()),
            shown(SectionKind::Facts, self.facts(input.facts)),
            shown(SectionKind::Narrative, input.narrative.into_iter().map(said).collect()),
            shown(
                SectionKind::Relationships,
                input.relationships.iter().map(|text| said(text)).collect(),
            ),
            shown(SectionKind::Loops, self.loops(input.loops)),
            shown(SectionKind::Evidence, evidence.collect()),
        ])
    }

    /// The facts that hold now, best first, each content once, as many of each scope as its
    /// tokens allow.
    fn facts(&self, claims: &[Claim]) -> Vec<PackItem> {
        let rerank = &self.policy.retrieval.rerank;
        let mut facts: Vec<(f64, &Claim)> = claims
            .iter()
            .filter(|claim| claim.is_valid_at(self.now) && claim.state != UnitState::Archived)
            .filter(|claim| claim.boundary_class < BoundaryClass::Secret)
            .map(|claim| (fact_score(claim, rerank, self.now), claim))
            .collect();
        facts.sort_by(|(a, first), (b, second)| {
            b.total_cmp(a).then_with(|| first.id.cmp(&second.id))
        });
        let mut seen = BTreeSet::new();
        let mut used: BTreeMap<Scope, usize> = BTreeMap::new();
        facts
            .into_iter()
            .filter(|(_, claim)| seen.insert(&claim.content_hash))
            .filter(|(_, claim)| {
                let most = self
                    .policy
                    .scopes
                    .get(&claim.scope)
                    .map_or(usize::MAX, |scope| scope.max_tokens as usize);
                let tokens = used.entry(claim.scope).or_default();
                *tokens += self.counter.count(&claim.text);
                *tokens <= most
            })
            .map(|(_, claim)| PackItem {
                id: Some(UnitId::Claim(claim.id.clone())),
                text: claim.text.trim().to_owned(),
                happened_at: claim.recency_anchor,
            })
            .collect()
    }

    fn loops(&self, loops: &[OpenLoop]) -> Vec<PackItem> {
        let admitted = loops.iter().filter(|one| one.boundary_class < BoundaryClass::Secret);
        let item = |one: &OpenLoop| PackItem {
            id: Some(UnitId::Loop(one.id.clone())),
            text: one
                .due_at
                .map_or_else(|| one.text.clone(), |due| format!("{} (due {})", one.text, day(due))),
            happened_at: one.created_at,
        };
        open_loops(admitted, self.now).into_iter().map(item).collect()
    }

    /// Cuts items to their beginnings, the oldest first and of those as old the least
    /// important first, until the pack fits or all are cut.
    fn compress(&self, sections: &mut Sections, budget: usize) {
        let mut order: Vec<(Timestamp, usize, usize, SectionKind)> = Vec::new();
        for (rank, kind) in SectionKind::TRIMMED.into_iter().enumerate() {
            let items = sections.get(&kind).map(Vec::as_slice).unwrap_or_default();
            let keyed = items.iter().enumerate().rev();
            order.extend(keyed.map(|(at, item)| (item.happened_at, rank, usize::MAX - at, kind)));
        }
        order.sort_unstable();
        for (_, _, place, kind) in order {
            if self.fits(sections, budget) {
                return;
            }
            if let Some(item) =
                sections.get_mut(&kind).and_then(|items| items.get_mut(usize::MAX - place))
            {
                item.text = beginning(&item.text, COMPRESSED_TOKENS, self.counter);
            }
        }
    }

    /// Leaves out the last item of the section that is trimmed first, until the pack fits.
    fn trim(&self, sections: &mut Sections, budget: usize) {
        for kind in SectionKind::TRIMMED {
            while !self.fits(sections, budget) {
                if sections.get_mut(&kind).and_then(Vec::pop).is_none() {
                    break;
                }
            }
        }
    }

    fn fits(&self, sections: &Sections, budget: usize) -> bool {
        self.counter.count(&written(sections)) <= budget
    }
}

type Sections = BTreeMap<SectionKind, Vec<PackItem>>;

/// How important a fact is: .45 · confidence + .25 · salience + .20 · recency + .10 if pinned.
pub fn fact_score(claim: &Claim, rerank: &RerankPolicy, now: Timestamp) -> f64 {
    let recency = recency_decay(claim.recency_anchor, now, rerank.half_life_days(claim.kind));
    0.45 * f64::from(claim.confidence.get())
        + 0.25 * f64::from(claim.salience.get())
        + 0.20 * recency
        + if claim.pin { 0.10 } else { 0.0 }
}

fn written(sections: &Sections) -> String {
    let mut text = String::new();
    for (kind, items) in sections.iter().filter(|(_, items)| !items.is_empty()) {
        let gap = if text.is_empty() { "" } else { "\n" };
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{gap}## {}", kind.heading());
        for item in items {
            let _ = writeln!(text, "- {}", item.text);
        }
    }
    text
}

fn day(at: Timestamp) -> jiff::civil::Date {
    at.to_zoned(jiff::tz::TimeZone::UTC).date()
}

#[cfg(test)]
mod tests;
