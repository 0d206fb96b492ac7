//! How a model of late interaction reads, as `ColBERT` and `PyLate` write it down.

use serde::Deserialize;
use serde_json::Value;
use trefoil_core::Result;

use super::{Drafting, embedding::Module};
use crate::{
    card::LateInteractionCard,
    session::{output::TOKENS, signature::Slot},
};

/// `artifact.metadata` of `ColBERT`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Artifact {
    dim: Option<usize>,
    query_token_id: Option<String>,
    doc_token_id: Option<String>,
    query_maxlen: Option<usize>,
    attend_to_mask_tokens: Option<bool>,
}

/// `config_sentence_transformers.json` of `PyLate`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PyLate {
    query_prefix: Option<String>,
    document_prefix: Option<String>,
    query_length: Option<usize>,
    do_query_expansion: Option<bool>,
    attend_to_expansion_tokens: Option<bool>,
}

/// `tokenizer_config.json`, or `special_tokens_map.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Marks {
    mask_token: Option<Value>,
}

impl Drafting<'_> {
    pub(super) fn is_late_interaction(&self) -> bool {
        let tagged = |tag: &str| self.readme.tags.iter().any(|one| one.eq_ignore_ascii_case(tag));
        let architectures = || self.config.architectures();
        self.contents.has("artifact.metadata")
            || architectures().any(|one| one.to_lowercase().contains("colbert"))
            || tagged("late-interaction")
            || tagged("ColBERT")
            || tagged("PyLate")
    }

    pub(super) fn late_interaction(&mut self) -> Result<LateInteractionCard> {
        let artifact: Artifact = self.contents.json("artifact.metadata")?.unwrap_or_default();
        let pylate: PyLate =
            self.contents.json("config_sentence_transformers.json")?.unwrap_or_default();
        let named = |mark: Option<String>| mark.filter(|mark| !mark.trim().is_empty());
        let query_marker = named(artifact.query_token_id.or(pylate.query_prefix));
        let passage_marker = named(artifact.doc_token_id.or(pylate.document_prefix));
        if query_marker.is_none() || passage_marker.is_none() {
            self.unknown.push(
                "No file names the tokens that mark questions and passages: there are none. If its \
                 page names some, set `query-marker` and `passage-marker` in the table \
                 `[late-interaction]` of its card."
                    .to_owned(),
            );
        }
        let fills = pylate.do_query_expansion != Some(false);
        let query_tokens = artifact.query_maxlen.or(pylate.query_length).filter(|_| fills);
        let mask_token = self.mask_token()?;
        if query_tokens.is_some() && mask_token.is_none() {
            self.unknown.push(
                "No file names the mask that questions are filled with: they are not filled. Set \
                 `mask-token` in the table `[late-interaction]` of its card."
                    .to_owned(),
            );
        }
        let modules: Vec<Module> = self.contents.json("modules.json")?.unwrap_or_default();
        let (dense, dense_width) = self.dense(&modules)?;
        let outputs = &self.header.signature.outputs;
        let usual = TOKENS.iter().find_map(|name| outputs.iter().find(|s| s.name == *name));
        let usual = usual.or(outputs.first());
        let size = |slot: &Slot| slot.shape.last().and_then(|&size| usize::try_from(size).ok());
        let is_projected = |slot: &&Slot| artifact.dim.is_some() && size(slot) == artifact.dim;
        let wanted = self.options.output.as_deref();
        let output = match wanted {
            Some(name) => outputs.iter().find(|slot| slot.name == name),
            None => outputs.iter().find(is_projected).or(usual),
        };
        if output != usual {
            self.output = output.map(|slot| slot.name.clone());
        }
        let fixed = output.and_then(size).filter(|&size| size > 0);
        let given = if dense.is_empty() { fixed } else { dense_width };
        if let (Some(given), Some(told)) = (given, artifact.dim)
            && given != told
        {
            return Err(self.unusable(format!(
                "its ONNX file gives {given} numbers for a token and `artifact.metadata` says \
                 {told}: the projection is in neither it nor a dense module; take an export that \
                 has it"
            )));
        }
        let dimensions = given.or(artifact.dim).or(self.config.hidden_size).ok_or_else(|| {
            self.unusable("no file says how many numbers the vector of a token has".to_owned())
        })?;
        Ok(LateInteractionCard {
            dimensions,
            query_marker,
            passage_marker,
            query_tokens,
            mask_token,
            attends_to_fill: artifact
                .attend_to_mask_tokens
                .or(pylate.attend_to_expansion_tokens)
                .unwrap_or(false),
            dense,
            similarity_range: None,
            short_similarity_range: None,
        })
    }

    fn mask_token(&self) -> Result<Option<String>> {
        for name in ["tokenizer_config.json", "special_tokens_map.json"] {
            let marks: Marks = self.contents.json(name)?.unwrap_or_default();
            let token = marks.mask_token.as_ref();
            let text = token.and_then(|token| token.get("content").unwrap_or(token).as_str());
            if let Some(text) = text {
                return Ok(Some(text.to_owned()));
            }
        }
        Ok(None)
    }
}
