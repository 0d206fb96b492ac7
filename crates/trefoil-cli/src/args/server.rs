//! What `serve` and `token` understand.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args as ClapArgs, Subcommand, ValueHint};
use jiff::SignedDuration;
use trefoil::memory::BoundaryClass;
use trefoil_memory::AllowTag;
use trefoil_server::Scope;

use crate::store::Role;

#[derive(Clone, Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ServeArgs {
    /// Files and folders to index before and to watch while it runs
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:8733]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) addr: Option<SocketAddr>,
    /// Open indexes to read only
    #[arg(long, conflicts_with = "paths")]
    pub(crate) read_only: bool,
    /// What this node of a shared store does [default: auto]
    #[arg(long, value_name = "ROLE", conflicts_with = "read_only")]
    pub(crate) role: Option<Role>,
    /// Index the paths once, and watch nothing
    #[arg(long)]
    pub(crate) no_watch: bool,
    /// Ask nobody for a token: everything is open to every program on this machine
    #[arg(long)]
    pub(crate) no_auth: bool,
    /// Answer no coding agents and chat programs: nothing at `/mcp`
    #[cfg(feature = "mcp")]
    #[arg(long)]
    pub(crate) no_mcp: bool,
    /// Open the page in the browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token, and print it this once
    #[command(after_help = "\
Examples:
  trefoil token create --name laptop --scope read
  trefoil token create --name indexer --scope read --scope write --on notes --expires 90d")]
    Create(CreateTokenArgs),
    /// List the tokens
    #[command(after_help = "\
Examples:
  trefoil token list
  trefoil token list --json")]
    List,
    /// End a token: from the next request it is not valid
    #[command(after_help = "\
Examples:
  trefoil token revoke 3f9a1c")]
    Revoke {
        /// Its id, which `trefoil token list` tells
        id: String,
    },
    /// Print the token of the server that runs, for as long as it does
    #[command(after_help = "\
Examples:
  trefoil token show
  curl -H \"Authorization: Bearer $(trefoil token show)\" http://127.0.0.1:8733/v1/stats")]
    Show,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CreateTokenArgs {
    /// Who holds it
    #[arg(long)]
    pub(crate) name: String,
    /// What it may do: read, write, memory.read, memory.write, metrics or admin (all); repeat it
    #[arg(long = "scope", value_name = "SCOPE", required = true)]
    pub(crate) scopes: Vec<Scope>,
    /// An index that it sees; repeat it [default: all]
    #[arg(long = "on", value_name = "INDEX")]
    pub(crate) indexes: Vec<String>,
    /// A class of memory that it sees: public, internal, pii…; repeat it [default: public, internal]
    #[arg(long = "class", value_name = "CLASS")]
    pub(crate) classes: Vec<BoundaryClass>,
    /// A scope of memory that it sees: session, project…; repeat it [default: all]
    #[arg(long = "scope-of-memory", value_name = "SCOPE")]
    pub(crate) memory_scopes: Vec<trefoil_memory::Scope>,
    /// A tag that its requests may carry, `*` at its end for all that begin so; repeat it
    /// [default: answer:task]
    #[arg(long = "allow", value_name = "TAG")]
    pub(crate) allow: Vec<AllowTag>,
    /// How long it is valid, such as 90d or 12h [default: until it is revoked]
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(crate) expires: Option<SignedDuration>,
}

/// `90d`, `12h`: days or hours.
fn lifetime(text: &str) -> Result<SignedDuration, String> {
    let expected = || format!("`{text}` is no time such as 90d or 12h");
    let hours = match (text.strip_suffix('d'), text.strip_suffix('h')) {
        (Some(days), _) => days.parse::<u16>().ok().map(|days| i64::from(days) * 24),
        (None, Some(hours)) => hours.parse::<u16>().ok().map(i64::from),
        (None, None) => None,
    };
    hours.filter(|hours| *hours > 0).map(SignedDuration::from_hours).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_in_days_or_hours() {
        assert_eq!(lifetime("90d"), Ok(SignedDuration::from_hours(2_160)));
        assert_eq!(lifetime("12h"), Ok(SignedDuration::from_hours(12)));
        for wrong in ["", "d", "0d", "90", "-1d", "1w", "99999d"] {
            assert!(lifetime(wrong).is_err(), "{wrong}");
        }
    }
}
