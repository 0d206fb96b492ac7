use jiff::civil::{Date, date};
use tantivy::{
    Term,
    schema::{
        FAST, Field, INDEXED, IndexRecordOption, Schema, TantivyDocument, TextFieldIndexing,
        TextOptions,
    },
};
use trefoil_core::{
    Analyzer, Collection, Digest, IndexedUnit, Language, RowId, Sensitivity, UnitKind, UnitState,
};

use crate::terms::{TERM_READER, Terms};

/// Name of the column that holds the row of each document.
pub(crate) const ROW: &str = "row";
/// Name of the column that holds [`digest`] of what each document was made from.
pub(crate) const DIGEST: &str = "digest";

/// Name of the column that holds the number by which documents of equal score are ordered.
pub(crate) const TIE_BREAK: &str = "tie_break";

/// Positions left free between title, headings and text, so that no phrase or
/// neighbourhood spans two of them.
const GAP: u32 = 100;

/// The fields of a keyword document. Nothing is stored: the text lives in the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// Title, headings and text, with positions: what a passage is ranked by.
    pub(crate) passage: Field,
    /// The title again, alone.
    pub(crate) title: Field,
    /// The heading path again, alone.
    pub(crate) headings: Field,
    lengths: [Field; 3],
    row: Field,
    tie_break: Field,
    digest: Field,
    collection: Field,
    kind: Field,
    occurred_day: Field,
    state: Field,
    sensitivity: Field,
    language: Field,
}

impl Fields {
    /// Names of the columns that hold how many terms a document has in each of
    /// [`ranked`](Self::ranked).
    pub(crate) const LENGTHS: [&str; 3] = ["passage_length", "title_length", "headings_length"];

    /// The fields whose terms rank.
    pub(crate) fn ranked(&self) -> [Field; 3] {
        [self.passage, self.title, self.headings]
    }

    /// The field of the rows.
    pub(crate) fn row(&self) -> Field {
        self.row
    }

    /// The schema and the fields in it.
    pub(crate) fn schema() -> (Schema, Self) {
        let terms = |record| {
            let indexing = TextFieldIndexing::default().set_tokenizer(TERM_READER);
            TextOptions::default().set_indexing_options(indexing.set_index_option(record))
        };
        let mut schema = Schema::builder();
        let fields = Self {
            passage: schema
                .add_text_field("passage", terms(IndexRecordOption::WithFreqsAndPositions)),
            title: schema.add_text_field("title", terms(IndexRecordOption::WithFreqs)),
            headings: schema.add_text_field("headings", terms(IndexRecordOption::WithFreqs)),
            lengths: Self::LENGTHS.map(|name| schema.add_u64_field(name, FAST)),
            row: schema.add_u64_field(ROW, INDEXED | FAST),
            tie_break: schema.add_u64_field(TIE_BREAK, FAST),
            digest: schema.add_u64_field(DIGEST, FAST),
            collection: schema.add_u64_field("collection", FAST),
            kind: schema.add_u64_field("kind", FAST),
            occurred_day: schema.add_i64_field("occurred_day", FAST),
            state: schema.add_u64_field("state", FAST),
            sensitivity: schema.add_u64_field("sensitivity", FAST),
            language: schema.add_u64_field("language", FAST),
        };
        (schema.build(), fields)
    }

    /// The term that finds the document of a row.
    pub(crate) fn row_term(&self, row: RowId) -> Term {
        Term::from_field_u64(self.row, row.get())
    }

    /// What is indexed of a unit.
    pub(crate) fn document(&self, analyzer: &dyn Analyzer, unit: &IndexedUnit) -> TantivyDocument {
        let Searched { title, headings: heading_path, text, language } = Searched::of(unit);
        let labels = Labels::of(unit);
        let (mut title_terms, mut headings) = (Terms::default(), Terms::default());
        title_terms.append(analyzer, title, language, GAP);
        for heading in heading_path {
            headings.append(analyzer, heading, language, GAP);
        }
        let mut passage = title_terms.clone();
        for part in heading_path.iter().map(String::as_str).chain([text]) {
            passage.append(analyzer, part, language, GAP);
        }

        let mut document = TantivyDocument::new();
        let terms = [passage, title_terms, headings];
        for ((field, length), terms) in self.ranked().into_iter().zip(self.lengths).zip(&terms) {
            document.add_text(field, terms.encoded());
            document.add_u64(length, terms.count());
        }
        document.add_u64(self.row, unit.row().get());
        document.add_u64(self.tie_break, unit.tie_break());
        document.add_u64(self.digest, digest(unit));
        document.add_u64(self.collection, labels.collection.code().into());
        document.add_u64(self.kind, labels.kind.code().into());
        if let Some(day) = labels.occurred_day {
            document.add_i64(self.occurred_day, day);
        }
        document.add_u64(self.state, labels.state.code().into());
        document.add_u64(self.sensitivity, labels.sensitivity.code().into());
        document.add_u64(self.language, number(language));
        document
    }
}

/// What is searched of a unit.
struct Searched<'u> {
    title: &'u str,
    headings: &'u [String],
    text: &'u str,
    language: Language,
}

impl<'u> Searched<'u> {
    fn of(unit: &'u IndexedUnit) -> Self {
        match unit {
            IndexedUnit::Chunk(stored) => Self {
                title: &stored.file.title,
                headings: &stored.chunk.heading_path,
                text: &stored.chunk.text,
                language: stored.chunk.language,
            },
            IndexedUnit::Memory(unit, language) => {
                Self { title: "", headings: &[], text: &unit.text, language: *language }
            }
        }
    }
}

/// What is kept of a unit in columns.
struct Labels {
    collection: Collection,
    kind: UnitKind,
    occurred_day: Option<i64>,
    state: UnitState,
    sensitivity: Sensitivity,
}

impl Labels {
    fn of(unit: &IndexedUnit) -> Self {
        match unit {
            IndexedUnit::Chunk(stored) => Self {
                collection: Collection::Documents,
                kind: UnitKind::Chunk,
                occurred_day: stored.file.date.map(days_since_1970),
                state: UnitState::Raw,
                sensitivity: Sensitivity::Normal,
            },
            IndexedUnit::Memory(unit, _) => Self {
                collection: Collection::Memory,
                kind: unit.kind,
                occurred_day: Some(unit.occurred_day),
                state: unit.state,
                sensitivity: unit.boundary.sensitivity(),
            },
        }
    }
}

/// A digest of all that is indexed of a unit.
pub(crate) fn digest(unit: &IndexedUnit) -> u64 {
    let Searched { title, headings, text, language } = Searched::of(unit);
    let Labels { collection, kind, occurred_day, state, sensitivity } = Labels::of(unit);
    let day = occurred_day.map_or_else(String::new, |day| day.to_string());
    let labels = [collection.code(), kind.code(), state.code(), sensitivity.code()];
    let labels = Digest::new().with(&labels).with(&unit.tie_break().to_le_bytes());
    let parts = [language.code(), &day, title].into_iter();
    let parts = parts.chain(headings.iter().map(String::as_str)).map(str::as_bytes);
    parts.fold(labels, Digest::with).with(text.as_bytes()).get()
}

fn days_since_1970(day: Date) -> i64 {
    day.duration_since(date(1970, 1, 1)).as_hours() / 24
}

fn number(language: Language) -> u64 {
    (0..)
        .zip(Language::ALL)
        .find_map(|(number, each)| (each == language).then_some(number))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_from_1970_in_both_directions() {
        for (day, expected) in
            [(date(1970, 1, 1), 0), (date(1969, 12, 31), -1), (date(2000, 3, 1), 11_017)]
        {
            assert_eq!(days_since_1970(day), expected);
        }
    }
}
