use std::{
    fmt::Write,
    io::{self, IsTerminal, Read},
    sync::Arc,
};

use anyhow::Context;
use serde::Serialize;
use trefoil::memory::UnitKind;
use trefoil_memory::{
    ContextNote, Memory, Observation, ObservationDraft, RelatedUnit, Tags, WorkReport,
};

use super::{Outcome, heading, paragraph, said};
use crate::{args::ObserveArgs, command::fill::plural, settings::Settings, show::DIM};

/// What was told and what was learnt of it, on the wire.
#[derive(Serialize)]
struct Observed {
    observation: Observation,
    learnt: Vec<RelatedUnit>,
    work: WorkReport,
}

/// Stores an observation, and learns what it says.
pub(super) fn run(args: ObserveArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let (console, draft) = (settings.console, draft(args)?);
    let engine = Arc::new(settings.open()?);
    let memory = Memory::new(Arc::clone(&engine));
    let observation = memory.observe(draft)?;
    let work = memory.work()?;
    engine.memory().wait_until_indexed()?;
    let record = memory.record(observation.id.as_str())?;
    let mut learnt = record.map(|record| record.made).unwrap_or_default();
    // Summaries tell others too: nothing is learnt by them.
    learnt.retain(|made| made.kind != UnitKind::Summary);
    if work.failed > 0 {
        let jobs = plural(work.failed, "job");
        console.note(format_args!("{} {jobs} failed and will be tried again", work.failed));
    }
    let observed = Observed { observation, learnt, work };
    console.show(&observed, text)?;
    Ok(Outcome::Found)
}

fn draft(args: ObserveArgs) -> anyhow::Result<ObservationDraft> {
    let content = match args.text {
        Some(text) => text,
        None => piped()?,
    };
    Ok(ObservationDraft {
        reply_text: args.reply,
        image_summary: args.image,
        context_note: (!args.notes.is_empty()).then(|| ContextNote::new(args.notes)).transpose()?,
        kind: args.kind,
        source_type: args.source,
        source_id: args.source_id,
        session: args.session,
        actor: args.actor,
        proactive: args.proactive,
        tags: Tags::new(&args.tags)?,
        boundary_class: args.class,
        lifetime_days: args.days,
        ..ObservationDraft::message(content)
    })
}

/// What is on stdin, as far as an observation can hold it, and what shows that it is too long.
fn piped() -> anyhow::Result<String> {
    if io::stdin().is_terminal() {
        anyhow::bail!("say what happened, as an argument or on stdin");
    }
    let mut text = String::new();
    let most = Observation::MAX_CONTENT as u64 + 1;
    io::stdin().take(most).read_to_string(&mut text).context("cannot read stdin as UTF-8")?;
    Ok(text)
}

fn text(observed: &Observed) -> String {
    let Observed { observation, learnt, .. } = observed;
    let mut text = said(observation, "");
    let Observation { id, kind, boundary_class, .. } = observation;
    _ = writeln!(text, "{DIM}{id} · {kind} · {boundary_class}{DIM:#}\n");
    text += &self::learnt(learnt);
    text
}

/// What was made from an observation.
pub(in crate::command) fn learnt(made: &[RelatedUnit]) -> String {
    let mut text = heading(if made.is_empty() { "nothing learnt" } else { "learnt" });
    for RelatedUnit { id, kind, text: learnt } in made {
        text += &paragraph(learnt, "  ");
        _ = writeln!(text, "  {DIM}{id} · {kind}{DIM:#}");
    }
    text
}
