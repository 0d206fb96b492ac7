//! The source files of a crate, and which of them use each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use crate::tidy::files;

/// A file without its tests.
pub(crate) fn code(file: &Path) -> String {
    let is_tests = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
    if file.iter().any(is_tests) {
        return String::new();
    }
    let text = fs::read_to_string(file).unwrap();
    let tests = text.find("\n#[cfg(test)]\n").or_else(|| text.find("\n#[cfg(all(test"));
    tests.map_or(text.clone(), |at| text[..at].to_owned())
}

/// Which files of a crate each file uses an item of, wherever the item is re-exported.
pub(crate) fn uses(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let module = |file: &Path| {
        let below = file.strip_prefix(source).unwrap().with_extension("");
        let parts: Vec<String> = below.iter().map(|one| one.to_string_lossy().into()).collect();
        if parts == ["lib"] { String::new() } else { parts.join("::") }
    };
    let sources: BTreeMap<String, String> = files(source)
        .iter()
        .filter(|file| !file.ends_with("main.rs"))
        .map(|file| (module(file), without_comments(&code(file))))
        .collect();
    let mut definers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (module, code) in &sources {
        for item in items(code) {
            definers.entry(item).or_default().insert(module);
        }
    }
    let of = |(module, code): (&String, &String)| {
        let mut used = BTreeSet::new();
        for path in paths(code) {
            let Some((mut at, rest)) = from_the_root(&path.segments, module) else { continue };
            let mut rest = rest.iter();
            let mut item = rest.next();
            while let Some(below) = item.map(|name| below(&at, name))
                && sources.keys().any(|one| *one == below || one.starts_with(&format!("{below}::")))
            {
                at = below;
                item = rest.next();
            }
            // A re-exported item is the file's that defines it.
            if let Some(item) = item
                && let Some(definers) = definers.get(item.as_str())
                && !definers.contains(at.as_str())
                && let [one] = definers.iter().collect::<Vec<_>>()[..]
            {
                (*one).clone_into(&mut at);
            }
            let is_child = path.is_export && at.starts_with(&below(module, ""));
            if !is_child && !at.is_empty() && at != *module {
                used.insert(at);
            }
        }
        (module.clone(), used)
    };
    sources.iter().filter(|(module, _)| !module.is_empty()).map(of).collect()
}

fn below(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

fn without_comments(code: &str) -> String {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Names of the items that a file makes public, in whatever part of the crate.
fn items(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter_map(|line| {
        let line = line.trim_start().strip_prefix("pub")?;
        let line = line.strip_prefix("(crate)").or(line.strip_prefix("(super)")).unwrap_or(line);
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        let kinds = ["struct", "enum", "fn", "trait", "type", "static", "const"];
        words.find(|word| kinds.contains(word))?;
        words.find(|word| !word.is_empty() && *word != "fn")
    })
}

/// A path in a file.
struct Used {
    segments: Vec<String>,
    /// Whether it is re-exported.
    is_export: bool,
}

/// The module that a path starts from, and what follows.
fn from_the_root<'p>(path: &'p [String], module: &str) -> Option<(String, &'p [String])> {
    let up = |module: &str| module.rsplit_once("::").map_or("", |(up, _)| up).to_owned();
    match path.first()?.as_str() {
        "crate" => Some((String::new(), &path[1..])),
        "self" => Some((module.to_owned(), &path[1..])),
        "super" => {
            let ups = path.iter().take_while(|one| *one == "super").count();
            let mut at = module.to_owned();
            (0..ups).for_each(|_| at = up(&at));
            Some((at, &path[ups..]))
        }
        _ => None,
    }
}

/// The paths within the crate: of imports, groups taken apart, and of the code.
fn paths(code: &str) -> Vec<Used> {
    let mut paths = Vec::new();
    let mut rest = String::new();
    let mut statement: Option<(String, bool)> = None;
    for line in code.lines() {
        let trimmed = line.trim_start();
        let words: Vec<&str> = trimmed.split_whitespace().take(2).collect();
        if statement.is_none() {
            let export = words.first().is_some_and(|word| word.starts_with("pub"));
            match words[..] {
                ["use", ..] => statement = Some((String::new(), false)),
                [_, "use"] if export => statement = Some((String::new(), true)),
                _ => {}
            }
        }
        if let Some((text, is_export)) = &mut statement {
            text.push_str(line);
            if let Some((_, tree)) = text.clone().split_once("use ")
                && let Some(tree) = tree.split_once(';').map(|(tree, _)| tree)
            {
                taken_apart(&[], tree, &mut |segments| {
                    paths.push(Used { segments, is_export: *is_export });
                });
                statement = None;
            }
        } else {
            rest.push_str(line);
            rest.push('\n');
        }
    }
    for word in rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        if word.starts_with("crate::") || word.starts_with("super::") {
            let segments = word.split("::").map(str::to_owned).collect();
            paths.push(Used { segments, is_export: false });
        }
    }
    paths
}

/// Each path of a tree of imports.
fn taken_apart(before: &[String], tree: &str, found: &mut dyn FnMut(Vec<String>)) {
    let mut depth = 0;
    let branches = tree.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for branch in branches.map(str::trim).filter(|branch| !branch.is_empty()) {
        let (path, group) = match branch.split_once('{') {
            Some((path, group)) => (path, group.strip_suffix('}')),
            None => (branch, None),
        };
        let path = path.split(" as ").next().unwrap_or_default();
        let names = path.split("::").map(str::trim).filter(|name| !name.is_empty());
        let segments = [before, &names.map(str::to_owned).collect::<Vec<_>>()].concat();
        match group {
            Some(group) => taken_apart(&segments, group, found),
            None => found(segments),
        }
    }
}

/// All modules that can be come to from one.
pub(crate) fn reached(uses: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&str> = vec![from];
    while let Some(module) = next.pop() {
        for used in uses.get(module).into_iter().flatten() {
            if seen.insert(used.clone()) {
                next.push(used);
            }
        }
    }
    seen
}
