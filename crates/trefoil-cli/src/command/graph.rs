use std::fmt::Write;

use jiff::Timestamp;
use serde::Serialize;
use trefoil::{
    Engine,
    graph::{EntityView, RelatedEntity, Seen},
};

use super::{Outcome, memory::paragraph, search::filters};
use crate::{
    args::GraphArgs,
    console::{print, print_json},
    draw,
    settings::Settings,
    show::{DIM, PATH, TITLE, counted, printable, relation, score},
    wrap,
};

/// The graph at large, on the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Overview {
    entities: usize,
    relations: usize,
    chunks: usize,
    most_important: Vec<EntityView>,
}

/// Shows the graph at large, what it says of one entity, or a drawing of either.
pub(super) fn run(args: GraphArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let console = settings.console;
    let engine = settings.open_to_read()?;
    let filters = filters(args.filters)?;
    let Some(graph) = engine.graph_index_within(&filters)? else {
        anyhow::bail!("this engine has no graph")
    };
    let view =
        args.entity.as_ref().map(|name| engine.entity(name, &filters, args.limit)).transpose()?;
    if let (Some(None), Some(name)) = (&view, &args.entity) {
        console.note(format_args!("the graph has no `{name}`; `trefoil graph` lists what it has"));
        return Ok(Outcome::NothingFound);
    }
    if args.dot || args.svg {
        let drawn = engine.subgraph(args.entity.as_deref(), &filters, args.limit)?;
        print(if args.dot { draw::dot(&drawn) } else { draw::svg(&drawn) })?;
        return Ok(outcome(drawn.nodes.len()));
    }
    if let Some(Some(view)) = view {
        if console.json {
            print_json(&view)?;
        } else {
            print(one(&engine, &view)?)?;
        }
        return Ok(Outcome::Found);
    }
    let overview = Overview {
        entities: graph.entity_count() as usize,
        relations: graph.all_related().edge_count(),
        chunks: graph.chunk_count(),
        most_important: engine.entities(&filters, args.limit)?,
    };
    console.show(&overview, all)?;
    Ok(outcome(overview.entities))
}

const fn outcome(entities: usize) -> Outcome {
    if entities > 0 { Outcome::Found } else { Outcome::NothingFound }
}

/// A line an entity.
fn all(overview: &Overview) -> String {
    let Overview { entities, relations, chunks, most_important } = overview;
    let mut text = format!("{entities} entities, {relations} relations, in {chunks} chunks\n\n");
    let names: Vec<String> =
        most_important.iter().map(|view| printable(&view.entity.name)).collect();
    let widest = names.iter().map(|name| wrap::columns(name)).max().unwrap_or_default();
    for (name, view) in names.iter().zip(most_important) {
        let gap = " ".repeat(widest - wrap::columns(name));
        let EntityView { entity, chunks, importance, .. } = view;
        _ = writeln!(
            text,
            "{TITLE}{name}{TITLE:#}{gap}  {}  {:>12}  {DIM}{}{DIM:#}",
            score(*importance),
            counted(*chunks, "chunk"),
            entity.entity_type,
        );
    }
    text
}

/// What is said of an entity, each relation with a passage that shows it.
fn one(engine: &Engine, view: &EntityView) -> anyhow::Result<String> {
    let EntityView { entity, description, aliases, chunks, degree, importance, related } = view;
    let mut text = format!(
        "{TITLE}{}{TITLE:#}  {DIM}{}{DIM:#}  {}, related to {degree}, importance {}\n",
        printable(&entity.name),
        entity.entity_type,
        counted(*chunks, "chunk"),
        score(*importance),
    );
    if !aliases.is_empty() {
        _ = writeln!(text, "also {}", printable(&aliases.join(", ")));
    }
    text += &paragraph(description, "");
    for RelatedEntity { entity: other, weight, relations } in related {
        let types: Vec<String> = relations.iter().map(|one| relation(&one.relation_type)).collect();
        _ = writeln!(
            text,
            "\n{}  {TITLE}{}{TITLE:#}  {DIM}{}{DIM:#}",
            score(*weight),
            printable(&other.name),
            types.join(", "),
        );
        if let Some(Seen { count, first_seen_at, last_seen_at, .. }) =
            relations.first().and_then(|one| one.seen)
        {
            let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            let day = |at: Timestamp| at.strftime("%F");
            let (first, last) = (day(first_seen_at), day(last_seen_at));
            _ = writeln!(text, "{MARGIN}{DIM}seen {times}, {first} to {last}{DIM:#}");
        }
        let Some(proof) = relations.first().and_then(|one| one.proofs.first()) else { continue };
        text += &paragraph(&proof.excerpt.replace('\n', " "), MARGIN);
        if let Some(chunk) = engine.chunk(&proof.chunk_id)? {
            let place = format!("{}:{}", printable(&chunk.file.path), chunk.chunk.lines.start);
            _ = writeln!(text, "{MARGIN}{PATH}{place}{PATH:#}");
        }
    }
    Ok(text)
}

const MARGIN: &str = "     ";
