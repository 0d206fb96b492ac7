//! What several units say, in short, and the summary unit that keeps it.

use std::collections::BTreeMap;

use trefoil::{
    graph::{Summarizer, SummaryPassage, SummaryRequest},
    index::RowId,
    memory::{
        EpisodePayload, MemoryUnit, MemoryWrite, PatchReason, Payload, SummaryPayload, UnitRow,
    },
};
use trefoil_core::{BoundaryClass, Language, Result, SummaryId, TokenCounter, UnitState};
use trefoil_text::{canonical_text, language_of};

use super::Memory;
use crate::{SummaryBody, recall::beginning, rows};

/// Most characters that are kept of the texts in one language.
const MAX_CHARS: usize = 1_200;
/// Of a text without a sentence, so many tokens are kept, and of so many texts at most.
const TOKENS: usize = 40;
const TEXTS: usize = 8;

/// Says in short what units say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digest<'a> {
    pub(super) summarizer: &'a dyn Summarizer,
    pub(super) counter: &'a dyn TokenCounter,
}

impl Memory {
    pub(super) fn digest(&self) -> Digest<'_> {
        let counter = self.engine.memory().counter();
        Digest { summarizer: self.services.summarizer.as_ref(), counter }
    }
}

impl Digest<'_> {
    /// What the units say under a `name`, each language by itself. Where the summariser finds
    /// nothing to say of a text, its beginning stands for it, so that this is empty only if
    /// there is no text at all.
    pub(super) fn of(&self, name: &str, units: &[MemoryUnit]) -> Result<String> {
        let texts: Vec<(RowId, String)> = units.iter().map(|unit| (unit.row, told(unit))).collect();
        let mut languages: BTreeMap<Language, Vec<SummaryPassage<'_>>> = BTreeMap::new();
        for (row, text) in &texts {
            let language = language_of(text);
            let passage = SummaryPassage { row: *row, text, language };
            languages.entry(language).or_default().push(passage);
        }
        let mut parts = Vec::new();
        for (language, passages) in languages {
            let (members, max_chars) = (vec![name], MAX_CHARS);
            let request = SummaryRequest { name, members, language, passages, max_chars };
            let summary = self.summarizer.summarize(&request)?;
            if summary.text.trim().is_empty() {
                let first = request.passages.iter().take(TEXTS);
                let short = |text: &str| beginning(&canonical_text(text), TOKENS, self.counter);
                parts.extend(first.map(|passage| short(passage.text)));
            } else {
                parts.push(summary.text);
            }
        }
        parts.retain(|part| !part.is_empty());
        Ok(parts.join("\n"))
    }
}

/// A summary that is to be kept.
#[derive(Debug)]
pub(super) struct NewSummary<'a> {
    pub(super) id: SummaryId,
    /// What kind of summary it is, and which of its kind.
    pub(super) label: &'a str,
    pub(super) key: &'a str,
    pub(super) body: SummaryBody,
    /// What it is made from.
    pub(super) sources: &'a [MemoryUnit],
    /// Whether it takes the place of the last one with its label and key.
    pub(super) replaces: bool,
}

/// Why a claim that was given up is out of search.
pub(super) const DISCARDED: &str = "discarded";
/// Seconds after which what is out of search is removed for good.
pub(super) const PURGE_AFTER: i64 = 30 * 86_400;

impl NewSummary<'_> {
    /// The highest class of its sources.
    fn class(&self) -> BoundaryClass {
        self.sources.iter().map(|source| source.unit.boundary).max().unwrap_or_default()
    }

    /// Stores it with links to its sources; false if one of them is no longer as it was when
    /// the summary was made, so that nothing that was forgotten meanwhile comes back.
    pub(super) fn put(self, write: &MemoryWrite<'_>) -> Result<bool> {
        let rows: Vec<RowId> = self.sources.iter().map(|source| source.row).collect();
        let now = write.units(&rows)?;
        let same = |(now, then): (&MemoryUnit, &MemoryUnit)| {
            now.row == then.row
                && now.unit.boundary == then.unit.boundary
                && now.unit.state != UnitState::Archived
                && now.payload.text() == then.payload.text()
        };
        if now.len() != self.sources.len() || !now.iter().zip(self.sources).all(same) {
            return Ok(false);
        }
        if self.replaces
            && let Some(old) = write.summary(self.label, self.key)?
        {
            archive(write, old, "superseded", PURGE_AFTER)?;
        }
        let times = || self.sources.iter().map(happened_at);
        let unit = UnitRow {
            boundary: self.class(),
            state: UnitState::Validated,
            source: Some("summary".to_owned()),
            ..UnitRow::new(self.id.as_str(), write.now())
        };
        let payload = Payload::Summary(SummaryPayload {
            scope_label: self.label.to_owned(),
            scope_key: self.key.to_owned(),
            range_start: times().min(),
            range_end: times().max(),
            json: Some(rows::to_json(&self.body)?),
            text: self.body.summary_text,
        });
        let row = write.put_unit(&unit, &payload, PatchReason::Summarize)?;
        rows.iter().try_for_each(|&source| write.add_source(row, source))?;
        write.add_event("summarized", Some(row), "{}")?;
        Ok(true)
    }
}

/// Archives a unit for a reason, to be removed for good after so many seconds.
pub(super) fn archive(
    write: &MemoryWrite<'_>,
    unit: MemoryUnit,
    reason: &str,
    purge_after: i64,
) -> Result<()> {
    let archived = UnitRow {
        state: UnitState::Archived,
        archived_as: Some(reason.to_owned()),
        updated_at: write.now(),
        ..unit.unit
    };
    let row = write.put_unit(&archived, &unit.payload, PatchReason::Summarize)?;
    write.bury(row, reason, write.now().saturating_add(purge_after))?;
    write.add_event("archived", Some(row), &serde_json::json!({ "as": reason }).to_string())
}

pub(super) fn happened_at(unit: &MemoryUnit) -> i64 {
    unit.unit.occurred_at.unwrap_or(unit.unit.created_at)
}

/// What a unit says; of the output of tools and commands only what is told in short.
fn told(unit: &MemoryUnit) -> String {
    if let Payload::Episode(EpisodePayload { content_compressed: Some(short), .. }) = &unit.payload
    {
        return short.clone();
    }
    unit.payload.text()
}
