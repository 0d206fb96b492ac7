//! Removal of what is left in the tables of rows that are gone.

use std::time::Duration;

use trefoil_core::Result;

use crate::{
    connection::{Session, Slot, Source},
    fault::Fault,
};

/// How long a table may take: all indexes of the database have their rows in it.
const PATIENCE: Duration = Duration::from_hours(1);

/// The tables, each with whether this login may vacuum it: that of another owner since version 17
/// only, with the privilege for it.
const TABLES: &str = "SELECT quote_ident(c.relname), CASE
         WHEN current_setting('server_version_num')::int >= 170000
         THEN has_table_privilege(c.oid, 'MAINTAIN')
         ELSE pg_has_role(c.relowner, 'USAGE') END
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'trefoil' AND c.relkind = 'r'
         AND c.relname NOT IN ('shard', 'epoch', 'node', 'member', 'version') ORDER BY c.relname";

/// Vacuums every table that has held rows of documents or of memory, on a connection of its own.
/// False if this login may not vacuum some of them.
pub(crate) fn tables(source: &Source) -> Result<bool> {
    let vacuumed = Slot::new().run(
        source,
        || false,
        async |session: &mut Session| {
            session.patience = PATIENCE;
            let mut may_all = true;
            for table in session.rows(TABLES, &[]).await? {
                let (name, may): (&str, bool) = (table.try_get(0)?, table.try_get(1)?);
                if may {
                    // Keys are in the indexes too, which a VACUUM of few rows would leave as they are.
                    session.batch(&format!("VACUUM (INDEX_CLEANUP ON) trefoil.{name}")).await?;
                }
                may_all &= may;
            }
            Ok::<bool, Fault>(may_all)
        },
    );
    vacuumed.map_err(|fault| fault.into_error(&source.config, "vacuum the tables"))
}
