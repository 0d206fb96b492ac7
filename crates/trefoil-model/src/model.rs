use std::{
    cmp::Reverse,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use trefoil_core::{Deadline, Error, Part, Pooling, Result};

use crate::{
    card::{Card, FileCard, ModelRole},
    home::ModelHome,
    lending::{Loan, Purpose},
    manifest::Manifest,
    parallel,
    session::{
        InputOutput, Sessions,
        output::{OutputChoice, POOLED, TOKENS, Tensor},
    },
    tokenizer::{Tokenizer, TokenizerFile, Tokens},
    weights::Weights,
};

/// Where a model is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// A name of the manifest, or of a model that was [added](ModelHome::add); the files are in
    /// the [`ModelHome`].
    Name(String),
    /// A folder with `model.onnx`, `tokenizer.json` and `card.toml`.
    Folder(PathBuf),
}

/// An ONNX model of texts with its tokenizer. Opening it reads the card only; the
/// runtime, the tokenizer and the model load at the first text.
#[derive(Debug)]
pub(crate) struct Model {
    folder: PathBuf,
    weights: Weights,
    /// SHA-256 of the tokenizer, where it is known.
    tokenizer_sha256: Option<String>,
    max_tokens: usize,
    threads: usize,
    tokenizer: Mutex<Option<Arc<Tokenizer>>>,
    sessions: Sessions,
}

/// What one run of a model gave.
pub(crate) struct Output<'a, E = Tokens> {
    /// The text that was tokenised.
    pub(crate) text: &'a str,
    /// What the model was fed.
    pub(crate) tokens: &'a E,
    /// Its output.
    pub(crate) tensor: Tensor<'a>,
    /// Its output with the vectors of tokens, where that is another one.
    pub(crate) of_tokens: Option<Tensor<'a>>,
}

impl Model {
    /// Finds the files of a model and reads its card. `threads` texts are run at once,
    /// each with a copy of the model; 0 means one.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if a file of the model or the runtime is not there,
    /// [`Error::Corrupt`] for a bad card.
    pub(crate) fn open(
        home: &ModelHome,
        source: &ModelSource,
        threads: usize,
    ) -> Result<(Self, Card)> {
        match source {
            ModelSource::Name(name) => {
                let (card, folder, tokenizer_sha256) = home.find(name)?;
                Self::of(home, card, &folder, tokenizer_sha256, threads)
            }
            ModelSource::Folder(folder) => {
                Self::of(home, Card::read(&folder.join("card.toml"))?, folder, None, threads)
            }
        }
    }

    /// The model of a card whose files are in `folder`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn of(
        home: &ModelHome,
        card: Card,
        folder: &Path,
        tokenizer_sha256: Option<String>,
        threads: usize,
    ) -> Result<(Self, Card)> {
        let mut files = card.files.clone();
        for layer in card.dense() {
            if files.iter().all(|file| file.name != layer.file) {
                files.push(FileCard { name: layer.file.clone(), sha256: None });
            }
        }
        let names = files.iter().map(|file| file.name.as_str());
        let names = ["model.onnx", "tokenizer.json"].into_iter().chain(names);
        // What is no model has none of them, and who opens it says so.
        for file in names.filter(|_| card.role.is_model()) {
            let path = folder.join(file);
            std::fs::metadata(&path).map_err(|error| Error::ModelMissing {
                name: card.name.clone(),
                reason: format!(
                    "no `{}`: {error}; {}",
                    path.display(),
                    Manifest::next_step(&card.name)
                ),
            })?;
        }
        let weights = Weights::new(folder, card.sha256.clone(), files);
        let token_output = card.embedding.as_ref().and_then(|one| one.token_output.clone());
        let io = InputOutput { decoder: card.decoder, output: output(&card), token_output };
        let model = Self {
            folder: folder.to_owned(),
            tokenizer_sha256,
            max_tokens: card.max_tokens,
            threads: threads.max(1),
            tokenizer: Mutex::new(None),
            sessions: Sessions::new(home.runtime()?, weights.clone(), io, threads),
            weights,
        };
        Ok((model, card))
    }

    /// Where its files are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// SHA-256 of the weights; what is not known is read from the files.
    pub(crate) fn sha256(&self) -> Result<String> {
        self.weights.sha256()
    }

    /// The tokenizer, loaded at first use; a failure is tried again at the next.
    pub(crate) fn tokenizer(&self) -> Result<Arc<Tokenizer>> {
        let mut tokenizer = self.tokenizer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tokenizer) = &*tokenizer {
            return Ok(Arc::clone(tokenizer));
        }
        let loaded = Arc::new(Tokenizer::load(&self.tokenizer_file()?, self.max_tokens)?);
        Ok(Arc::clone(tokenizer.insert(loaded)))
    }

    /// Makes what loads faster than the files of the model: the mapped form of its tokenizer, the
    /// optimised form of its weights. What is there and whole is left alone.
    ///
    /// # Errors
    /// [`Error::ModelMissing`], [`Error::Corrupt`], [`Error::Io`].
    pub(crate) fn derive(&self) -> Result<()> {
        self.tokenizer_file()?.write_mapped()?;
        self.sessions.optimize()
    }

    /// Compares what was made with its checksums, where it is there.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub(crate) fn check_derived(&self) -> Result<()> {
        self.tokenizer_file()?.check_mapped()?;
        self.sessions.check_optimized()
    }

    fn tokenizer_file(&self) -> Result<TokenizerFile> {
        let sha256 = self.tokenizer_sha256.clone();
        TokenizerFile::of(self.folder.join("tokenizer.json"), sha256)
    }

    /// Tokenises `texts` with `encode` and runs the model once for each, as many at once
    /// as there are threads; `read` takes what is wanted from the output. Results are in
    /// the order of the texts, and what a text gives does not depend on the others. Nobody waits
    /// for it: between two texts it lets questions have its session.
    ///
    /// # Errors
    /// [`Error::ModelMissing`], [`Error::Corrupt`], [`Error::Backend`] for a text that
    /// cannot be tokenised or run, and what `read` returns; of several, the first text's.
    pub(crate) fn run<E: AsRef<Tokens> + Send + Sync, T: Send>(
        &self,
        texts: &[&str],
        encode: impl Fn(&Tokenizer, &str) -> Result<E> + Sync,
        read: impl Fn(Output<'_, E>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        self.run_each(texts, encode, |_, output| read(output))
    }

    /// The same; `read` is also told which text it is.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn run_each<E: AsRef<Tokens> + Send + Sync, T: Send>(
        &self,
        texts: &[&str],
        encode: impl Fn(&Tokenizer, &str) -> Result<E> + Sync,
        read: impl Fn(usize, Output<'_, E>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let tokenizer = self.tokenizer()?;
        let mut order: Vec<usize> = (0..texts.len()).collect();
        let text = |index: usize| texts.get(index).copied().unwrap_or_default();
        let tokens = parallel::map(self.threads, &order, |index| encode(&tokenizer, text(index)))?;
        let tokens_of = |index: usize| tokens.get(index).ok_or(Error::EmptyRankedLists);
        // Longest first: the threads then end at about the same time.
        order.sort_by_key(|&index| {
            Reverse(tokens.get(index).map_or(0, |tokens: &E| tokens.as_ref().ids.len()))
        });
        parallel::map(self.threads, &order, |index| {
            let tokens = tokens_of(index)?;
            let mut loan = self.sessions.borrow(Purpose::Batch, &Deadline::NEVER)?;
            let session = loan.as_mut().and_then(Loan::thing).ok_or_else(not_lent)?;
            session.run(tokens.as_ref(), |tensor, of_tokens| {
                read(index, Output { text: text(index), tokens, tensor, of_tokens })
            })
        })
    }

    /// Loads the tokenizer, the runtime and the model, unless they are loaded.
    ///
    /// # Errors
    /// [`Error::ModelMissing`], [`Error::Corrupt`].
    pub(crate) fn load(&self) -> Result<()> {
        self.tokenizer()?;
        self.sessions.load()
    }

    /// The same as [`run`](Self::run) for what a question waits for: the results of the first
    /// texts, as many as were begun until `deadline`. No thread is started.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn run_until<E: AsRef<Tokens>, T: Send>(
        &self,
        texts: &[&str],
        deadline: &Deadline,
        encode: impl Fn(&Tokenizer, &str) -> Result<E> + Sync,
        read: impl Fn(Output<'_, E>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let tokenizer = self.tokenizer()?;
        parallel::map_until(
            self.threads,
            texts.len(),
            deadline,
            || self.sessions.borrow(Purpose::Question, deadline),
            |loan, index| {
                let text = texts.get(index).copied().unwrap_or_default();
                let tokens = &encode(&tokenizer, text)?;
                let session = loan.thing().ok_or_else(not_lent)?;
                session.run(tokens.as_ref(), |tensor, of_tokens| {
                    read(Output { text, tokens, tensor, of_tokens })
                })
            },
        )
    }
}

fn not_lent() -> Error {
    Error::backend(Part::Model, "run", "there is no session")
}

/// Which output of the model of a card is read.
fn output(card: &Card) -> OutputChoice {
    if let Some(name) = &card.output {
        return OutputChoice::Named(name.clone());
    }
    match card.role {
        ModelRole::Embedder => match card.embedding.as_ref().map(|embedding| embedding.pooling) {
            Some(Pooling::None) => OutputChoice::Preferred(POOLED),
            Some(Pooling::Mean | Pooling::Cls | Pooling::LastToken) | None => {
                OutputChoice::Preferred(TOKENS)
            }
        },
        ModelRole::LateInteraction => OutputChoice::Preferred(TOKENS),
        ModelRole::Reranker => OutputChoice::Preferred(&["logits"]),
        ModelRole::Runtime | ModelRole::Dictionary => OutputChoice::First,
    }
}
