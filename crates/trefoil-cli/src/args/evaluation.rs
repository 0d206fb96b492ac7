//! What the commands take that measure retrieval.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};

use trefoil::SearchStrategy;

use super::value::{STRATEGIES, choice};

#[derive(Debug, ClapArgs)]
pub(crate) struct EvalArgs {
    /// Folders of the collections
    #[arg(required = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) collections: Vec<PathBuf>,
    /// Write the first 100 documents of each question as a TREC run
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) run: Option<PathBuf>,
    /// Retrievers to run, such as `keyword,semantic` [default: all of them]
    #[arg(long, value_delimiter = ',', value_name = "RETRIEVERS", value_parser = choice::<SearchStrategy>(STRATEGIES))]
    pub(crate) strategies: Vec<SearchStrategy>,
    /// Leave the fused order as it is
    #[arg(long)]
    pub(crate) no_rerank: bool,
    /// Read as many passages as the configuration says, not only the first few
    #[arg(long, conflicts_with = "no_rerank")]
    pub(crate) thorough: bool,
    /// Fuser: adaptive, rrf, relativeScore or distributionBased
    #[arg(long, value_name = "NAME", conflicts_with = "profile")]
    pub(crate) fuser: Option<String>,
    /// Ask no more than this many questions, spread over all of them
    #[arg(long, value_name = "N")]
    pub(crate) queries: Option<usize>,
    /// Show what each retriever is worth alone, and what fusion and reranking add, as Markdown
    #[arg(long, conflicts_with_all = ["run", "strategies", "compare"])]
    pub(crate) retrievers: bool,
    /// Judge two TREC runs, question by question, instead of measuring
    #[arg(long, num_args = 2, value_names = ["A", "B"], value_hint = ValueHint::FilePath)]
    pub(crate) compare: Vec<PathBuf>,
    /// Folder that indexes are kept in [default: that of `--index`, else `eval` next to the models]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) indexes: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TuneArgs {
    /// Folders of the collections
    #[arg(required = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) collections: Vec<PathBuf>,
    /// What is to grow, such as ndcg@10, recall@5 or map
    #[arg(long, value_name = "METRIC", default_value = "ndcg@10")]
    pub(crate) metric: String,
    /// Folds of the cross-validation, 2–20
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(2..=20))]
    pub(crate) folds: u8,
    /// Do not try reranking, which takes most of the time
    #[arg(long)]
    pub(crate) no_rerank: bool,
    /// Ask no more than this many questions of each collection, spread over all of them
    #[arg(long, value_name = "N")]
    pub(crate) queries: Option<usize>,
    /// Folder that indexes are kept in [default: that of `--index`, else `eval` next to the models]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) indexes: Option<PathBuf>,
    /// Keep what the retrievers and the reranker answered, as JSON lines; asked again only if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) lists: Option<PathBuf>,
    /// Instead of a profile, choose how much evidence counts in adaptive fusion for each source of
    /// collections on all the others, and show how that does, as Markdown
    #[arg(long, conflicts_with_all = ["metric", "folds"])]
    pub(crate) leave_one_out: bool,
    /// Names of collections that are of one source, such as `hotpot-mh,musique-mh`; repeatable. Any
    /// other is a source of its own
    #[arg(long, value_name = "NAMES", requires = "leave_one_out")]
    pub(crate) source: Vec<String>,
    /// Lists of these collections that another run has kept, such as with another model; repeatable
    #[arg(long, value_name = "FILE", requires = "leave_one_out", value_hint = ValueHint::FilePath)]
    pub(crate) with: Vec<PathBuf>,
    /// The profile to write
    #[arg(short, long, value_name = "FILE", default_value = "profile.toml", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CalibrateArgs {
    /// Measure where the model has the questions of each language instead, for questions about
    /// texts in another: to be kept as `languages.toml` in the model's folder
    #[arg(long)]
    pub(crate) languages: bool,
    /// Measure what the token vectors of the model have in common instead, and how near they are
    /// where a text answers: to be kept as `tokens.toml` in the model's folder. Takes folders of
    /// texts, and TOML files of questions with the files that answer them
    #[arg(long, conflicts_with = "languages")]
    pub(crate) tokens: bool,
    /// Folders of collections, or TOML files of questions over the index
    #[arg(required = true, value_name = "DIR|FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) sources: Vec<PathBuf>,
    /// Ask no more than this many answerable questions of each collection
    #[arg(long, value_name = "N")]
    pub(crate) queries: Option<usize>,
    /// Folder that indexes are kept in [default: `eval` next to the models]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) indexes: Option<PathBuf>,
    /// The profile to write
    #[arg(short, long, value_name = "FILE", default_value = "profile.toml", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
}
