use jiff::civil::{Date, date};
use tantivy::{
    Term,
    schema::{
        FAST, Field, INDEXED, IndexRecordOption, Schema, TantivyDocument, TextFieldIndexing,
        TextOptions,
    },
};
use trefoil_core::{Analyzer, Language, RowId, StoredChunk};

use crate::terms::{TERM_READER, Terms};

/// Name of the column that holds the row of each document.
pub(crate) const ROW: &str = "row";

/// Positions left free between title, headings and text, so that no phrase or
/// neighbourhood spans two of them.
const GAP: u32 = 100;

/// The `collection`, `kind`, `state` and `sensitivity` of a chunk of a document.
const DOCUMENTS: u64 = 0;
const CHUNK: u64 = 8;
const RAW: u64 = 0;
const NORMAL: u64 = 0;

/// The fields of a keyword document. Nothing is stored: the text lives in the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// Title, headings and text, with positions: what a passage is ranked by.
    pub(crate) passage: Field,
    /// The title again, alone.
    pub(crate) title: Field,
    /// The heading path again, alone.
    pub(crate) headings: Field,
    row: Field,
    collection: Field,
    kind: Field,
    occurred_day: Field,
    state: Field,
    sensitivity: Field,
    language: Field,
}

impl Fields {
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
            row: schema.add_u64_field(ROW, INDEXED | FAST),
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

    /// What is indexed of a chunk.
    pub(crate) fn document(
        &self,
        analyzer: &dyn Analyzer,
        stored: &StoredChunk,
    ) -> TantivyDocument {
        let (file, chunk) = (&stored.file, &stored.chunk);
        let (mut title, mut headings) = (Terms::default(), Terms::default());
        title.append(analyzer, &file.title, chunk.language, GAP);
        for heading in &chunk.heading_path {
            headings.append(analyzer, heading, chunk.language, GAP);
        }
        let mut passage = title.clone();
        for part in chunk.heading_path.iter().chain([&chunk.text]) {
            passage.append(analyzer, part, chunk.language, GAP);
        }

        let mut document = TantivyDocument::new();
        document.add_text(self.passage, passage.encoded());
        document.add_text(self.title, title.encoded());
        document.add_text(self.headings, headings.encoded());
        document.add_u64(self.row, stored.row.get());
        document.add_u64(self.collection, DOCUMENTS);
        document.add_u64(self.kind, CHUNK);
        if let Some(date) = file.date {
            document.add_i64(self.occurred_day, days_since_1970(date));
        }
        document.add_u64(self.state, RAW);
        document.add_u64(self.sensitivity, NORMAL);
        document.add_u64(self.language, number(chunk.language));
        document
    }
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
