//! What `cluster` understands.

use clap::{Subcommand, ValueEnum};
use trefoil::{cluster::NodeRole, memory::BoundaryClass};

use super::value::one_of;

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Make the tables of the index in the database; again changes nothing
    #[command(after_help = "\
The login has to be allowed to create a schema in the database.

Examples:
  trefoil --store 'postgres://owner@db.example/app?index=notes' cluster init")]
    Init,
    /// Put the rows of an index of its own into the database, which has none yet
    #[command(after_help = "\
The directory of the index is the cache of this node from then on.

Examples:
  trefoil --index .trefoil cluster load")]
    Load,
    /// Say who writes, and how far each node is
    #[command(after_help = "\
Examples:
  trefoil cluster status
  trefoil cluster status --json")]
    Status,
    /// Embed what other nodes have queued, until it is stopped
    #[command(after_help = "\
Nodes queue texts where `embed = \"queue\"` is in the table `[store]` of their settings. It needs the
model of the index and the rights of an embedder: no cache, and no row of the index.

Examples:
  trefoil --store 'postgres://notes_embedder@db.example/app?index=notes' cluster embed
  trefoil cluster embed --once          ends when no text waits")]
    Embed {
        /// End when no text waits
        #[arg(long)]
        once: bool,
    },
    /// Let another node write
    #[command(after_help = "\
The node that writes gives its lease to the other one, which writes as soon as it has everything.

Examples:
  trefoil cluster move node-2           a name that `trefoil cluster status` lists")]
    Move {
        /// The node
        node: String,
    },
    /// Put back documents and units of memory that the database has lost and this node had
    #[command(after_help = "\
A database that takes over from one that failed may have lost the last transactions. A node that
had them keeps what they wrote, in the directory of its cache, until it is put back. What was
written or removed since is left as it is, and named. No other process may have the cache open.

Examples:
  trefoil --index /var/lib/notes cluster restore --dry-run
  trefoil --index /var/lib/notes cluster restore")]
    Restore {
        /// Say what would be put back, and write nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Let a login of the database work with the index
    #[command(after_help = "\
The login itself is made by `CREATE ROLE`.

Examples:
  trefoil cluster grant notes_writer writer
  trefoil cluster grant notes_reader searcher
  trefoil cluster grant notes_public searcher --boundary public
  trefoil cluster grant notes_embedder embedder")]
    Grant {
        /// The login
        login: String,
        /// What it may do
        role: GrantedRole,
        /// Give a searcher documents, and units of memory up to this class only
        #[arg(long, value_name = "CLASS", value_parser = one_of::<BoundaryClass>(BoundaryClass::NAMES))]
        boundary: Option<BoundaryClass>,
    },
    /// Take from a login what it was granted
    #[command(after_help = "\
Examples:
  trefoil cluster revoke notes_reader")]
    Revoke {
        /// The login
        login: String,
    },
}

/// What a login may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrantedRole {
    /// Read and write
    Writer,
    /// Read
    Searcher,
    /// Take texts, and store their vectors
    Embedder,
}

impl From<GrantedRole> for NodeRole {
    fn from(role: GrantedRole) -> Self {
        match role {
            GrantedRole::Writer => Self::Writer,
            GrantedRole::Searcher => Self::Searcher,
            GrantedRole::Embedder => Self::Embedder,
        }
    }
}
