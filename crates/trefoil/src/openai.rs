//! Entities and summaries by a language model behind a server that speaks the chat
//! completions of OpenAI: OpenAI itself, vLLM, llama.cpp, Ollama and others.
//!
//! What a model answers is checked against the text that it was given, for a text may try
//! to talk it into anything: a name that does not stand there is left out, a source that
//! was not given is an error.

mod answer;
mod chat;
mod prompt;
mod quote;

use std::{
    io,
    panic::resume_unwind,
    thread::{Builder, scope},
    time::Duration,
};

use rayon::{
    ThreadPool, ThreadPoolBuilder,
    iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _},
};
use serde_json::json;
use trefoil_core::{
    EntityExtractor, Error, Extraction, Part, Result, Summarizer, Summary, SummaryRequest,
    TitledText,
};

use self::{
    answer::{Found, Told},
    chat::{Chat, Question},
};

/// Characters of a text by which an error names it.
const SHOWN_CHARS: usize = 40;

/// A language model behind an OpenAI-compatible server, as extractor of entities and as
/// summariser: `POST {base}/chat/completions`, one request a text.
///
/// The texts leave the machine unless the server runs on it. Nothing is read from the
/// environment, neither a key nor a proxy.
///
/// ```no_run
/// # #[cfg(feature = "graph")] {
/// use std::sync::Arc;
/// use trefoil::{Engine, EngineConfig, graph::EntityExtraction, openai::OpenAi};
///
/// # fn key_from_your_vault() -> String { String::new() }
/// let key = key_from_your_vault();
/// let model = Arc::new(OpenAi::new("https://api.openai.com/v1", "gpt-4.1-mini", &key)?);
/// let config = EngineConfig {
///     extractor: EntityExtraction::Custom(model.clone()),
///     summarizer: model,
///     ..EngineConfig::default()
/// };
/// let engine = Engine::open_with("notes.trefoil", config)?;
/// # }
/// # Ok::<(), trefoil::Error>(())
/// ```
#[derive(Debug)]
pub struct OpenAi {
    chat: Chat,
    /// As many threads as requests at once; the engine's own are not kept waiting.
    threads: ThreadPool,
}

/// How a language model is asked. The defaults suit hosted models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenAiConfig {
    /// How the server is told the form of an answer.
    pub answer_format: AnswerFormat,
    /// How freely the model chooses its words, 0–2; 0 by default, so that it answers the
    /// same as far as it can. `None` for models that do not let it be set.
    pub temperature: Option<f32>,
    /// How long one answer is waited for, from the look-up of the name to the last byte;
    /// 2 minutes by default.
    pub timeout: Duration,
    /// The largest answer that is read; 1 MiB by default.
    pub max_bytes: u64,
    /// How often a request is repeated that the server had no time for (status 429 and
    /// 5xx) or that did not reach it, 0–10; 4 by default.
    pub retries: u32,
    /// How long is waited before the first repetition, doubled for each further one, where
    /// the server names no time; 1 s by default.
    pub backoff: Duration,
    /// The longest time to wait before a repetition; 1 minute by default. A server that
    /// asks for more is not asked again.
    pub max_wait: Duration,
    /// Requests at once, 1–64; 4 by default.
    pub concurrency: usize,
}

/// How a server is told the form of an answer. The answer is checked in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AnswerFormat {
    /// By a JSON schema, which the server enforces.
    #[default]
    JsonSchema,
    /// As any JSON object, for servers that know no schemas.
    JsonObject,
}

impl Default for OpenAiConfig {
    fn default() -> Self {
        Self {
            answer_format: AnswerFormat::default(),
            temperature: Some(0.0),
            timeout: Duration::from_mins(2),
            max_bytes: 1 << 20,
            retries: 4,
            backoff: Duration::from_secs(1),
            max_wait: Duration::from_mins(1),
            concurrency: 4,
        }
    }
}

impl OpenAiConfig {
    /// Checks every range.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] for the first that is violated.
    pub fn check(&self) -> Result<()> {
        let temperature = self.temperature.unwrap_or_default();
        Error::check_range(temperature, 0.0..=2.0, "openai.temperature", "0–2")?;
        Error::check_config(!self.timeout.is_zero(), "openai.timeout", 0, "more than 0")?;
        Error::check_range(self.retries, ..=10, "openai.retries", "0–10")?;
        Error::check_range(self.concurrency, 1..=64, "openai.concurrency", "1–64")
    }
}

impl OpenAi {
    /// A model by the address of its server, such as `https://api.openai.com/v1`, by its
    /// name there, and with the key for it: empty for a server that asks for none. The key
    /// is sent to this address only, and shown nowhere.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] unless the address is `http` or `https` without a user or a
    /// query, the name one of 1–255 characters, and the key of visible ASCII.
    pub fn new(base: &str, model: &str, key: &str) -> Result<Self> {
        Self::with_config(base, model, key, OpenAiConfig::default())
    }

    /// The same, asked in another way.
    ///
    /// # Errors
    /// Also for a setting that is out of its range.
    pub fn with_config(base: &str, model: &str, key: &str, config: OpenAiConfig) -> Result<Self> {
        config.check()?;
        let threads = ThreadPoolBuilder::new()
            .num_threads(config.concurrency)
            .thread_name(|number| format!("openai-{number}"))
            .build()
            .map_err(|error| Error::backend(Part::Model, "start its threads", error))?;
        Ok(Self { chat: Chat::new(base, model, key, config)?, threads })
    }

    fn fingerprint(&self, task: &str, version: u32) -> String {
        format!("openai {} {task} {version}", self.chat.model())
    }

    fn extraction(&self, titled: &TitledText<'_>) -> Result<Extraction> {
        let TitledText { title, heading_path, text, language } = *titled;
        if text.trim().is_empty() {
            return Ok(Extraction::default());
        }
        let found: Found = self.chat.ask(&Question {
            doing: format!("find the entities of “{}”", beginning(text)),
            instructions: prompt::extraction(language),
            material: json!({ "title": title, "headings": heading_path, "text": text }),
            form: ("extraction", prompt::extraction_schema()),
        })?;
        Ok(found.checked(titled))
    }
}

impl EntityExtractor for OpenAi {
    fn fingerprint(&self) -> String {
        self.fingerprint("extraction", prompt::EXTRACTION_VERSION)
    }

    /// The names that the model finds and that stand in the text or above it, and the
    /// relations for which it quotes the text.
    ///
    /// # Errors
    /// [`Error::LanguageModel`] for a text that it gives no usable answer for.
    fn extract(&self, texts: &[TitledText<'_>]) -> Result<Vec<Extraction>> {
        let ask = || {
            self.threads.install(|| {
                texts.par_iter().with_max_len(1).map(|text| self.extraction(text)).collect()
            })
        };
        // A thread of another pool that waited here would take up other work of that pool.
        let asked = scope(|scope| Ok(Builder::new().spawn_scoped(scope, ask)?.join()));
        let asked = asked
            .map_err(|error: io::Error| Error::backend(Part::Model, "start a thread", error))?;
        asked.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Summarizer for OpenAi {
    fn fingerprint(&self) -> String {
        self.fingerprint("summary", prompt::SUMMARY_VERSION)
    }

    /// The first sentences of the model that fit, and the passages that they cite. What they
    /// say is worth as much as the passages: anyone may have written those.
    ///
    /// # Errors
    /// [`Error::LanguageModel`] if it gives no usable answer: no sentence, one without a
    /// passage or with one that there is not, or a first one longer than the limit.
    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<Summary> {
        if request.passages.is_empty() {
            return Ok(Summary::default());
        }
        let passages: Vec<_> = (1..)
            .zip(&request.passages)
            .map(|(number, passage)| json!({ "number": number, "text": passage.text }))
            .collect();
        let question = Question {
            doing: format!("summarise “{}”", beginning(request.name)),
            instructions: prompt::summary(request.language, request.max_chars),
            material: json!({
                "topic": request.name,
                "members": request.members,
                "passages": passages,
            }),
            form: ("summary", prompt::summary_schema()),
        };
        let told: Told = self.chat.ask(&question)?;
        told.checked(request).map_err(|reason| self.chat.malformed(&question, &reason))
    }
}

fn beginning(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = line.chars().take(SHOWN_CHARS).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod failures;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;
