use trefoil::{
    Degraded, RetrieverId, Score, SearchFilters, SearchOptions, SearchQuery, SearchStrategy,
    search::{DateRange, QueryText},
};

use super::Outcome;
use crate::{
    args::{FilterArgs, SearchArgs},
    console::{Console, columns, print, print_json},
    grade,
    settings::Settings,
    show::{self, Extent},
};

/// A person is shown fewer results rather than weak ones; a program gets as many as it asks for.
const LEAST_RELEVANCE: f32 = 0.3;

/// Answers one question.
pub(super) fn run(args: SearchArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let extent = if args.full { Extent::Whole } else { Extent::Fragment };
    let progressive = args.progressive;
    if progressive && settings.console.json {
        anyhow::bail!("`--progressive` prints for a person; leave it out with `--json`");
    }
    let query = query(args)?;
    query.check()?;
    let engine = settings.open_to_read()?;
    if let Some(first) = by_keyword(&query).filter(|_| progressive) {
        let found = engine.search(&first)?;
        print(show::provisional(&found, extent, columns()))?;
    }
    let found = engine.search(&query)?;
    if settings.console.json {
        print_json(&found)?;
    } else {
        print(show::paths(&found, columns()))?;
        print(show::results(&found, extent, columns()))?;
        if let Some(report) = &found.crag {
            print(grade::report(report))?;
        }
        if !settings.console.quiet {
            print(show::question(&found))?;
            print(show::summary(&found))?;
            print(show::more(&found))?;
        }
        note_degraded(&found.degraded, settings.console);
    }
    Ok(if found.results.is_empty() { Outcome::NothingFound } else { Outcome::Found })
}

/// The part of a search that needs no model; none if it is the whole, or not asked for.
fn by_keyword(query: &SearchQuery) -> Option<SearchQuery> {
    let strategies = &query.options.strategies;
    let is_wanted = |id| SearchStrategy::wants(strategies, id);
    let is_whole = strategies.as_slice() == [SearchStrategy::KEYWORD];
    let needs_none = is_whole && !query.options.rerank_enabled;
    if needs_none || !is_wanted(RetrieverId::KEYWORD) || query.options.cursor.is_some() {
        return None;
    }
    let mut first = query.clone();
    first.options.strategies = vec![SearchStrategy::KEYWORD];
    first.options.weights = None;
    first.options.rerank_enabled = false;
    first.options.crag_enabled = false;
    first.options.explain = false;
    Some(first)
}

/// Says what did not run as asked.
pub(super) fn note_degraded(degraded: &[Degraded], console: Console) {
    for Degraded { stage, reason } in degraded {
        console.note(format_args!("{stage} — {reason}"));
    }
}

pub(super) fn query(args: SearchArgs) -> trefoil::Result<SearchQuery> {
    let mut options = SearchOptions {
        limit: args.limit,
        offset: args.offset,
        rerank_enabled: !args.no_rerank,
        thorough: args.thorough,
        crag_enabled: args.crag,
        explain: args.explain,
        cursor: args.cursor,
        per_file: args.per_file,
        adjoining: args.adjoining,
        diverse: args.diverse,
        min_similarity: args.min_similarity,
        timeout_ms: args.timeout,
        result_types: args.results,
        ..SearchOptions::default()
    };
    if !args.strategies.is_empty() {
        options.strategies = args.strategies;
    }
    let mut filters = filters(args.filters)?;
    filters.min_relevance = args.min_relevance.unwrap_or(Score::clamped(LEAST_RELEVANCE));
    Ok(SearchQuery {
        text: QueryText::new(&args.query)?,
        query_type: args.query_type,
        embedding: None,
        filters,
        options,
    })
}

pub(super) fn filters(args: FilterArgs) -> trefoil::Result<SearchFilters> {
    let FilterArgs { languages, path_glob, tags, file_ids, since, until } = args;
    let date_range = match (since, until) {
        (None, None) => None,
        (since, until) => Some(DateRange::new(since, until)?),
    };
    Ok(SearchFilters {
        file_ids,
        date_range,
        tags,
        languages,
        path_glob,
        ..SearchFilters::default()
    })
}
