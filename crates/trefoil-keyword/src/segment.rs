use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use tantivy::{
    DocId, DocSet, SegmentReader, TERMINATED, Term,
    columnar::Column,
    index::SegmentId,
    schema::{Field, IndexRecordOption},
};
use trefoil_core::{Result, RowId, RowSet};

use crate::{
    document::{Fields, ROW, TIE_BREAK},
    index::backend,
};

/// What it costs to look up a row in a segment, in postings that are walked over.
const ROW_LOOK_UP: u64 = 32;

/// Terms whose live documents are remembered, of each segment with deletions.
const REMEMBERED: usize = 4_096;

/// A segment with its deletions as of one commit.
///
/// tantivy counts deleted documents until a merge drops them. What is counted here is what an
/// index rebuilt would count: live documents, their terms and their lengths.
pub(crate) struct Segment {
    pub(crate) reader: SegmentReader,
    fields: Fields,
    /// Number of terms of all documents, deleted ones included, in each of [`Fields::ranked`]:
    /// the same at every commit.
    written: Arc<OnceLock<[u64; 3]>>,
    columns: OnceLock<Columns>,
    frequencies: Mutex<HashMap<Term, u64>>,
}

/// What is read of a segment when it is first asked.
struct Columns {
    rows: Column<u64>,
    tie_breaks: Column<u64>,
    /// Number of terms of all live documents, in each of [`Fields::ranked`].
    tokens: [u64; 3],
    /// The deleted documents, ascending.
    deleted: Vec<DocId>,
}

impl Segment {
    /// Each segment of a commit. Those that are as they were `before` are the same again.
    pub(crate) fn all(
        readers: &[SegmentReader],
        fields: Fields,
        before: &[Arc<Self>],
    ) -> Vec<Arc<Self>> {
        let before: HashMap<SegmentId, &Arc<Self>> =
            before.iter().map(|one| (one.reader.segment_id(), one)).collect();
        let segment = |reader: &SegmentReader| {
            let known = before.get(&reader.segment_id()).copied();
            let same = known.filter(|one| one.reader.delete_opstamp() == reader.delete_opstamp());
            same.cloned().unwrap_or_else(|| {
                Arc::new(Self {
                    reader: reader.clone(),
                    fields,
                    written: known.map(|one| Arc::clone(&one.written)).unwrap_or_default(),
                    columns: OnceLock::new(),
                    frequencies: Mutex::default(),
                })
            })
        };
        readers.iter().map(segment).collect()
    }

    /// How many documents are not deleted.
    pub(crate) fn documents(&self) -> u64 {
        self.reader.num_docs().into()
    }

    pub(crate) fn is_live(&self, doc: DocId) -> bool {
        self.reader.alive_bitset().is_none_or(|alive| alive.is_alive(doc))
    }

    /// The rows by document.
    pub(crate) fn rows(&self) -> Result<&Column<u64>> {
        Ok(&self.columns()?.rows)
    }

    /// The numbers by document that equal scores are ordered by.
    pub(crate) fn tie_breaks(&self) -> Result<&Column<u64>> {
        Ok(&self.columns()?.tie_breaks)
    }

    /// Number of terms that the live documents have in a field.
    pub(crate) fn tokens(&self, field: Field) -> Result<u64> {
        let tokens = self.fields.ranked().into_iter().zip(self.columns()?.tokens);
        Ok(tokens.filter(|&(one, _)| one == field).map(|(_, tokens)| tokens).sum())
    }

    /// How many live documents hold a term.
    pub(crate) fn document_frequency(&self, term: &Term) -> Result<u64> {
        let failed = backend("look up a term");
        let inverted = self.reader.inverted_index(term.field()).map_err(&failed)?;
        let Some(info) = inverted.get_term_info(term).map_err(|error| failed(error.into()))? else {
            return Ok(0);
        };
        let Some(alive) = self.reader.alive_bitset() else { return Ok(info.doc_freq.into()) };
        if let Some(&known) = self.frequencies().get(term) {
            return Ok(known);
        }
        let mut postings = inverted
            .read_postings_from_terminfo(&info, IndexRecordOption::Basic)
            .map_err(|error| failed(error.into()))?;
        let deleted = &self.columns()?.deleted;
        let live = if deleted.len() < info.doc_freq as usize {
            let held = deleted.iter().filter(|&&doc| seek(&mut postings, doc) == doc).count();
            u64::from(info.doc_freq).saturating_sub(held as u64)
        } else {
            postings.doc_freq_given_deletes(alive).into()
        };
        let mut frequencies = self.frequencies();
        if frequencies.len() >= REMEMBERED {
            frequencies.clear();
        }
        frequencies.insert(term.clone(), live);
        Ok(live)
    }

    /// The live documents of `rows`, ascending, with their rows.
    pub(crate) fn documents_of(&self, rows: &RowSet) -> Result<Vec<(DocId, RowId)>> {
        let failed = backend("look up a row");
        let inverted = self.reader.inverted_index(self.fields.row()).map_err(&failed)?;
        let column = self.rows()?;
        let (first, last) = (column.min_value(), column.max_value());
        let mut found = Vec::new();
        for row in rows.iter().filter(|row| (first..=last).contains(&row.get())) {
            let term = self.fields.row_term(row);
            let postings = inverted
                .read_postings(&term, IndexRecordOption::Basic)
                .map_err(|error| failed(error.into()))?;
            let Some(mut postings) = postings else { continue };
            while postings.doc() != TERMINATED {
                if self.is_live(postings.doc()) {
                    found.push((postings.doc(), row));
                }
                postings.advance();
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// How far the best score of a block may be below that of a document in it, as a factor of
    /// at most 1, when `average` is the length that scores are computed with.
    ///
    /// tantivy names the document that is best with the segment's own average length. With
    /// another average another document may be, and the named one scores at least the lesser
    /// over the greater average of it. The bound of a whole list takes a document of endless length that
    /// consists of the term; lengths are kept rounded down by up to a ninth, so that a real document of that
    /// kind may score (ā + .9)/(ā + .8) of it.
    pub(crate) fn pruning_slack(&self, field: Field, average: f32) -> Result<f32> {
        let inverted = self.reader.inverted_index(field).map_err(backend("open a field"))?;
        let own = inverted.total_num_tokens() as f32 / self.reader.max_doc().max(1) as f32;
        let of_lists = (average + 0.8) / (average + 0.9);
        if own <= 0.0 || average <= 0.0 {
            return Ok(of_lists);
        }
        Ok(of_lists.min(own.min(average) / own.max(average)))
    }

    fn columns(&self) -> Result<&Columns> {
        if let Some(columns) = self.columns.get() {
            return Ok(columns);
        }
        let columns = self.read_columns()?;
        Ok(self.columns.get_or_init(|| columns))
    }

    fn read_columns(&self) -> Result<Columns> {
        let column =
            |name: &str| self.reader.fast_fields().u64(name).map_err(backend("open a column"));
        let mut deleted = Vec::new();
        if self.reader.has_deletes() {
            deleted.extend((0..self.reader.max_doc()).filter(|&doc| !self.is_live(doc)));
        }
        let [passage, title, headings] = Fields::LENGTHS;
        let lengths = [column(passage)?, column(title)?, column(headings)?];
        let written =
            self.written.get_or_init(|| lengths.each_ref().map(|one| one.values.iter().sum()));
        let mut tokens = *written;
        for (live, lengths) in tokens.iter_mut().zip(&lengths) {
            let gone: u64 = deleted.iter().filter_map(|&doc| lengths.first(doc)).sum();
            *live = live.saturating_sub(gone);
        }
        Ok(Columns { rows: column(ROW)?, tie_breaks: column(TIE_BREAK)?, tokens, deleted })
    }

    fn frequencies(&self) -> MutexGuard<'_, HashMap<Term, u64>> {
        self.frequencies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What it costs to look up `rows` and `terms` for each, in postings that are walked over.
pub(crate) fn look_up_costs(rows: &RowSet, segments: &[Arc<Segment>], terms: usize) -> u64 {
    let each = ROW_LOOK_UP * segments.len() as u64 + terms as u64;
    each.saturating_mul(rows.len() as u64)
}

/// Moves to the first document from `doc` on; documents are asked for in ascending order.
pub(crate) fn seek(postings: &mut impl DocSet, doc: DocId) -> DocId {
    if postings.doc() < doc { postings.seek(doc) } else { postings.doc() }
}
