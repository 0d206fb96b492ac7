//! The transaction of a write. Functions that write take it, so that none does without.

use std::ops::Deref;

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// A transaction that holds SQLite's lock for writing. It is undone unless it is committed.
#[derive(Debug)]
pub(crate) struct WriteTx<'c>(Transaction<'c>);

impl<'c> WriteTx<'c> {
    /// Waits for the lock. [`Store::write`](crate::Store::write) does this for an open store;
    /// others only for a file that no store has open yet.
    pub(crate) fn begin(connection: &'c Connection) -> rusqlite::Result<Self> {
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map(Self)
    }

    pub(crate) fn commit(self) -> rusqlite::Result<()> {
        self.0.commit()
    }
}

impl Deref for WriteTx<'_> {
    type Target = Connection;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    /// What changes a database, also as part of a statement.
    const WRITES: [&str; 9] = [
        "INSERT INTO",
        "INSERT OR",
        "UPDATE ",
        "DELETE FROM",
        "REPLACE INTO",
        "CREATE T",
        "DROP TABLE",
        "ALTER TABLE",
        "VACUUM",
    ];

    /// Where SQLite allows no transaction, or writes to another file.
    const OUTSIDE: [(&str, &str); 3] = [
        ("disk/copy.rs", "fn copy("),
        ("memory/erase.rs", "fn clean("),
        ("disk/pages.rs", "fn upgrade("),
    ];

    /// Who begins a transaction: the door, and what makes a file ready before a store opens it.
    const BEGINNERS: [(&str, &str); 8] = [
        ("disk/migration.rs", "fn migrate("),
        ("disk/pages.rs", "fn promise("),
        ("disk/salvage.rs", "fn salvage_file("),
        ("store.rs", "fn write_answering<"),
        ("store.rs", "fn write_here<"),
        // What others wrote, and the place of a node: neither is to be told to the truth. What is
        // shared is told as a whole.
        ("truth/cache.rs", "fn lead("),
        ("truth/cache.rs", "fn pull("),
        ("truth/share.rs", "fn share("),
    ];

    /// The code of every file of the crate without its tests and its comments, by path.
    fn sources() -> Vec<(String, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let (mut folders, mut sources) = (vec![root.clone()], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path: PathBuf = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                if !name.ends_with("tests.rs") && name != "fixture.rs" {
                    let text = fs::read_to_string(&path).unwrap();
                    let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
                    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
                    sources.push((name, lines.collect::<Vec<_>>().join("\n")));
                }
            }
        }
        sources
    }

    /// The function around the byte `at`, as far as there, and the head of its `impl` if any.
    fn around(code: &str, at: usize) -> (String, String) {
        let (mut function, mut head) = (0, "");
        let mut start = 0;
        for line in code[..at].split_inclusive('\n') {
            let words = line.trim_start();
            if line.starts_with("impl") {
                head = line;
            } else if line.starts_with('}') {
                head = "";
            }
            let declared = words.trim_start_matches("pub").trim_start_matches("(crate)");
            let declared = declared.trim_start_matches("(super)").trim_start();
            if declared.starts_with("fn ") || declared.starts_with("const fn ") {
                function = start;
            }
            start += line.len();
        }
        (code[function..at].to_owned(), head.to_owned())
    }

    /// Types that hold the transaction of a write.
    fn holders(sources: &[(String, String)]) -> BTreeSet<String> {
        let mut holders = BTreeSet::new();
        for (_, code) in sources {
            for part in code.split("struct ").skip(1) {
                let fields = part.split("\n}").next().unwrap();
                if fields.contains("WriteTx<") {
                    let end = part.find(|c: char| !c.is_alphanumeric()).unwrap();
                    holders.insert(part[..end].to_owned());
                }
            }
        }
        holders
    }

    #[test]
    fn every_statement_that_writes_is_behind_the_one_door() {
        let sources = sources();
        let holders = holders(&sources);
        let (mut counted, mut outside) = (0, Vec::new());
        for (name, code) in &sources {
            for at in WRITES.iter().flat_map(|word| code.match_indices(word)).map(|(at, _)| at) {
                counted += 1;
                let (function, head) = around(code, at);
                let is_named =
                    OUTSIDE.iter().any(|(file, start)| file == name && function.contains(start));
                let has_the_door = ["WriteTx<", "self.write(", "self.write_here("]
                    .iter()
                    .any(|way| function.contains(way))
                    || holders.iter().any(|holder| head.contains(&format!("{holder}<")));
                if !is_named && !has_the_door {
                    outside
                        .push(format!("{name}: {}", function.lines().next().unwrap_or_default()));
                }
            }
        }
        assert_eq!(outside, [""; 0], "statements that write outside of a write's transaction");
        assert!(counted > 80, "only {counted} statements were found");
    }

    #[test]
    fn only_the_door_and_what_opens_a_file_begin_a_write() {
        let mut beginners = Vec::new();
        for (name, code) in sources() {
            for (at, _) in code.match_indices("WriteTx::begin(") {
                beginners.push((name.clone(), around(&code, at).0));
            }
            let by_hand = ["TransactionBehavior::Immediate", "BEGIN IMMEDIATE", "savepoint("];
            assert!(
                name == "write.rs" || !by_hand.iter().any(|way| code.contains(way)),
                "{name} begins a write without `WriteTx`"
            );
            let locks = code.matches("locked(writer)").count();
            assert_eq!(locks, usize::from(name == "store.rs"), "{name} locks the writer");
        }
        beginners.sort();
        assert_eq!(beginners.len(), BEGINNERS.len(), "{beginners:?}");
        for ((name, function), (file, start)) in beginners.iter().zip(BEGINNERS) {
            assert!(name == file && function.contains(start), "{name}: {function}");
        }
    }
}
