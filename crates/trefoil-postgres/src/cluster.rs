//! What nodes tell each other besides rows: requests, texts to embed, and who is there.

use std::time::Duration;

use tokio_postgres::Row;
use trefoil_core::{Error, Language, Part, Result};
use trefoil_store::truth::{
    Cluster, EMBED_TRIES, EmbedOutcome, EmbedText, MadeVectors, NodeReport, NodeRole, NodeSeen,
    OutOfReach, Place, Request, RequestId,
};

use crate::{
    PostgresTruth,
    connection::Parameter,
    fault::Fault,
    truth::format_number,
    vacuum,
    value::{Reals, escaped, text_at},
};

impl Cluster for PostgresTruth {
    fn send(&self, request: &Request) -> Result<()> {
        let statement =
            "INSERT INTO trefoil.inbox (shard, id, body) VALUES ($1, $2::text::uuid, $3)
             ON CONFLICT DO NOTHING";
        self.ask("send a request", async |session, shard| {
            let id = request.id.to_string();
            session.execute(statement, &[&shard, &id, &request.body]).await.map(drop)
        })
    }

    fn answer(&self, id: RequestId) -> Result<Option<(u64, Vec<u8>)>> {
        let statement = "SELECT done, answer FROM trefoil.inbox
             WHERE shard = $1 AND id = $2::text::uuid AND done IS NOT NULL";
        self.ask("look for an answer", async |session, shard| {
            let row = session.row(statement, &[&shard, &id.to_string()]).await?;
            let Some(row) = row else { return Ok(None) };
            Ok(Some((row.try_get::<_, i64>(0)?.cast_unsigned(), row.try_get(1)?)))
        })
    }

    fn requests(&self, limit: usize) -> Result<Vec<Request>> {
        let statement = "SELECT id::text, body FROM trefoil.inbox
             WHERE shard = $1 AND done IS NULL ORDER BY sent, id LIMIT $2";
        self.ask("look for requests", async |session, shard| {
            let rows = session.rows(statement, &[&shard, &count(limit)]).await?;
            let request = |row: &Row| -> Result<Request, Fault> {
                let id = row.try_get::<_, &str>(0)?.replace('-', "");
                let id = u128::from_str_radix(&id, 16)
                    .map_err(|error| Error::backend(Part::Store, "read a request", error))?;
                Ok(Request { id: RequestId(id), body: row.try_get(1)? })
            };
            rows.iter().map(request).collect()
        })
    }

    fn forget(&self, id: RequestId) -> Result<()> {
        let statement = "DELETE FROM trefoil.inbox WHERE shard = $1 AND id = $2::text::uuid";
        self.ask("forget a request", async |session, shard| {
            session.execute(statement, &[&shard, &id.to_string()]).await.map(drop)
        })
    }

    fn want_vectors(&self, fingerprint: &str, texts: &[EmbedText]) -> Result<()> {
        let statement = "INSERT INTO trefoil.embed (shard, fingerprint, text_hash, text, language)
             SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::text[])
             ON CONFLICT DO NOTHING";
        let hashes: Vec<&str> = texts.iter().map(|text| text.text_hash.as_str()).collect();
        let languages: Vec<_> =
            texts.iter().map(|text| text.language.map(Language::code)).collect();
        let texts: Vec<_> = texts.iter().map(|text| escaped(&text.text)).collect();
        self.ask("ask for vectors", async |session, shard| {
            let parameters: [Parameter<'_>; 5] =
                [&shard, &fingerprint, &hashes, &texts, &languages];
            session.execute(statement, &parameters).await.map(drop)
        })
    }

    fn outcomes(&self, fingerprint: &str, limit: usize) -> Result<Vec<(String, EmbedOutcome)>> {
        // What no vector is becomes an empty one, which its reader refuses.
        let statement = format!(
            "SELECT text_hash, CASE WHEN array_ndims(vector) = 1 THEN vector ELSE '{{}}' END,
                 tokens, NULL
             FROM trefoil.embed WHERE shard = $1 AND fingerprint = $2 AND vector IS NOT NULL
             UNION ALL SELECT text_hash, NULL, NULL, error
             FROM trefoil.embed WHERE shard = $1 AND fingerprint = $2 AND vector IS NULL
                 AND tries >= {EMBED_TRIES} AND until < clock_timestamp()
             LIMIT $3"
        );
        self.ask("fetch vectors", async |session, shard| {
            let parameters: [Parameter<'_>; 3] = [&shard, &fingerprint, &count(limit)];
            let rows = session.rows(&statement, &parameters).await?;
            rows.iter().map(|row| Ok((row.try_get(0)?, outcome(row)?))).collect()
        })
    }

    fn forget_vectors(&self, fingerprint: &str, text_hashes: &[String]) -> Result<()> {
        let statement = "DELETE FROM trefoil.embed
             WHERE shard = $1 AND fingerprint = $2 AND text_hash = ANY($3)";
        self.ask("forget vectors", async |session, shard| {
            session.execute(statement, &[&shard, &fingerprint, &text_hashes]).await.map(drop)
        })
    }

    fn retain_texts(&self, keep: &[(&str, &str)]) -> Result<()> {
        let statement = "DELETE FROM trefoil.embed WHERE shard = $1 AND (fingerprint, text_hash)
             NOT IN (SELECT * FROM unnest($2::text[], $3::text[]))";
        let (fingerprints, hashes): (Vec<&str>, Vec<&str>) = keep.iter().copied().unzip();
        self.ask("forget texts that nobody wants", async |session, shard| {
            session.execute(statement, &[&shard, &fingerprints, &hashes]).await.map(drop)
        })
    }

    fn claim_texts(
        &self,
        fingerprint: &str,
        limit: usize,
        lease: Duration,
    ) -> Result<Vec<EmbedText>> {
        let statement = format!(
            "WITH taken AS (
                 SELECT text_hash FROM trefoil.embed
                 WHERE shard = $1 AND fingerprint = $2 AND vector IS NULL
                     AND until < clock_timestamp() AND tries < {EMBED_TRIES}
                 LIMIT $3 FOR UPDATE SKIP LOCKED)
             UPDATE trefoil.embed e SET owner = $4, tries = tries + 1,
                 until = clock_timestamp() + make_interval(secs => $5)
             FROM taken
             WHERE e.shard = $1 AND e.fingerprint = $2 AND e.text_hash = taken.text_hash
             RETURNING e.text_hash, e.text, e.language"
        );
        let (limit, lease) = (count(limit), lease.as_secs_f64());
        self.ask("take texts to embed", async |session, shard| {
            let node = self.config().node();
            let parameters: [Parameter<'_>; 5] = [&shard, &fingerprint, &limit, &node, &lease];
            let rows = session.rows(&statement, &parameters).await?;
            let text = |row: &Row| -> Result<EmbedText, Fault> {
                let language: Option<&str> = row.try_get(2)?;
                let language = language.map(language_of).transpose()?;
                Ok(EmbedText { text_hash: row.try_get(0)?, text: text_at(row, 1)?, language })
            };
            rows.iter().map(text).collect()
        })
    }

    fn put_vectors(&self, fingerprint: &str, vectors: &[(String, MadeVectors)]) -> Result<()> {
        let statement = "UPDATE trefoil.embed e
             SET vector = ($4::real[])[f:t], tokens = codes, owner = NULL, until = '-infinity'
             FROM unnest($3::text[], $5::int[], $6::int[], $7::bytea[]) AS given (hash, f, t, codes)
             WHERE e.shard = $1 AND e.fingerprint = $2 AND e.text_hash = given.hash";
        let hashes: Vec<&str> = vectors.iter().map(|(hash, _)| hash.as_str()).collect();
        let codes: Vec<_> = vectors.iter().map(|(_, made)| made.tokens.as_deref()).collect();
        let mut numbers = Reals::default();
        for (_, made) in vectors {
            numbers.push(Some(made.vector.iter().copied()));
        }
        self.ask("store vectors", async |session, shard| {
            let Reals { all, from, to } = &numbers;
            let parameters: [Parameter<'_>; 7] =
                [&shard, &fingerprint, &hashes, all, from, to, &codes];
            session.execute(statement, &parameters).await.map(drop)
        })
    }

    fn return_texts(&self, fingerprint: &str, texts: &[(String, Option<String>)]) -> Result<()> {
        let statement = "UPDATE trefoil.embed e SET owner = NULL, until = '-infinity',
                 tries = CASE WHEN given.error IS NULL THEN greatest(e.tries - 1, 0) ELSE e.tries END,
                 error = coalesce(given.error, e.error)
             FROM unnest($3::text[], $4::text[]) AS given (hash, error)
             WHERE e.shard = $1 AND e.fingerprint = $2 AND e.text_hash = given.hash
                 AND e.owner = $5";
        let hashes: Vec<&str> = texts.iter().map(|(hash, _)| hash.as_str()).collect();
        let errors: Vec<_> = texts.iter().map(|(_, error)| error.as_deref().map(escaped)).collect();
        self.ask("give texts back", async |session, shard| {
            let node = self.config().node();
            let parameters: [Parameter<'_>; 5] = [&shard, &fingerprint, &hashes, &errors, &node];
            session.execute(statement, &parameters).await.map(drop)
        })
    }

    fn report(&self, report: &NodeReport) -> Result<()> {
        let statement = "INSERT INTO trefoil.node AS n
                 (shard, node, role, address, epoch, by, tx, erased, format, seen)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp())
             ON CONFLICT (shard, node) DO UPDATE SET role = excluded.role,
                 address = excluded.address, epoch = excluded.epoch, by = excluded.by,
                 tx = excluded.tx, erased = excluded.erased, format = excluded.format,
                 seen = excluded.seen";
        let NodeReport { role, address, place, erased } = report;
        self.ask("tell of this node", async |session, shard| {
            let numbers = [place.epoch, place.by, place.tx, *erased].map(u64::cast_signed);
            let [epoch, by, tx, erased] = &numbers;
            let (node, role) = (self.config().node(), role.as_str());
            let format = format_number();
            let parameters: [Parameter<'_>; 9] =
                [&shard, &node, &role, address, epoch, by, tx, erased, &format];
            session.execute(statement, &parameters).await.map(drop)
        })
    }

    fn nodes(&self, within: Duration) -> Result<Vec<NodeSeen>> {
        let statement = "SELECT node, role, address, epoch, by, tx, erased, format,
                 greatest(extract(epoch FROM clock_timestamp() - seen), 0)::double precision
             FROM trefoil.node
             WHERE shard = $1 AND seen > clock_timestamp() - make_interval(secs => $2)
             ORDER BY node";
        self.ask("look for the nodes", async |session, shard| {
            let rows = session.rows(statement, &[&shard, &within.as_secs_f64()]).await?;
            rows.iter().map(seen).collect()
        })
    }

    fn node_name(&self) -> String {
        self.config().node().to_owned()
    }

    fn vacuum(&self) -> Result<Vec<OutOfReach>> {
        let mut places =
            vec![OutOfReach::FreeSpace, OutOfReach::Log, OutOfReach::Archives, OutOfReach::Backups];
        if !vacuum::tables(&self.source)? {
            places.insert(0, OutOfReach::Rows);
        }
        Ok(places)
    }
}

/// What became of a text. What is no number becomes one that its reader refuses.
fn outcome(row: &Row) -> Result<EmbedOutcome, Fault> {
    let Some(vector) = row.try_get::<_, Option<Vec<Option<f32>>>>(1)? else {
        return Ok(EmbedOutcome::Failed(row.try_get(3)?));
    };
    let vector = vector.into_iter().map(|number| number.unwrap_or(f32::NAN)).collect();
    Ok(EmbedOutcome::Made(MadeVectors { vector, tokens: row.try_get(2)? }))
}

fn language_of(code: &str) -> Result<Language, Fault> {
    let found = Language::ALL.into_iter().find(|language| language.code() == code);
    let reason = || format!("`{code}` is no language that this version knows");
    Ok(found.ok_or_else(|| Error::Corrupt { part: Part::Store, reason: reason() })?)
}

fn seen(row: &Row) -> Result<NodeSeen, Fault> {
    let number = |at: usize| row.try_get::<_, i64>(at).map(i64::cast_unsigned);
    let role: &str = row.try_get(1)?;
    let roles = [NodeRole::Writer, NodeRole::Searcher, NodeRole::Embedder];
    let role = roles.into_iter().find(|one| one.as_str() == role).ok_or_else(|| {
        let reason = format!("`{role}` is no role of a node");
        Error::Corrupt { part: Part::Store, reason }
    })?;
    let place = Place { epoch: number(3)?, by: number(4)?, tx: number(5)? };
    Ok(NodeSeen {
        node: row.try_get(0)?,
        report: NodeReport { role, address: row.try_get(2)?, place, erased: number(6)? },
        format: row.try_get::<_, Option<i32>>(7)?.map(i32::cast_unsigned),
        ago: Duration::from_secs_f64(row.try_get(8)?),
    })
}

fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
