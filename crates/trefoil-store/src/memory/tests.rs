//! Memory as its user sees it: what is written is what is read, and what follows from it.

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use trefoil_core::{
    Allowed, BoundaryClass, Change, Collection, Error, IndexInput, RowId, Seq, UnitKind, UnitState,
};

use super::{embedded::MESSAGE, *};
use crate::fixture::{Fixture, extraction, file, vector};

pub(crate) fn claim(text: &str) -> ClaimPayload {
    ClaimPayload {
        text: text.to_owned(),
        kind: "fact".to_owned(),
        scope: "project".to_owned(),
        session: None,
        origin_json: "{}".to_owned(),
        quality: 0.5,
        utility: 0.0,
        recency: 1.0,
        recency_anchor: 0,
        decayed_at: 0,
        content_hash: format!("sha256:{text}"),
        sources: vec!["file:src/lib.rs:3".to_owned()],
        epistemic_status: "inferred".to_owned(),
        last_verified_at: 0,
        ttl: Some(86_400),
        importance: 2,
        subject: None,
        predicate: None,
        object: None,
        valid_from: None,
        valid_to: None,
        provenance_json: None,
    }
}

fn episode(text: &str) -> Payload {
    Payload::Episode(EpisodePayload { input_text: Some(text.to_owned()), ..Default::default() })
}

fn put(fixture: &Fixture, unit: &UnitRow, payload: &Payload) -> RowId {
    fixture
        .store
        .memory_write("test", |memory| memory.put_unit(unit, payload, PatchReason::ExtractUpdate))
        .unwrap()
}

fn put_claim(fixture: &Fixture, id: &str, text: &str) -> RowId {
    put(fixture, &UnitRow::new(id, 10), &Payload::Claim(claim(text)))
}

fn read<T>(fixture: &Fixture, work: impl FnOnce(&MemoryRead<'_>) -> Result<T>) -> T {
    fixture.store.memory_read("test", work).unwrap()
}

fn changes(fixture: &Fixture, collection: Collection) -> Vec<Change> {
    let changes = fixture
        .store
        .changes_of(
            collection,
            &[IndexInput::Text, IndexInput::Vector, IndexInput::Extraction],
            Seq::ZERO,
            99,
        )
        .unwrap();
    changes.into_iter().map(|(_, change)| change).collect()
}

fn jobs(fixture: &Fixture) -> Vec<String> {
    fixture
        .store
        .read("list jobs", |tx| {
            tx.prepare("SELECT kind FROM jobs WHERE status = 0 ORDER BY id")?
                .query_map([], |row| row.get(0))?
                .collect()
        })
        .unwrap()
}

#[test]
fn a_unit_of_each_kind_is_read_as_it_was_written() {
    let fixture = Fixture::new();
    let session = SessionRow {
        id: "ses_1".into(),
        project_path: "/p".into(),
        started_at: 5,
        ended_at: None,
        summary: None,
        owner: None,
        token_count: 0,
    };
    fixture.store.memory_write("test", |memory| memory.put_session(&session)).unwrap();
    let mut unit = UnitRow::new("x", 7);
    unit.tags = vec!["a".into(), "b".into()];
    unit.affect = Some(AffectRow { label: "joy".into(), intensity: 0.25 });
    unit.occurred_at = Some(-3);
    unit.pin = true;
    let fact = ClaimPayload {
        subject: Some("Ada".into()),
        predicate: Some("name".into()),
        object: Some("Lovelace".into()),
        valid_from: Some(1),
        ..claim("a fact")
    };
    let bodies = [
        (
            UnitKind::Episode,
            Payload::Episode(EpisodePayload {
                input_text: Some("in".into()),
                reply_text: Some("out".into()),
                observation_kind: Some("tool_use".into()),
                source_type: Some("tool".into()),
                session: Some("ses_1".into()),
                token_count: 4,
                expires_at: Some(100),
                ..Default::default()
            }),
        ),
        (UnitKind::Claim, Payload::Claim(claim("a claim"))),
        (UnitKind::Fact, Payload::Claim(fact)),
        (
            UnitKind::Summary,
            Payload::Summary(SummaryPayload {
                scope_label: "rolling".into(),
                scope_key: "7d".into(),
                range_start: Some(1),
                range_end: Some(2),
                text: "in short".into(),
                json: Some("{}".into()),
            }),
        ),
        (
            UnitKind::Loop,
            Payload::Loop(LoopPayload { text: "buy milk".into(), expires_at: 50, due_at: Some(9) }),
        ),
    ];
    for (n, (kind, payload)) in bodies.iter().enumerate() {
        let unit = UnitRow { id: format!("x{n}"), ..unit.clone() };
        let row = put(&fixture, &unit, payload);
        let expected = MemoryUnit { row, unit, payload: payload.clone() };
        assert_eq!(payload.kind(), *kind);
        assert_eq!(read(&fixture, |m| m.unit(&expected.unit.id)), Some(expected.clone()));
        assert_eq!(read(&fixture, |m| m.units(&[RowId::new(99), row])), [expected]);
    }
    assert_eq!(read(&fixture, |m| m.session("ses_1")).unwrap().token_count, 4);
    assert_eq!(read(&fixture, |m| m.summary("rolling", "7d")).unwrap().unit.id, "x3");
    assert_eq!(read(&fixture, |m| m.loop_by_text("buy milk")).unwrap().unit.id, "x4");
    assert_eq!(read(&fixture, |m| m.claims_about("Ada", &["age", "name"])).len(), 1);
    assert_eq!(read(&fixture, |m| m.claims_about("Ada", &["age"])), []);
    assert_eq!(read(&fixture, |m| m.claim_by_hash("sha256:a claim")).unwrap().unit.id, "x1");
    assert_eq!(read(&fixture, |m| m.expired_episodes(100, 9)).len(), 1);
    assert_eq!(read(&fixture, |m| m.expired_episodes(99, 9)), []);
    fixture.store.check().unwrap();
}

#[test]
fn a_row_belongs_to_one_collection() {
    let fixture = Fixture::new();
    let chunk = fixture.put(&file("a", &["one"]))[0];
    let row = put_claim(&fixture, "clm_1", "two");
    assert_eq!(changes(&fixture, Collection::Documents), [Change::Text(chunk)]);
    assert_eq!(changes(&fixture, Collection::Memory), [Change::Text(row)]);
    assert_eq!(fixture.store.chunks(&[chunk, row]).unwrap().len(), 1);
    assert_eq!(fixture.store.memory_texts(&[chunk, row]).unwrap()[0].row, row);
    assert_eq!(read(&fixture, |m| m.units(&[chunk])), []);
    fixture.store.remove_file("a").unwrap();
    fixture.store.memory_write("test", |m| m.remove_units(&[row, chunk])).unwrap();
    assert_eq!(changes(&fixture, Collection::Documents), [Change::Removed(chunk)]);
    assert_eq!(changes(&fixture, Collection::Memory), [Change::Removed(row)]);
}

#[test]
fn an_episode_asks_for_its_jobs_once() {
    let fixture = Fixture::new();
    fixture.store.set_fingerprint("model").unwrap();
    let unit = UnitRow::new("obs_1", 1);
    put(&fixture, &unit, &episode("hello"));
    let all = ["embed", "reflect", "extract_entities", "extract_facts", "extract_loops"];
    assert_eq!(jobs(&fixture), all);
    put(&fixture, &unit, &episode("hello"));
    assert_eq!(jobs(&fixture), all);
    let fixture = Fixture::new();
    let proactive = UnitRow { source: Some("proactive".into()), ..UnitRow::new("obs_1", 1) };
    put(&fixture, &proactive, &episode("hello"));
    assert_eq!(jobs(&fixture), ["embed"]);
}

#[test]
fn a_unit_of_memory_is_embedded_like_a_leaf() {
    let fixture = Fixture::new();
    fixture.store.set_fingerprint("model").unwrap();
    let row = put_claim(&fixture, "clm_1", "two");
    let job = fixture.store.claim_embed_jobs(9, 60).unwrap().remove(0);
    assert_eq!(job.source, crate::EmbedSource::Text("two".to_owned()));
    fixture.store.finish_embed_jobs(&[(job.job, row, vector(row).into())]).unwrap();
    assert_eq!(changes(&fixture, Collection::Memory), [Change::Text(row), Change::Vector(row)]);
    assert_eq!(fixture.store.cached_embeddings(&[row]).unwrap(), [(row, vector(row))]);
    assert_eq!(fixture.store.requeue_embeddings().unwrap(), 0);
    fixture.store.set_fingerprint("another model").unwrap();
    assert_eq!(fixture.store.requeue_embeddings().unwrap(), 1);
    // The same words again, in a unit that comes later: the cached vector serves.
    fixture.store.set_fingerprint("model").unwrap();
    let loop_row = put(
        &fixture,
        &UnitRow::new("lop_1", 1),
        &Payload::Loop(LoopPayload { text: "two".into(), expires_at: 9, due_at: None }),
    );
    assert!(changes(&fixture, Collection::Memory).contains(&Change::Vector(loop_row)));
}

#[test]
fn what_is_archived_or_secret_leaves_the_indexes_and_may_come_back() {
    let fixture = Fixture::new();
    fixture.store.set_fingerprint("model").unwrap();
    let row = put_claim(&fixture, "clm_1", "two");
    fixture.embed_all();
    let with = |state, boundary| UnitRow { state, boundary, ..UnitRow::new("clm_1", 10) };
    let body = Payload::Claim(claim("two"));
    put(&fixture, &with(UnitState::Archived, BoundaryClass::Internal), &body);
    assert_eq!(changes(&fixture, Collection::Memory), [Change::Removed(row)]);
    assert_eq!(fixture.store.memory_texts(&[row]).unwrap(), []);
    assert_eq!(fixture.store.cached_embeddings(&[row]).unwrap(), []);
    assert_eq!(fixture.store.stats().unwrap().cached_embeddings, 0, "its vector is gone");
    put(&fixture, &with(UnitState::Validated, BoundaryClass::Internal), &body);
    fixture.embed_all();
    assert_eq!(changes(&fixture, Collection::Memory), [Change::Text(row), Change::Vector(row)]);
    put(&fixture, &with(UnitState::Validated, BoundaryClass::Secret), &body);
    assert_eq!(changes(&fixture, Collection::Memory), [Change::Removed(row)]);
    assert_eq!(fixture.store.stats().unwrap().cached_embeddings, 0, "its vector is gone");
    let secret = UnitRow { boundary: BoundaryClass::Secret, ..UnitRow::new("clm_2", 1) };
    let before = fixture.store.seq().unwrap();
    put(&fixture, &secret, &Payload::Claim(claim("never embedded")));
    assert_eq!(fixture.store.seq().unwrap(), before);
    assert!(!jobs(&fixture).contains(&"embed".to_owned()));
}

#[test]
fn a_change_that_an_index_does_not_show_is_not_logged() {
    let fixture = Fixture::new();
    put_claim(&fixture, "clm_1", "two");
    let before = fixture.store.seq().unwrap();
    let useful = ClaimPayload { utility: 0.1, ..claim("two") };
    put(
        &fixture,
        &UnitRow { confidence: 0.6, ..UnitRow::new("clm_1", 10) },
        &Payload::Claim(useful),
    );
    assert_eq!(fixture.store.seq().unwrap(), before);
    let state = UnitState::Validated;
    put(&fixture, &UnitRow { state, ..UnitRow::new("clm_1", 10) }, &Payload::Claim(claim("two")));
    assert!(fixture.store.seq().unwrap() > before);
}

#[test]
fn a_version_is_kept_for_another_content_only() {
    let fixture = Fixture::new();
    let row = put_claim(&fixture, "clm_1", "two");
    put(
        &fixture,
        &UnitRow { updated_at: 99, ..UnitRow::new("clm_1", 10) },
        &Payload::Claim(claim("two")),
    );
    let less = UnitRow { confidence: 0.4, ..UnitRow::new("clm_1", 10) };
    fixture
        .store
        .memory_write("test", |m| {
            m.put_unit(&less, &Payload::Claim(claim("two")), PatchReason::Feedback)
        })
        .unwrap();
    let versions = read(&fixture, |m| m.versions(row));
    let told: Vec<_> =
        versions.iter().map(|one| (one.version, one.parent, one.patch_reason.as_str())).collect();
    assert_eq!(told, [(1, None, "extract_update"), (2, Some(1), "feedback")]);
    assert_eq!(versions[0].payload_hash.len(), 64);
}

#[test]
fn a_write_that_fails_leaves_nothing() {
    let fixture = Fixture::new();
    put_claim(&fixture, "clm_1", "two");
    let before = fixture.store.stats().unwrap();
    let stopped = Error::InvalidState { state: "x".into(), call: "y" };
    let error = fixture
        .store
        .memory_write("test", |memory| {
            memory.put_unit(
                &UnitRow::new("clm_2", 1),
                &Payload::Claim(claim("three")),
                PatchReason::ExtractUpdate,
            )?;
            memory.add_event("half", None, "{}")?;
            Err::<(), _>(stopped)
        })
        .unwrap_err();
    assert!(matches!(error, Error::InvalidState { .. }), "{error}");
    let clash = fixture.store.memory_write("test", |memory| {
        memory.add_event("half", None, "{}")?;
        let twice = Payload::Claim(claim("two"));
        memory.put_unit(&UnitRow::new("clm_3", 1), &twice, PatchReason::ExtractUpdate)
    });
    assert!(clash.is_err(), "two claims with one hash");
    assert_eq!(fixture.store.stats().unwrap(), before);
    assert_eq!(read(&fixture, |m| m.events(None, 0, 9)), []);
}

#[test]
fn feedback_counts_once_a_minute() {
    let fixture = Fixture::new();
    let claim = put_claim(&fixture, "clm_1", "two");
    let say = |id: &str, ts, signal: &str| {
        let row =
            FeedbackRow { id: id.into(), claim, ts, signal: signal.into(), score: Some(-0.5) };
        fixture.store.memory_write("test", |m| m.add_feedback(&row)).unwrap()
    };
    assert_eq!(
        [say("a", 60, "helpful"), say("b", 119, "helpful"), say("c", 120, "helpful")],
        [true, false, true]
    );
    assert!(say("d", 61, "harmful"));
    assert_eq!(read(&fixture, |m| m.feedbacks(claim)).len(), 3);
}

#[test]
fn the_policy_applied_last_is_the_current_one() {
    let fixture = Fixture::new();
    let current = || read(&fixture, |m| Ok(m.current_policy()?.map(|policy| policy.version)));
    assert_eq!(current(), None);
    for version in ["1.0.0", "1.1.0", "1.0.0"] {
        fixture.store.memory_write("test", |m| m.apply_policy(version, "yaml")).unwrap();
        assert_eq!(current().as_deref(), Some(version));
    }
    fixture.store.clean().unwrap();
    assert_eq!(current().as_deref(), Some("1.0.0"));
    assert_eq!(read(&fixture, |m| Ok(m.policies()?.len())), 2);
}

#[test]
fn a_context_keeps_its_order_and_loses_what_is_gone() {
    let fixture = Fixture::new();
    let rows = [put_claim(&fixture, "clm_1", "one"), put_claim(&fixture, "clm_2", "two")];
    let item = |rank: u32, row| ContextItemRow { row, rank, score: 0.5 };
    let context = ActiveContextRow {
        id: "ac_1".into(),
        window: Some(8_000),
        scope: "project".into(),
        provenance_json: None,
        policy_version: "1.0.0".into(),
        created_at: 1,
        expires_at: 9,
        items: vec![item(1, rows[1]), item(2, rows[0])],
    };
    fixture.store.memory_write("test", |m| m.add_context(&context)).unwrap();
    assert_eq!(read(&fixture, |m| m.context("ac_1")), Some(context.clone()));
    fixture.store.memory_write("test", |m| m.remove_units(&rows[1..])).unwrap();
    let left = read(&fixture, |m| m.context("ac_1")).unwrap().items;
    assert_eq!(left, [item(2, rows[0])]);
}

#[test]
fn evidence_links_and_sources_are_told() {
    let fixture = Fixture::new();
    let observation = put(&fixture, &UnitRow::new("obs_1", 1), &episode("seen"));
    let [a, b] = ["one", "two"].map(|text| put_claim(&fixture, &format!("clm_{text}"), text));
    let evidence = EvidenceRow {
        id: "evd_1".into(),
        claim: a,
        observation: Some(observation),
        method: "rule".into(),
        note: None,
        created_at: 3,
    };
    fixture
        .store
        .memory_write("test", |memory| {
            memory.add_evidence(&evidence)?;
            memory.add_evidence(&evidence)?;
            memory.link_claims(a, b, LinkRelation::Contradicts)
        })
        .unwrap();
    assert_eq!(read(&fixture, |m| m.evidences(a)), [evidence]);
    assert_eq!(read(&fixture, |m| m.made_from(observation)), [a]);
    let links = read(&fixture, |m| m.claim_links(b));
    assert_eq!((links[0].claim, links[0].relation), (a, LinkRelation::Contradicts));
    fixture.store.memory_write("test", |m| m.move_evidences(a, b)).unwrap();
    assert_eq!(read(&fixture, |m| m.sources_of(b)), [observation]);
    assert_eq!(read(&fixture, |m| m.evidences(b)).len(), 1);
}

#[test]
fn the_messages_of_sessions_that_tell_claims_are_told() {
    let fixture = Fixture::new();
    let session = SessionRow {
        id: "ses_1".into(),
        project_path: "/p".into(),
        started_at: 1,
        ended_at: None,
        summary: None,
        owner: None,
        token_count: 0,
    };
    fixture.store.memory_write("test", |memory| memory.put_session(&session)).unwrap();
    let put_said = |unit: UnitRow, session: Option<&str>, kind: &str| {
        let episode = EpisodePayload {
            input_text: Some(unit.id.clone()),
            session: session.map(str::to_owned),
            observation_kind: Some(kind.to_owned()),
            ..Default::default()
        };
        put(&fixture, &unit, &Payload::Episode(episode))
    };
    let observe = |id, session, kind| put_said(UnitRow::new(id, 1), session, kind);
    let tell = |observation, claim| {
        let evidence = EvidenceRow {
            id: format!("evd_{observation:?}_{claim:?}"),
            claim,
            observation: Some(observation),
            method: "rule".into(),
            note: None,
            created_at: 3,
        };
        fixture.store.memory_write("test", |memory| memory.add_evidence(&evidence)).unwrap();
    };
    let claims = ["a", "b", "c"].map(|text| put_claim(&fixture, &format!("clm_{text}"), text));
    let [a, b, c] = claims;
    let said = observe("obs_1", Some("ses_1"), MESSAGE);
    tell(said, a);
    tell(observe("obs_2", None, MESSAGE), b);
    tell(observe("obs_3", Some("ses_1"), "bash"), c);
    let classes = [BoundaryClass::Internal];
    let told = |claim, message, before| TellingMessage { claim, message, before };
    let messages = |claims: &[RowId]| read(&fixture, |m| m.messages_of(claims, &classes));
    assert_eq!(messages(&claims), [told(a, said, None)]);
    tell(said, b);
    let later = observe("obs_4", Some("ses_1"), MESSAGE);
    tell(later, a);
    // Before it stands what was done, not a message.
    let expected = [told(a, said, None), told(a, later, None), told(b, said, None)];
    assert_eq!(messages(&[b, a]), expected);
    let last = observe("obs_5", Some("ses_1"), MESSAGE);
    tell(last, c);
    assert_eq!(messages(&[c]), [told(c, last, Some(later))]);
    assert_eq!(read(&fixture, |m| m.messages_of(&claims, &[BoundaryClass::Public])), []);
    let secret = UnitRow { boundary: BoundaryClass::Secret, ..UnitRow::new("obs_4", 1) };
    assert_eq!(put_said(secret, Some("ses_1"), MESSAGE), later);
    assert_eq!(messages(&[c]), [told(c, last, None)]);
}

#[test]
fn what_comes_from_a_unit_goes_with_it() {
    let fixture = Fixture::new();
    let [o1, o2] = ["first", "second"]
        .map(|text| put(&fixture, &UnitRow::new(format!("obs_{text}"), 1), &episode(text)));
    let [only, both] = ["only", "both"].map(|text| put_claim(&fixture, text, text));
    let body = SummaryPayload {
        scope_label: "x".into(),
        scope_key: "y".into(),
        text: "all of the time of it".into(),
        ..Default::default()
    };
    let summary = put(&fixture, &UnitRow::new("sum_1", 1), &Payload::Summary(body));
    fixture
        .store
        .memory_write("test", |memory| {
            memory.add_source(only, o1)?;
            memory.add_source(both, o1)?;
            memory.add_source(both, o2)?;
            memory.add_source(summary, both)?;
            memory.add_event("judged", Some(only), "{}")?;
            memory.add_event("judged", Some(both), "{}")?;
            memory.add_source(summary, only)
        })
        .unwrap();
    let units = read(&fixture, |m| m.with_derived(&[o1]));
    assert_eq!(units.rows, [o1, only, summary]);
    let erased = fixture.store.memory_write("test", |m| m.erase_units(&units)).unwrap();
    let counts: Vec<_> = erased.removed.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    assert_eq!(counts, [("claim", 1), ("episode", 1), ("summary", 1)]);
    let events = read(&fixture, |m| m.events(None, 0, 9));
    let about: Vec<_> = events.iter().map(|event| (event.kind.as_str(), event.row)).collect();
    assert_eq!(about, [("judged", Some(both)), ("forgotten", None)]);
    assert!(fixture.store.is_unclean().unwrap());
    fixture.store.clean().unwrap();
    fixture.store.set_clean().unwrap();
    assert!(!fixture.store.is_unclean().unwrap());
    // Another process knows what to look for, until nothing was found.
    let fixture = fixture.reopen();
    let has =
        |run: &[u8; 16]| fixture.store.erased_runs().unwrap().contains(u128::from_le_bytes(*run));
    assert!(has(b"all of the time "), "a summary is gone");
    assert!(!has(b"second and more "));
    fixture.store.set_nothing_left().unwrap();
    assert!(fixture.store.erased_runs().unwrap().is_empty());
    let mut live = String::new();
    fixture.store.each_live_text(|text| live.push_str(text)).unwrap();
    assert!(live.contains("second") && live.contains("both") && !live.contains("all of the time"));
    fixture.store.check().unwrap();
}

#[test]
fn entities_of_memory_are_apart_from_those_of_documents() {
    let fixture = Fixture::new();
    let mut doc = file("a", &["Ada Babbage"]);
    doc.chunks[0].extraction = extraction(&["Ada", "Babbage"]);
    fixture.put(&doc);
    let before = fixture.store.graph().unwrap();
    let row = put_claim(&fixture, "clm_1", "Ada Engine");
    let put = |names: &[&str]| {
        fixture.store.memory_write("test", |m| m.put_mentions(row, &extraction(names))).unwrap()
    };
    assert!(put(&["ADA", "Engine"]) && !put(&["ADA", "Engine"]));
    assert_eq!(fixture.store.graph().unwrap(), before);
    fixture.store.memory_write("test", |m| m.remove_units(&[row])).unwrap();
    let entities = |sql: &str| {
        fixture.store.read("count", |tx| tx.query_row(sql, [], |row| row.get::<_, i64>(0))).unwrap()
    };
    assert_eq!(entities("SELECT count(*) FROM entities"), 0);
    assert_eq!(entities("SELECT count(*) FROM entity_tallies"), 0);
}

#[test]
fn sums_that_claims_add_to_are_checked_rebuilt_and_made_for_older_stores() {
    let fixture = Fixture::new();
    let state = |valid_to| {
        let body = ClaimPayload { valid_from: Some(3), valid_to, ..claim("Ada 京都") };
        let row = put(&fixture, &UnitRow::new("clm_1", 10), &Payload::Claim(body));
        let names = extraction(&["Ada", "京都"]);
        fixture.store.memory_write("test", |memory| memory.put_mentions(row, &names)).unwrap();
        let told = read(&fixture, |memory| Ok((memory.entities_of(row)?, memory.edges_of(row)?)));
        let ada = told.0.into_iter().find(|one| one.name == "Ada").unwrap();
        (ada.attrs, told.1[0].props)
    };
    let (attrs, props) = state(None);
    assert_eq!(attrs.into_values().collect::<Vec<_>>(), [["京都"]]);
    assert_eq!((props.valid_from, props.valid_to), (Some(3), None));
    let change = |sql: &str| fixture.store.write("test", |tx, _| tx.execute_batch(sql)).unwrap();
    let faults = || fixture.store.verify().unwrap().into_iter().map(|one| one.count).sum::<usize>();
    let older = "UPDATE entities SET attrs_json = NULL; UPDATE edges SET props_json = NULL;";
    for mend in [include_str!("../../migrations/006.sql"), ""] {
        assert_eq!(faults(), 0);
        change(older);
        assert_eq!(faults(), 1);
        if mend.is_empty() {
            fixture.store.write("test", crate::memory::mentions::GraphWriter::sum_all).unwrap();
        } else {
            change(mend);
        }
    }
    let (attrs, props) = state(Some(9));
    assert_eq!((attrs.len(), props.valid_to), (0, Some(9)));
    assert_eq!(faults(), 0);
    for wrong in [
        "UPDATE edges SET weight = weight + 1",
        "UPDATE edges SET first_seen_at = 1",
        "UPDATE edges SET last_seen_at = 99",
        "UPDATE edges SET evidence_unit_id = NULL",
        "UPDATE entities SET roles_json = '[\"walrus\"]' WHERE name = 'Ada'",
        "UPDATE entities SET canonical_key = 'walrus' WHERE name = 'Ada'",
        "UPDATE entities SET type_label = 'WALRUS' WHERE name = 'Ada'",
        "DELETE FROM entity_aliases WHERE alias = 'the ada'",
        "UPDATE entity_tallies SET weight = weight + 1 WHERE what = 3 AND text = 'the ada'",
    ] {
        change(wrong);
        assert_eq!(faults(), 1, "{wrong}");
        fixture.store.write("test", crate::memory::mentions::GraphWriter::sum_all).unwrap();
        assert_eq!(faults(), 0, "{wrong}");
    }
}

/// Seven units; which of them each filter admits.
#[test]
fn a_filter_admits_what_it_names() {
    use BoundaryClass::{Internal, Pii, Public, Secret};
    let fixture = Fixture::new();
    for id in ["ses_1", "ses_2"] {
        let session = SessionRow {
            id: id.into(),
            project_path: String::new(),
            started_at: 0,
            ended_at: None,
            summary: None,
            owner: None,
            token_count: 0,
        };
        fixture.store.memory_write("test", |m| m.put_session(&session)).unwrap();
    }
    let of_session = |text: &str, session: &str| {
        let (scope, session) = ("session".to_owned(), Some(session.to_owned()));
        Payload::Claim(ClaimPayload { scope, session, ..claim(text) })
    };
    let unit = |n: i64| UnitRow::new(format!("u{n}"), 100 * n);
    let tags = vec!["red".to_owned()];
    let secret = UnitRow { boundary: BoundaryClass::Secret, tags: tags.clone(), ..unit(3) };
    let archived = UnitRow { state: UnitState::Archived, ..unit(5) };
    let old = ClaimPayload { valid_to: Some(50), ..claim("old") };
    let rows = [
        put(&fixture, &unit(0), &Payload::Claim(claim("plain"))),
        put(&fixture, &unit(1), &of_session("one", "ses_1")),
        put(&fixture, &unit(2), &of_session("two", "ses_2")),
        put(&fixture, &secret, &Payload::Claim(claim("secret"))),
        put(&fixture, &UnitRow { boundary: BoundaryClass::Pii, ..unit(4) }, &episode("pii")),
        put(&fixture, &archived, &Payload::Claim(claim("archived"))),
        put(&fixture, &unit(6), &Payload::Claim(old)),
    ];
    let check = |filter: UnitFilter, expected: &[usize]| {
        let Allowed::Only(allowed) = fixture.store.admitted(&filter).unwrap().allowed else {
            panic!("all: {filter:?}")
        };
        let expected: Vec<RowId> = expected.iter().map(|&n| rows[n]).collect();
        assert_eq!(allowed.iter().collect::<Vec<_>>(), expected, "{filter:?}");
    };
    let scopes = ["session", "project", "principle"];
    let all = UnitFilter::of(&[Public, Internal, Pii], &scopes);
    check(UnitFilter::default(), &[]);
    check(all.clone(), &[0, 4, 6]);
    check(UnitFilter { classes: vec![Public], ..all.clone() }, &[]);
    check(UnitFilter { classes: vec![Internal], ..all.clone() }, &[0, 6]);
    check(UnitFilter { classes: vec![Secret, Pii], ..all.clone() }, &[3, 4]);
    check(UnitFilter { tags, ..UnitFilter::of(BoundaryClass::ALL, &scopes) }, &[3]);
    check(UnitFilter { session: SessionScope::From("ses_1".into()), ..all.clone() }, &[0, 1, 4, 6]);
    check(UnitFilter { session: SessionScope::Only("ses_2".into()), ..all.clone() }, &[2]);
    let project = UnitFilter { scopes: vec!["project".into()], ..all.clone() };
    check(UnitFilter { session: SessionScope::From("ses_1".into()), ..project }, &[0, 4, 6]);
    check(UnitFilter { kinds: vec![UnitKind::Episode], ..all.clone() }, &[4]);
    check(UnitFilter { states: vec![UnitState::Archived], ..all.clone() }, &[5]);
    check(UnitFilter { since: Some(1), until: Some(400), ..all.clone() }, &[4]);
    check(UnitFilter { valid_at: Some(50), ..all.clone() }, &[0, 4]);
    let useful = ClaimPayload { utility: 0.4, ..claim("useful") };
    put(&fixture, &unit(7), &Payload::Claim(useful));
    let UtilityStats { count, mean, deviation } = fixture.store.admitted(&all).unwrap().utility;
    // 0, 0 and .4: the episode has no utility.
    assert_eq!(count, 3);
    assert!(
        (mean - 0.4 / 3.0).abs() < 1e-12 && (deviation - 0.08_f64.sqrt() * 2.0 / 3.0).abs() < 1e-12
    );
}

proptest! {
    /// Whatever becomes of units, their indexes are fed what is shown of them, and no more.
    #[test]
    fn the_log_tells_what_is_shown(steps in proptest::collection::vec((0_u8..4, 0_u8..3, 0_u8..4, 0_u8..4), 1..30)) {
        let fixture = Fixture::new();
        let mut shown = std::collections::BTreeMap::new();
        for (id, text, state, boundary) in steps {
            let state = UnitState::from_code(state).unwrap();
            let boundary = BoundaryClass::from_code(boundary).unwrap();
            let unit = UnitRow { state, boundary, ..UnitRow::new(format!("u{id}"), 1) };
            let text = format!("{id} {text}");
            let row = put(&fixture, &unit, &episode(&text));
            shown.insert(row, (!unit.is_hidden()).then_some((text, state)));
        }
        let mut index = std::collections::BTreeMap::new();
        for change in changes(&fixture, Collection::Memory) {
            match change {
                Change::Text(row) => {
                    for unit in fixture.store.memory_texts(&[row]).unwrap() {
                        index.insert(row, (unit.text, unit.state));
                    }
                }
                Change::Removed(row) => drop(index.remove(&row)),
                Change::Vector(_) | Change::Extraction(_) => prop_assert!(false, "no model"),
            }
        }
        let expected: Vec<_> =
            shown.into_iter().filter_map(|(row, shown)| Some((row, shown?))).collect();
        prop_assert_eq!(index.into_iter().collect::<Vec<_>>(), expected);
    }
}
