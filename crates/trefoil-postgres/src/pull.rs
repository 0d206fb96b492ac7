//! What changed since a place, read as of one moment and passed on row by row.

use std::pin::pin;

use futures_util::TryStreamExt;
use trefoil_core::Result;
use trefoil_store::truth::{Place, RowSink, Start};

use crate::{
    connection::{BATCH, Parameter, Session, in_time},
    fault::Fault,
    rows::RowTable,
    truth::History,
    value::key_from_json,
};

/// What the transaction of a pull begins with. However long it takes, it is not ended.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL statement_timeout = 0;
    SET LOCAL idle_in_transaction_session_timeout = 0";

/// Tells `into` where it starts, and what changed from there to the head.
pub(crate) async fn rows(
    session: &mut Session,
    shard: i32,
    after: Place,
    history: &History,
    tables: &[RowTable],
    into: &mut dyn RowSink,
) -> Result<(), Fault> {
    let start = history.shard.start(after);
    into.begin(&start)?;
    let tx = match start {
        Start::After(place) if place.tx == history.shard.head.tx => return Ok(()),
        Start::After(place) => {
            gone(session, shard, place.tx.cast_signed(), into).await?;
            place.tx.cast_signed()
        }
        Start::Nothing { .. } => 0,
    };
    for table in tables {
        let name = table.table.name.as_str();
        if history.touched.get(name).is_some_and(|&last| last > tx) {
            let is_part = history.shard.boundary.is_some();
            let select = if is_part { &table.select_given } else { &table.select };
            let select = session.prepare(select).await?;
            let found = session.client().query_raw(&select, [&shard as Parameter<'_>, &tx]);
            let mut found = pin!(in_time(BATCH, found).await?);
            while let Some(row) = in_time(BATCH, found.try_next()).await? {
                into.row(name, &table.values(&row)?)?;
            }
        }
    }
    Ok(())
}

async fn gone(
    session: &mut Session,
    shard: i32,
    after: i64,
    into: &mut dyn RowSink,
) -> Result<(), Fault> {
    let select = "SELECT tbl, key::text FROM trefoil.gone WHERE shard = $1 AND tx > $2";
    let select = session.prepare(select).await?;
    let found = session.client().query_raw(&select, [&shard as Parameter<'_>, &after]);
    let mut found = pin!(in_time(BATCH, found).await?);
    while let Some(row) = in_time(BATCH, found.try_next()).await? {
        into.gone(row.try_get(0)?, &key_from_json(row.try_get(1)?)?)?;
    }
    Ok(())
}
