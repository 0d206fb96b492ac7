use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use fastrand::Rng;
use serde::Deserialize;
use trefoil::ingest::Chunker as _;
use trefoil::{
    Document, Language, Score, SearchFilters, SearchOptions, SearchQuery, SearchResult,
    SearchStrategy,
};
use trefoil_text::{ApproximateTokens, ChunkSizes, StructuralChunker, contextual_text, load};

use crate::{Outcome, chain::Chain};

/// The documents and questions of `fixtures/`.
#[derive(Debug)]
pub struct Fixtures {
    /// All documents; the first folder of a path is the language.
    pub documents: Vec<Document>,
    /// All questions that have an answer.
    pub questions: Vec<Question>,
}

/// A question whose answer is known.
#[derive(Clone, Debug, Deserialize)]
pub struct Question {
    /// What a person types.
    #[serde(rename = "question")]
    pub text: String,
    /// The language of the question.
    pub language: Language,
    /// Paths of documents, any of which is right.
    pub answers: Vec<String>,
}

impl Question {
    /// The question, to be asked of one retriever or of all: ten results, however poor.
    pub fn query(&self, retriever: SearchStrategy) -> Outcome<SearchQuery> {
        self.asked(retriever, false)
    }

    /// The same asked of all retrievers, and their list reranked.
    pub fn reranked(&self) -> Outcome<SearchQuery> {
        self.asked(SearchStrategy::Hybrid, true)
    }

    fn asked(&self, retriever: SearchStrategy, rerank_enabled: bool) -> Outcome<SearchQuery> {
        let strategies = vec![retriever];
        // What is compared is the cost of all that may be read.
        let options = SearchOptions {
            strategies,
            limit: 10,
            rerank_enabled,
            thorough: true,
            ..SearchOptions::default()
        };
        let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
        Ok(SearchQuery::new(&self.text)?.replace_filters(filters).replace_options(options))
    }

    /// Whether one of the results is of a document that answers.
    pub fn is_answered(&self, results: &SearchResult) -> bool {
        let paths = results.results.iter().filter_map(|hit| Some(&hit.metadata.as_ref()?.path));
        paths.into_iter().any(|path| self.answers.contains(path))
    }

    /// Whether the answer is in another language.
    pub fn crosses(&self) -> bool {
        !self.answers.iter().any(|path| path.starts_with(self.language.code()))
    }
}

#[derive(Deserialize)]
struct Cases {
    case: Vec<Question>,
}

impl Fixtures {
    /// Reads them.
    pub fn load() -> Outcome<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
        let mut documents = Vec::new();
        for language in Language::ALL {
            let folder = fs::read_dir(root.join("corpus").join(language.code()))?;
            let mut files: Vec<PathBuf> =
                folder.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
            files.sort();
            for file in files {
                let name = file.file_name().unwrap_or_default().display();
                documents.push(load(&file, &format!("{language}/{name}"), 1 << 20)?);
            }
        }
        let mut questions = Vec::new();
        for file in ["en.toml", "ja.toml", "ko.toml", "cross.toml"] {
            let cases: Cases =
                toml::from_str(&fs::read_to_string(root.join("queries").join(file))?)?;
            questions.extend(cases.case);
        }
        Ok(Self { documents, questions })
    }

    /// The questions in a language whose answers are in it.
    pub fn questions_in(&self, language: Language) -> impl Iterator<Item = &Question> {
        let asked =
            move |question: &&Question| question.language == language && !question.crosses();
        self.questions.iter().filter(asked)
    }

    /// What is embedded for each chunk, as an engine with a custom model cuts them.
    pub fn passages(&self) -> Vec<String> {
        let chunker = StructuralChunker::new(Arc::new(ApproximateTokens), ChunkSizes::default());
        let passages = |document| {
            let chunks = chunker.chunk(document).into_iter();
            chunks.map(|chunk| contextual_text(&document.title, &chunk.heading_path, &chunk.text))
        };
        self.documents.iter().flat_map(passages).collect()
    }

    /// All bodies in a language.
    pub fn text(&self, language: Language) -> String {
        let of = |document: &&Document| document.path.starts_with(language.code());
        self.documents.iter().filter(of).map(|document| document.body.as_str()).collect()
    }

    /// Documents that make so many chunks: those of the fixtures, then, in the three
    /// languages by turns, documents of one chunk that only look like them.
    pub fn grown(&self, chunks: usize) -> Vec<Document> {
        let mut documents = self.documents.clone();
        let chains = Language::ALL.map(|language| {
            // Of fewer characters there would be no words, of more whole sentences.
            let (order, characters) = if language == Language::En { (4, 300) } else { (2, 140) };
            (language, characters, Chain::of(&self.text(language), order))
        });
        let numbers = self.passages().len() as u64..chunks as u64;
        for (number, (language, characters, chain)) in numbers.zip(chains.iter().cycle()) {
            let mut random = Rng::with_seed(number);
            let title = chain.text(20, &mut random);
            let body = chain.text(random.usize(characters / 2..characters * 3 / 2), &mut random);
            documents.push(Document::new(format!("grown/{language}/{number}"), body).title(title));
        }
        documents
    }
}
