//! `--store` and `[store]`: a store in PostgreSQL that several nodes share.

use std::{sync::Arc, time::Duration};

use clap::ValueEnum;
use serde::Deserialize;
use trefoil::{
    Error,
    cluster::{EmbedAt, Freshness, NodeTimes, SharedStore, StoreAt},
};
use trefoil_postgres::{PostgresConfig, PostgresTruth};

/// `[store]` of the settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StoreTable {
    /// Where it is.
    pub(crate) url: Option<String>,
    /// What this node does.
    pub(crate) role: Option<Role>,
    /// Its name; one given by chance otherwise.
    pub(crate) node: Option<String>,
    /// Seconds that a node that leads may be silent.
    pub(crate) lease: Option<u64>,
    /// Milliseconds between two looks at what the others wrote.
    pub(crate) poll: Option<u64>,
    /// Who embeds what is written.
    pub(crate) embed: Option<EmbedAt>,
    /// What a search does that does not see yet what it is to see.
    pub(crate) freshness: Option<Freshness>,
}

/// What a node does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// It writes when no other node does
    #[default]
    Auto,
    /// It follows and answers searches, and neither writes itself nor embeds for others
    Searcher,
}

impl Role {
    /// What a node with this role does.
    pub(crate) const fn apply(self, shared: &mut SharedStore) {
        let is_auto = matches!(self, Self::Auto);
        (shared.may_lead, shared.embeds) = (is_auto, is_auto);
    }
}

impl StoreTable {
    /// Where the database is, with what libpq reads from the environment.
    #[expect(clippy::disallowed_methods, reason = "only the command reads the environment")]
    pub(crate) fn config(&self) -> trefoil::Result<Option<PostgresConfig>> {
        let Some(url) = &self.url else { return Ok(None) };
        let mut config: PostgresConfig = url.parse()?;
        if let Ok(user) = std::env::var("PGUSER").or_else(|_| std::env::var("USER")) {
            config = config.with_default_user(&user);
        }
        if let Ok(password) = std::env::var("PGPASSWORD") {
            config = config.with_default_password(&password);
        }
        if let Some(node) = &self.node {
            config = config.with_node(node)?;
        }
        Ok(Some(config))
    }

    /// Where the rows of an index are. Nothing is asked yet.
    pub(crate) fn store(&self) -> trefoil::Result<StoreAt> {
        let Some(config) = self.config()? else { return Ok(StoreAt::Here) };
        let mut shared = SharedStore::new(Arc::new(PostgresTruth::new(config)?));
        self.role.unwrap_or_default().apply(&mut shared);
        shared.embed = self.embed.unwrap_or_default();
        if let Some(seconds) = self.lease {
            let allowed = "1–3600 seconds";
            Error::check_config((1..=3_600).contains(&seconds), "store.lease", seconds, allowed)?;
            let lease = Duration::from_secs(seconds);
            shared.times = NodeTimes { lease, renew: lease * 3 / 10, ..shared.times };
        }
        if let Some(poll) = self.poll {
            let allowed = "1–60000 milliseconds";
            Error::check_config((1..=60_000).contains(&poll), "store.poll", poll, allowed)?;
            shared.times.poll = Duration::from_millis(poll);
        }
        shared.freshness = self.freshness.unwrap_or_default();
        Ok(StoreAt::Shared(shared))
    }
}

/// The store in PostgreSQL at `url`, as `--store` takes it, for a node whose role is `auto` or
/// `searcher`. What the URL leaves out is read from the environment, as by the command. Nothing is
/// asked yet.
///
/// # Errors
/// [`Error::InvalidConfig`] for a URL or a role that is none.
pub fn shared_store(url: &str, role: &str) -> trefoil::Result<StoreAt> {
    let known = Role::from_str(role, false).ok();
    Error::check_config(known.is_some(), "store.role", role, "auto or searcher")?;
    StoreTable { url: Some(url.to_owned()), role: known, ..StoreTable::default() }.store()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> StoreTable {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_table_says_how_a_node_is() {
        assert!(matches!(table("").store(), Ok(StoreAt::Here)));
        let url = "url = 'postgres://app:clover@127.0.0.1/app?index=notes'";
        let Ok(StoreAt::Shared(shared)) = table(url).store() else { panic!("not shared") };
        assert!(shared.may_lead && shared.embeds && shared.embed == EmbedAt::Here);
        assert_eq!(shared.freshness, Freshness::Preferred);
        let rest =
            "role = 'searcher'\nembed = 'queue'\nlease = 20\npoll = 10\nfreshness = 'required'";
        let all = table(&format!("{url}\n{rest}")).store();
        let Ok(StoreAt::Shared(shared)) = all else { panic!("not shared") };
        assert!(!shared.may_lead && !shared.embeds && shared.embed == EmbedAt::Queue);
        assert_eq!(shared.freshness, Freshness::Required);
        let (lease, renew) = (Duration::from_secs(20), Duration::from_secs(6));
        let poll = Duration::from_millis(10);
        let expected = NodeTimes { lease, renew, poll, ..NodeTimes::default() };
        assert_eq!(shared.times, expected);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let url = "url = 'postgres://app@127.0.0.1/app?index=notes'";
        for (wrong, name) in [
            ("url = 'notes.trefoil'", "postgres://"),
            (&*format!("{url}\nlease = 0"), "store.lease"),
            (&*format!("{url}\npoll = 0"), "store.poll"),
        ] {
            let error = table(wrong).store().unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
