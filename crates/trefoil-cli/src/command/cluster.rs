use std::{
    fmt::Write,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;
use trefoil::{
    Engine, Error,
    cluster::{
        Cluster, NodeRole, NodeSeen, NotRestored, QueueEmbedder, Restored, Shard, StoreAt, Truth,
        UnitNotRestored, hand_over,
    },
};
use trefoil_postgres::{PostgresConfig, PostgresTruth};

use super::{Outcome, fill::plural};
use crate::{
    args::{ClusterCommand, GrantedRole},
    interrupt::told_of_ctrl_c,
    settings::Settings,
    show::{DIM, printable},
};

/// A node that was not seen for so long is not listed.
const SEEN: Duration = Duration::from_hours(24);

/// Sets up the database of an index that nodes share, or says how it is.
pub(super) fn run(command: &ClusterCommand, settings: &Settings) -> anyhow::Result<Outcome> {
    let config = settings.database()?;
    match command {
        ClusterCommand::Init => {
            trefoil_postgres::init(&config, 1)?;
            done(settings, &config, "is ready")
        }
        ClusterCommand::Load => load(settings, &config),
        ClusterCommand::Grant { login, role, boundary } => {
            let Some(class) = *boundary else {
                trefoil_postgres::grant(&config, login, (*role).into())?;
                return done(settings, &config, &format!("may be used by {login}"));
            };
            let allowed = "with the role searcher only, for the others need all units";
            Error::check_config(*role == GrantedRole::Searcher, "boundary", class, allowed)?;
            trefoil_postgres::grant_within(&config, login, class)?;
            let what = format!("may be searched by {login}, with units of memory up to {class}");
            done(settings, &config, &what)
        }
        ClusterCommand::Revoke { login } => {
            trefoil_postgres::revoke(&config, login)?;
            done(settings, &config, &format!("may be used no more by {login}"))
        }
        ClusterCommand::Status => status(settings, config),
        ClusterCommand::Embed { once } => embed(*once, settings),
        ClusterCommand::Move { node } => move_to(node, settings, &config),
        ClusterCommand::Restore { dry_run } => restore(*dry_run, settings),
    }
}

fn done(settings: &Settings, config: &PostgresConfig, what: &str) -> anyhow::Result<Outcome> {
    let index = config.index();
    let told = serde_json::json!({ "index": index, "database": config.to_string() });
    settings.console.show(&told, |_| format!("the index `{index}` in {config} {what}\n"))?;
    Ok(Outcome::Found)
}

fn load(settings: &Settings, config: &PostgresConfig) -> anyhow::Result<Outcome> {
    // That there is a URL was checked before.
    if let StoreAt::Shared(shared) = settings.node(None)?.store {
        Engine::share(settings.index(), &shared)?;
    }
    done(settings, config, &format!("has the rows of {}", settings.index().display()))
}

/// How long the node that writes has to answer, and another one to be silent at most.
const ANSWERS_WITHIN: Duration = Duration::from_secs(15);

fn move_to(to: &str, settings: &Settings, config: &PostgresConfig) -> anyhow::Result<Outcome> {
    let truth = PostgresTruth::new(config.clone())?;
    let is_there = truth.nodes(ANSWERS_WITHIN)?.iter().any(|seen| seen.node == to);
    let allowed = "a node that is there now; `trefoil cluster status` lists them";
    Error::check_field(is_there, "NODE", to, allowed)?;
    hand_over(&truth, to, ANSWERS_WITHIN)?;
    done(settings, config, &format!("is written by {to} now"))
}

fn restore(dry_run: bool, settings: &Settings) -> anyhow::Result<Outcome> {
    let report = settings.open_existing()?.restore_lost(dry_run)?;
    settings.console.show(&report, restored)?;
    let is_nothing = report.restored.is_empty() && report.units.is_empty();
    Ok(if is_nothing { Outcome::NothingFound } else { Outcome::Found })
}

fn restored(report: &Restored) -> String {
    let Restored { lost_after, lost_upto, dry_run, restored, skipped, units, skipped_units } =
        report;
    let mut text = format!(
        "the database has lost transactions {} to {lost_upto}, which this node had\n",
        lost_after + 1
    );
    let done = if *dry_run { "would be put back" } else { "put back" };
    let documents = plural(restored.len(), "document");
    _ = writeln!(text, "{} {documents} {done}", restored.len());
    for path in restored {
        _ = writeln!(text, "  {}", printable(path));
    }
    for NotRestored { path, reason } in skipped {
        _ = writeln!(text, "left as it is: {} {}", printable(path), reason.as_str());
    }
    if !units.is_empty() {
        let many = plural(units.len(), "unit");
        _ = writeln!(text, "{} {many} of memory {done}", units.len());
    }
    for UnitNotRestored { id, reason } in skipped_units {
        _ = writeln!(text, "left as it is: {} {}", printable(id), reason.as_str());
    }
    text
}

/// How long an embedder rests at most before it looks whether it is to stop.
const LONGEST_REST: Duration = Duration::from_millis(200);

/// What an embedder has done.
#[derive(Default, Serialize)]
struct Embedded {
    embedded: usize,
}

/// Embeds what is queued, until no text waits or it is stopped.
fn embed(once: bool, settings: &Settings) -> anyhow::Result<Outcome> {
    let embedder = QueueEmbedder::open(&settings.node(None)?)?;
    let console = settings.console;
    let is_stopped = told_of_ctrl_c("stopping after the texts that were taken")?;
    if !once {
        console.status("embedding what is queued; Ctrl-C stops");
    }
    let mut done = Embedded::default();
    while !is_stopped.load(Ordering::Relaxed) {
        let rest = match embedder.step() {
            Ok(Some(embedded)) => {
                done.embedded += embedded;
                continue;
            }
            Ok(None) if once => break,
            Ok(None) => embedder.poll(),
            // The database may come back.
            Err(error @ Error::Unavailable { .. }) if !once => {
                console.note(error.chain());
                embedder.retry()
            }
            Err(error) => return Err(error.into()),
        };
        let rests_from = Instant::now();
        while rests_from.elapsed() < rest && !is_stopped.load(Ordering::Relaxed) {
            thread::sleep(rest.saturating_sub(rests_from.elapsed()).min(LONGEST_REST));
        }
    }
    console.show(&done, |done| format!("embedded {} texts\n", done.embedded))?;
    Ok(Outcome::Found)
}

/// How the shard and its nodes are.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    index: String,
    /// The node that has the lease.
    writer: Option<String>,
    epoch: u64,
    transaction: u64,
    /// The format of the rows.
    format: u32,
    nodes: Vec<Node>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    name: String,
    role: &'static str,
    address: Option<String>,
    /// Transactions that it was behind when it last told of itself.
    behind: u64,
    /// Up to which transaction its files are rid of what was erased.
    erased: u64,
    /// The format of rows that it works with; none of a version that does not say.
    format: Option<u32>,
    seen_seconds_ago: u64,
}

fn status(settings: &Settings, config: PostgresConfig) -> anyhow::Result<Outcome> {
    let index = config.index().to_owned();
    let truth = PostgresTruth::new(config)?;
    let nodes = truth.nodes(SEEN)?;
    let Shard { head, writer, format, .. } = truth.shard()?;
    let node = |NodeSeen { node, report, format, ago }: NodeSeen| {
        // One that has no rows lacks none, and has nothing that was erased.
        let of = |tx: u64| if report.has_rows() { tx } else { head.tx };
        let is_replaced = report.role == NodeRole::Writer && writer.as_ref() != Some(&node);
        let role = if is_replaced { NodeRole::Searcher } else { report.role };
        Node {
            name: node,
            role: role.as_str(),
            behind: head.tx.saturating_sub(of(report.place.tx)),
            erased: of(report.erased),
            address: report.address,
            format,
            seen_seconds_ago: ago.as_secs(),
        }
    };
    let nodes = nodes.into_iter().map(node).collect();
    let status = Status { index, writer, epoch: head.epoch, transaction: head.tx, format, nodes };
    settings.console.show(&status, text)?;
    Ok(Outcome::Found)
}

fn text(status: &Status) -> String {
    let Status { index, writer, epoch, transaction, format, nodes } = status;
    let mut text = format!("{:<10} {}\n", "index", printable(index));
    let writer = writer.as_deref().unwrap_or("nobody");
    _ = writeln!(text, "{:<10} {}", "writer", printable(writer));
    _ = writeln!(text, "{:<10} epoch {epoch}, transaction {transaction}", "at");
    _ = writeln!(text, "{:<10} format {format}", "rows");
    for Node { name, role, address, behind, format: works_with, seen_seconds_ago, .. } in nodes {
        let address = address.as_deref().unwrap_or_default();
        let behind = match behind {
            _ if *role == NodeRole::Embedder.as_str() => "embeds for the others".to_owned(),
            0 => "has everything".to_owned(),
            behind => format!("{behind} transactions behind"),
        };
        let is_older = works_with.is_none_or(|format| format < trefoil::cluster::format());
        let version = if is_older { ", an older version" } else { "" };
        _ = writeln!(
            text,
            "{:<10} {} {address} {behind}{version} {DIM}{seen_seconds_ago} s ago{DIM:#}",
            role,
            printable(name)
        );
    }
    text
}
