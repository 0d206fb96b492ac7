//! Everything that is remembered, searched at once, and results seen through a layer.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil::{
    Degraded,
    index::RowId,
    memory::{MemoryUnit, Payload, UnitFilter},
};
use trefoil_core::{Allowed, Error, Result, Score, UnitKind};

use super::{Memory, search::RecallPlan, visibility::Visibility};
use crate::{
    Boundary, FoundUnit, Layer, UnitId, View,
    recall::{MIN_SCORE, RecallQuery, adapted_alpha, hybrid_fusion, shared_alpha},
    rows, views,
};

/// What of memory is searched, and how much is told.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FindOptions {
    /// How many units to show, 1–50.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = RecallQuery::MAX_TOP_K)))]
    pub limit: usize,
    /// How much to tell of each.
    pub layer: Layer,
    /// Only what happened then or later.
    pub since: Option<Timestamp>,
    /// Only units of these kinds; of all, if there is none.
    pub types: Vec<UnitKind>,
}

impl Default for FindOptions {
    fn default() -> Self {
        Self { limit: 10, layer: Layer::Line, since: None, types: Vec::new() }
    }
}

/// Units that were found, as seen through a layer.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundUnits {
    /// The units.
    pub views: Vec<View>,
    /// Tokens of them all.
    pub tokens: usize,
    /// What could not be searched, or is behind.
    pub degraded: Vec<Degraded>,
}

/// Memory as one request sees it; it searches everything that is within its boundary.
#[derive(Clone, Debug)]
pub struct MemoryView<'m> {
    pub(super) memory: &'m Memory,
    /// Who asks: tags, session, scopes and classes.
    pub(super) request: RecallQuery,
    pub(super) boundary: Boundary,
}

impl Memory {
    /// Memory as a request sees it within `boundary`; what it asks is said when it searches.
    pub const fn view(&self, request: RecallQuery, boundary: Boundary) -> MemoryView<'_> {
        MemoryView { memory: self, request, boundary }
    }
}

impl MemoryView<'_> {
    /// Units of every kind that answer `query` by words and by meaning, each as relevant as
    /// S = α · meaning + (1 − α) · words says; a side that found nothing gives its weight to
    /// the other. A summary is left out where it says word for word what another unit says.
    ///
    /// # Errors
    /// As [`Memory::recall`].
    pub fn search(&self, query: &str, options: &FindOptions) -> Result<FoundUnits> {
        let request = self.asking(query, options)?;
        let sight = Visibility::new(self.memory, &request, &self.boundary)?;
        let (memory, hybrid) = (self.memory.engine.memory(), sight.policy.retrieval.hybrid);
        let plan = RecallPlan::hybrid(filter(&sight, options), query, &request, &hybrid);
        self.memory.find(
            &plan,
            |rows| sight.filtered(rows),
            |units, matches| {
                let alpha = adapted_alpha(query, hybrid.alpha);
                let alpha =
                    shared_alpha(alpha, !matches.cosine.is_empty(), !matches.text.is_empty());
                let score = |row| {
                    let text = matches.text.get(&row).copied().unwrap_or_default();
                    hybrid_fusion(alpha, matches.meaning(memory, row), text)
                };
                let mut scored: Vec<_> =
                    units.into_iter().map(|(row, (unit, text))| (score(row), unit, text)).collect();
                scored.retain(|(score, ..)| *score >= MIN_SCORE);
                leave_out_repeating_summaries(&mut scored);
                self.present(&sight, scored, options, matches.degraded.clone())
            },
        )
    }

    /// Units of every kind that are nearest to a vector of the engine's model.
    ///
    /// # Errors
    /// [`Error::DimensionMismatch`] for a vector of
    /// another model, and as [`Memory::recall`].
    pub fn search_by_embedding(&self, vector: &[f32], options: &FindOptions) -> Result<FoundUnits> {
        let request = self.asking("", options)?;
        let sight = Visibility::new(self.memory, &request, &self.boundary)?;
        let memory = self.memory.engine.memory();
        let allowed = memory.allowed(&filter(&sight, options))?;
        let found = memory.near(vector, &allowed, options.limit)?;
        let scores: Vec<_> =
            found.iter().map(|one| (one.row, f64::from(one.relevance.get()))).collect();
        self.visible(&sight, &scores, &allowed, options)
    }

    /// Units that were found, as seen through a layer; those that the request may not see are
    /// left out.
    ///
    /// # Errors
    /// As [`Memory::recall`].
    pub fn of(&self, found: &[(UnitId, Score)], layer: Layer) -> Result<FoundUnits> {
        let sight = Visibility::new(self.memory, &self.request, &self.boundary)?;
        let options = FindOptions { limit: found.len(), layer, ..FindOptions::default() };
        let memory = self.memory.engine.memory();
        let allowed = memory.allowed(&sight.filter())?;
        let rows: Vec<_> = memory.read("look up units", |read| {
            let row = |(id, score): &(UnitId, Score)| {
                Ok(read.row_of(id.as_str())?.map(|row| (row, f64::from(score.get()))))
            };
            found.iter().map(row).filter_map(Result::transpose).collect()
        })?;
        self.visible(&sight, &rows, &allowed, &options)
    }

    fn asking(&self, query: &str, options: &FindOptions) -> Result<RecallQuery> {
        self.request.check()?;
        if !(1..=RecallQuery::MAX_TOP_K).contains(&options.limit) {
            return Err(Error::invalid_query("limit", options.limit, "1–50"));
        }
        Ok(RecallQuery { q: query.to_owned(), top_k: options.limit, ..self.request.clone() })
    }

    /// Presents those of scored rows that the request may see.
    fn visible(
        &self,
        sight: &Visibility<'_>,
        scores: &[(RowId, f64)],
        allowed: &Allowed,
        options: &FindOptions,
    ) -> Result<FoundUnits> {
        let rows: Vec<RowId> = scores.iter().map(|(row, _)| *row).collect();
        let best = |row| {
            let own = scores.iter().filter(|(other, _)| *other == row).map(|(_, score)| *score);
            own.fold(f64::NEG_INFINITY, f64::max)
        };
        let units = sight.visible(&rows, allowed)?.into_iter();
        let scored = units.map(|(unit, text)| (best(unit.row), unit, text)).collect();
        self.present(sight, scored, options, Vec::new())
    }

    /// The best of scored units, as seen through a layer.
    fn present(
        &self,
        sight: &Visibility<'_>,
        mut scored: Vec<(f64, MemoryUnit, String)>,
        options: &FindOptions,
        degraded: Vec<Degraded>,
    ) -> Result<FoundUnits> {
        scored.sort_by(|(a, first, _), (b, second, _)| {
            b.total_cmp(a).then(first.row.cmp(&second.row))
        });
        scored.truncate(options.limit);
        let related = match options.layer {
            Layer::Whole => self.memory.engine.memory().allowed(&sight.filter())?,
            Layer::Line | Layer::Context => Allowed::Only(Arc::default()),
        };
        let found: Vec<FoundUnit> = scored
            .into_iter()
            .map(|(score, unit, text)| found(sight, &unit, text, score, &related))
            .collect::<Result<_>>()?;
        let views = views(&found, options.layer, self.memory.engine.memory().counter());
        let tokens = views.iter().map(|view| view.tokens).sum();
        Ok(FoundUnits { views, tokens, degraded })
    }
}

/// The summary of a single message is that message, which is shown already.
fn leave_out_repeating_summaries(scored: &mut Vec<(f64, MemoryUnit, String)>) {
    let is_summary = |unit: &MemoryUnit| unit.payload.kind() == UnitKind::Summary;
    let others = scored.iter().filter(|(_, unit, _)| !is_summary(unit));
    let said: BTreeSet<String> = others.map(|(.., text)| text.clone()).collect();
    scored.retain(|(_, unit, text)| !is_summary(unit) || !said.contains(text));
}

/// Only claims that hold now, and only what the options ask for.
fn filter(sight: &Visibility<'_>, options: &FindOptions) -> UnitFilter {
    let mut filter = sight.filter();
    filter.since = options.since.map(Timestamp::as_second);
    if !options.types.is_empty() {
        filter.kinds.retain(|kind| options.types.contains(kind));
    }
    filter
}

/// A unit with what a layer tells of it.
fn found(
    sight: &Visibility<'_>,
    unit: &MemoryUnit,
    text: String,
    score: f64,
    may_be_related: &Allowed,
) -> Result<FoundUnit> {
    let session = match &unit.payload {
        Payload::Episode(episode) => episode.session.as_deref(),
        Payload::Claim(claim) => claim.session.as_deref(),
        Payload::Summary(_) | Payload::Loop(_) => None,
    };
    Ok(FoundUnit {
        unit: rows::to_unit(unit)?,
        text,
        score: rows::narrow(score),
        session: session.map(str::parse).transpose()?,
        related: related(sight, unit.row, may_be_related)?,
    })
}

/// What a unit was made from, what was made from it, and what it is linked to, as far as the
/// request may see it.
fn related(sight: &Visibility<'_>, row: RowId, allowed: &Allowed) -> Result<Vec<UnitId>> {
    if matches!(allowed, Allowed::Only(rows) if rows.is_empty()) {
        return Ok(Vec::new());
    }
    let rows = sight.memory.read("read what is related", |read| {
        let mut rows = read.sources_of(row)?;
        rows.extend(read.made_from(row)?);
        rows.extend(read.claim_links(row)?.iter().flat_map(|link| [link.claim, link.other]));
        Ok(rows)
    })?;
    let others: Vec<RowId> = rows.into_iter().filter(|&other| other != row).collect();
    let seen = sight.visible(&others, allowed)?;
    seen.into_iter().map(|(unit, _)| unit.unit.id.parse()).collect()
}
