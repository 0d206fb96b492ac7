//! What is told to a model of what is remembered: a pack within its budget, made from what a
//! request may see.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use trefoil::{Degraded, index::RowId, memory::UnitFilter};
use trefoil_core::{Allowed, BoundaryClass, ContextId, Error, Result};

use super::{
    Memory, episodes::RecalledEpisode, recall::SaveContext, roll::label_and_key,
    visibility::Visibility,
};
use crate::{
    ActiveContext, Boundary, Claim, Compressor, ContextItem, OpenLoop, RollingKey, ScoredClaim,
    UnitId,
    recall::pack::{ContextPack, PackEpisode, PackInput, Packer, SectionKind},
    recall::{RecallProfile, RecallQuery},
    rows,
};

/// What a pack is to be made for.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextRequest {
    /// What is being said, and who may see what; empty asks for what is most worthwhile.
    pub query: RecallQuery,
    /// Tokens of the model's window.
    #[serde(default = "window")]
    #[cfg_attr(feature = "schema", schemars(range(max = u32::MAX)))]
    pub window: u32,
    /// What the work is about, paragraph by paragraph.
    #[serde(default)]
    pub context: Vec<String>,
}

impl ContextRequest {
    /// Tokens of a window where nobody says otherwise.
    pub const WINDOW: u32 = 8_192;

    /// For a question, in a window of [`Self::WINDOW`] tokens.
    pub fn new(q: impl Into<String>) -> Self {
        Self { query: RecallQuery::new(q), window: Self::WINDOW, context: Vec::new() }
    }
}

fn window() -> u32 {
    ContextRequest::WINDOW
}

/// A pack, and what was saved of it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackedContext {
    /// What is told.
    pub pack: ContextPack,
    /// The claims that it tells, as they were saved.
    pub context: ActiveContext,
    /// What could not be searched, or is behind.
    pub degraded: Vec<Degraded>,
}

impl Memory {
    /// What to tell a model within `boundary`: the context of the work, facts that hold, what
    /// happened lately, persons and topics that come up, what is left to do, and what was said
    /// that bears on it, in 6/10 of the window. Secrets are never in it.
    ///
    /// # Errors
    /// As [`Memory::recall`].
    pub fn context(&self, request: &ContextRequest, boundary: &Boundary) -> Result<PackedContext> {
        request.query.check()?;
        let query = RecallQuery {
            profile: RecallProfile::Hybrid,
            top_k: RecallQuery::MAX_TOP_K,
            save: false,
            ..request.query.clone()
        };
        let sight = Visibility::new(self, &query, boundary)?;
        let classes = sight.classes_up_to(BoundaryClass::Pii);
        let allowed = self.engine.memory().allowed(&UnitFilter { classes, ..sight.filter() })?;
        let recalled = self.recall(&query, boundary)?;
        let said = match query.q.trim() {
            "" => Vec::new(),
            _ => self.episodes(&query, boundary)?.episodes,
        };
        let scored: BTreeMap<_, _> =
            recalled.claims.iter().map(|one| (one.claim.id.clone(), one.score)).collect();
        let facts = sight.facts(recalled.claims, &allowed)?;
        let narrative = sight.summary(&RollingKey::Week, &allowed)?;
        let relationships = sight.relationships(&facts, &said, &allowed)?;
        let loops = sight.loops(&allowed)?;
        let short: Vec<String> =
            said.iter().map(|one| Compressor.compress(&one.observation)).collect();
        let evidence: Vec<PackEpisode<'_>> = said
            .iter()
            .zip(&short)
            .map(|(one, text)| PackEpisode {
                id: UnitId::Observation(one.observation.id.clone()),
                text,
                happened_at: one.observation.unit().happened_at(),
            })
            .collect();
        let input = PackInput {
            context: &request.context,
            facts: &facts,
            narrative: narrative.as_deref(),
            relationships: &relationships,
            loops: &loops,
            evidence: &evidence,
        };
        let counter = self.engine.memory().counter();
        let packer = Packer { counter, policy: &sight.policy, now: sight.now };
        let pack = packer.pack(&input, request.window as usize);
        let told: Vec<ScoredClaim> = told_facts(&pack)
            .filter_map(|id| facts.iter().find(|claim| claim.id.as_str() == id.as_str()))
            .map(|claim| {
                let score = scored.get(&claim.id).copied().unwrap_or_default();
                ScoredClaim { claim: claim.clone(), score, breakdown: None }
            })
            .collect();
        let context = self.made(&sight, Some(request.window), &told)?;
        if request.query.save {
            self.perform(&SaveContext(context.clone()))?;
        }
        Ok(PackedContext { pack, context, degraded: recalled.degraded })
    }

    /// The saved context with this id, while it can be used.
    ///
    /// # Errors
    /// [`Error::ContextExpired`] if it cannot any more, or is not there: those that have
    /// expired are removed.
    pub fn load_context(&self, id: &ContextId) -> Result<ActiveContext> {
        Ok(self.stored_context(id)?.0)
    }

    /// The saved context with the rows of its claims.
    pub(super) fn stored_context(&self, id: &ContextId) -> Result<(ActiveContext, Vec<RowId>)> {
        let expired = || Error::ContextExpired { id: id.clone() };
        let (row, units) = self.read("read a context", |read| {
            let row = read.context(id.as_str())?.ok_or_else(expired)?;
            let rows: Vec<RowId> = row.items.iter().map(|item| item.row).collect();
            let units = read.units(&rows)?;
            Ok((row, units))
        })?;
        let ids: BTreeMap<RowId, &str> =
            units.iter().map(|unit| (unit.row, unit.unit.id.as_str())).collect();
        let mut items = Vec::new();
        for item in &row.items {
            if let Some(id) = ids.get(&item.row) {
                let score = rows::narrow(item.score);
                items.push(ContextItem { claim: id.parse()?, rank: item.rank, score });
            }
        }
        let context = ActiveContext {
            id: id.clone(),
            window: row.window,
            scope: row.scope.parse()?,
            provenance: row.provenance_json.as_deref().map(rows::from_json).transpose()?,
            expires_at: rows::time(row.expires_at)?,
            policy_version: row.policy_version.parse()?,
            items,
        };
        context.check(self.now()?)?;
        Ok((context, units.iter().map(|unit| unit.row).collect()))
    }
}

impl Visibility<'_> {
    /// The claims that were recalled, those that a person wants in sight, and where that is
    /// less than a pack tells, those that stand out.
    fn facts(&self, recalled: Vec<ScoredClaim>, allowed: &Allowed) -> Result<Vec<Claim>> {
        let mut facts: Vec<Claim> = recalled.into_iter().map(|one| one.claim).collect();
        let known: BTreeSet<String> = facts.iter().map(|claim| claim.id.to_string()).collect();
        let most = SectionKind::Facts.limit().unwrap_or_default();
        let standing_out =
            self.memory.read("list what stands out", |read| read.standing_out(allowed, most))?;
        for (unit, text) in self.visible(&standing_out, allowed)? {
            if facts.len() >= most && !unit.unit.pin {
                continue;
            }
            if let Some(claim) = rows::to_claim(&unit)?
                && !known.contains(&unit.unit.id)
            {
                facts.push(Claim { text, ..claim });
            }
        }
        Ok(facts)
    }

    /// What is known of the persons and topics that come up in claims and episodes, those that
    /// come up most first.
    fn relationships(
        &self,
        facts: &[Claim],
        said: &[RecalledEpisode],
        allowed: &Allowed,
    ) -> Result<Vec<String>> {
        let said: BTreeSet<&str> = said.iter().map(|one| one.observation.id.as_str()).collect();
        let told: BTreeSet<&str> = facts.iter().map(|claim| claim.id.as_str()).collect();
        let (rows, persons, topics) = self.memory.read("read who comes up", |read| {
            let mut rows: BTreeSet<RowId> = BTreeSet::new();
            for id in said.iter().chain(&told) {
                let Some(row) = read.row_of(id)? else { continue };
                rows.insert(row);
                rows.extend(read.sources_of(row)?);
            }
            Ok((rows, read.episodes_by_entity("PERSON")?, read.episodes_by_tag()?))
        })?;
        let mut keys: Vec<(usize, RollingKey)> = Vec::new();
        let often = |of: &[RowId]| of.iter().filter(|row| rows.contains(row)).count();
        for ((id, _), of) in persons {
            keys.push((often(&of), RollingKey::Person(id.parse()?)));
        }
        keys.extend(topics.into_iter().map(|(name, of)| (often(&of), RollingKey::topic(&name))));
        keys.retain(|(often, _)| *often > 0);
        keys.sort_by(|(a, first), (b, second)| b.cmp(a).then_with(|| first.cmp(second)));
        let most = SectionKind::Relationships.limit().unwrap_or(usize::MAX);
        let found = keys.iter().map(|(_, key)| self.summary(key, allowed));
        found.filter_map(Result::transpose).take(most).collect()
    }

    fn loops(&self, allowed: &Allowed) -> Result<Vec<OpenLoop>> {
        let now = self.now.as_second();
        let open = self.memory.read("list open loops", |read| read.open_loops(now, usize::MAX))?;
        let mut loops = Vec::new();
        for (unit, text) in self.visible(&open, allowed)? {
            loops.extend(rows::to_loop(&unit)?.map(|one| OpenLoop { text, ..one }));
        }
        Ok(loops)
    }

    /// What the rolling summary of a key says, if the request may see it.
    fn summary(&self, key: &RollingKey, allowed: &Allowed) -> Result<Option<String>> {
        let (label, name) = label_and_key(key);
        let found = self.memory.read("look up a summary", |read| read.summary(label, &name))?;
        let rows: Vec<RowId> = found.iter().map(|unit| unit.row).collect();
        Ok(self.visible(&rows, allowed)?.pop().map(|(_, text)| text))
    }
}

fn told_facts(pack: &ContextPack) -> impl Iterator<Item = &UnitId> {
    let facts = pack.sections.iter().filter(|section| section.kind == SectionKind::Facts);
    facts.flat_map(|section| &section.items).filter_map(|item| item.id.as_ref())
}
