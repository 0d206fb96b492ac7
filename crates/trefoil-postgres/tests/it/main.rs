//! Tests against a PostgreSQL, which `tests/postgres/start.py` starts. Without one they do
//! nothing, unless `TREFOIL_POSTGRES_REQUIRED` is set: then they fail.

#![cfg(test)]

mod cluster;
mod collected;
mod config;
mod database;
mod doubt;
mod following;
mod leading;
mod proxy;
mod roles;
mod rows;
mod schema;
mod tls;
