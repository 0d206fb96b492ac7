//! Which texts the vectors of their tokens are kept of, next to their embedding.

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use trefoil_core::{Language, Result, RowId, TokenCodes};

use super::{EMBEDDED, queue::enqueue_missing, space};
use crate::{Store, fault::unreadable, meta};

/// The setting that says which token vectors are kept; absent where none are.
const KEPT_TOKENS: &str = "kept_tokens";

/// Which token vectors are kept: those of memory, and of documents in some languages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptTokens {
    /// How they are compared; what has another space cannot be. Where passages in one language are
    /// compared otherwise than those in another, the spaces of all, one after the other.
    pub space: String,
    /// The languages of documents.
    pub languages: Vec<Language>,
}

/// The vectors of the tokens of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddedTokens {
    /// Their space, which is part of what is [kept](KeptTokens::space); empty for a text whose
    /// language has none.
    pub space: String,
    /// The vectors.
    pub codes: TokenCodes,
}

/// What holds of a row of `embedding_cache` that has the token vectors that are wanted of a text in
/// a language, an expression of SQL that is NULL for memory.
pub(super) fn has_tokens(language: &str) -> String {
    format!(
        "NOT EXISTS (SELECT 1 FROM meta WHERE key = '{KEPT_TOKENS}'
             AND NOT ifnull(instr(value ->> 'space', token_space), 0)
             AND ifnull(instr(value ->> 'languages', {language}), 1))"
    )
}

fn kept(tx: &Connection) -> rusqlite::Result<Option<KeptTokens>> {
    let kept = meta::get(tx, KEPT_TOKENS)?;
    let read = |text: String| serde_json::from_str(&text).map_err(|error| unreadable(0, error));
    kept.map(read).transpose()
}

impl Store {
    /// Which token vectors are kept, if any are.
    pub fn kept_tokens(&self) -> Result<Option<KeptTokens>> {
        self.read("read which token vectors are kept", kept)
    }

    /// Sets which token vectors are kept. Texts that have an embedding without those that are
    /// wanted are queued to be embedded once more, and answer with what they have until then; what
    /// is no longer wanted is forgotten.
    pub fn keep_tokens(&self, wanted: Option<&KeptTokens>) -> Result<()> {
        self.write("set which token vectors are kept", |tx, now| {
            let before = kept(tx)?;
            if before.as_ref() == wanted {
                return Ok(());
            }
            match wanted {
                Some(wanted) => meta::set(tx, KEPT_TOKENS, &serde_json::json!(wanted).to_string())?,
                None => {
                    meta::forget(tx, KEPT_TOKENS)?;
                }
            }
            let space = |kept: Option<&KeptTokens>| kept.map(|kept| kept.space.clone());
            let are_comparable = space(before.as_ref()) == space(wanted);
            let languages = wanted.map_or(&[][..], |wanted| &wanted.languages);
            let languages: Vec<&str> = languages.iter().map(|language| language.code()).collect();
            tx.execute(
                &format!(
                    "UPDATE embedding_cache SET token_space = NULL, tokens = NULL
                     WHERE token_space IS NOT NULL AND (NOT ?1 OR NOT EXISTS (
                         SELECT 1 FROM ({EMBEDDED}) e WHERE e.hash = text_hash
                         AND ifnull(instr(?2, e.language), 1)))"
                ),
                params![are_comparable, languages.join(" ")],
            )?;
            if let (Some(_), Some(space)) = (wanted, super::space(tx)?) {
                enqueue_missing(tx, now, Some(&space))?;
            }
            Ok(())
        })
    }

    /// The token vectors of `rows`, in their order; rows without any are left out, and all if what
    /// is kept is not `wanted`, a [space](KeptTokens::space).
    pub fn token_codes(
        &self,
        rows: &[RowId],
        wanted: &str,
    ) -> Result<Vec<(RowId, EmbeddedTokens)>> {
        self.read("read token vectors", |tx| {
            let is_kept = kept(tx)?.is_some_and(|kept| kept.space == wanted);
            let Some(space) = space(tx)?.filter(|_| is_kept) else { return Ok(Vec::new()) };
            let mut select = tx.prepare_cached(
                "SELECT e.tokens, length(e.vector), e.token_space FROM units u
                 LEFT JOIN payload_chunk c ON c.unit_id = u.id
                 JOIN embedding_cache e
                     ON e.text_hash = ifnull(c.embedding_hash, u.embedding_hash) AND e.fingerprint = ?2
                 WHERE u.id = ?1 AND instr(?3, e.token_space) AND length(e.tokens) > 0",
            )?;
            let kept = rows.iter().filter_map(|&row| {
                let tokens = select
                    .query_row(params![row.get().cast_signed(), space, wanted], |columns| {
                        let dimensions = columns.get::<_, usize>(1)? / size_of::<f32>();
                        let codes = TokenCodes::from_bytes(columns.get(0)?, dimensions)
                            .ok_or_else(|| unreadable(0, "token vectors of a broken length"))?;
                        Ok(EmbeddedTokens { space: columns.get(2)?, codes })
                    })
                    .optional();
                tokens.map(|tokens| Some((row, tokens?))).transpose()
            });
            kept.collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        embedding::EmbeddedText,
        fixture::{Fixture, file},
    };

    fn wanted(space: &str, languages: &[Language]) -> KeptTokens {
        KeptTokens { space: space.to_owned(), languages: languages.to_vec() }
    }

    fn codes_of(fixture: &Fixture, rows: &[RowId]) -> Vec<(RowId, TokenCodes)> {
        let kept = fixture.store.kept_tokens().unwrap();
        let space = kept.map(|kept| kept.space).unwrap_or_default();
        assert_eq!(fixture.store.token_codes(rows, "another").unwrap(), []);
        let found = fixture.store.token_codes(rows, &space).unwrap();
        found.into_iter().map(|(row, tokens)| (row, tokens.codes)).collect()
    }

    fn codes(bytes: &[u8]) -> TokenCodes {
        TokenCodes::from_bytes(bytes.to_vec(), 2).unwrap()
    }

    /// Embeds what waits, and tells how many texts that were.
    fn embed(fixture: &Fixture, space: &str, bytes: &[u8]) -> usize {
        let jobs = fixture.store.claim_embed_jobs(10, 60).unwrap();
        let tokens = EmbeddedTokens { space: space.to_owned(), codes: codes(bytes) };
        let text = EmbeddedText { vector: vec![1.0, 2.0], tokens: Some(tokens) };
        let done: Vec<_> = jobs.iter().map(|job| (job.job, job.row, text.clone())).collect();
        fixture.store.finish_embed_jobs(&done).unwrap();
        done.len()
    }

    #[test]
    fn token_vectors_are_kept_while_they_are_wanted() {
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model").unwrap();
        let rows = fixture.put(&file("a", &["one", "two"]));
        fixture.embed_all();
        let kept = || codes_of(&fixture, &rows);
        assert_eq!((embed(&fixture, "a", &[1]), kept()), (0, vec![]));
        // Vectors that are there answer on while the tokens are made.
        let a = wanted("a", &Language::ALL);
        fixture.store.keep_tokens(Some(&a)).unwrap();
        assert_eq!(fixture.store.kept_tokens().unwrap(), Some(a));
        assert_eq!(fixture.store.cached_embeddings(&rows).unwrap().len(), 2);
        assert_eq!((embed(&fixture, "a", &[1, 2]), embed(&fixture, "a", &[1, 2])), (2, 0));
        assert_eq!(kept(), [(rows[0], codes(&[1, 2])), (rows[1], codes(&[1, 2]))]);
        let rows_of_b = fixture.put(&file("b", &["two"]));
        assert_eq!(embed(&fixture, "a", &[3]), 0, "known with its tokens");
        assert_eq!(codes_of(&fixture, &rows_of_b).len(), 1);
        fixture.store.keep_tokens(Some(&wanted("b", &Language::ALL))).unwrap();
        assert_eq!(kept(), []);
        assert_eq!(embed(&fixture, "b", &[4]), 3);
        assert_eq!(kept()[0].1, codes(&[4]));
        fixture.store.keep_tokens(None).unwrap();
        assert_eq!((embed(&fixture, "b", &[5]), kept()), (0, vec![]));
        assert_eq!(fixture.store.cached_embeddings(&rows).unwrap().len(), 2);
        assert_eq!(fixture.store.kept_tokens().unwrap(), None);
    }

    #[test]
    fn each_text_says_which_space_its_tokens_are_of() {
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model").unwrap();
        let rows = fixture.put(&file("a", &["one", "two", "three"]));
        fixture.store.keep_tokens(Some(&wanted("ab cd", &Language::ALL))).unwrap();
        let jobs = fixture.store.claim_embed_jobs(10, 60).unwrap();
        let text = |space: &str, bytes: &[u8]| EmbeddedText {
            vector: vec![1.0, 2.0],
            tokens: Some(EmbeddedTokens { space: space.to_owned(), codes: codes(bytes) }),
        };
        let texts = [text("cd", &[1]), text("", &[]), text("ab", &[2])];
        let done: Vec<_> =
            jobs.iter().zip(texts).map(|(job, text)| (job.job, job.row, text)).collect();
        fixture.store.finish_embed_jobs(&done).unwrap();
        let found = fixture.store.token_codes(&rows, "ab cd").unwrap();
        let found: Vec<_> =
            found.iter().map(|(row, tokens)| (*row, tokens.space.as_str())).collect();
        let row = |at: usize| jobs[at].row;
        let mut expected = vec![(row(0), "cd"), (row(2), "ab")];
        expected.sort_unstable();
        assert_eq!(found, expected);
        // None is missing, the text without any tokens neither.
        fixture.put(&file("b", &["one", "two"]));
        assert_eq!(embed(&fixture, "ab", &[3]), 0);
    }

    #[test]
    fn documents_of_other_languages_are_not_embedded_once_more() {
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model").unwrap();
        let mut doc = file("a", &["one", "여우"]);
        doc.chunks[1].chunk.language = Language::Ko;
        let rows = fixture.put(&doc);
        fixture.embed_all();
        let kept = || -> Vec<RowId> {
            let kept = codes_of(&fixture, &rows);
            kept.into_iter().map(|(row, _)| row).collect()
        };
        fixture.store.keep_tokens(Some(&wanted("a", &[Language::Ja, Language::Ko]))).unwrap();
        assert_eq!((embed(&fixture, "a", &[1]), kept()), (1, vec![rows[1]]));
        fixture.put(&file("b", &["one"]));
        assert_eq!(embed(&fixture, "a", &[1]), 0, "its vector is known, its tokens are not wanted");
        fixture.store.keep_tokens(Some(&wanted("a", &Language::ALL))).unwrap();
        assert_eq!((embed(&fixture, "a", &[1]), kept()), (2, rows.clone()));
        fixture.store.keep_tokens(Some(&wanted("a", &[Language::En]))).unwrap();
        assert_eq!((embed(&fixture, "a", &[1]), kept()), (0, vec![rows[0]]));
    }
}
