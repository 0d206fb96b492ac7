use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use fastrand::Rng;
use trefoil::{
    Document, Language,
    index::Role,
    ingest::{Chunk, Chunker as _},
};
use trefoil_eval::Collection;
use trefoil_text::{
    ApproximateTokens, ChunkSizes, StructuralChunker, contextual_text, language_of, load, sentences,
};

use crate::Outcome;

/// Collections whose documents are text that people wrote.
const COLLECTIONS: [&str; 10] = [
    "scifact",
    "cranfield",
    "cacm",
    "hotpot-mh",
    "musique-mh",
    "locomo-dev",
    "jsquad-ja",
    "xreact-en",
    "xreact-ja",
    "xreact-ko",
];
/// Folders of files.
const FOLDERS: [&str; 2] = ["demo-react-docs", "demo-christmas-carol"];
/// Questions of each collection.
const QUESTIONS: usize = 20;
/// Chunks that the model embeds.
const EMBEDDED: usize = 10_000;

/// Documents and questions of the collections, for measuring what grows with an index: text
/// that nobody wrote has no graph, no long words and no duplicates.
#[derive(Debug)]
pub struct RealText {
    /// Each text once, mixed, so that any first part is like the whole.
    documents: Vec<Document>,
    /// A few of each collection.
    pub questions: Vec<String>,
    chunker: StructuralChunker,
}

impl RealText {
    /// Reads the collections of a folder.
    pub fn read(data: &Path) -> Outcome<Self> {
        let mut documents = Vec::new();
        let mut questions = Vec::new();
        for name in COLLECTIONS {
            let collection = Collection::read(data.join(name), language_of)?;
            questions.extend(collection.answerable().take(QUESTIONS).map(|it| it.text.clone()));
            documents.extend(collection.documents.into_iter().map(|document| {
                Document::new(format!("{name}/{}", document.path), document.body)
                    .title(document.title)
            }));
        }
        for name in FOLDERS {
            for file in files_below(&data.join(name))? {
                let path = file.strip_prefix(data)?.display().to_string();
                if let Ok(document) = load(&file, &path, 1 << 22) {
                    documents.push(document);
                }
            }
        }
        let mut seen = HashSet::new();
        documents.retain(|document| seen.insert(document.body.clone()));
        Rng::with_seed(7).shuffle(&mut documents);
        let tokens = Arc::new(ApproximateTokens);
        let chunker = StructuralChunker::new(tokens, ChunkSizes::default());
        Ok(Self { documents, questions, chunker })
    }

    /// Documents of so many chunks together, or a few more: those that people wrote, then such
    /// whose sentences come from two of them in turn, so that names stay among their like.
    pub fn documents(&self, chunks: usize) -> impl Iterator<Item = Document> {
        let mixed = (0..).filter_map(|seed| self.mixed(seed));
        self.up_to(chunks, self.documents.iter().cloned().chain(mixed))
    }

    /// Of the same documents those that people wrote.
    pub fn written(&self, chunks: usize) -> impl Iterator<Item = Document> {
        self.up_to(chunks, self.documents.iter().cloned())
    }

    fn up_to(
        &self,
        chunks: usize,
        documents: impl Iterator<Item = Document>,
    ) -> impl Iterator<Item = Document> {
        let mut made = 0;
        documents.take_while(move |document| {
            let goes_on = made < chunks;
            made += if goes_on { self.chunker.chunk(document).len() } else { 0 };
            goes_on
        })
    }

    /// What the model has to embed for an index of so many chunks and its questions: texts that
    /// people wrote, 10,000 chunks of them at most. Vectors of other chunks lie between two of
    /// these.
    pub fn embedded(&self, chunks: usize) -> Vec<(Role, String)> {
        let questions = self.questions.iter().map(|question| (Role::Query, question.clone()));
        let written = self.written(chunks.min(EMBEDDED));
        let passages = written.flat_map(|document| self.passages(&document));
        questions.chain(passages.map(|text| (Role::Passage, text))).collect()
    }

    /// The chunks of a document.
    pub fn chunks(&self, document: &Document) -> Vec<Chunk> {
        self.chunker.chunk(document)
    }

    /// What is embedded of a document.
    pub fn passages(&self, document: &Document) -> Vec<String> {
        let chunks = self.chunks(document).into_iter();
        chunks
            .map(|chunk| contextual_text(&document.title, &chunk.heading_path, &chunk.text))
            .collect()
    }

    fn mixed(&self, seed: u64) -> Option<Document> {
        let mut random = Rng::with_seed(seed);
        let first = random.choice(&self.documents)?;
        let collection = first.path.split('/').next()?;
        let like = |document: &&Document| document.path.starts_with(collection);
        let second = std::iter::repeat_with(|| random.choice(&self.documents));
        let second = second.take(1_000).flatten().find(like)?;
        let language = language_of(&first.body);
        let [mut ours, mut theirs] =
            [first, second].map(|it| parts(&it.body, language).into_iter());
        let mut body = String::new();
        while let (Some(one), Some(other)) = (ours.next(), theirs.next()) {
            body.push_str(if random.bool() { one } else { other });
            body.push(' ');
        }
        Some(Document::new(format!("mixed/{seed}"), body).title(&first.title))
    }
}

fn parts(body: &str, language: Language) -> Vec<&str> {
    sentences(body, language)
        .into_iter()
        .filter_map(|span| body.get(span.start..span.end))
        .collect()
}

fn files_below(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
