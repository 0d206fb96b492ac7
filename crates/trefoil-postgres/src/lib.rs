//! The rows of an index in PostgreSQL 15 or later, shared by many nodes.
//!
//! [`PostgresTruth`] is an implementation of [`Truth`](trefoil_store::truth::Truth) and
//! [`Cluster`](trefoil_store::truth::Cluster): the database holds the truth, and each node's
//! store is a cache of it. [`init`] makes the tables, [`grant`] lets a login of the database work
//! with one index as a writer, a searcher or an embedder. Connections use TLS and check the name
//! of the host, unless the host is this machine.
//!
//! ```no_run
//! # fn main() -> trefoil_core::Result<()> {
//! use std::time::Duration;
//!
//! use trefoil_postgres::{PostgresConfig, PostgresTruth};
//! use trefoil_store::truth::{NodeRole, Place, Truth};
//!
//! let owner: PostgresConfig = "postgres://owner@db.example/app?index=notes".parse()?;
//! trefoil_postgres::init(&owner, 1)?;
//! trefoil_postgres::grant(&owner, "notes_writer", NodeRole::Writer)?;
//!
//! let writer: PostgresConfig = "postgres://notes_writer@db.example/app?index=notes".parse()?;
//! let truth = PostgresTruth::new(writer)?;
//! let place = truth.lead(Place::NOTHING, Duration::from_secs(10))?;
//! # Ok(())
//! # }
//! ```

mod append;
mod cluster;
mod config;
mod connection;
mod fault;
mod policy;
mod pull;
mod rows;
mod schema;
mod tls;
mod truth;
mod vacuum;
mod value;

pub use config::PostgresConfig;
pub use schema::{grant, grant_within, init, revoke};
pub use truth::PostgresTruth;
