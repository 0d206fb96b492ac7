//! The main job at once, on real documents in three languages.

mod memory;

use std::{
    collections::BTreeSet,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anstyle::Style;
use include_dir::{Dir, DirEntry, include_dir};
use serde::Serialize;
use trefoil::{
    Engine, Error, IngestOptions, Language, SearchFilters, SearchQuery, SearchResult,
    admin::EngineStats,
};

use super::{
    Outcome,
    fill::{Filled, fill, note_missing_model, plural, shown},
    index::pull_missing,
    search::note_degraded,
};
use crate::{
    args::DemoArgs,
    console::{columns, print, print_json},
    failure,
    interrupt::say_on_ctrl_c,
    progress::bytes,
    settings::Settings,
    show::{self, Extent},
};

/// Our own short documents, by language.
static CORPUS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../fixtures/corpus");

/// A question of the tour.
struct Ask {
    /// What it shows.
    about: &'static str,
    text: &'static str,
    /// Only passages in this language.
    only: Option<Language>,
}

const fn ask(about: &'static str, text: &'static str) -> Ask {
    Ask { about, text, only: None }
}

const QUESTIONS: [Ask; 10] = [
    ask("English, the Rust book", "what happens to a value when its owner goes out of scope?"),
    ask("English, the Rust book", "share one value between several threads"),
    ask("English", "why are there two high tides a day?"),
    ask(
        "English, in other words than the text",
        "let small spiny animals pass through the garden fence",
    ),
    ask("Korean, how two things hang together", "신라와 경주의 관계"),
    ask("Japanese", "土鍋でご飯をふっくら炊くには?"),
    ask("Japanese", "台風の目に入ったら外に出てもいい?"),
    ask("Korean", "온돌은 어떻게 방을 따뜻하게 하나요?"),
    ask("Korean", "미세먼지가 심한 날에는 어떻게 해야 하나요?"),
    Ask {
        about: "Japanese, answered in English",
        text: "所有権とは何ですか",
        only: Some(Language::En),
    },
];

/// Results shown for each question.
const SHOWN: usize = 3;

/// The tour on the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tour<'a> {
    index: &'a Path,
    filled: &'a Filled,
    answers: &'a [SearchResult],
}

/// Fetches, indexes, asks, and says what to try next.
pub(super) fn run(args: &DemoArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    say_on_ctrl_c("stopped; the index is consistent, and `trefoil demo` goes on from here")?;
    if !args.no_pull {
        pull_or_go_on(settings);
    }
    if args.memory {
        return memory::run(settings);
    }
    let home = settings.home.root().join("demo");
    let index = settings.index_or(home.join("index"));
    let index = std::path::absolute(&index).unwrap_or(index);
    let roots = collect(&home.join("documents"))?;
    // Paths are stored relative to the current folder: wherever the tour is begun from,
    // they have to be the same.
    let here = std::env::current_dir().unwrap_or_default();
    std::env::set_current_dir(&home).map_err(|error| Error::io("enter", &home, error))?;
    let engine = Engine::open_with(&index, settings.engine.clone())?;
    let semantic = note_missing_model(&engine, settings.console)?;
    let filled = fill(&engine, &roots, IngestOptions::default(), settings.console)?;
    std::env::set_current_dir(&here).map_err(|error| Error::io("enter", &here, error))?;
    filled.report_skipped(settings.console);
    let answers = QUESTIONS
        .iter()
        .map(|question| answer(&engine, question))
        .collect::<trefoil::Result<Vec<_>>>()?;
    if settings.console.json {
        print_json(&Tour { index: &index, filled: &filled, answers: &answers })?;
    } else {
        for (question, found) in QUESTIONS.iter().zip(&answers) {
            print(shown_answer(question, found, columns()))?;
        }
        if let Some(found) = answers.first() {
            note_degraded(&found.degraded, settings.console);
        }
        print(closing(&engine.stats()?, &filled, semantic, &index))?;
    }
    Ok(Outcome::Found)
}

/// Fetches the models; without them the tour is shorter, but not over.
fn pull_or_go_on(settings: &Settings) {
    if let Err(error) = pull_missing(settings) {
        failure::message(&error);
        settings.console.note("going on with keywords only; `trefoil models pull` tries again");
    }
}

/// Puts the documents of the tour below `folder`. What to index, relative to its parent.
fn collect(folder: &Path) -> trefoil::Result<Vec<PathBuf>> {
    let ours = CORPUS.dirs().flat_map(|language| {
        let name = language.path().to_string_lossy().into_owned();
        language.entries().iter().filter_map(DirEntry::as_file).filter_map(move |file| {
            Some((
                format!("{name}/{}", file.path().file_name()?.to_str()?),
                file.contents().to_vec(),
            ))
        })
    });
    let mut documents: Vec<(String, Vec<u8>)> = ours.collect();
    let book = rust_book().unwrap_or_default();
    documents.extend(if book.is_empty() { project_documents() } else { book });
    put(folder, &documents)?;
    Ok(vec![PathBuf::from("documents")])
}

/// The current chapters of the Rust book that the toolchain installed: not its print
/// page, its old editions, nor the pages that lead from old names to new ones.
fn rust_book() -> Option<Vec<(String, Vec<u8>)>> {
    let rustc = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let sysroot = String::from_utf8(rustc.stdout).ok()?;
    let folder = Path::new(sysroot.trim()).join("share/doc/rust/html/book");
    let chapter = |name: &str| {
        let numbered = ["ch", "appendix-"].iter().any(|prefix| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        let html = Path::new(name).extension().is_some_and(|extension| extension == "html");
        html && (numbered || matches!(name, "foreword.html" | "title-page.html"))
    };
    let leads_elsewhere =
        |page: &[u8]| page.windows(REDIRECT.len()).take(1_000).any(|window| window == REDIRECT);
    let files = fs::read_dir(folder).ok()?.flatten().filter_map(|file| {
        let name = file.file_name().into_string().ok().filter(|name| chapter(name))?;
        let page = fs::read(file.path()).ok().filter(|page| !leads_elsewhere(page))?;
        Some((format!("rust-book/{name}"), page))
    });
    Some(files.collect())
}

const REDIRECT: &[u8] = b"http-equiv=\"refresh\"";

/// Where there is no Rust book: the Markdown of this folder's README and docs.
fn project_documents() -> Vec<(String, Vec<u8>)> {
    let docs = fs::read_dir("docs").into_iter().flatten().flatten().map(|file| file.path());
    let markdown = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    std::iter::once(PathBuf::from("README.md"))
        .chain(docs)
        .filter(markdown)
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            Some((format!("project/{name}"), fs::read(&path).ok()?))
        })
        .collect()
}

/// Makes `folder` hold exactly `documents`, and leaves alone what is as it should be.
fn put(folder: &Path, documents: &[(String, Vec<u8>)]) -> trefoil::Result<()> {
    let mut wanted = BTreeSet::new();
    for (name, contents) in documents {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| Error::io("create", parent, error))?;
        }
        if fs::read(&path).ok().as_ref() != Some(contents) {
            fs::write(&path, contents).map_err(|error| Error::io("write", &path, error))?;
        }
        wanted.insert(path);
    }
    let subfolders = fs::read_dir(folder).into_iter().flatten().flatten();
    for file in subfolders.flat_map(|subfolder| fs::read_dir(subfolder.path())).flatten().flatten()
    {
        let path = file.path();
        if !wanted.contains(&path) {
            fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
        }
    }
    Ok(())
}

fn answer(engine: &Engine, question: &Ask) -> trefoil::Result<SearchResult> {
    let languages = question.only.into_iter().collect();
    let filters = SearchFilters { languages, ..SearchFilters::default() };
    engine.search(&SearchQuery::new(question.text)?.limit(SHOWN).replace_filters(filters))
}

fn shown_answer(question: &Ask, found: &SearchResult, width: usize) -> String {
    let Ask { about, text, .. } = question;
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let rule = "─".repeat(width);
    format!(
        "{dim}{rule}{dim:#}\n{bold}{text}{bold:#}  {dim}{about}{dim:#}\n\n{}{}{}",
        show::paths(found, width),
        show::results(found, Extent::Fragment, width),
        show::summary(found),
    )
}

/// What there is now, and what to do with it.
fn closing(stats: &EngineStats, filled: &Filled, semantic: bool, index: &Path) -> String {
    let store = &stats.store;
    let languages: Vec<String> =
        store.languages.iter().map(|(language, chunks)| format!("{language} {chunks}")).collect();
    let work = if filled.changed() {
        filled.summary()
    } else {
        "nothing has changed since the last time: nothing was read or embedded again".to_owned()
    };
    let bold = Style::new().bold();
    let index = shown(index);
    let mut text = format!(
        "\n{bold}{} {}, {} {}{bold:#} ({}), {} on disk\n{work}\n\n{bold}Try next{bold:#}\n",
        store.files,
        plural(store.files, "document"),
        store.chunks,
        plural(store.chunks, "chunk"),
        languages.join(", "),
        bytes(stats.bytes),
    );
    if !semantic {
        text += "  trefoil models pull && trefoil demo\n";
    }
    for line in [
        &format!("trefoil search \"how do lifetimes work?\" --index {index}"),
        &format!("trefoil search 温泉の作法 --lang ja --full --index {index}"),
        "trefoil index docs/ && trefoil search \"your question\"",
        "trefoil search --help",
    ] {
        _ = writeln!(text, "  {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_documents_come_in_three_languages() {
        for language in Language::ALL {
            let folder = CORPUS.get_dir(language.code()).unwrap();
            assert!(folder.files().count() >= 10, "{language}");
        }
    }

    #[test]
    fn a_folder_is_brought_up_to_date_with_the_least_writing() {
        let folder = tempfile::tempdir().unwrap();
        let document = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        let changed =
            |name: &str| fs::metadata(folder.path().join(name)).unwrap().modified().unwrap();
        put(folder.path(), &[document("en/a.md", "one"), document("en/b.md", "two")]).unwrap();
        let before = changed("en/a.md");
        put(folder.path(), &[document("en/a.md", "one"), document("ja/c.md", "三")]).unwrap();
        assert_eq!(changed("en/a.md"), before);
        assert!(!folder.path().join("en/b.md").exists());
        assert_eq!(fs::read_to_string(folder.path().join("ja/c.md")).unwrap(), "三");
    }

    #[test]
    fn every_question_is_one() {
        for Ask { text, .. } in &QUESTIONS {
            SearchQuery::new(text).unwrap().check().unwrap();
        }
    }
}
