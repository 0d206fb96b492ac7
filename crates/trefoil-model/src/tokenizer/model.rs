use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer};
use tokenizers::{
    AddedToken, DecoderWrapper, Model, ModelWrapper, NormalizerWrapper, PostProcessorWrapper,
    PreTokenizerWrapper, Token, TokenizerImpl, models::TrainerWrapper,
    models::unigram::UnigramTrainer,
};

use crate::vocabulary::MappedVocabulary;

/// What tokenises a text, with either model.
pub(super) type Pipeline = TokenizerImpl<
    TokenModel,
    NormalizerWrapper,
    PreTokenizerWrapper,
    PostProcessorWrapper,
    DecoderWrapper,
>;

/// The model of a tokenizer: one of ours, or, where it is of another kind, one of the
/// `tokenizers` crate.
#[derive(Debug)]
pub(super) enum TokenModel {
    Mapped(MappedVocabulary),
    Parsed(ModelWrapper),
}

/// A `tokenizer.json` without its vocabulary.
#[derive(Deserialize)]
struct Settings {
    added_tokens: Vec<AddedToken>,
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
    post_processor: Option<PostProcessorWrapper>,
}

/// The tokenizer of a mapped vocabulary.
pub(super) fn pipeline(vocabulary: MappedVocabulary) -> tokenizers::Result<Pipeline> {
    let Settings { added_tokens, normalizer, pre_tokenizer, post_processor } =
        serde_json::from_slice(vocabulary.settings())?;
    let mut pipeline = Pipeline::new(TokenModel::Mapped(vocabulary));
    pipeline.with_normalizer(normalizer)?;
    pipeline.with_pre_tokenizer(pre_tokenizer).with_post_processor(post_processor);
    pipeline.add_tokens(added_tokens)?;
    Ok(pipeline)
}

impl<'de> Deserialize<'de> for TokenModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ModelWrapper::deserialize(deserializer).map(Self::Parsed)
    }
}

impl Model for TokenModel {
    type Trainer = TrainerWrapper;

    fn tokenize(&self, sequence: &str) -> tokenizers::Result<Vec<Token>> {
        match self {
            Self::Mapped(vocabulary) => vocabulary.tokenize(sequence),
            Self::Parsed(model) => model.tokenize(sequence),
        }
    }

    fn token_to_id(&self, token: &str) -> Option<u32> {
        match self {
            Self::Mapped(vocabulary) => vocabulary.id(token),
            Self::Parsed(model) => model.token_to_id(token),
        }
    }

    fn id_to_token(&self, id: u32) -> Option<String> {
        match self {
            Self::Mapped(vocabulary) => vocabulary.piece(id).map(str::to_owned),
            Self::Parsed(model) => model.id_to_token(id),
        }
    }

    fn get_vocab(&self) -> HashMap<String, u32> {
        match self {
            Self::Mapped(vocabulary) => {
                (0..).map_while(|id| Some((vocabulary.piece(id)?.to_owned(), id))).collect()
            }
            Self::Parsed(model) => model.get_vocab(),
        }
    }

    fn get_vocab_size(&self) -> usize {
        match self {
            Self::Mapped(vocabulary) => vocabulary.len(),
            Self::Parsed(model) => model.get_vocab_size(),
        }
    }

    fn save(&self, folder: &Path, prefix: Option<&str>) -> tokenizers::Result<Vec<PathBuf>> {
        match self {
            Self::Mapped(_) => Err("a mapped vocabulary is saved as it is".into()),
            Self::Parsed(model) => model.save(folder, prefix),
        }
    }

    fn get_trainer(&self) -> Self::Trainer {
        match self {
            Self::Mapped(_) => UnigramTrainer::default().into(),
            Self::Parsed(model) => model.get_trainer(),
        }
    }
}
