//! A retriever with an index of its own: identifiers and file names, matched exactly or by their
//! trigrams. Analysers cut `state-of-the-art`, `foo::bar` and `report_2026.pdf` into words; here
//! they stay whole.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use trefoil::{
    Error, Part, Result, Retriever, RetrieverId, Score,
    index::{
        Allowed, Contents, Digest, IndexEntry, IndexFile, IndexFiles, IndexInput, IndexedUnit,
        Indexer, RowId, Seq,
    },
    search::{Hit, Question, RankedList},
};

const FILE: &str = "NAMES";
const INPUTS: &[IndexInput] = &[IndexInput::Text];
/// A name that shares fewer of its trigrams is another one.
const LEAST: f32 = 0.6;

/// Finds passages by the identifiers and file names in a question. One that an engine is configured
/// with has no names yet; each that it opens has those of one commit.
#[derive(Debug)]
pub(crate) struct NameRetriever {
    id: RetrieverId,
    dir: PathBuf,
    names: Names,
}

impl NameRetriever {
    pub(crate) fn new() -> Result<Self> {
        let (dir, names) = (PathBuf::new(), Names::default());
        Ok(Self { id: RetrieverId::new("names")?, dir, names })
    }
}

impl Retriever for NameRetriever {
    fn id(&self) -> RetrieverId {
        self.id
    }

    /// The relevance is how much of its trigrams the best name of a passage shares with a name of
    /// the question. Without names in the question there is nothing to say.
    fn retrieve(&self, question: &Question, depth: usize, allowed: &Allowed) -> Result<RankedList> {
        let asked = names_in(&question.text);
        let hits = self.names.rows.iter().filter(|(row, _)| allowed.contains(**row));
        let hits = hits.filter_map(|(&row, names)| {
            let pairs = names.iter().flat_map(|name| asked.iter().map(move |other| (name, other)));
            let best = pairs.map(|(name, other)| similarity(name, other)).fold(0.0, f32::max);
            let relevance = Score::clamped(best);
            (best >= LEAST).then_some(Hit { row, raw_score: best, relevance })
        });
        let confidence = if asked.is_empty() { 0.0 } else { 1.0 };
        let list = RankedList::new(self.id, hits.collect()).with_floor(0.0);
        Ok(list.with_confidence(confidence).truncated(depth))
    }

    fn inputs(&self) -> &[IndexInput] {
        INPUTS
    }

    fn index(&self, dir: &Path) -> Option<Box<dyn IndexFiles>> {
        Some(Box::new(NameFiles { id: self.id, dir: dir.to_owned() }))
    }

    fn open(&self, dir: &Path) -> Result<Option<Arc<dyn Retriever>>> {
        let (id, dir) = (self.id, dir.to_owned());
        let names = Names::read(id, &dir)?.unwrap_or_default();
        Ok(Some(Arc::new(Self { id, dir, names })))
    }

    fn newest(&self) -> Result<Option<Arc<dyn Retriever>>> {
        let names = Names::read(self.id, &self.dir)?.unwrap_or_default();
        let newest = |names| Arc::new(Self { id: self.id, dir: self.dir.clone(), names }) as _;
        Ok((names != self.names).then(|| newest(names)))
    }

    fn seq(&self) -> Seq {
        self.names.seq
    }

    fn rows(&self) -> u64 {
        self.names.rows.len() as u64
    }
}

/// The names in each passage, as of a change of the store.
#[derive(Clone, Debug, Default, PartialEq)]
struct Names {
    seq: Seq,
    rows: BTreeMap<RowId, BTreeSet<String>>,
}

impl Names {
    /// The last commit; none if nothing was ever committed.
    fn read(id: RetrieverId, dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| Error::io("read", &path, error))?,
        };
        let damaged = || Error::Corrupt {
            part: Part::Index(id),
            reason: format!("`{}` is not what was written", path.display()),
        };
        let (header, body) = text.split_once('\n').ok_or_else(damaged)?;
        let (seq, digest) = header.split_once(' ').ok_or_else(damaged)?;
        let found = Digest::new().with(seq.as_bytes()).with(body.as_bytes()).get();
        if digest.parse() != Ok(found) {
            return Err(damaged());
        }
        let row = |line: &str| {
            let mut fields = line.split('\t');
            let row = RowId::new(fields.next()?.parse().ok()?);
            Some((row, fields.map(str::to_owned).collect()))
        };
        let rows: Option<BTreeMap<_, _>> = body.lines().map(row).collect();
        let seq = Seq::new(seq.parse().map_err(|_| damaged())?);
        Ok(Some(Self { seq, rows: rows.ok_or_else(damaged)? }))
    }

    /// Puts a new file in the place of the last commit, durably.
    fn write(&self, dir: &Path) -> Result<()> {
        let mut body = String::new();
        for (row, names) in &self.rows {
            body.push_str(&row.get().to_string());
            body.extend(names.iter().flat_map(|name| ["\t", name]));
            body.push('\n');
        }
        let seq = self.seq.get().to_string();
        let digest = Digest::new().with(seq.as_bytes()).with(body.as_bytes()).get();
        let (new, path) = (dir.join("NAMES.new"), dir.join(FILE));
        let write = || {
            fs::create_dir_all(dir)?;
            let mut file = File::create(&new)?;
            file.write_all(format!("{seq} {digest}\n{body}").as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            File::open(dir)?.sync_all()
        };
        write().map_err(|error| Error::io("write", &path, error))
    }
}

/// The index on disk, for whoever checks, copies or repairs it.
#[derive(Debug)]
struct NameFiles {
    id: RetrieverId,
    dir: PathBuf,
}

impl IndexFiles for NameFiles {
    fn id(&self) -> RetrieverId {
        self.id
    }

    fn inputs(&self) -> &[IndexInput] {
        INPUTS
    }

    fn contents(&self) -> Result<Option<Contents>> {
        let names = Names::read(self.id, &self.dir)?;
        Ok(names.map(|names| Contents {
            seq: names.seq,
            rows: names.rows.iter().map(|(row, names)| (*row, digest(names))).collect(),
        }))
    }

    fn digest(&self, entry: &IndexEntry) -> Result<Option<u64>> {
        let names = names_of(&entry.unit);
        Ok((!names.is_empty()).then(|| digest(&names)))
    }

    fn files(&self) -> Result<Vec<IndexFile>> {
        let path = self.dir.join(FILE);
        match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Error::io("read", &path, error)),
            Ok(file) => Ok(vec![IndexFile { name: FILE.to_owned(), content: Box::new(file) }]),
        }
    }

    fn indexer(&self) -> Result<Box<dyn Indexer>> {
        let committed = Names::read(self.id, &self.dir)?.unwrap_or_default();
        let (id, dir, names) = (self.id, self.dir.clone(), committed.clone());
        Ok(Box::new(NameIndexer { id, dir, committed: committed.seq, names }))
    }
}

/// The write half.
#[derive(Debug)]
struct NameIndexer {
    id: RetrieverId,
    dir: PathBuf,
    committed: Seq,
    names: Names,
}

impl Indexer for NameIndexer {
    fn id(&self) -> RetrieverId {
        self.id
    }

    fn inputs(&self) -> &[IndexInput] {
        INPUTS
    }

    fn committed(&self) -> Seq {
        self.committed
    }

    fn add(&mut self, entries: &[IndexEntry]) -> Result<()> {
        for entry in entries {
            let names = names_of(&entry.unit);
            if names.is_empty() {
                self.names.rows.remove(&entry.unit.row());
            } else {
                self.names.rows.insert(entry.unit.row(), names);
            }
        }
        Ok(())
    }

    fn remove(&mut self, rows: &[RowId]) -> Result<()> {
        self.names.rows.retain(|row, _| !rows.contains(row));
        Ok(())
    }

    fn commit(&mut self, seq: Seq) -> Result<()> {
        self.names.seq = seq;
        self.names.write(&self.dir)?;
        self.committed = seq;
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        self.names = Names::default();
        self.commit(Seq::ZERO)
    }

    /// A commit is one file, which holds nothing but what it names.
    fn compact(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The names in a passage, its file's among them.
fn names_of(unit: &IndexedUnit) -> BTreeSet<String> {
    let IndexedUnit::Chunk(chunk) = unit else { return BTreeSet::new() };
    let mut names = names_in(&chunk.chunk.text);
    names.extend(chunk.file.path.rsplit('/').next().map(str::to_lowercase));
    names
}

/// Words with a digit, a mark or a capital within them, in lower case.
fn names_in(text: &str) -> BTreeSet<String> {
    let inner = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    let words = text.split(|c: char| !inner(c));
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let is_name = |word: &&str| {
        word.chars().count() >= 3
            && word.chars().any(char::is_alphabetic)
            && word.chars().skip(1).any(|c| !c.is_lowercase() && c.is_ascii())
    };
    words.filter(is_name).map(str::to_lowercase).collect()
}

/// The share of their trigrams that two names have in common (Jaccard); 1 for equal names.
fn similarity(one: &str, other: &str) -> f32 {
    if one == other {
        return 1.0;
    }
    let trigrams = |name: &str| -> BTreeSet<Vec<char>> {
        let chars: Vec<char> = name.chars().collect();
        chars.windows(3).map(<[char]>::to_vec).collect()
    };
    let (one, other) = (trigrams(one), trigrams(other));
    let both = one.intersection(&other).count();
    both as f32 / one.union(&other).count().max(1) as f32
}

fn digest(names: &BTreeSet<String>) -> u64 {
    names.iter().fold(Digest::new(), |digest, name| digest.with(name.as_bytes())).get()
}
