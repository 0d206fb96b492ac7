//! A card drafted from the files of a repository, as Hugging Face and Sentence Transformers write
//! them. Pure: it is given what the files hold.

mod config;
mod contents;
mod embedding;
mod late_interaction;
pub(crate) mod onnx_file;
pub(crate) mod onnx_header;
mod readme;
#[cfg(test)]
mod tests;

use serde::Serialize;
use trefoil_core::{Error, Part, Pooling, Result};

pub(crate) use self::contents::Contents;
use self::{config::Config, onnx_header::OnnxHeader, readme::Readme};
use crate::{
    card::{Card, DecoderCard, ModelRole, RerankingCard},
    session::{input::Input, signature::names},
};

/// What a person says of a model that is added, in place of what its files say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddOptions {
    /// Its name from now on; that of the repository or folder if absent.
    pub name: Option<String>,
    /// What it is for.
    pub role: Option<ModelRole>,
    /// The ONNX file; in 32-bit floating point, if there are several, if absent.
    pub file: Option<String>,
    /// The output of it that is read.
    pub output: Option<String>,
    /// How token vectors become one.
    pub pooling: Option<Pooling>,
    /// So many numbers of a vector are kept, the first (Matryoshka).
    pub dimensions: Option<usize>,
    /// What is put before a question.
    pub query_prefix: Option<String>,
    /// What is put before a passage.
    pub passage_prefix: Option<String>,
    /// Most tokens of a text.
    pub max_tokens: Option<usize>,
    /// Licence of the weights.
    pub license: Option<String>,
}

/// What the files of a model say of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// Its card, without what has to be measured.
    pub card: Card,
    /// The files that it needs.
    pub files: Vec<DraftFile>,
    /// What the files do not say or was assumed, a sentence each, with the option to set it by.
    pub unknown: Vec<String>,
}

/// A file of a repository that a model needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DraftFile {
    /// Its path in the repository.
    pub from: String,
    /// Its name in the folder of the model.
    pub name: String,
}

impl DraftFile {
    fn new(from: impl Into<String>, name: impl Into<String>) -> Self {
        Self { from: from.into(), name: name.into() }
    }
}

/// Drafts the card of the model in `contents`, whose ONNX file is `onnx` and says `header`.
///
/// # Errors
/// [`Error::ModelUnusable`] for a model of a kind that is not run, [`Error::ModelMissing`] for a
/// file that it needs and has not, [`Error::Corrupt`] for one that is not what its name says,
/// [`Error::InvalidConfig`] for an option that does not fit.
pub(crate) fn draft(
    contents: &Contents,
    onnx: &str,
    header: &OnnxHeader,
    options: &AddOptions,
) -> Result<Draft> {
    let (mut card, mut unknown) = match contents.text("card.toml") {
        Some(text) => (own_card(contents, text)?, Vec::new()),
        None => Drafting::new(contents, onnx, header, options)?.card()?,
    };
    apply(&mut card, options)?;
    let files = onnx_file::files(contents, onnx, header, &mut card)?;
    unknown.extend(onnx_file::others(contents, onnx));
    card.check().map_err(|reason| Error::InvalidConfig {
        field: "card",
        value: card.name.clone(),
        allowed: reason,
    })?;
    Input::all(&header.signature.inputs, card.decoder.as_ref())
        .map_err(|reason| Error::ModelUnusable { name: card.name.clone(), reason })?;
    Ok(Draft { card, files, unknown })
}

/// A card that somebody has written.
fn own_card(contents: &Contents, text: &str) -> Result<Card> {
    let card: Card =
        toml::from_str(text).map_err(|error| contents.damaged("card.toml", error.message()))?;
    card.check().map_err(|reason| contents.damaged("card.toml", reason))?;
    Ok(card)
}

/// Puts what a person says into a card.
fn apply(card: &mut Card, options: &AddOptions) -> Result<()> {
    let AddOptions { name, output, pooling, dimensions, query_prefix, passage_prefix, .. } =
        options.clone();
    card.name = name.unwrap_or_else(|| card.name.clone());
    card.license = options.license.clone().unwrap_or_else(|| card.license.clone());
    card.max_tokens = options.max_tokens.unwrap_or(card.max_tokens);
    card.output = output.or_else(|| card.output.take());
    let role = card.role.name();
    let Some(embedding) = &mut card.embedding else {
        let given = pooling.is_some() || dimensions.is_some() || query_prefix.is_some();
        let allowed = "pooling, dimensions and prefixes of an embedder";
        return Error::check_config(!given && passage_prefix.is_none(), "role", role, allowed);
    };
    embedding.pooling = pooling.unwrap_or(embedding.pooling);
    embedding.query_prefix = query_prefix.unwrap_or_else(|| embedding.query_prefix.clone());
    embedding.passage_prefix = passage_prefix.unwrap_or_else(|| embedding.passage_prefix.clone());
    if let Some(wanted) = dimensions {
        let whole = embedding.model_dimensions.unwrap_or(embedding.dimensions);
        if !(1..=whole).contains(&wanted) {
            let value = format!("{wanted} of a model of {whole}");
            let allowed = "1 to the dimensions of the model";
            return Err(Error::invalid_config("dimensions", value, allowed));
        }
        embedding.dimensions = wanted;
        embedding.model_dimensions = (wanted < whole).then_some(whole);
    }
    Ok(())
}

/// What a draft is made of, and what could not be told so far.
struct Drafting<'a> {
    contents: &'a Contents,
    header: &'a OnnxHeader,
    options: &'a AddOptions,
    config: Config,
    readme: Readme,
    /// The output that is read, where it is not the usual one.
    output: Option<String>,
    unknown: Vec<String>,
}

impl<'a> Drafting<'a> {
    fn new(
        contents: &'a Contents,
        onnx: &str,
        header: &'a OnnxHeader,
        options: &'a AddOptions,
    ) -> Result<Self> {
        let config = contents.json("config.json")?;
        let mut unknown = Vec::new();
        if config.is_none() {
            unknown.push(format!(
                "There is no `config.json` next to `{onnx}`: most of the card is of the ONNX file \
                 alone. Compare it with what the model's page says."
            ));
        }
        let readme = Readme::of(contents.text("README.md").unwrap_or_default());
        let config = config.unwrap_or_default();
        Ok(Self { contents, header, options, config, readme, output: None, unknown })
    }

    fn card(mut self) -> Result<(Card, Vec<String>)> {
        let role = self.role()?;
        let mut card = Card {
            name: self.contents.name().to_owned(),
            role,
            license: self.license(),
            origin: self.contents.origin().to_owned(),
            revision: self.contents.revision().to_owned(),
            languages: self.languages(),
            max_tokens: self.max_tokens()?,
            sha256: None,
            output: None,
            files: Vec::new(),
            decoder: self.decoder(),
            embedding: None,
            reranking: None,
            late_interaction: None,
        };
        match role {
            ModelRole::Reranker => card.reranking = Some(self.reranking()?),
            ModelRole::LateInteraction => card.late_interaction = Some(self.late_interaction()?),
            ModelRole::Embedder | ModelRole::Runtime | ModelRole::Dictionary => {
                card.embedding = Some(self.embedding()?);
            }
        }
        card.output = self.output.take();
        Ok((card, self.unknown))
    }

    /// What the model is for.
    fn role(&self) -> Result<ModelRole> {
        if let Some(role) = self.options.role {
            let allowed = "embedder, reranker, late-interaction";
            Error::check_config(role.is_model(), "role", role.name(), allowed)?;
            return Ok(role);
        }
        let outputs = &self.header.signature.outputs;
        let gives = |name: &str| outputs.iter().any(|slot| slot.name == name);
        let is_for = |ending: &str| self.config.architectures().any(|one| one.ends_with(ending));
        if self.is_late_interaction() {
            return Ok(ModelRole::LateInteraction);
        }
        let has_vectors =
            gives("last_hidden_state") || gives("token_embeddings") || gives("sentence_embedding");
        if gives("logits") && !has_vectors {
            if is_for("ForCausalLM") || is_for("ForMaskedLM") {
                return Err(self.unusable(
                    "its ONNX file gives a logit for each word of its vocabulary, neither vectors \
                     nor a score; take an export of the task `feature-extraction`"
                        .to_owned(),
                ));
            }
            return Ok(ModelRole::Reranker);
        }
        if is_for("ForSequenceClassification") && !has_vectors {
            return Ok(ModelRole::Reranker);
        }
        Ok(ModelRole::Embedder)
    }

    fn license(&mut self) -> String {
        if let Some(license) = &self.readme.license {
            return license.clone();
        }
        if self.options.license.is_none() {
            self.unknown.push(
                "No licence is named in `README.md`. Look it up and set `--license`.".to_owned(),
            );
        }
        "unknown".to_owned()
    }

    /// Those that are checked, if the page names any of them.
    fn languages(&mut self) -> Vec<String> {
        let known = ["en", "ja", "ko"].map(str::to_owned);
        let named = |one: &String| self.readme.languages.contains(one);
        let named: Vec<String> = known.iter().filter(|one| named(one)).cloned().collect();
        if self.readme.languages.is_empty() {
            self.unknown.push(
                "No language is named in `README.md`: the languages of its card are those in which \
                 it passed the check."
                    .to_owned(),
            );
        }
        if named.is_empty() { known.to_vec() } else { named }
    }

    fn max_tokens(&mut self) -> Result<usize> {
        /// What tokenizers without a limit write is far above it.
        const MOST: u64 = 131_072;
        #[derive(serde::Deserialize)]
        struct Sentences {
            max_seq_length: Option<u64>,
        }
        #[derive(serde::Deserialize)]
        struct Tokenizer {
            model_max_length: Option<f64>,
        }
        let sentences: Option<Sentences> = self.contents.json("sentence_bert_config.json")?;
        let tokenizer: Option<Tokenizer> = self.contents.json("tokenizer_config.json")?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a length that is far too large stays so"
        )]
        let tokenizer = tokenizer.and_then(|one| one.model_max_length).map(|length| length as u64);
        let positions = self.config.positions();
        let told = sentences.and_then(|one| one.max_seq_length).or(tokenizer);
        let told = told.filter(|&length| length <= MOST);
        let length = match (told, positions) {
            (Some(told), Some(positions)) => told.min(positions),
            (Some(one), None) | (None, Some(one)) => one.min(MOST),
            (None, None) => {
                if self.options.max_tokens.is_none() {
                    self.unknown.push(
                        "No file says how long a text may be: 512 tokens were taken. Set \
                         `--max-tokens`."
                            .to_owned(),
                    );
                }
                512
            }
        };
        usize::try_from(length).map_err(|error| Error::backend(Part::Model, "read a length", error))
    }

    /// How wide the cache is, if the model takes one.
    fn decoder(&self) -> Option<DecoderCard> {
        let inputs = &self.header.signature.inputs;
        let takes = inputs.iter().any(|slot| slot.name.starts_with("past_key_values."));
        self.config.decoder().filter(|_| takes)
    }

    fn reranking(&mut self) -> Result<RerankingCard> {
        let outputs = &self.header.signature.outputs;
        let logits = outputs.iter().find(|slot| slot.name == "logits").or(outputs.first());
        let fixed = logits.and_then(|slot| match *slot.shape.as_slice() {
            [_, count] => u64::try_from(count).ok(),
            _ => None,
        });
        match fixed.or(self.config.labels()) {
            Some(1 | 2) => {}
            Some(labels) => {
                return Err(self.unusable(format!(
                    "it tells {labels} classes apart; a reranker gives one score, or one for no \
                     and one for yes"
                )));
            }
            None => self.unknown.push(
                "No file says how many numbers it gives for a pair: it has to be one, or one for \
                 no and one for yes."
                    .to_owned(),
            ),
        }
        Ok(RerankingCard::default())
    }

    fn unusable(&self, reason: String) -> Error {
        Error::ModelUnusable { name: self.contents.name().to_owned(), reason }
    }

    /// Names of its outputs, for a message.
    fn outputs(&self) -> String {
        names(&self.header.signature.outputs)
    }
}
