//! The tool about the graph.

use std::{fmt::Write, sync::Arc};

use serde_json::{Value, json};
use trefoil::{
    Cancel, Engine, SearchFilters, SearchQuery,
    graph::{EntityView, RelationshipPath},
    search::QueryType,
};

use super::{
    arguments::GraphQuery,
    budget::{Budget, Piece, chars, fitting, json_chars, one_line, put, shortened},
    client::Client,
    tool::Answer,
};
use crate::problem::Problem;

/// Most related entities, and most communities, that are looked at.
const MOST: usize = 100;

pub(crate) fn query(
    client: &Client,
    asked: GraphQuery,
    cancel: &Cancel,
) -> Result<Answer, Problem> {
    let budget = Budget::new(asked.max_chars)?;
    let engine = client.reads()?.engine;
    let GraphQuery { entity, from, to, communities, .. } = asked;
    match (entity, from, to, communities) {
        (Some(name), None, None, false) => about(&engine, &name, budget),
        (None, Some(from), Some(to), false) => between(&engine, &from, &to, budget, cancel),
        (None, None, None, true) => groups(&engine, budget),
        _ => {
            let detail = "give `entity`, or `from` and `to`, or `communities: true`";
            Err(Problem::own("invalid_parameter", detail))
        }
    }
}

fn found(engine: &Arc<Engine>, name: &str) -> Result<EntityView, Problem> {
    let found = engine.entity(name, &SearchFilters::default(), MOST)?;
    found.ok_or_else(|| {
        let name = shortened(&one_line(name), 80);
        let detail = format!(
            "the documents name no entity `{name}`; `search` finds passages, and \
             `graph_query` with `communities` what they are about"
        );
        Problem::own("not_found", detail)
    })
}

fn about(engine: &Arc<Engine>, name: &str, budget: Budget) -> Result<Answer, Problem> {
    let view = found(engine, name)?;
    let room = budget.both;
    let (name, kind) =
        (shortened(&one_line(&view.entity.name), 80), view.entity.entity_type.as_str().to_owned());
    let description = shortened(&one_line(&view.description), room / 6);
    let aliases: Vec<String> =
        view.aliases.iter().take(5).map(|alias| shortened(&one_line(alias), 20)).collect();
    let text = format!(
        "{name} · {kind} · in {} passages\n{description}\nalso: {}\nrelated to:\n",
        view.chunks,
        aliases.join(", "),
    );
    let value = json!({
        "name": name,
        "type": kind,
        "passages": view.chunks,
        "description": description,
        "aliases": aliases,
    });
    let related = view.related.iter().map(|one| {
        let name = shortened(&one_line(&one.entity.name), 80);
        let relations: Vec<String> =
            one.relations.iter().map(|relation| relation.relation_type.as_str().to_owned()).collect();
        let excerpt = one.relations.iter().flat_map(|relation| &relation.proofs).next();
        let excerpt = excerpt.map(|proof| shortened(&one_line(&proof.excerpt), 200)).unwrap_or_default();
        let weight = (f64::from(one.weight.get()) * 1_000.0).round() / 1_000.0;
        Piece {
            text: format!("- {name} ({}, {weight:.3}): “{excerpt}”\n", relations.join(", ")),
            value: json!({"name": name, "relations": relations, "weight": weight, "excerpt": excerpt}),
        }
    });
    Ok(listed(text, value, "related", related.collect(), budget))
}

fn between(
    engine: &Arc<Engine>,
    from: &str,
    to: &str,
    budget: Budget,
    cancel: &Cancel,
) -> Result<Answer, Problem> {
    let (from, to) = (found(engine, from)?.entity.name, found(engine, to)?.entity.name);
    let question = shortened(&format!("How is “{from}” related to “{to}”?"), 1_000);
    let query =
        SearchQuery::new(&question)?.query_type(QueryType::Relationship).limit(1).rerank(false);
    let paths = engine.search_unless(&query, cancel)?.paths;
    let (from, to) = (shortened(&one_line(&from), 80), shortened(&one_line(&to), 80));
    let text = match paths.as_slice() {
        [] => format!("No path of at most three steps leads from {from} to {to}.\n"),
        _ => format!("From {from} to {to}:\n"),
    };
    let value = json!({"from": from, "to": to});
    Ok(listed(text, value, "paths", paths.iter().map(path).collect(), budget))
}

fn path(path: &RelationshipPath) -> Piece {
    let names: Vec<String> =
        path.entities.iter().map(|entity| shortened(&one_line(&entity.name), 80)).collect();
    let mut text = format!("- {}\n", names.join(" — "));
    let steps: Vec<Value> = path
        .steps
        .iter()
        .zip(names.windows(2))
        .map(|(step, ends)| {
            let relations: Vec<String> = step
                .relations
                .iter()
                .map(|relation| relation.relation_type.as_str().to_owned())
                .collect();
            let proof = step.relations.iter().flat_map(|relation| &relation.proofs).next();
            let excerpt = proof.map(|proof| shortened(&one_line(&proof.excerpt), 200));
            let excerpt = excerpt.unwrap_or_default();
            let id = proof.map(|proof| proof.chunk_id.to_string()).unwrap_or_default();
            let (ends, how) = (ends.join(" — "), relations.join(", "));
            _ = writeln!(text, "  {ends} ({how}): “{excerpt}” {id}");
            json!({"relations": relations, "excerpt": excerpt, "id": id})
        })
        .collect();
    Piece { text, value: json!({"entities": names, "steps": steps}) }
}

fn groups(engine: &Arc<Engine>, budget: Budget) -> Result<Answer, Problem> {
    let mut rows = engine.communities()?;
    rows.sort_by(|a, b| (a.level, b.members.len(), &a.id).cmp(&(b.level, a.members.len(), &b.id)));
    let text = match rows.as_slice() {
        [] => "There are no communities yet: they are found when all is indexed.\n",
        _ => "What the documents are about, the largest first:\n",
    };
    let pieces = rows.iter().take(MOST).map(|row| {
        let name = shortened(&one_line(&row.name), 120);
        let summary = shortened(&one_line(&row.summary), 400);
        let keywords: Vec<String> =
            row.keywords.iter().map(|word| shortened(&one_line(word), 40)).collect();
        Piece {
            text: format!("- {name} ({} entities): {summary}\n", row.members.len()),
            value: json!({
                "name": name,
                "level": row.level,
                "entities": row.members.len(),
                "summary": summary,
                "keywords": keywords,
            }),
        }
    });
    Ok(listed(text.to_owned(), json!({}), "communities", pieces.collect(), budget))
}

/// An answer with as many pieces under a name as fit.
pub(crate) fn listed(
    mut text: String,
    mut value: Value,
    name: &str,
    pieces: Vec<Piece>,
    budget: Budget,
) -> Answer {
    let around = chars(&text) + json_chars(&value) + chars(name) + 100;
    let shown = fitting(&pieces, budget.both.saturating_sub(around));
    let left = pieces.len() - shown;
    let values: Vec<Value> = pieces
        .into_iter()
        .take(shown)
        .map(|piece| {
            text.push_str(&piece.text);
            piece.value
        })
        .collect();
    if left > 0 {
        _ = writeln!(text, "{left} more; raise maxChars");
    }
    put(&mut value, name, values);
    put(&mut value, "truncated", left > 0);
    Answer::new(text, value)
}
