//! Tools about documents.

use std::{fmt::Write, sync::Arc};

use serde_json::{Value, json};
use trefoil::{
    Cancel, Degraded, SearchFilters, SearchOptions, SearchQuery, SearchResult, SearchResultItem,
    index::{FileInfo, StoredChunk},
    ingest::{ChunkId, FileId},
    search::{Answerability, Cursor, DateRange, QueryText, SearchResultType},
};

use super::{
    arguments::{Detail, GetDocument, Nothing, Search},
    budget::{
        Budget, Piece, chars, fitting, json_chars, longest, one_line, put, quoted, shortened,
    },
    client::Client,
    tool::Answer,
};
use crate::problem::Problem;

/// Where an answer ended: after so many hits of a page of the engine.
#[derive(Debug)]
struct Place {
    skip: usize,
    limit: usize,
    page: Option<Cursor>,
}

impl Place {
    fn read(text: Option<&str>, limit: usize) -> Result<Self, Problem> {
        let Some(text) = text else { return Ok(Self { skip: 0, limit, page: None }) };
        let wrong = || Problem::parameter("cursor", text, "the `nextCursor` of an answer");
        let mut parts = text.splitn(3, '~');
        let mut number = || parts.next()?.parse::<usize>().ok();
        let (Some(skip), Some(limit)) = (number(), number()) else { return Err(wrong()) };
        if skip >= limit || limit > 50 {
            return Err(wrong());
        }
        let page = match parts.next() {
            Some("") => None,
            page => Some(page.ok_or_else(wrong)?.parse().map_err(|_| wrong())?),
        };
        Ok(Self { skip, limit, page })
    }

    fn write(&self) -> String {
        let page = self.page.as_ref().map(Cursor::to_string).unwrap_or_default();
        format!("{}~{}~{page}", self.skip, self.limit)
    }
}

pub(crate) fn search(client: &Client, asked: Search, cancel: &Cancel) -> Result<Answer, Problem> {
    let budget = Budget::new(asked.max_chars)?;
    if !(1..=50).contains(&asked.limit) {
        return Err(Problem::parameter("limit", &asked.limit.to_string(), "1–50"));
    }
    let place = Place::read(asked.cursor.as_deref(), asked.limit)?;
    let query = SearchQuery {
        text: QueryText::new(&asked.query)?,
        query_type: None,
        embedding: None,
        filters: SearchFilters {
            condition: asked.condition,
            languages: asked.languages,
            path_glob: asked.path_glob,
            date_range: match (asked.since, asked.until) {
                (None, None) => None,
                (since, until) => Some(DateRange::new(since, until)?),
            },
            ..SearchFilters::default()
        },
        options: SearchOptions {
            limit: place.limit,
            cursor: place.page.clone(),
            thorough: asked.thorough,
            include_highlights: asked.detail == Detail::Brief,
            // Of entities and communities `graph_query` tells.
            result_types: vec![SearchResultType::Chunk],
            ..SearchOptions::default()
        },
    };
    let found = client.reads()?.engine.search_unless(&query, cancel)?;
    if let Some(metrics) = client.metrics() {
        metrics.searched(&found);
    }
    Ok(within(&found, &place, asked.detail, budget))
}

/// What was found, as far as it fits.
fn within(found: &SearchResult, place: &Place, detail: Detail, budget: Budget) -> Answer {
    let hits = found.results.get(place.skip..).unwrap_or_default();
    let next_page = found.next_cursor.clone();
    let place_after = |shown: usize| {
        if shown < hits.len() {
            let skip = place.skip + shown;
            return Some(Place { skip, limit: place.limit, page: place.page.clone() });
        }
        next_page.clone().map(|page| Place { skip: 0, limit: place.limit, page: Some(page) })
    };
    let degraded = told(&found.degraded, budget.both / 5);
    // As long as the longest of what can stand around the hits.
    let most = [place_after(0), place_after(hits.len())].into_iter().flatten();
    let longest_place = most.max_by_key(|place| place.write().len());
    let frame = Frame { found, degraded: &degraded, of: hits.len() };
    let around = frame.around(Vec::new(), true, longest_place.as_ref()).1;
    let room = budget.both.saturating_sub(around + 8);
    let pieces: Vec<Piece> =
        hits.iter().map(|hit| piece(hit, &passage(hit, detail), None)).collect();
    let fits = fitting(&pieces, room);
    let mut shown: Vec<Piece> = pieces.into_iter().take(fits).collect();
    if let (true, Some(first)) = (shown.is_empty(), hits.first()) {
        // One is shown in any case, as much of it as fits.
        let whole = passage(first, detail);
        let cost = |part: &str| piece(first, &format!("{part}…"), Some(40)).cost();
        let part = longest(&whole, room, cost);
        shown.push(piece(first, &format!("{part}…"), Some(40)));
    }
    let after = place_after(shown.len());
    let truncated = shown.len() < hits.len() || fits == 0 && !hits.is_empty();
    frame.around(shown, truncated, after.as_ref()).0
}

/// What stands around the hits of an answer.
struct Frame<'f> {
    found: &'f SearchResult,
    degraded: &'f [String],
    of: usize,
}

impl Frame<'_> {
    /// The answer with these hits, and its characters.
    fn around(&self, hits: Vec<Piece>, truncated: bool, after: Option<&Place>) -> (Answer, usize) {
        let answerability = answerability(self.found.answerability);
        let degraded = match self.degraded {
            [] => "nothing".to_owned(),
            degraded => degraded.join("; "),
        };
        let next = after.map(Place::write);
        let mut text = format!(
            "answerability: {answerability} · degraded: {degraded} · {} of {} hits\n",
            hits.len(),
            self.found.total_count,
        );
        let values: Vec<Value> = hits
            .into_iter()
            .map(|hit| {
                text.push('\n');
                text.push_str(&hit.text);
                hit.value
            })
            .collect();
        if self.of == 0 {
            text.push_str("\nNothing was found. Other words, or fewer filters, may find more.\n");
        }
        if let Some(next) = &next {
            _ = write!(text, "\nmore: cursor {next}\n");
        }
        let mut value = json!({
            "answerability": answerability,
            "degraded": self.degraded,
            "total": self.found.total_count,
            "truncated": truncated,
            "hits": values,
        });
        if let Some(next) = next {
            put(&mut value, "nextCursor", next);
        }
        let cost = chars(&text) + json_chars(&value);
        (Answer::new(text, value), cost)
    }
}

fn answerability(what: Answerability) -> &'static str {
    match what {
        Answerability::Supported => "supported",
        Answerability::Partial => "partial",
        Answerability::Unsupported => "unsupported",
        Answerability::Uncalibrated => "uncalibrated",
    }
}

/// What did not run as asked, in at most so many characters of both forms.
pub(crate) fn told(degraded: &[Degraded], most: usize) -> Vec<String> {
    let mut room = most / 2;
    let mut told = Vec::new();
    for one in degraded {
        let text = one_line(&format!("{}: {}", one.stage, one.reason));
        let text = shortened(&text, room.min(200));
        room = room.saturating_sub(chars(&text) + 5);
        if chars(&text) > 1 {
            told.push(text);
        }
    }
    told
}

/// What is told of a hit: its passage, or what matched in it.
fn passage(hit: &SearchResultItem, detail: Detail) -> String {
    let text = hit.content.text.trim_end();
    if detail == Detail::Passage {
        return text.to_owned();
    }
    let matched = hit.highlights.iter().find(|highlight| highlight.field == "text");
    let matched = matched.map_or(text, |highlight| highlight.fragment.as_str());
    shortened(&one_line(matched), 240)
}

/// A hit with a text, in both forms; `most` characters of its path and title, if it has to be
/// short.
fn piece(hit: &SearchResultItem, passage: &str, most: Option<usize>) -> Piece {
    let cut = |text: &str, usual: usize| shortened(&one_line(text), most.unwrap_or(usual));
    let mut title = vec![cut(hit.title(), 200)];
    if let Some(metadata) = hit.metadata.as_ref().filter(|_| most.is_none()) {
        let headings = metadata.heading_path.iter().map(|heading| cut(heading, 120));
        title.extend(headings.filter(|heading| *heading != cut(hit.title(), 200)));
    }
    let title = title.join(" > ");
    let score = (f64::from(hit.score.get()) * 1_000.0).round() / 1_000.0;
    let (head, mut value) = match &hit.metadata {
        Some(metadata) if hit.is_chunk_result() => {
            // A path that is cut leads nowhere; the id does.
            let path =
                most.map_or_else(|| metadata.path.clone(), |most| shortened(&metadata.path, most));
            let lines = metadata.lines;
            let head = format!("{}:{}-{}", one_line(&path), lines.start, lines.end);
            (head, json!({"path": path, "lines": [lines.start, lines.end]}))
        }
        _ => {
            let kind = match hit.item_type {
                SearchResultType::Chunk => "passage",
                SearchResultType::Entity => "entity",
                SearchResultType::Community => "community",
            };
            (kind.to_owned(), json!({"type": kind}))
        }
    };
    put(&mut value, "id", hit.id.clone());
    put(&mut value, "title", title.clone());
    put(&mut value, "score", score);
    put(&mut value, "text", passage);
    let text = format!("{head} · {title} · {score:.3}\n{}", quoted(passage));
    Piece { text, value }
}

/// The document that is asked for.
fn document(client: &Client, path: Option<&str>, id: Option<&str>) -> Result<FileInfo, Problem> {
    let engine = client.reads()?.engine;
    let missing = |what: &str| {
        let what = shortened(&one_line(what), 200);
        let detail = format!("there is no document `{what}`; `search` tells paths and ids");
        Problem::own("not_found", detail)
    };
    match (path, id) {
        (Some(path), None) => engine.document(path)?.ok_or_else(|| missing(path)),
        (None, Some(id)) => {
            let found = if let Ok(chunk) = id.parse::<ChunkId>() {
                engine.chunk(&chunk)?.map(|chunk| (*chunk.file).clone())
            } else if let Ok(file) = id.parse::<FileId>() {
                engine.document_by_id(&file)?
            } else {
                None
            };
            found.ok_or_else(|| missing(id))
        }
        _ => Err(Problem::own("invalid_parameter", "give either `path` or `id`")),
    }
}

/// A line of a document with its number.
type Line = (u32, String);

/// The text of lines.
pub(crate) fn joined(lines: &[Line]) -> String {
    let mut text = String::new();
    for (_, line) in lines {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// The lines of a document that its passages hold, in order.
pub(crate) fn lines(chunks: &[Arc<StoredChunk>]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for chunk in chunks {
        for (number, line) in (chunk.chunk.lines.start..).zip(chunk.chunk.text.lines()) {
            match lines.last_mut() {
                // Two passages that meet within a line.
                Some((last, text)) if *last == number => {
                    text.push_str(line);
                }
                Some((last, _)) if *last > number => {}
                last => {
                    // What no passage holds is blank.
                    if last.is_some_and(|(last, _)| *last + 1 < number) {
                        lines.push((number - 1, String::new()));
                    }
                    lines.push((number, line.to_owned()));
                }
            }
        }
    }
    lines
}

pub(crate) fn get_document(
    client: &Client,
    GetDocument { path, id, from_line, lines: most_lines, max_chars }: GetDocument,
    _: &Cancel,
) -> Result<Answer, Problem> {
    let budget = Budget::new(max_chars)?;
    let file = document(client, path.as_deref(), id.as_deref())?;
    let chunks = client.reads()?.engine.document_chunks(&file.path)?;
    let all = lines(&chunks);
    let last_line = all.last().map_or(0, |(number, _)| *number);
    if from_line == 0 || most_lines == Some(0) || from_line > last_line.max(1) {
        let allowed = format!("a line from 1 to {last_line}, and at least one line");
        return Err(Problem::parameter("fromLine", &from_line.to_string(), &allowed));
    }
    let end = most_lines.map_or(u32::MAX, |lines| from_line.saturating_add(lines - 1));
    let wanted: Vec<&Line> =
        all.iter().filter(|(number, _)| (from_line..=end).contains(number)).collect();
    let page = Page { file: &file, last_line, most: (budget.both < 4_000).then_some(40) };
    let around = page.answer(&[], Some(u32::MAX)).1;
    let room = budget.both.saturating_sub(around + 8);
    let cost = |line: &str| chars(line) + json_chars(&line) + 4;
    let mut used = 0;
    let mut shown: Vec<Line> = Vec::new();
    let mut next = None;
    for (number, line) in wanted {
        used += cost(line);
        if used > room {
            if shown.is_empty() {
                // The rest of a line that is longer than all that was asked for is left out.
                shown.push((*number, format!("{}…", longest(line, room, |part| cost(part) + 2))));
                next = (*number < last_line.min(end)).then_some(number + 1);
            } else {
                next = Some(*number);
            }
            break;
        }
        shown.push((*number, line.clone()));
    }
    Ok(page.answer(&shown, next).0)
}

/// What is told of a document besides its lines.
struct Page<'p> {
    file: &'p FileInfo,
    last_line: u32,
    /// Characters of path and title, if they have to be short.
    most: Option<usize>,
}

impl Page<'_> {
    /// The answer with these lines, and its characters.
    fn answer(&self, lines: &[Line], next: Option<u32>) -> (Answer, usize) {
        let cut = |text: &str, usual| shortened(text, self.most.unwrap_or(usual));
        let (path, title) = (cut(&self.file.path, 1_000), cut(&one_line(&self.file.title), 200));
        let text = joined(lines);
        let first = lines.first().map_or(0, |(number, _)| *number);
        let last = lines.last().map_or(0, |(number, _)| *number);
        let mut value = json!({
            "id": self.file.id,
            "path": path,
            "title": title,
            "lines": [first, last],
            "lastLine": self.last_line,
            "truncated": next.is_some(),
            "text": text,
        });
        if let Some(next) = next {
            put(&mut value, "nextLine", next);
        }
        if self.most.is_none() {
            if let Some(date) = self.file.date {
                put(&mut value, "date", date.to_string());
            }
            if json_chars(&self.file.tags) < 300 {
                put(&mut value, "tags", json!(self.file.tags));
            }
            if json_chars(&self.file.metadata) < 600 {
                put(&mut value, "metadata", json!(self.file.metadata));
            }
        }
        let head = one_line(&path);
        let mut content =
            format!("{head}:{first}-{last} · {title} · {} lines\n\n{text}", self.last_line);
        if let Some(next) = next {
            _ = write!(content, "\nmore: fromLine {next}\n");
        }
        let cost = chars(&content) + json_chars(&value);
        (Answer::new(content, value), cost)
    }
}

pub(crate) fn health(client: &Client, _: Nothing, _: &Cancel) -> Result<Answer, Problem> {
    let value = status(client)?;
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    Ok(Answer::new(text, value))
}

/// What the index holds, and how it is.
pub(crate) fn status(client: &Client) -> Result<Value, Problem> {
    let stats = client.reads()?.engine.stats()?;
    let waiting = stats.store.jobs.queued + stats.store.jobs.running;
    let languages: serde_json::Map<String, Value> = stats
        .store
        .languages
        .iter()
        .map(|(language, count)| (language.to_string(), json!(count)))
        .collect();
    let degraded: Vec<Degraded> = stats.absent.iter().chain(&stats.background).cloned().collect();
    Ok(json!({
        "indexes": client.names(),
        "documents": stats.store.files,
        "passages": stats.store.chunks,
        "languages": languages,
        "model": stats.embedding,
        "waiting": waiting,
        "failed": stats.store.jobs.failed,
        "degraded": told(&degraded, 2_000),
        "readOnly": client.is_read_only(),
        "version": env!("CARGO_PKG_VERSION"),
    }))
}
