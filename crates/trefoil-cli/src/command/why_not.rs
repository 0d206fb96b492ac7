use trefoil::{Engine, search::Lost};

use super::{Outcome, search};
use crate::{args::WhyNotArgs, settings::Settings, show};

/// Says where a passage was lost: of a file, its passage that came farthest.
pub(super) fn run(args: WhyNotArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let query = search::query(args.search)?;
    let engine = settings.open_to_read()?;
    let lost = if let Ok(chunk) = args.passage.parse() {
        let answer = engine.why_not(&query, &chunk)?;
        Some(Lost { chunk, answer })
    } else {
        match path(&engine, &args.passage)? {
            Some(path) => engine.why_not_document(&query, &path)?,
            None => None,
        }
    };
    let Some(Lost { chunk, answer }) = lost else {
        anyhow::bail!("`{}` is not indexed; `trefoil index` it first", args.passage);
    };
    settings.console.show(&answer, |_| show::why_not(&chunk, &answer))?;
    Ok(if answer.lost_at.is_none() { Outcome::Found } else { Outcome::NothingFound })
}

/// The path of a document, or the first one that ends so.
fn path(engine: &Engine, passage: &str) -> anyhow::Result<Option<String>> {
    let mut stored = engine.paths()?;
    let exact = stored.iter().position(|path| path == passage);
    let found = exact.or_else(|| stored.iter().position(|path| path.ends_with(passage)));
    Ok(found.map(|at| stored.swap_remove(at)))
}
