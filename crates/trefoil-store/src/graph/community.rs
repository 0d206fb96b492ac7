//! The communities of the graph, with what is said of them.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{CachedStatement, Connection, Row, params};
use trefoil_core::{ByteSpan, ChunkId, CommunityId, EntityId, Result};

use crate::{
    Store, WriteTx,
    codec::{parsed, texts, to_json},
    fault::unreadable,
    id::{hex, sha256},
};

/// Entities that belong together, and what is said of them.
#[derive(Clone, Debug, PartialEq)]
pub struct CommunityRow {
    /// Hash of level and members.
    pub id: CommunityId,
    /// 0 for the communities of the whole graph; one more for the parts of those.
    pub level: u8,
    /// The community that this one is a part of.
    pub parent: Option<CommunityId>,
    /// "A", "A & B" or "A, B & N others".
    pub name: String,
    /// Its entities, by id.
    pub members: Vec<EntityId>,
    /// Of each member, a hash of what it was related to when the community was found.
    pub ties: Vec<u64>,
    /// Of each member, how many chunks mentioned it then.
    pub chunks: Vec<u32>,
    /// Number of relations inside.
    pub internal_edges: usize,
    /// Number of relations that leave.
    pub external_edges: usize,
    /// What it adds to the modularity.
    pub modularity: f64,
    /// What it is about, at most 2,000 characters; may be empty.
    pub summary: String,
    /// What the summary rests on, in its order.
    pub sources: Vec<ReportSource>,
    /// Its terms, at most 10.
    pub keywords: Vec<String>,
    /// Hash of what the summary was made from.
    pub content_hash: String,
}

impl CommunityRow {
    /// Its report as it is embedded: the name and the summary.
    pub fn report(&self) -> String {
        format!("{}\n{}", self.name, self.summary)
    }

    /// The hash of the report, which its embedding is cached under.
    pub fn report_hash(&self) -> String {
        hex(&sha256(self.report().as_bytes()))
    }
}

/// A part of a chunk that a report rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportSource {
    /// The chunk.
    pub chunk: ChunkId,
    /// The part of its text.
    pub span: ByteSpan,
}

impl Store {
    /// Every community, by level and id.
    pub fn communities(&self) -> Result<Vec<CommunityRow>> {
        self.read("read communities", communities)
    }

    /// Stores communities in place of all that there were, which costs no more than what
    /// is another. A parent stands before its parts.
    ///
    /// # Errors
    /// A full disk; then nothing was stored.
    pub fn put_communities(&self, communities: &[CommunityRow]) -> Result<()> {
        self.write("store communities", |tx, now| {
            let stored = self::communities(tx)?.into_iter().map(|one| (one.id.clone(), one));
            let stored: BTreeMap<CommunityId, CommunityRow> = stored.collect();
            let kept: BTreeSet<&CommunityId> = communities.iter().map(|one| &one.id).collect();
            let mut delete = tx.prepare_cached("DELETE FROM communities WHERE public_id = ?1")?;
            for id in stored.keys().filter(|id| !kept.contains(id)) {
                delete.execute([id.as_str()])?;
            }
            for community in communities {
                let old = stored.get(&community.id);
                if old != Some(community) {
                    put_community(tx, now, community)?;
                }
                if old.is_none_or(|old| members(old) != members(community)) {
                    put_members(tx, community)?;
                }
            }
            Ok(())
        })
    }
}

/// What is stored of the members of a community.
fn members(community: &CommunityRow) -> (&[EntityId], &[u64], &[u32]) {
    (&community.members, &community.ties, &community.chunks)
}

pub(crate) fn communities(tx: &Connection) -> rusqlite::Result<Vec<CommunityRow>> {
    let mut select = tx.prepare_cached(
        "SELECT c.id, c.public_id, c.level, p.public_id, c.name, c.internal_edges,
                c.external_edges, c.modularity, c.summary, c.sources_json, c.keywords_json,
                c.content_hash
         FROM communities c LEFT JOIN communities p ON p.id = c.parent_id
         ORDER BY c.level, c.public_id",
    )?;
    let mut members = tx.prepare_cached(
        "SELECT entity_id, ties, chunks FROM community_members
         WHERE community_id = ?1 ORDER BY entity_id",
    )?;
    let rows = select.query_map([], |row| community(row, &mut members))?;
    rows.collect()
}

fn community(row: &Row<'_>, members: &mut CachedStatement<'_>) -> rusqlite::Result<CommunityRow> {
    let parent = row.get::<_, Option<String>>(3)?.map(CommunityId::new).transpose();
    let members = members.query_map([row.get::<_, i64>(0)?], |row| {
        let id = parsed(row, 0, EntityId::new)?;
        Ok((id, (row.get::<_, i64>(1)?.cast_unsigned(), row.get(2)?)))
    })?;
    let members = members.collect::<rusqlite::Result<Vec<_>>>()?;
    let (members, told): (_, Vec<(u64, u32)>) = members.into_iter().unzip();
    let (ties, chunks) = told.into_iter().unzip();
    Ok(CommunityRow {
        id: parsed(row, 1, CommunityId::new)?,
        level: row.get(2)?,
        parent: parent.map_err(|error| unreadable(3, error))?,
        name: row.get(4)?,
        members,
        ties,
        chunks,
        internal_edges: row.get(5)?,
        external_edges: row.get(6)?,
        modularity: row.get(7)?,
        summary: row.get(8)?,
        sources: sources(row, 9)?,
        keywords: texts(row, 10)?,
        content_hash: row.get(11)?,
    })
}

fn sources(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<ReportSource>> {
    let sources: Vec<(String, usize, usize)> = serde_json::from_str(row.get_ref(column)?.as_str()?)
        .map_err(|error| unreadable(column, error))?;
    let sources = sources.into_iter().map(|(chunk, start, end)| {
        let chunk = ChunkId::new(chunk).map_err(|error| unreadable(column, error))?;
        Ok(ReportSource { chunk, span: ByteSpan { start, end } })
    });
    sources.collect()
}

/// Inserts the row of a community, or changes it.
fn put_community(tx: &WriteTx<'_>, now: i64, community: &CommunityRow) -> rusqlite::Result<()> {
    let sources = community.sources.iter();
    let sources: Vec<(&str, usize, usize)> =
        sources.map(|one| (one.chunk.as_str(), one.span.start, one.span.end)).collect();
    tx.prepare_cached(
        "INSERT INTO communities (public_id, level, parent_id, name, size, internal_edges,
                external_edges, modularity, summary, sources_json, keywords_json, content_hash,
                updated_at)
         VALUES (?1, ?2, (SELECT id FROM communities WHERE public_id = ?3), ?4, ?5, ?6, ?7, ?8,
                ?9, ?10, ?11, ?12, ?13)
         ON CONFLICT (public_id) DO UPDATE SET
             parent_id = excluded.parent_id, name = excluded.name, size = excluded.size,
             internal_edges = excluded.internal_edges, external_edges = excluded.external_edges,
             modularity = excluded.modularity, summary = excluded.summary,
             sources_json = excluded.sources_json, keywords_json = excluded.keywords_json,
             content_hash = excluded.content_hash, updated_at = excluded.updated_at",
    )?
    .execute(params![
        community.id.as_str(),
        community.level,
        community.parent.as_ref().map(CommunityId::as_str),
        community.name,
        community.members.len(),
        community.internal_edges,
        community.external_edges,
        community.modularity,
        community.summary,
        serde_json::json!(sources).to_string(),
        to_json(&community.keywords)?,
        community.content_hash,
        now,
    ])?;
    Ok(())
}

fn put_members(tx: &WriteTx<'_>, community: &CommunityRow) -> rusqlite::Result<()> {
    let id: i64 = tx
        .prepare_cached("SELECT id FROM communities WHERE public_id = ?1")?
        .query_row([community.id.as_str()], |row| row.get(0))?;
    tx.prepare_cached("DELETE FROM community_members WHERE community_id = ?1")?.execute([id])?;
    let mut insert = tx.prepare_cached(
        "INSERT OR IGNORE INTO community_members (community_id, entity_id, ties, chunks)
         VALUES (?1, ?2, ?3, ?4)",
    )?;
    let told = community.ties.iter().zip(&community.chunks);
    for (member, (ties, chunks)) in community.members.iter().zip(told) {
        insert.execute(params![id, member.as_str(), ties.cast_signed(), chunks])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chunk_id, community_id, entity_id, file_id,
        fixture::{Fixture, extraction, file},
    };

    /// Communities of Ada, Babbage and the Engine, and of two of them, in a store with all
    /// three.
    fn communities() -> (Fixture, [CommunityRow; 2]) {
        let fixture = Fixture::new();
        let mut file = file("a", &["Ada Babbage Engine"]);
        file.chunks[0].extraction = extraction(&["Ada", "Babbage", "Engine"]);
        fixture.put(&file);
        let mut ids: Vec<_> =
            ["ada", "babbage", "engine"].map(|name| entity_id(name).unwrap()).into();
        ids.sort();
        let chunk = &file.chunks[0].chunk;
        let chunk = chunk_id(&file_id("a").unwrap(), chunk.level, &[], &chunk.text, 0).unwrap();
        let row = |level, parent: Option<&CommunityRow>, members: &[EntityId]| CommunityRow {
            id: community_id(level, members).unwrap(),
            level,
            parent: parent.map(|parent| parent.id.clone()),
            name: "Ada & Babbage".to_owned(),
            members: members.to_vec(),
            ties: members.iter().map(|_| u64::MAX).collect(),
            chunks: members.iter().map(|_| 1).collect(),
            internal_edges: 1,
            external_edges: 2,
            modularity: 0.25,
            summary: "요약".to_owned(),
            sources: vec![ReportSource {
                chunk: chunk.clone(),
                span: ByteSpan { start: 0, end: 3 },
            }],
            keywords: vec!["engine".to_owned()],
            content_hash: "1f".to_owned(),
        };
        let whole = row(0, None, &ids);
        let part = row(1, Some(&whole), &ids[..2]);
        (fixture, [whole, part])
    }

    #[test]
    fn communities_are_replaced_as_a_whole() {
        let (fixture, both) = communities();
        let check = |rows: &[CommunityRow]| {
            fixture.store.put_communities(rows).unwrap();
            assert_eq!(fixture.store.communities().unwrap(), rows);
        };
        check(&both);
        check(&both);
        let [whole, part] = both;
        let renamed = CommunityRow { name: "Babbage & Ada".to_owned(), ..part.clone() };
        check(&[CommunityRow { ties: vec![0, 1, 2], ..whole.clone() }, renamed]);
        // The parent goes and comes back.
        check(&[CommunityRow { parent: None, ..part.clone() }]);
        check(&[whole.clone(), part]);
        check(&[whole]);
        check(&[]);
    }

    #[test]
    fn a_community_is_as_it_was_found_until_others_are_stored() {
        let (fixture, [whole, part]) = communities();
        fixture.store.put_communities(std::slice::from_ref(&whole)).unwrap();
        fixture.store.remove_file("a").unwrap();
        assert_eq!(fixture.store.communities().unwrap(), std::slice::from_ref(&whole));
        let fewer = CommunityRow { chunks: vec![0, 0, 0], ..whole };
        fixture.store.put_communities(std::slice::from_ref(&fewer)).unwrap();
        assert_eq!(fixture.store.communities().unwrap(), [fewer]);
        let alone = CommunityRow { parent: None, ..part };
        fixture.store.put_communities(std::slice::from_ref(&alone)).unwrap();
        assert_eq!(fixture.store.communities().unwrap(), [alone]);
        assert_eq!(fixture.store.verify().unwrap(), []);
    }

    #[test]
    fn what_stays_as_it_was_is_not_written() {
        let (fixture, both) = communities();
        fixture.store.put_communities(&both).unwrap();
        fixture.clock.advance(60);
        let [whole, part] = both;
        let part = CommunityRow { content_hash: "2f".to_owned(), ..part };
        fixture.store.put_communities(&[whole, part]).unwrap();
        let times: Vec<i64> = fixture
            .store
            .read("read times", |tx| {
                let mut select = tx.prepare("SELECT updated_at FROM communities ORDER BY level")?;
                select.query_map([], |row| row.get(0))?.collect()
            })
            .unwrap();
        assert_eq!(times[1] - times[0], 60);
    }
}
