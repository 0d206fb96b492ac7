use std::time::Duration;

use trefoil_core::{BoundaryClass, Error, Language, UnitKind};
use trefoil_postgres::{PostgresConfig, PostgresTruth};
use trefoil_store::truth::{
    Cluster, EmbedOutcome, EmbedText, MadeVectors, MemoryTruth, NodeReport, NodeRole, OutOfReach,
    Place, Request, RequestId, Sequences, Touched, Truth, Value,
};

use crate::{
    collected::{Change, Collected, TABLES, setting, transaction},
    database::{Database, query},
    rows::begin_again,
};

/// A database with the indexes `notes` and `other`, and logins for `notes` whose names are unique
/// on the server.
struct Roles {
    database: Database,
    tag: String,
}

impl Roles {
    fn new() -> Option<Self> {
        let database = Database::with_tables()?;
        let other: PostgresConfig = format!("{}?index=other", database.url()).parse().unwrap();
        trefoil_postgres::init(&other, 1).unwrap();
        let roles = Self { database, tag: format!("{:016x}", fastrand::u64(..)) };
        for (name, role) in [
            ("writer", NodeRole::Writer),
            ("searcher", NodeRole::Searcher),
            ("embedder", NodeRole::Embedder),
            ("nobody", NodeRole::Embedder),
        ] {
            let login = roles.login(name);
            roles.database.sql(&format!("CREATE ROLE {login} LOGIN PASSWORD '{login}'"));
            trefoil_postgres::grant(&roles.database.config(), &login, role).unwrap();
        }
        trefoil_postgres::revoke(&roles.database.config(), &roles.login("nobody")).unwrap();
        // The other index has rows, which are nobody's here.
        let truth = PostgresTruth::new(other).unwrap();
        let place = truth.lead(Place::NOTHING, Duration::ZERO).unwrap().unwrap();
        truth.append(place, &setting("secret", "of another")).unwrap();
        truth.want_vectors("model", &[text()]).unwrap();
        truth.send(&Request { id: RequestId(1), body: vec![] }).unwrap();
        Some(roles)
    }

    fn login(&self, name: &str) -> String {
        format!("{name}_{}", self.tag)
    }

    fn truth(&self, name: &str, index: &str) -> PostgresTruth {
        let url = format!("{}?index={index}", self.database.url_of(&self.login(name)));
        let config: PostgresConfig = url.parse().unwrap();
        PostgresTruth::new(config.with_node(name).unwrap()).unwrap()
    }

    /// What SQL says to a login: the first value of each row.
    fn sql(&self, name: &str, sql: &str) -> Result<Vec<String>, String> {
        let rows = query(&self.database.url_of(&self.login(name)), sql)?;
        Ok(rows.into_iter().map(|row| row[0].clone()).collect())
    }

    fn denied(&self, name: &str, sql: &str) {
        let said = self.sql(name, sql).expect_err(sql);
        let is_denial = ["permission denied", "row-level security", "must be owner"];
        assert!(is_denial.iter().any(|word| said.contains(word)), "{name}: {sql}: {said}");
    }
}

impl Drop for Roles {
    fn drop(&mut self) {
        for name in ["writer", "searcher", "embedder", "nobody"] {
            let login = self.login(name);
            self.database.sql(&format!("DROP OWNED BY {login}; DROP ROLE {login}"));
        }
    }
}

fn text() -> EmbedText {
    EmbedText { text_hash: "00".into(), text: "a text".into(), language: Some(Language::Ja) }
}

fn report() -> NodeReport {
    report_of(NodeRole::Searcher)
}

fn report_of(role: NodeRole) -> NodeReport {
    NodeReport { role, address: None, place: Place::NOTHING, erased: 0 }
}

fn refused<T: std::fmt::Debug>(answer: trefoil_core::Result<T>) {
    let error = answer.unwrap_err();
    assert!(matches!(error, Error::Backend { .. }), "{}", error.chain());
    let said = error.chain();
    assert!(said.contains("42501") && said.contains("127.0.0.1"), "{said}");
}

#[test]
fn every_table_has_row_level_security() {
    let Some(database) = Database::with_tables() else { return };
    let without = database.sql(
        "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
         WHERE nspname = 'trefoil' AND relkind = 'r' AND NOT relrowsecurity",
    );
    assert!(without.is_empty(), "{without:?}");
    // Views read as the owner: a function of whoever asks is to see nothing that they leave out.
    let leaky = database.sql(
        "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
         WHERE nspname = 'trefoil' AND relkind = 'v'
             AND NOT coalesce('security_barrier=true' = ANY (reloptions), false)",
    );
    assert!(leaky.is_empty(), "{leaky:?}");
    let public = database.value(
        "SELECT count(*) FROM information_schema.role_table_grants
         WHERE table_schema = 'trefoil' AND grantee = 'PUBLIC'",
    );
    assert_eq!(public, "0");
}

#[test]
fn a_writer_writes_its_index_and_sees_no_other() {
    let Some(roles) = Roles::new() else { return };
    let writer = roles.truth("writer", "notes");
    let place = writer.lead(Place::NOTHING, Duration::from_mins(10)).unwrap().unwrap();
    writer.renew(place, Duration::from_mins(10)).unwrap();
    let place = writer.append(place, &setting("mine", "v")).unwrap();
    let place = writer.append(place, &setting("mine", "w")).unwrap();
    let mut gone = setting("mine", "");
    gone.tables[0].gone = vec![gone.tables[0].rows.pop().unwrap()[..1].to_vec()];
    let place = writer.append(place, &gone).unwrap();
    writer.prune(place, 1).unwrap();
    writer.report(&report()).unwrap();
    writer.send(&Request { id: RequestId(1), body: vec![] }).unwrap();
    assert_eq!(writer.requests(9).unwrap().len(), 1);
    writer.forget(RequestId(1)).unwrap();
    writer.want_vectors("model", &[text()]).unwrap();
    assert_eq!(writer.claim_texts("model", 9, Duration::ZERO).unwrap().len(), 1);
    writer.retain_texts(&[("model", "00")]).unwrap();
    writer.forget_vectors("model", &["00".into()]).unwrap();
    assert_eq!(Collected::of(&writer).len(), 0);
    writer.resign(place).unwrap();
    let error = roles.truth("writer", "other").head().unwrap_err();
    assert!(matches!(error, Error::ShardMissing { .. }), "{}", error.chain());
    for table in ["meta", "embed", "inbox", "epoch WHERE epoch <> 1", "shard WHERE shard <> 1"] {
        let count = roles.sql("writer", &format!("SELECT count(*) FROM trefoil.{table}"));
        assert_eq!(count.unwrap(), ["0"], "{table}");
    }
    let none = roles.sql("writer", "UPDATE trefoil.meta SET value = 'x' RETURNING key");
    assert_eq!(none.unwrap(), [""; 0]);
    for sql in [
        "INSERT INTO trefoil.meta (shard, tx, key) VALUES (2, 1, 'x')",
        "INSERT INTO trefoil.gone VALUES (2, 'meta', '[]', 9)",
        "INSERT INTO trefoil.inbox (shard, id, body) VALUES (2, gen_random_uuid(), '')",
        "INSERT INTO trefoil.shard (index_name, part, parts, format) VALUES ('x', 0, 1, 1)",
        "UPDATE trefoil.shard SET index_name = 'x'",
        "DELETE FROM trefoil.shard",
        "SELECT FROM trefoil.member",
        "INSERT INTO trefoil.member VALUES (current_user, 'other', 'writer')",
        "UPDATE trefoil.version SET format = 1",
        "CREATE TABLE trefoil.mine ()",
        "ALTER TABLE trefoil.meta DISABLE ROW LEVEL SECURITY",
    ] {
        roles.denied("writer", sql);
    }
}

#[test]
fn a_writer_vacuums_where_the_database_lets_it_and_says_so_where_it_does_not() {
    let Some(roles) = Roles::new() else { return };
    let version: u32 = roles.database.value("SHOW server_version_num").parse().unwrap();
    for (name, may) in [("writer", version >= 170_000), ("searcher", false)] {
        let left = roles.truth(name, "notes").vacuum().unwrap();
        assert_eq!(left.contains(&OutOfReach::Rows), !may, "{name}: {left:?}");
    }
}

#[test]
fn a_searcher_reads_rows_and_tells_of_its_own_node() {
    let Some(roles) = Roles::new() else { return };
    let (writer, searcher) = (roles.truth("writer", "notes"), roles.truth("searcher", "notes"));
    let place = writer.lead(Place::NOTHING, Duration::ZERO).unwrap().unwrap();
    let place = writer.append(place, &setting("k", "v")).unwrap();
    writer.report(&report()).unwrap();
    assert_eq!(searcher.head().unwrap(), place);
    assert_eq!(searcher.shard().unwrap().head, place);
    assert_eq!(Collected::of(&searcher).len(), 1);
    searcher.report(&report()).unwrap();
    searcher.report(&report()).unwrap();
    assert_eq!(searcher.nodes(Duration::from_mins(10)).unwrap().len(), 2);
    refused(searcher.lead(place, Duration::ZERO));
    refused(searcher.append(place, &setting("k", "v")));
    refused(searcher.renew(place, Duration::ZERO));
    refused(searcher.prune(place, 0));
    refused(searcher.send(&Request { id: RequestId(1), body: vec![] }));
    refused(searcher.requests(1));
    refused(searcher.want_vectors("model", &[text()]));
    refused(searcher.claim_texts("model", 1, Duration::ZERO));
    refused(searcher.outcomes("model", 1));
    let error = roles.truth("searcher", "other").head().unwrap_err();
    assert!(matches!(error, Error::ShardMissing { .. }), "{}", error.chain());
    let seen = roles.sql("searcher", "SELECT key FROM trefoil.meta").unwrap();
    assert_eq!(seen, ["k"]);
    let changed = "UPDATE trefoil.node SET tx = 9 WHERE node = 'writer' RETURNING node";
    assert_eq!(roles.sql("searcher", changed).unwrap(), [""; 0]);
    for sql in [
        "UPDATE trefoil.meta SET value = 'x'",
        "DELETE FROM trefoil.meta",
        "INSERT INTO trefoil.meta (shard, tx, key) VALUES (1, 1, 'x')",
        "DELETE FROM trefoil.node",
        "UPDATE trefoil.node SET login = 'x'",
        "INSERT INTO trefoil.node (shard, node, role, epoch, by, tx, seen)
             VALUES (2, 'x', 'searcher', 1, 1, 1, now())",
        "UPDATE trefoil.shard SET until = 'infinity'",
        "SELECT FROM trefoil.inbox",
        "SELECT FROM trefoil.embed",
        "SELECT FROM trefoil.member",
    ] {
        roles.denied("searcher", sql);
    }
}

#[test]
fn an_embedder_gets_texts_of_its_index_and_stores_vectors() {
    let Some(roles) = Roles::new() else { return };
    let (writer, embedder) = (roles.truth("writer", "notes"), roles.truth("embedder", "notes"));
    writer.want_vectors("model", &[text()]).unwrap();
    let lease = Duration::from_mins(10);
    assert_eq!(embedder.claim_texts("model", 64, lease).unwrap(), [text()]);
    embedder.return_texts("model", &[("00".into(), Some("broke".into()))]).unwrap();
    assert_eq!(embedder.claim_texts("model", 64, lease).unwrap(), [text()]);
    let made = MadeVectors { vector: vec![1.0, 2.0], tokens: Some(vec![0, 255]) };
    embedder.put_vectors("model", &[("00".into(), made.clone())]).unwrap();
    let outcomes = writer.outcomes("model", 9).unwrap();
    assert_eq!(outcomes, [("00".into(), EmbedOutcome::Made(made))]);
    // It tells of itself, as what it is, and sees no other node.
    writer.report(&report_of(NodeRole::Writer)).unwrap();
    embedder.report(&report_of(NodeRole::Embedder)).unwrap();
    embedder.report(&report_of(NodeRole::Embedder)).unwrap();
    let nodes = writer.nodes(Duration::from_mins(10)).unwrap();
    let roles_seen: Vec<_> = nodes.iter().map(|node| node.report.role).collect();
    assert_eq!(roles_seen, [NodeRole::Embedder, NodeRole::Writer]);
    let seen = roles.sql("embedder", "SELECT node FROM trefoil.node").unwrap();
    assert_eq!(seen, ["embedder"]);
    let changed = "UPDATE trefoil.node SET tx = 9 WHERE node = 'writer' RETURNING node";
    assert_eq!(roles.sql("embedder", changed).unwrap(), [""; 0]);
    refused(embedder.head());
    refused(embedder.pull(Place::NOTHING, &mut Collected::default()));
    refused(embedder.lead(Place::NOTHING, lease));
    refused(embedder.report(&report()));
    refused(embedder.requests(1));
    refused(embedder.want_vectors("model", &[text()]));
    refused(embedder.forget_vectors("model", &["00".into()]));
    refused(embedder.retain_texts(&[]));
    for sql in [
        "SELECT FROM trefoil.meta",
        "SELECT FROM trefoil.payload_chunk",
        "UPDATE trefoil.node SET role = 'searcher'",
        "DELETE FROM trefoil.node",
        "SELECT tx FROM trefoil.shard",
        "DELETE FROM trefoil.embed",
        "UPDATE trefoil.embed SET text = 'x'",
        "UPDATE trefoil.embed SET language = 'x'",
        "INSERT INTO trefoil.embed (shard, fingerprint, text_hash, text) VALUES (1, 'x', 'x', 'x')",
    ] {
        roles.denied("embedder", sql);
    }
}

#[test]
fn a_login_whose_role_was_revoked_is_let_at_nothing() {
    let Some(roles) = Roles::new() else { return };
    refused(roles.truth("nobody", "notes").head());
    for table in ["meta", "shard", "granted", "embed", "node"] {
        roles.denied("nobody", &format!("SELECT FROM trefoil.{table}"));
    }
}

/// Random changes of all tables, with units of every class.
fn changes(random: &mut fastrand::Rng) -> Touched {
    let changes: Vec<Change> = (0..random.usize(1..60))
        .map(|_| Change {
            table: random.usize(..TABLES.len()),
            key: random.u8(..40),
            seed: (random.u8(..4) > 0).then(|| random.u64(..)),
        })
        .collect();
    let mut touched = transaction(&changes, Sequences::default());
    for part in touched.tables.iter_mut().filter(|part| part.table.name == "units") {
        let place =
            |name: &str| part.table.columns.iter().position(|column| column.name == name).unwrap();
        let (kind, boundary) = (place("kind"), place("boundary"));
        for row in &mut part.rows {
            let kinds = [UnitKind::Chunk, UnitKind::Claim];
            row[kind] = Value::Integer(kinds[random.usize(..2)].code().into());
            row[boundary] = Value::Integer(random.i64(0..4));
        }
    }
    touched
}

#[test]
fn a_searcher_within_a_boundary_is_given_what_a_truth_in_memory_gives() {
    let Some(roles) = Roles::new() else { return };
    let mut random = fastrand::Rng::with_seed(7);
    let (mut given, mut withheld) = (0, 0);
    for class in [BoundaryClass::Public, BoundaryClass::Internal, BoundaryClass::Pii] {
        trefoil_postgres::grant_within(&roles.database.config(), &roles.login("searcher"), class)
            .unwrap();
        for _ in 0..12 {
            let writer = begin_again(&roles.database);
            let memory = MemoryTruth::new("a");
            let model = memory.node("b").within(class);
            let searcher = roles.truth("searcher", "notes");
            let mut expected = Collected::default();
            let mut found = Collected::default();
            let lease = Duration::ZERO;
            let mut place = writer.lead(Place::NOTHING, lease).unwrap().unwrap();
            let mut at = memory.lead(Place::NOTHING, lease).unwrap().unwrap();
            for _ in 0..random.usize(1..6) {
                let touched = changes(&mut random);
                place = writer.append(place, &touched).unwrap();
                at = memory.append(at, &touched).unwrap();
                if random.bool() {
                    expected.pull(&model).unwrap();
                    found.pull(&searcher).unwrap();
                    assert_eq!(found.rows, expected.rows);
                }
            }
            expected.pull(&model).unwrap();
            found.pull(&searcher).unwrap();
            assert_eq!(found.rows, expected.rows);
            let new = Collected::of(&searcher);
            assert_eq!(new.rows, Collected::of(&model).rows);
            assert_eq!(searcher.shard().unwrap().boundary, Some(class));
            given += new.len();
            withheld += Collected::of(&writer).len() - new.len();
        }
    }
    assert!(given > 100 && withheld > 100, "{given}, {withheld}");
    // The rest is as it is for every searcher.
    let searcher = roles.truth("searcher", "notes");
    searcher.report(&report()).unwrap();
    refused(searcher.send(&Request { id: RequestId(1), body: vec![] }));
    for table in ["entities", "edges", "events", "erased_runs"] {
        let count = roles.sql("searcher", &format!("SELECT count(*) FROM trefoil.{table}"));
        assert_eq!(count.unwrap(), ["0"], "{table}");
    }
    trefoil_postgres::grant(&roles.database.config(), &roles.login("searcher"), NodeRole::Searcher)
        .unwrap();
    assert_eq!(searcher.shard().unwrap().boundary, None);
    let all = roles.truth("writer", "notes");
    assert_eq!(Collected::of(&searcher).rows, Collected::of(&all).rows);
}
