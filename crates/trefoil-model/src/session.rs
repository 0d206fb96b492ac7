//! ONNX Runtime: loaded once a process, with sessions of one thread each.

pub(crate) mod input;
pub(crate) mod output;
pub(crate) mod signature;

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

use ort::{
    environment::Environment,
    ep::CPU,
    logging::LogLevel,
    session::{
        Session,
        builder::{GraphOptimizationLevel, SessionBuilder},
    },
};
use trefoil_core::{Deadline, Error, Part, Result};

use self::{
    input::{Counters, Input},
    output::{OutputChoice, Tensor, named},
    signature::{Signature, Slot},
};
use crate::{
    card::DecoderCard,
    lending::{Lending, Loan, Purpose},
    manifest::RUNTIME,
    optimized::{Optimized, WEIGHTS},
    tokenizer::Tokens,
    weights::Weights,
};

/// ONNX Runtime on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runtime {
    pub(crate) library: PathBuf,
    pub(crate) version: String,
}

/// Sessions of one model. ONNX Runtime's own concurrent runs of one session are not
/// relied upon: each text borrows a session, and one is made when all are out.
#[derive(Debug)]
pub(crate) struct Sessions {
    runtime: Runtime,
    weights: Weights,
    io: InputOutput,
    /// The optimised files, if there are any that are whole; looked for once.
    optimized: OnceLock<Option<Optimized>>,
    lending: Lending<Loaded>,
}

/// What a model is fed and what is read of it, as its card says.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputOutput {
    pub(crate) decoder: Option<DecoderCard>,
    pub(crate) output: OutputChoice,
    /// The output with the vectors of tokens, where that is another one.
    pub(crate) token_output: Option<String>,
}

/// A session and what it is fed.
pub(crate) struct Loaded {
    session: Session,
    inputs: Vec<Input>,
    output: String,
    token_output: Option<String>,
    counters: Counters,
    /// Numbers of the two outputs that are not 32 bits long, made so.
    buffers: [Vec<f32>; 2],
}

/// Why a session could not be opened.
enum Refusal {
    /// The runtime cannot read the file.
    Damaged(String),
    /// It can, and the model is of a kind that is not run.
    Unusable(String),
}

impl Sessions {
    /// Loads nothing yet. Batches run `most` texts at once.
    pub(crate) fn new(runtime: Runtime, weights: Weights, io: InputOutput, most: usize) -> Self {
        let (optimized, lending) = (OnceLock::new(), Lending::new(most));
        Self { runtime, weights, io, optimized, lending }
    }

    /// A session that is idle, or a new one, or the next that is returned; none if none is until
    /// `deadline`. To load one takes as long as it takes.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if the runtime cannot be loaded, [`Error::Corrupt`] if
    /// it cannot read the model.
    pub(crate) fn borrow(
        &self,
        purpose: Purpose,
        deadline: &Deadline,
    ) -> Result<Option<Loan<'_, Loaded>>> {
        self.lending.borrow(purpose, deadline, || self.open())
    }

    /// Loads a session, unless one was loaded before.
    ///
    /// # Errors
    /// As [`borrow`](Self::borrow).
    pub(crate) fn load(&self) -> Result<()> {
        if self.lending.is_new() {
            self.borrow(Purpose::Question, &Deadline::NEVER)?;
        }
        Ok(())
    }

    /// Makes the optimised files where they are not there or not whole, and removes those of
    /// other models and versions.
    ///
    /// # Errors
    /// [`Error::ModelMissing`], [`Error::Corrupt`], [`Error::Io`].
    pub(crate) fn optimize(&self) -> Result<()> {
        let optimized = self.optimized()?;
        if optimized.check().is_err() {
            self.write(&optimized)?;
        }
        optimized.remove_stale();
        Ok(())
    }

    /// Compares the optimised files with their checksums, if there are any.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub(crate) fn check_optimized(&self) -> Result<()> {
        let optimized = self.optimized()?;
        if optimized.exists() { optimized.check() } else { Ok(()) }
    }

    /// A new session over the optimised files; over the model itself where there are none and
    /// none can be made.
    fn open(&self) -> Result<Loaded> {
        let environment = environment(&self.runtime.library)?;
        let optimized = self.optimized.get_or_init(|| match self.usable() {
            Ok(optimized) => Some(optimized),
            Err(error) => {
                let (model, error) = (self.weights.model().display(), error.chain());
                tracing::warn!("`{model}` is loaded as it is, without an optimised form: {error}");
                None
            }
        });
        let open = |path: &Path, level| Loaded::open(&environment, path, level, &self.io);
        if let Some(optimized) = optimized {
            match open(&optimized.graph(), GraphOptimizationLevel::Disable) {
                Ok(loaded) => return Ok(loaded),
                Err(Refusal::Unusable(reason)) => return Err(self.unusable(reason)),
                Err(Refusal::Damaged(reason)) => {
                    let path = optimized.graph();
                    tracing::warn!("`{}` is not used: {reason}", path.display());
                }
            }
        }
        open(self.weights.model(), GraphOptimizationLevel::All).map_err(|refusal| match refusal {
            Refusal::Damaged(reason) => self.damaged(&reason),
            Refusal::Unusable(reason) => self.unusable(reason),
        })
    }

    /// The optimised files, made if need be.
    fn usable(&self) -> Result<Optimized> {
        let optimized = self.optimized()?;
        if let Err(error) = optimized.check() {
            if optimized.exists() {
                tracing::warn!("optimised again: {}", error.chain());
            }
            self.write(&optimized)?;
        }
        Ok(optimized)
    }

    fn optimized(&self) -> Result<Optimized> {
        let sha256 = self.weights.sha256()?;
        Optimized::of(self.weights.model(), &sha256, &self.runtime.version)
    }

    fn write(&self, optimized: &Optimized) -> Result<()> {
        let environment = environment(&self.runtime.library)?;
        optimized.make(|path| {
            optimize(&environment, self.weights.model(), path)
                .map_err(|error| self.damaged(&error.to_string()))
        })
    }

    fn damaged(&self, reason: &str) -> Error {
        let model = self.weights.model().display();
        let reason = format!("`{model}`: {reason}; delete it and run `trefoil models pull`");
        Error::Corrupt { part: Part::Model, reason }
    }

    fn unusable(&self, reason: String) -> Error {
        Error::ModelUnusable { name: self.weights.model().display().to_string(), reason }
    }
}

impl Loaded {
    /// Opens a file.
    fn open(
        environment: &Environment,
        model: &Path,
        level: GraphOptimizationLevel,
        io: &InputOutput,
    ) -> Result<Self, Refusal> {
        let session = builder(environment, level)
            .and_then(|mut builder| builder.commit_from_file(model))
            .map_err(|error| Refusal::Damaged(error.to_string()))?;
        let signature = Signature {
            inputs: session.inputs().iter().map(Slot::of).collect(),
            outputs: session.outputs().iter().map(Slot::of).collect(),
        };
        let inputs = Input::all(&signature.inputs, io.decoder.as_ref());
        let output = io.output.of(&signature.outputs);
        let token_output = io.token_output.as_ref();
        let token_output = token_output.map(|name| named("token-output", name, &signature.outputs));
        let (inputs, output, token_output) = inputs
            .and_then(|inputs| Ok((inputs, output?, token_output.transpose()?)))
            .map_err(Refusal::Unusable)?;
        let (counters, buffers) = (Counters::default(), <[Vec<f32>; 2]>::default());
        Ok(Self { session, inputs, output, token_output, counters, buffers })
    }

    /// Runs one text; `read` is given the model's output, and that with the vectors of tokens, where
    /// that is another one.
    ///
    /// # Errors
    /// [`Error::Backend`], and what `read` returns.
    pub(crate) fn run<T>(
        &mut self,
        tokens: &Tokens,
        read: impl FnOnce(Tensor<'_>, Option<Tensor<'_>>) -> Result<T>,
    ) -> Result<T> {
        let Self { session, inputs, output, token_output, counters, buffers } = self;
        let failed = |error: ort::Error| Error::backend(Part::Model, "run", error);
        counters.reach(tokens.ids.len());
        let values: Vec<_> = inputs
            .iter()
            .map(|input| input.value(tokens, counters))
            .collect::<ort::Result<_>>()
            .map_err(failed)?;
        let outputs = session.run(values).map_err(failed)?;
        let value = |name: &str| {
            let missing = || format!("there is no output `{name}`");
            outputs.get(name).ok_or_else(|| Error::backend(Part::Model, "run", missing()))
        };
        let [first, second] = buffers;
        let output = Tensor::of(value(output)?, first).map_err(failed)?;
        let of_tokens = token_output.as_deref().map(value).transpose()?;
        let of_tokens = of_tokens.map(|value| Tensor::of(value, second)).transpose();
        read(output, of_tokens.map_err(failed)?)
    }
}

/// The process's one environment of ONNX Runtime, from the first library asked for.
///
/// # Errors
/// [`Error::ModelMissing`] if the library cannot be loaded; a later call tries again.
fn environment(library: &Path) -> Result<Environment> {
    static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);
    let mut environment = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = &*environment {
        return Ok(environment.clone());
    }
    let missing = |reason: String| Error::ModelMissing {
        name: RUNTIME.to_owned(),
        reason: format!("{reason}; run `trefoil models pull`, or give the path of your own"),
    };
    // A missing or wrong file is told here, where the loader would only pass on `dlopen`'s words.
    std::fs::metadata(library)
        .map_err(|error| missing(format!("no `{}`: {error}", library.display())))?;
    let made = ort::init_from(library)
        .map_err(|error| missing(error.to_string()))?
        .with_name("trefoil")
        .with_telemetry(false)
        .build()
        .map_err(|error| missing(error.to_string()))?;
    Ok(environment.insert(made).clone())
}

/// Options of every session. Texts are of all lengths, so that neither a plan of the memory nor an
/// arena, which keeps the most that any text has needed, is worth its megabytes.
fn builder(
    environment: &Environment,
    level: GraphOptimizationLevel,
) -> ort::Result<SessionBuilder> {
    // The builder's errors carry the builder, which cannot be sent between threads.
    Session::builder(environment)?
        .with_intra_threads(1)
        .map_err(ort::Error::<()>::from)?
        .with_inter_threads(1)
        .map_err(ort::Error::<()>::from)?
        .with_memory_pattern(false)
        .map_err(ort::Error::<()>::from)?
        .with_execution_providers([CPU::default().with_arena_allocator(false).build()])
        .map_err(ort::Error::<()>::from)?
        .with_optimization_level(level)
        .map_err(ort::Error::<()>::from)
}

/// Writes `model` as it is after optimisation: the graph to `path`, weights packed for this
/// processor next to it.
fn optimize(environment: &Environment, model: &Path, path: &Path) -> ort::Result<()> {
    const KEY: &str = "session.optimized_model_external_initializers";
    builder(environment, GraphOptimizationLevel::All)?
        // That the outcome is for this processor is known, and not to be told a person.
        .with_log_level(LogLevel::Error)
        .map_err(ort::Error::<()>::from)?
        .with_config_entry(format!("{KEY}_file_name"), WEIGHTS)
        .map_err(ort::Error::<()>::from)?
        .with_config_entry(format!("{KEY}_min_size_in_bytes"), "1024")
        .map_err(ort::Error::<()>::from)?
        .with_config_entry("session.save_external_prepacked_constant_initializers", "1")
        .map_err(ort::Error::<()>::from)?
        .with_optimized_model_path(path)
        .map_err(ort::Error::<()>::from)?
        .commit_from_file(model)
        .map(drop)
}
