//! ONNX Runtime: loaded once a process, with sessions of one thread each.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use ort::{
    environment::Environment,
    session::{Session, builder::GraphOptimizationLevel},
    value::TensorRef,
};
use trefoil_core::{Error, Part, Result};

use crate::{manifest::RUNTIME, tokenizer::Tokens};

/// Sessions of one model. ONNX Runtime's own concurrent runs of one session are not
/// relied upon: each thread borrows a session, and one is made when all are out, up to
/// the number of threads.
pub(crate) struct Sessions {
    model: PathBuf,
    runtime: PathBuf,
    most: usize,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Loaded>,
    made: usize,
}

/// A session and what it is fed.
struct Loaded {
    session: Session,
    inputs: Vec<Input>,
    output: String,
}

/// Inputs that a text model may have.
#[derive(Clone, Copy, Debug)]
enum Input {
    Ids,
    Mask,
    Types,
}

/// A session on loan; it returns when dropped.
pub(crate) struct Loan<'a> {
    sessions: &'a Sessions,
    /// Always there until `drop` takes it.
    loaded: Option<Loaded>,
    /// As many ones as the longest text has had tokens.
    mask: Vec<i64>,
}

impl Sessions {
    /// Loads nothing yet.
    pub(crate) fn new(runtime: PathBuf, model: PathBuf, most: usize) -> Self {
        Self {
            model,
            runtime,
            most: most.max(1),
            state: Mutex::default(),
            returned: Condvar::new(),
        }
    }

    /// An idle session, or a new one, or the next that is returned.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if the runtime cannot be loaded, [`Error::Corrupt`] if
    /// it cannot read the model.
    pub(crate) fn borrow(&self) -> Result<Loan<'_>> {
        let loan = self.borrow_until(None)?;
        loan.ok_or_else(|| Error::backend(Part::Model, "borrow", "no session came back"))
    }

    /// The same; none if none is returned until `deadline`, where there is one. To load one takes
    /// as long as it takes.
    pub(crate) fn borrow_until(&self, deadline: Option<Instant>) -> Result<Option<Loan<'_>>> {
        let mut state = self.lock();
        loop {
            if let Some(loaded) = state.idle.pop() {
                return Ok(Some(self.loan(loaded)));
            }
            if state.made < self.most {
                break;
            }
            state = match deadline.map(|deadline| deadline.checked_duration_since(Instant::now())) {
                None => self.returned.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(None) => return Ok(None),
                Some(Some(left)) => {
                    let waited = self.returned.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        state.made += 1;
        drop(state);
        // Loading takes a while: others may borrow and return meanwhile.
        let unmade = Unmade(self);
        let loaded = load(&self.runtime, &self.model)?;
        std::mem::forget(unmade);
        Ok(Some(self.loan(loaded)))
    }

    /// Loads a session, unless one was loaded before.
    ///
    /// # Errors
    /// As [`borrow`](Self::borrow).
    pub(crate) fn load(&self) -> Result<()> {
        if self.lock().made == 0 { self.borrow().map(drop) } else { Ok(()) }
    }

    fn loan(&self, loaded: Loaded) -> Loan<'_> {
        Loan { sessions: self, loaded: Some(loaded), mask: Vec::new() }
    }

    /// The state is whole between any two statements, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a session as not made when it is dropped: loading it failed, or panicked.
struct Unmade<'s>(&'s Sessions);

impl Drop for Unmade<'_> {
    fn drop(&mut self) {
        self.0.lock().made -= 1;
        self.0.returned.notify_one();
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("model", &self.model)
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

impl Loan<'_> {
    /// Runs one text; `read` is given the shape and the numbers of the model's output.
    ///
    /// # Errors
    /// [`Error::Backend`], and what `read` returns.
    pub(crate) fn run<T>(
        &mut self,
        tokens: &Tokens,
        read: impl FnOnce(&[i64], &[f32]) -> Result<T>,
    ) -> Result<T> {
        let Some(Loaded { session, inputs, output }) = &mut self.loaded else {
            return Err(Error::backend(Part::Model, "run", "the session was returned"));
        };
        let length = tokens.ids.len();
        self.mask.resize(length.max(self.mask.len()), 1);
        let mask = self.mask.get(..length).unwrap_or_default();
        let failed = |error: ort::Error| Error::backend(Part::Model, "run", error);
        let mut values = Vec::with_capacity(inputs.len());
        for input in inputs.iter() {
            let data = match input {
                Input::Ids => tokens.ids.as_slice(),
                Input::Mask => mask,
                Input::Types => tokens.types.as_slice(),
            };
            let tensor = TensorRef::from_array_view(([1, length], data)).map_err(failed)?;
            values.push((input.name(), tensor));
        }
        let outputs = session.run(values).map_err(failed)?;
        let value = outputs.get(output.as_str()).ok_or_else(|| {
            Error::backend(Part::Model, "run", format!("there is no output `{output}`"))
        })?;
        let (shape, numbers) = value.try_extract_tensor::<f32>().map_err(failed)?;
        read(shape, numbers)
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        if let Some(loaded) = self.loaded.take() {
            self.sessions.lock().idle.push(loaded);
            self.sessions.returned.notify_one();
        }
    }
}

impl Input {
    const ALL: [Self; 3] = [Self::Ids, Self::Mask, Self::Types];

    const fn name(self) -> &'static str {
        match self {
            Self::Ids => "input_ids",
            Self::Mask => "attention_mask",
            Self::Types => "token_type_ids",
        }
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
    let missing = |reason: String| Error::ModelMissing { name: RUNTIME.to_owned(), reason };
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

fn load(library: &Path, model: &Path) -> Result<Loaded> {
    let environment = environment(library)?;
    let damaged = |reason: String| Error::Corrupt {
        part: Part::Model,
        reason: format!("`{}`: {reason}; delete it and run `trefoil models pull`", model.display()),
    };
    let session = open(&environment, model).map_err(|error| damaged(error.to_string()))?;
    let inputs = session
        .inputs()
        .iter()
        .map(|outlet| {
            let known = Input::ALL.into_iter().find(|input| input.name() == outlet.name());
            known.ok_or_else(|| {
                damaged(format!("input `{}` is not one of a text model", outlet.name()))
            })
        })
        .collect::<Result<_>>()?;
    // The token vectors where there are any, else whatever comes first.
    let names = || session.outputs().iter().map(ort::value::Outlet::name);
    let output = names().find(|name| *name == "last_hidden_state").or_else(|| names().next());
    let output = output.ok_or_else(|| damaged("it has no output".to_owned()))?.to_owned();
    Ok(Loaded { session, inputs, output })
}

fn open(environment: &Environment, model: &Path) -> ort::Result<Session> {
    // The builder's errors carry the builder, which cannot be sent between threads.
    Session::builder(environment)?
        .with_intra_threads(1)
        .map_err(ort::Error::<()>::from)?
        .with_inter_threads(1)
        .map_err(ort::Error::<()>::from)?
        .with_optimization_level(GraphOptimizationLevel::All)
        .map_err(ort::Error::<()>::from)?
        .commit_from_file(model)
}
