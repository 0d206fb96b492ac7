//! Units of memory that the truth has lost.

use trefoil_core::RowId;

use super::*;
use crate::{
    fixture::extraction,
    memory::{
        ClaimPayload, EpisodePayload, EvidenceRow, FeedbackRow, LinkRelation, MemoryWrite,
        PatchReason, Payload, SessionRow, UnitRow, tests::claim,
    },
};

/// Writes as a node that leads.
fn write<T>(node: &TestNode, work: impl FnOnce(&MemoryWrite<'_>) -> Result<T>) -> Result<T> {
    node.store.memory_write("remember", work)
}

fn put(memory: &MemoryWrite<'_>, id: &str, text: &str) -> Result<RowId> {
    let payload = if id.starts_with("obs_") {
        Payload::Episode(EpisodePayload {
            input_text: Some(text.to_owned()),
            session: id.ends_with("new").then(|| "ses_new".to_owned()),
            ..EpisodePayload::default()
        })
    } else {
        Payload::Claim(ClaimPayload { content_hash: text.to_owned(), ..claim(text) })
    };
    memory.put_unit(&UnitRow::new(id, 1), &payload, PatchReason::ExtractUpdate)
}

/// What a store has of a unit and of what hangs on it, without its row number.
fn known(node: &TestNode, id: &str) -> Option<LostUnit> {
    let row = node.store.memory_read("look", |memory| memory.row_of(id)).unwrap()?;
    let read = |memory: &crate::memory::MemoryRead<'_>| LostUnit::read(memory, row, None);
    node.store.memory_read("look", read).unwrap()
}

#[test]
fn they_are_put_back_with_what_hangs_on_them_unless_something_newer_is_there() {
    let truth = MemoryTruth::new("a");
    let first = TestNode::leading(truth.clone());
    let old = ["clm_stays", "clm_changes", "clm_changes_since", "clm_goes", "clm_goes_since"];
    write(&first, |memory| old.iter().try_for_each(|id| put(memory, id, id).map(drop))).unwrap();
    let second = TestNode::new(truth.node("b"));
    second.follow();
    let standby = truth.state();

    write(&first, |memory| {
        memory.put_session(&SessionRow {
            id: "ses_new".to_owned(),
            project_path: "/ferry".to_owned(),
            started_at: 1,
            ended_at: None,
            summary: None,
            owner: None,
            token_count: 0,
        })?;
        let (seen, new) = (put(memory, "obs_new", "seen")?, put(memory, "clm_new", "new")?);
        memory.put_mentions(new, &extraction(&["Mika", "Sado"]))?;
        memory.add_evidence(&EvidenceRow {
            id: "ev_1".to_owned(),
            claim: new,
            observation: Some(seen),
            method: "rule".to_owned(),
            note: None,
            created_at: 1,
        })?;
        put(memory, "clm_said_again", "said by another")?;
        for id in ["clm_changes", "clm_changes_since", "clm_goes_since"] {
            put(memory, id, &format!("{id} lost"))?;
        }
        let (changed, stays) = (memory.row_of("clm_changes")?, memory.row_of("clm_stays")?);
        memory.link_claims(new, stays.unwrap(), LinkRelation::Contradicts)?;
        memory.add_feedback(&FeedbackRow {
            id: "fb_1".to_owned(),
            claim: changed.unwrap(),
            ts: 1,
            signal: "helpful".to_owned(),
            score: None,
        })?;
        memory.bury(changed.unwrap(), "old", 9)?;
        memory.remove_units(&[memory.row_of("clm_goes")?.unwrap()])?;
        Ok(())
    })
    .unwrap();
    let had = ["obs_new", "clm_new", "clm_changes"].map(|id| known(&first, id).unwrap());
    truth.put_back(standby);
    write(&first, |memory| put(memory, "clm_fenced", "x")).unwrap_err();
    // Another node goes on, and gives the row numbers again.
    truth.resign(truth.head().unwrap()).unwrap();
    second.follow();
    assert!(second.store.lead().unwrap());
    write(&second, |memory| {
        put(memory, "clm_changes_since", "newer")?;
        put(memory, "clm_newer", "newest")?;
        put(memory, "clm_other", "said by another")?;
        memory.remove_units(&[memory.row_of("clm_goes_since")?.unwrap()]).map(drop)
    })
    .unwrap();
    assert!(matches!(first.follow(), Followed::Remade { lost: Some(_), .. }));

    let kept = first.store.lost_rows().unwrap().unwrap();
    let mut ids: Vec<&str> = kept.units.iter().map(|lost| lost.unit.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["clm_changes", "clm_new", "clm_said_again", "obs_new"]);
    let named = [&kept.rewritten_units, &kept.removed_units, &kept.returned_units];
    let named = named.map(|ids| ids.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(named, [["clm_changes_since"], ["clm_goes_since"], ["clm_goes"]].map(Vec::from));
    assert_eq!(kept.sessions.len(), 1);
    let restore = WriteRequest::RestoreUnits { sessions: kept.sessions, units: kept.units };
    let Written::Units(mut restored) = second.store.perform(&restore).unwrap() else {
        panic!("not of units")
    };
    restored.sort();
    assert_eq!(restored, ["clm_changes", "clm_new", "obs_new"]);
    first.follow();
    assert_eq!(first.dump(), second.dump());
    for had in had {
        assert_eq!(known(&first, &had.unit.id).as_ref(), Some(&had));
    }
    assert_eq!(known(&first, "clm_changes_since").unwrap().payload.text(), "newer");
    assert_eq!(first.store.verify().unwrap(), []);
    // Once is enough.
    assert_eq!(second.store.perform(&restore).unwrap(), Written::Units(vec![]));
}
