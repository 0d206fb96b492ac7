//! One transaction of the node that leads: the row of the shard first, which fences and orders,
//! then what was touched.

use std::time::{Duration, Instant};

use futures_util::future::{try_join, try_join_all};
use serde_json::json;
use tokio_postgres::Statement;
use trefoil_core::Result;
use trefoil_store::truth::{Place, Touched, Value};

use crate::{
    connection::{ANSWER, BATCH, Parameter, Session, in_time},
    fault::Fault,
    rows::RowTable,
    value::{ColumnValues, key_to_json},
};

/// What a transaction begins with. A writer that stops amid it holds the row of the shard for ten
/// seconds at most; and a commit that was answered is on disk, whatever the database's default.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
    SET LOCAL lock_timeout = '8s';
    SET LOCAL idle_in_transaction_session_timeout = '10s';
    SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') = 'off'";

/// The one statement that fences: it finds no row unless the shard stands exactly at the place.
const FENCE: &str = "UPDATE trefoil.shard SET tx = tx + 1, sequences = $5::text::jsonb,
        touched = touched || $6::text::jsonb,
        until = clock_timestamp() + make_interval(secs => $7)
    WHERE shard = $1 AND epoch = $2 AND by = $3 AND tx = $4 AND format <= $8";

/// Most rows, and about the most bytes, of one statement.
const ROWS: usize = 1000;
const BYTES: usize = 4 << 20;
/// Statements that are sent before the first one is answered.
const AHEAD: usize = 16;

/// Begins the transaction after `place`; false if the shard does not stand there.
pub(crate) async fn begin(
    session: &mut Session,
    shard: i32,
    place: Place,
    touched: &Touched,
    lease: Duration,
) -> Result<bool, Fault> {
    let fence = session.prepare(FENCE).await?;
    let (epoch, by, tx) =
        (place.epoch.cast_signed(), place.by.cast_signed(), place.tx.cast_signed());
    let tables = touched.tables.iter();
    let tables: serde_json::Map<String, serde_json::Value> =
        tables.map(|table| (table.table.name.clone(), json!(place.tx + 1))).collect();
    let tables = serde_json::Value::Object(tables).to_string();
    let sequences = json!(touched.sequences).to_string();
    let (lease, format) = (lease.as_secs_f64(), crate::truth::format_number());
    let parameters: [Parameter<'_>; 8] =
        [&shard, &epoch, &by, &tx, &sequences, &tables, &lease, &format];
    let client = session.client();
    // The first is sent first.
    let both = try_join(client.batch_execute(BEGIN), client.execute(&fence, &parameters));
    let ((), changed) = in_time(ANSWER, both).await?;
    Ok(changed > 0)
}

/// Writes what was touched. What is to be run before COMMIT: if it took long, the lease counts
/// from now on.
pub(crate) async fn write(
    session: &mut Session,
    shard: i32,
    place: Place,
    touched: &Touched,
    tables: &[RowTable],
    lease: Duration,
) -> Result<String, Fault> {
    let begun = Instant::now();
    let tx = place.next().tx.cast_signed();
    let mut ahead = Vec::new();
    for part in &touched.tables {
        let name = &part.table.name;
        let table = tables.iter().find(|table| table.table.name == *name).ok_or_else(|| {
            let reason = format!("there is no table `{name}` in this format");
            Fault::Ours(trefoil_core::Error::Corrupt { part: trefoil_core::Part::Store, reason })
        })?;
        for keys in batches(&part.gone) {
            let statement = session.prepare(&table.delete).await?;
            ahead.push(Batch { statement, takes_tx: false, columns: table.columns_of_keys(keys)? });
            let statement = session.prepare(GONE).await?;
            ahead.push(Batch { statement, takes_tx: true, columns: gone(name, keys)? });
            send(session, shard, tx, &mut ahead, AHEAD).await?;
        }
        for rows in batches(&part.rows) {
            let statement = session.prepare(&table.upsert).await?;
            ahead.push(Batch { statement, takes_tx: true, columns: table.columns_of(rows)? });
            send(session, shard, tx, &mut ahead, AHEAD).await?;
        }
    }
    if !touched.done.is_empty() {
        let ids = touched.done.iter().map(|done| Some(done.id.to_string().into())).collect();
        let answers = touched.done.iter().map(|done| Some(done.answer.as_slice())).collect();
        let columns = vec![ColumnValues::Text(ids), ColumnValues::Bytes(answers)];
        ahead.push(Batch { statement: session.prepare(DONE).await?, takes_tx: true, columns });
    }
    send(session, shard, tx, &mut ahead, 0).await?;
    let is_late = begun.elapsed() > lease / 3;
    let late = format!(
        "UPDATE trefoil.shard SET until = clock_timestamp() + make_interval(secs => {})
         WHERE shard = {shard};",
        lease.as_secs_f64()
    );
    Ok(if is_late { late } else { String::new() })
}

const GONE: &str = "INSERT INTO trefoil.gone (shard, tx, tbl, key)
    SELECT $1, $2, tbl, key::jsonb FROM unnest($3::text[], $4::text[]) AS given (tbl, key)
    ON CONFLICT (shard, tbl, key) DO UPDATE SET tx = excluded.tx";

const DONE: &str = "UPDATE trefoil.inbox SET done = $2, answer = given.answer
    FROM unnest($3::text[], $4::bytea[]) AS given (id, answer)
    WHERE inbox.shard = $1 AND inbox.id = given.id::uuid";

/// Rows of one statement.
struct Batch<'t> {
    statement: Statement,
    takes_tx: bool,
    columns: Vec<ColumnValues<'t>>,
}

/// Sends the statements if they are more than `most`, and waits for their answers.
async fn send(
    session: &Session,
    shard: i32,
    tx: i64,
    ahead: &mut Vec<Batch<'_>>,
    most: usize,
) -> Result<(), Fault> {
    if ahead.len() <= most {
        return Ok(());
    }
    let client = session.client();
    let sent = ahead.iter().map(async |batch| {
        let mut parameters: Vec<Parameter<'_>> = vec![&shard];
        if batch.takes_tx {
            parameters.push(&tx);
        }
        parameters.extend(batch.columns.iter().flat_map(ColumnValues::parameters));
        client.execute(&batch.statement, &parameters).await
    });
    in_time(BATCH, try_join_all(sent)).await?;
    ahead.clear();
    Ok(())
}

/// The keys as rows of `gone`.
fn gone<'t>(table: &'t str, keys: &[Vec<Value>]) -> Result<Vec<ColumnValues<'t>>> {
    let json: Result<Vec<_>> = keys.iter().map(|key| Ok(Some(key_to_json(key)?.into()))).collect();
    let tables = keys.iter().map(|_| Some(table.into())).collect();
    Ok(vec![ColumnValues::Text(tables), ColumnValues::Text(json?)])
}

/// Cuts rows into those of one statement each.
fn batches(rows: &[Vec<Value>]) -> impl Iterator<Item = &[Vec<Value>]> {
    let (mut count, mut bytes) = (0, 0);
    rows.chunk_by(move |row, _| {
        count += 1;
        bytes += row.iter().map(size).sum::<usize>();
        let fits = count < ROWS && bytes < BYTES;
        if !fits {
            (count, bytes) = (0, 0);
        }
        fits
    })
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null => 1,
        Value::Integer(_) | Value::Real(_) => 8,
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
    }
}

/// Statements that forget what is only kept for nodes before transaction `$2` of shard `$1`.
pub(crate) fn pruning(tables: &[RowTable]) -> Vec<String> {
    let mut statements =
        vec![String::from("DELETE FROM trefoil.gone WHERE shard = $1 AND tx <= $2")];
    statements.extend(tables.iter().filter_map(|table| {
        let tombstone = table.table.columns.get(table.table.tombstone?)?;
        let (name, column) = (&table.table.name, &tombstone.name);
        Some(format!(
            "DELETE FROM trefoil.\"{name}\" WHERE shard = $1 AND tx <= $2 AND \"{column}\" = 1"
        ))
    }));
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_by_number_and_by_size_and_none_is_lost() {
        let small: Vec<Vec<Value>> = (0..2500).map(|n| vec![Value::Integer(n)]).collect();
        let sizes: Vec<usize> = batches(&small).map(<[_]>::len).collect();
        assert_eq!(sizes, [1000, 1000, 500]);
        let large = vec![vec![Value::Blob(vec![0; BYTES / 2])]; 5];
        let sizes: Vec<usize> = batches(&large).map(<[_]>::len).collect();
        assert_eq!(sizes, [2, 2, 1]);
        assert_eq!(batches(&[]).count(), 0);
    }
}
