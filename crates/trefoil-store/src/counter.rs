//! Counts that triggers keep (`migrations/007.sql`), so that nobody counts rows.

use rusqlite::{Connection, params};
use trefoil_core::{Collection, Language};

use crate::codec::language;

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counted<'k> {
    /// Leaf chunks, of all languages.
    Leaves,
    /// Parent chunks.
    Parents,
    /// Files.
    Files,
    /// Cached embeddings.
    Embeddings,
    /// Jobs with this status: of a kind, and of a collection, where one is given.
    Jobs { kind: Option<&'k str>, collection: Option<Collection>, status: i64 },
}

/// How many there are, in time that does not depend on it.
pub(crate) fn count(tx: &Connection, counted: Counted<'_>) -> rusqlite::Result<usize> {
    let (what, part, collection, state) = match counted {
        Counted::Leaves => ("chunk", None, None, 0),
        Counted::Parents => ("chunk", None, None, 1),
        Counted::Files => ("file", None, None, 0),
        Counted::Embeddings => ("embedding", None, None, 0),
        Counted::Jobs { kind, collection, status } => ("job", kind, collection, status),
    };
    tx.prepare_cached(
        "SELECT max(ifnull(sum(count), 0), 0) FROM counters
         WHERE what = ?1 AND (?2 IS NULL OR part = ?2) AND (?3 IS NULL OR collection = ?3)
           AND state = ?4",
    )?
    .query_row(params![what, part, collection.map(Collection::code), state], |row| row.get(0))
}

/// Leaf chunks in each language that there is, by language.
pub(crate) fn languages(tx: &Connection) -> rusqlite::Result<Vec<(Language, usize)>> {
    let mut languages = tx
        .prepare_cached(
            "SELECT part, count FROM counters WHERE what = 'chunk' AND state = 0 AND count > 0",
        )?
        .query_map([], |row| Ok((language(row, 0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<Vec<(Language, usize)>>>()?;
    languages.sort_unstable();
    Ok(languages)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::{Fixture, file, parent};

    /// What the table holds, and what it has to hold.
    fn both(fixture: &Fixture) -> [Vec<String>; 2] {
        let read = |from: &str| {
            let sql = format!(
                "SELECT concat_ws(' ', what, part, collection, state, count) FROM {from}
                 WHERE count <> 0 ORDER BY 1"
            );
            fixture
                .store
                .read("test", |tx| tx.prepare(&sql)?.query_map([], |row| row.get(0))?.collect())
        };
        ["counters", "recounted"].map(|from| read(from).unwrap())
    }

    proptest! {
        #[test]
        fn counters_are_what_a_recount_tells(
            steps in prop::collection::vec((0_u8..7, 0_u8..4, prop::collection::vec(0_u8..6, 0..5)), 1..20),
        ) {
            let fixture = Fixture::new();
            fixture.store.set_fingerprint("model").unwrap();
            for (step, path, texts) in steps {
                let path = path.to_string();
                match step {
                    0..3 => {
                        let names: Vec<String> = texts.iter().map(|n| format!("text {n}")).collect();
                        let names: Vec<&str> = names.iter().map(String::as_str).collect();
                        let mut file = file(&path, &names);
                        for (chunk, n) in file.chunks.iter_mut().zip(&texts) {
                            chunk.chunk.language = Language::ALL[usize::from(n % 3)];
                        }
                        file.chunks.push(parent(0, "all", 0, 900));
                        file.tags = names.iter().map(|&name| name.to_owned()).collect();
                        fixture.put(&file);
                    }
                    3 => drop(fixture.embed_all()),
                    4 => drop(fixture.store.remove_file(&path).unwrap()),
                    5 => {
                        let jobs = fixture.store.claim_embed_jobs(2, 60).unwrap();
                        let jobs: Vec<i64> = jobs.iter().map(|job| job.job).collect();
                        fixture.store.give_up_jobs(&jobs, "no model").unwrap();
                    }
                    _ => {
                        fixture.store.forget_done_jobs(1).unwrap();
                        fixture.store.forget_unused_embeddings(1).unwrap();
                    }
                }
                let [kept, counted] = both(&fixture);
                prop_assert_eq!(kept, counted);
            }
            prop_assert_eq!(fixture.store.verify().unwrap(), []);
        }
    }
}
