use std::fmt::Write;

use trefoil_memory::{
    LinkedClaim, Memory, MemoryRelation, Overview, Reflection, RelatedUnit, SummaryBody, UnitRecord,
};

use super::{Outcome, heading, paragraph, readable, said, told};
use crate::{command::fill::plural, console::Console, settings::Settings, show::DIM};

/// Shows one unit, or an overview.
pub(super) fn run(id: Option<&str>, settings: &Settings) -> anyhow::Result<Outcome> {
    let memory = readable(settings)?;
    match id {
        Some(id) => one(&memory, id, settings.console),
        None => all(&memory, settings.console),
    }
}

fn one(memory: &Memory, id: &str, console: Console) -> anyhow::Result<Outcome> {
    let Some(record) = memory.record(id)? else {
        console.note(format_args!("memory has no `{id}`; `trefoil memory recall` finds ids"));
        return Ok(Outcome::NothingFound);
    };
    console.show(&record, text)?;
    Ok(Outcome::Found)
}

fn all(memory: &Memory, console: Console) -> anyhow::Result<Outcome> {
    let overview = memory.overview()?;
    console.show(&overview, at_large)?;
    Ok(if overview.units.is_empty() { Outcome::NothingFound } else { Outcome::Found })
}

fn at_large(overview: &Overview) -> String {
    let Overview { policy_version, units, archived } = overview;
    let mut text = String::new();
    for (kind, count) in units {
        _ = writeln!(text, "{kind:<10} {count}");
    }
    _ = writeln!(text, "{:<10} {archived}", "archived");
    _ = writeln!(text, "{:<10} {policy_version}", "policy");
    text
}

fn text(record: &UnitRecord) -> String {
    let UnitRecord { id, kind, state, archived_as, boundary_class, .. } = record;
    let mut text = if let Some(claim) = &record.claim {
        told(claim, "")
    } else if let Some(observation) = &record.observation {
        said(observation, "") + &format!("{DIM}{id} · {kind} · {boundary_class}{DIM:#}\n")
    } else {
        let body = if record.text.is_empty() { "(its words were erased)" } else { &record.text };
        let about = format!("{DIM}{id} · {kind} · {boundary_class}{DIM:#}\n");
        paragraph(body, "") + &about
    };
    if let Some(claim) = &record.claim {
        _ = writeln!(
            text,
            "confidence {:.2}, utility {:+.2}, quality {:.2}; written {}, checked {}, fresh for {}",
            claim.confidence.get(),
            claim.utility,
            claim.quality.get(),
            claim.created_at,
            claim.last_verified_at,
            claim.ttl,
        );
        if !claim.sources.is_empty() {
            let sources: Vec<String> = claim.sources.iter().map(ToString::to_string).collect();
            _ = writeln!(text, "sources {}", sources.join(", "));
        }
    }
    if let Some(Reflection { affect, salience, confidence, reasons }) = &record.reflection {
        let reasons: Vec<&str> = reasons.iter().map(|reason| reason.as_str()).collect();
        _ = writeln!(
            text,
            "{} {:.2}, salience {:.2}, confidence {:.2}: {}",
            affect.label,
            affect.intensity.get(),
            salience.get(),
            confidence.get(),
            reasons.join(", "),
        );
    }
    if let Some(SummaryBody { key_events, shared_state, .. }) = &record.summary {
        let events = key_events.iter().map(|one| format!("{}  {}", one.at, one.text));
        lines(&mut text, "what happened", events);
        lines(&mut text, "what is the case", shared_state.facts.iter().cloned());
        let loops = shared_state.open_loops.iter().map(|open| match open.due_at {
            Some(due) => format!("{} (due {due})", open.text),
            None => open.text.clone(),
        });
        lines(&mut text, "what is left to do", loops);
    }
    if !record.mentions.is_empty() {
        _ = writeln!(text, "mentions {}", record.mentions.join(", "));
    }
    for entity in record.entities.iter().filter(|entity| !entity.attrs.is_empty()) {
        let attrs = entity.attrs.iter();
        let attrs: Vec<String> =
            attrs.map(|(relation, names)| format!("{relation} {}", names.join(", "))).collect();
        _ = writeln!(text, "{}: {}", entity.name, attrs.join(" · "));
    }
    for edge in &record.relations {
        let MemoryRelation { source, relation, target, weight, .. } = edge;
        let end = edge.valid_to.map(|end| format!(", held until {end}")).unwrap_or_default();
        _ = writeln!(
            text,
            "{source} · {relation} · {target}  {DIM}weight {weight:.2}, {} to {}{end}{DIM:#}",
            edge.first_seen_at, edge.last_seen_at,
        );
    }
    match archived_as {
        Some(reason) => _ = writeln!(text, "{state}: {reason}"),
        None => _ = writeln!(text, "{state}"),
    }
    units(&mut text, "made from", &record.made_from);
    units(&mut text, "made from it", &record.made);
    for LinkedClaim { relation, inverse, claim } in &record.links {
        let relation = if *inverse { format!("{relation} it") } else { (*relation).to_owned() };
        units(&mut text, &relation, std::slice::from_ref(claim));
    }
    if !record.feedback.is_empty() {
        let said = record.feedback.len();
        _ = write!(text, "\n{}", heading(&format!("{said} {}", plural(said, "opinion"))));
        for feedback in &record.feedback {
            _ = writeln!(text, "  {}  {}", feedback.ts, feedback.signal);
        }
    }
    if !record.events.is_empty() {
        _ = write!(text, "\n{}", heading("what was done"));
        for event in &record.events {
            _ = writeln!(text, "  {}  {}", event.at, event.kind);
        }
    }
    text
}

fn lines(text: &mut String, name: &str, lines: impl Iterator<Item = String>) {
    let lines: String = lines.map(|line| paragraph(&line, "  ")).collect();
    if !lines.is_empty() {
        _ = write!(text, "\n{}{lines}", heading(name));
    }
}

fn units(text: &mut String, name: &str, units: &[RelatedUnit]) {
    if units.is_empty() {
        return;
    }
    _ = write!(text, "\n{}", heading(name));
    for unit in units {
        let body = if unit.text.is_empty() { "(its words were erased)" } else { &unit.text };
        *text += &paragraph(body, "  ");
        _ = writeln!(text, "  {DIM}{} · {}{DIM:#}", unit.id, unit.kind);
    }
}
