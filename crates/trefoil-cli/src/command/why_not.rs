use trefoil::{
    Engine,
    ingest::ChunkId,
    search::{Stage, WhyNot},
};

use super::{Outcome, search};
use crate::{args::WhyNotArgs, settings::Settings, show};

/// Says where a passage was lost: of a file, its passage that came farthest.
pub(super) fn run(args: WhyNotArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let query = search::query(args.search)?;
    let engine = Engine::open_read_only(settings.index(), settings.engine.clone())?;
    let mut answers = Vec::new();
    for chunk in chunks(&engine, &args.passage)? {
        answers.push((engine.why_not(&query, &chunk)?, chunk));
    }
    let Some((answer, chunk)) = answers.into_iter().max_by_key(|(answer, _)| distance(answer))
    else {
        anyhow::bail!("`{}` is not indexed; `trefoil index` it first", args.passage);
    };
    settings.console.show(&answer, |_| show::why_not(&chunk, &answer))?;
    Ok(if answer.lost_at.is_none() { Outcome::Found } else { Outcome::NothingFound })
}

fn chunks(engine: &Engine, passage: &str) -> anyhow::Result<Vec<ChunkId>> {
    if let Ok(id) = passage.parse() {
        return Ok(vec![id]);
    }
    let stored = engine.paths()?;
    let path = stored
        .iter()
        .find(|path| *path == passage)
        .or_else(|| stored.iter().find(|path| path.ends_with(passage)));
    let Some(path) = path else { return Ok(Vec::new()) };
    Ok(engine.document_chunks(path)?.iter().map(|chunk| chunk.id.clone()).collect())
}

/// How far a passage came, and how high it stood there.
fn distance(answer: &WhyNot) -> (bool, bool, usize, std::cmp::Reverse<usize>) {
    let stages = &answer.explanation.stages;
    let rank = stages.last().map_or(usize::MAX, |place| place.rank);
    let passed_filters = answer.lost_at != Some(Stage::Filter);
    (answer.lost_at.is_none(), passed_filters, stages.len(), std::cmp::Reverse(rank))
}
