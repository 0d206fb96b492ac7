//! Units found by what they say.

use rusqlite::{Params, params};
use trefoil_core::{Result, RowId};

use super::{MemoryRead, MemoryUnit, unit};
use crate::codec::{limit_of, row_ids};

impl MemoryRead<'_> {
    /// The claim that says what has this hash.
    pub fn claim_by_hash(&self, content_hash: &str) -> Result<Option<MemoryUnit>> {
        let sql = "SELECT unit_id FROM payload_claim WHERE content_hash = ?1";
        Ok(self.found("look up a claim", sql, [content_hash])?.pop())
    }

    /// Claims about `subject` that are not archived, with one of these predicates, the last
    /// changed first. What else there is of the subject costs nothing.
    pub fn claims_about(&self, subject: &str, predicates: &[&str]) -> Result<Vec<MemoryUnit>> {
        if predicates.is_empty() {
            return Ok(Vec::new());
        }
        let sql = "SELECT c.unit_id FROM payload_claim c JOIN units u ON u.id = c.unit_id
                   WHERE c.subject = ?1 AND c.predicate IN (SELECT value FROM json_each(?2))
                     AND u.state < 3
                   ORDER BY u.updated_at DESC, u.id DESC";
        let predicates = serde_json::Value::from(predicates).to_string();
        self.found("read the claims about a subject", sql, params![subject, predicates])
    }

    /// At most `limit` claims that are not archived, after the row `after`, by row: to walk
    /// over all of them.
    pub fn claims_after(&self, after: Option<RowId>, limit: usize) -> Result<Vec<MemoryUnit>> {
        let sql = "SELECT c.unit_id FROM payload_claim c JOIN units u ON u.id = c.unit_id
                   WHERE c.unit_id > ?1 AND u.state < 3 ORDER BY c.unit_id LIMIT ?2";
        let after = after.map_or(0, |row| row.get().cast_signed());
        self.found("walk over the claims", sql, [after, limit_of(limit)])
    }

    /// The newest summary of this label and key that is not archived.
    pub fn summary(&self, scope_label: &str, scope_key: &str) -> Result<Option<MemoryUnit>> {
        let sql = "SELECT s.unit_id FROM payload_summary s JOIN units u ON u.id = s.unit_id
                   WHERE s.scope_label = ?1 AND s.scope_key = ?2 AND u.state < 3
                   ORDER BY u.updated_at DESC, u.id DESC LIMIT 1";
        Ok(self.found("look up a summary", sql, [scope_label, scope_key])?.pop())
    }

    /// The loop that says this.
    pub fn loop_by_text(&self, text: &str) -> Result<Option<MemoryUnit>> {
        let sql = "SELECT unit_id FROM payload_loop WHERE loop_text = ?1";
        Ok(self.found("look up a loop", sql, [text])?.pop())
    }

    fn found(
        &self,
        doing: &'static str,
        sql: &str,
        parameters: impl Params,
    ) -> Result<Vec<MemoryUnit>> {
        self.sql(doing, |tx| {
            let rows = row_ids(tx, sql, parameters)?;
            rows.into_iter().filter_map(|row| unit::by_row(tx, row).transpose()).collect()
        })
    }
}
