//! The command line, as clap reads it.

mod cluster;
mod evaluation;
#[cfg(feature = "mcp")]
mod mcp;
mod memory;
mod models;
mod server;
mod value;

use std::{path::PathBuf, str::FromStr};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use jiff::civil::Date;
use trefoil::{
    Language, Score, SearchStrategy, TokenVectors,
    ingest::FileId,
    search::{Cursor, QueryType, SearchResultType},
};

#[cfg(feature = "mcp")]
pub(crate) use self::mcp::{McpArgs, McpClient};
use self::value::{LANGUAGES, QUERY_TYPES, RESULT_TYPES, STRATEGIES, TOKEN_VECTORS, choice, score};
pub(crate) use self::{
    cluster::{ClusterCommand, GrantedRole},
    evaluation::{CalibrateArgs, EvalArgs, TuneArgs},
    memory::{
        ContextArgs, FeedbackArgs, ForgetArgs, MaintainArgs, MemoryCommand, ObserveArgs,
        PolicyCommand, RecallArgs, RequestArgs,
    },
    models::{AddArgs, ModelsCommand},
    server::{CreateTokenArgs, ServeArgs, TokenCommand},
};

/// Hybrid search over your files: keyword and semantic, in English, Japanese and Korean.
#[derive(Debug, Parser)]
#[command(
    name = "trefoil",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  trefoil demo                          see it work, on real documents in three languages
  trefoil index docs/ notes.md          index files; again later, and only changes are read
  trefoil search \"how do I cut a release?\"

Exit codes: 0 found, 1 nothing found, 2 wrong usage, 3 failure.
Settings: trefoil.toml in this folder or above < environment < flags."
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What one field of a passage weighs in the keyword list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeywordBoost {
    Title(f32),
    Heading(f32),
    Body(f32),
}

impl FromStr for KeywordBoost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("`{text}` is not title=, heading= or body= with a number");
        let (field, weight) = text.split_once('=').ok_or_else(expected)?;
        let weight = weight.trim().parse().map_err(|_| expected())?;
        match field.trim() {
            "title" => Ok(Self::Title(weight)),
            "heading" => Ok(Self::Heading(weight)),
            "body" => Ok(Self::Body(weight)),
            _ => Err(expected()),
        }
    }
}

/// What every command understands.
#[derive(Debug, ClapArgs)]
#[command(
    next_help_heading = "Global options",
    mut_args(|arg| arg.global(true).hide_env_values(true))
)]
pub(crate) struct GlobalArgs {
    /// Directory of the index [default: .trefoil]; for `serve` also NAME=DIR, repeated for more
    #[arg(long, value_name = "DIR", env = "TREFOIL_INDEX", value_hint = ValueHint::DirPath)]
    pub(crate) index: Vec<PathBuf>,
    /// Database that holds the index for several machines, as in
    /// `postgres://db.example/app?index=notes`; the directory of the index is a cache of it then
    #[arg(long, value_name = "URL", env = "TREFOIL_STORE", hide_short_help = true)]
    pub(crate) store: Option<String>,
    /// Embedding model: a name of `trefoil models list`, a folder, or `none` for keywords only
    #[arg(long, value_name = "NAME|DIR", env = "TREFOIL_MODEL")]
    pub(crate) model: Option<String>,
    /// Reranking model: a name of `trefoil models list`, a folder, or `none`
    #[arg(long, value_name = "NAME|DIR", env = "TREFOIL_RERANK_MODEL")]
    pub(crate) rerank_model: Option<String>,
    /// Folder that models are kept in [default: the platform's cache folder]
    #[arg(long, value_name = "DIR", env = "TREFOIL_HOME", value_hint = ValueHint::DirPath)]
    pub(crate) home: Option<PathBuf>,
    /// `english` for the English embedding model; or a file of `trefoil tune` and `trefoil
    /// calibrate`, which says how lists are fused
    #[arg(long, value_name = "english|FILE", env = "TREFOIL_PROFILE", value_hint = ValueHint::FilePath)]
    pub(crate) profile: Option<PathBuf>,
    /// Weights of fields in the keyword list, 0–10 each [default: title=0.3,heading=0.3,body=1]
    #[arg(
        long,
        value_name = "FIELD=WEIGHT",
        value_delimiter = ',',
        env = "TREFOIL_KEYWORD_BOOSTS",
        hide_short_help = true
    )]
    pub(crate) keyword_boosts: Vec<KeywordBoost>,
    /// Cut e-mail addresses, telephone and card numbers and credentials out of documents before
    /// they are stored [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        env = "TREFOIL_REDACT_DOCUMENTS",
        hide_short_help = true
    )]
    pub(crate) redact_documents: Option<bool>,
    /// Of which texts to keep the vectors of tokens: for memory, for questions in another language
    /// than the documents, and with `all` for English ones; some 30 kB a chunk [default: auto]
    #[arg(
        long,
        value_name = "WHICH",
        value_parser = choice::<TokenVectors>(TOKEN_VECTORS),
        env = "TREFOIL_TOKEN_VECTORS",
        hide_short_help = true
    )]
    pub(crate) token_vectors: Option<TokenVectors>,
    /// Model of late interaction whose token vectors are kept of texts in its languages: a name of
    /// `trefoil models list`, a folder, or `none` for those of the embedding model
    #[arg(long, value_name = "NAME|DIR", env = "TREFOIL_TOKEN_MODEL", hide_short_help = true)]
    pub(crate) token_model: Option<String>,
    /// Print JSON for programs instead of text for people
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but results and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print every detail, such as all skipped files
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// What to log to stderr, such as `debug` or `trefoil=trace`
    #[arg(
        long,
        value_name = "FILTER",
        env = "TREFOIL_LOG",
        default_value = "warn",
        hide_default_value = true
    )]
    pub(crate) log: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Index real documents in three languages and ask them questions
    #[command(after_help = "\
Fetches the models if they are absent (about 190 MB), indexes the Rust book that the
toolchain installed and a small corpus in English, Japanese and Korean, and asks.

Examples:
  trefoil demo
  trefoil demo --memory                 what is remembered and forgotten, and why
  trefoil --model none demo             keywords only, without a model")]
    Demo(DemoArgs),
    /// Index files and folders; only what has changed is read again
    #[command(after_help = "\
Reads Markdown, text, HTML, source code, CSV, JSON, PDF, DOCX, PPTX and XLSX. Honours
.gitignore and .ignore; hidden files and files like *.env or *.key are left out.

Examples:
  trefoil index docs/ README.md
  trefoil index --pull ~/notes          fetch the models first
  trefoil index --watch .               keep the index up to date until Ctrl-C
  trefoil index --prune ~/notes         most of it was moved or deleted: forget that")]
    Index(IndexArgs),
    /// Forget files and folders; the files themselves stay
    #[command(after_help = "\
Examples:
  trefoil remove docs/old
  trefoil remove notes.md")]
    Remove(RemoveArgs),
    /// Rebuild the indexes from the stored text, such as for another model
    #[command(after_help = "\
Examples:
  trefoil reindex
  trefoil reindex --model bge-small-en-v1.5")]
    Reindex,
    /// Search the index
    #[command(after_help = "\
Examples:
  trefoil search \"how do I cut a release?\"
  trefoil search 台風 --lang ja --limit 3
  trefoil search \"releases\" --per-file 1
  trefoil search \"Ada Lovelace\" --results entity
  trefoil search 'Vec::with_capacity' --strategies keyword --path-glob '**/*.rs'
  trefoil search \"release notes\" --since 2026-01-01 --json | jq '.results[].metadata.path'")]
    Search(Box<SearchArgs>),
    /// Name the stage at which a passage was lost for a question
    #[command(after_help = "\
Examples:
  trefoil why-not \"how do I cut a release?\" docs/release.md
  trefoil why-not \"how do I cut a release?\" chk_4cfc52b6a807db9d94b58690dc654a8a --limit 5")]
    WhyNot(Box<WhyNotArgs>),
    /// Measure retrieval on collections in BEIR layout
    #[command(after_help = "\
A collection is a folder with corpus.jsonl, queries.jsonl and qrels/*.tsv. Its index is
kept, and made again only when the corpus or the model changes.

Examples:
  trefoil eval DATA/scifact DATA/xreact-ko
  trefoil eval DATA/scifact --strategies keyword --no-rerank --run keyword.trec
  trefoil eval DATA/scifact --compare keyword.trec hybrid.trec")]
    Eval(EvalArgs),
    /// Choose how lists are fused by evidence, and write a profile
    #[command(after_help = "\
Tries fusers, weights, depths and reranking on collections in BEIR layout, for all questions
and for each pair of languages. What is adopted has held on questions that it was not
chosen on. Settings that come out as they were leave nothing to adopt.

Examples:
  trefoil tune DATA/scifact DATA/xreact-ko
  trefoil tune DATA/mine --output mine.toml && trefoil eval DATA/mine --profile mine.toml")]
    Tune(TuneArgs),
    /// Fit the probability that a question is answered to the evidence of a search, and write a profile
    #[command(after_help = "\
A folder is a collection in BEIR layout. Its questions for which nothing is judged to be right
are the unanswered ones; where it has none, questions that mean nothing, those of the other
collections and its own without their answers are. A
TOML file holds [[case]] tables over the index (`--index`): id, question and answers, which
are empty where nothing answers. Each language is fitted on its own, and refused where
the two kinds do not separate.

Examples:
  trefoil calibrate DATA/scifact DATA/cranfield DATA/jsquad-ja
  trefoil calibrate questions.toml --index notes.trefoil --output notes.toml")]
    Calibrate(CalibrateArgs),
    /// Fetch, add, list and check models
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Show what the documents mention and how it hangs together
    #[command(after_help = "\
Examples:
  trefoil graph                         the entities that most passages mention
  trefoil graph \"Ada Lovelace\"         what is said of one
  trefoil graph --svg --limit 60 > graph.svg
  trefoil graph \"Ada Lovelace\" --dot | dot -Tpng > ada.png")]
    Graph(GraphArgs),
    /// Observe, recall, correct and forget
    #[command(subcommand)]
    Memory(Box<MemoryCommand>),
    /// Say what the index holds
    #[command(after_help = "\
Examples:
  trefoil stats
  trefoil stats --index ~/notes/.trefoil --json")]
    Stats,
    /// Check every part of the index; changes nothing
    #[command(after_help = "\
Reads every file, compares every checksum, and each index with the store, row by row. Works
while another process writes, on a read-only copy, and on a snapshot.

Exit codes: 0 sound, 1 something is wrong, 3 it could not be checked.

Examples:
  trefoil verify
  trefoil verify --index notes.snapshot --json")]
    Verify,
    /// Set aside what is damaged and rebuild it
    #[command(after_help = "\
Indexes are rebuilt from the store. Of a damaged store, what can be read is saved into a new
one, and the files that lost something are named. Nothing is deleted: what was damaged is in
the folder damaged-N of the index.

Exit codes: 0 sound now, 1 something is still wrong, 3 it could not be repaired.

Examples:
  trefoil repair
  trefoil repair && trefoil index docs/")]
    Repair,
    /// Look at how well the index does its work
    #[command(after_help = "\
Asks a sample of passages for themselves, compares the approximate vector search with the
exact one, and counts what no question finds, what is there twice, what lags and what failed.

Exit codes: 0 healthy, 1 something should be done, 3 it could not be looked at.

Examples:
  trefoil doctor
  trefoil doctor --sample 1000 --seed 7 --json")]
    Doctor(DoctorArgs),
    /// Write the index into one file
    #[command(after_help = "\
The file is named by its content: the same index gives the same id. It can be searched as it
is (`--index FILE`), and `trefoil import` makes an index of it.

Examples:
  trefoil export notes.snapshot
  trefoil search tides --index notes.snapshot")]
    Export {
        /// The file to write; must not be there
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Make an index of a file that `export` wrote
    #[command(after_help = "\
Everything is checked before anything is put in place. An index that is there is not replaced.

Examples:
  trefoil import notes.snapshot
  trefoil import notes.snapshot --index ~/notes/.trefoil")]
    Import {
        /// The file
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Answer requests over HTTP, and keep the index of some files up to date
    #[command(after_help = "\
Prints its address. Words are found at once, meanings as vectors arrive. Whoever asks needs a
token: `trefoil token show` prints one that is valid as long as the server runs, and
`trefoil token create` makes others. `GET /docs` lists what there is to ask for.

Examples:
  trefoil serve ~/notes
  trefoil serve ~/notes --open
  trefoil serve --index notes=notes.trefoil --index work=work.trefoil
  trefoil serve --read-only --addr 127.0.0.1:9000")]
    Serve(ServeArgs),
    /// Answer a coding agent or a chat program by the Model Context Protocol
    #[cfg(feature = "mcp")]
    #[command(after_help = "\
The program starts it and talks over standard input and output. Where `trefoil serve` has the
index open, it is asked instead, so that the models are in memory once. Nothing is fetched.

Examples:
  trefoil mcp --print-config claude-code
  trefoil mcp --tools documents,memory,write
  trefoil mcp --read-only")]
    Mcp(McpArgs),
    /// Set up a database that holds an index for several machines, and see who is there
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Make, list and end tokens for `serve`
    #[command(subcommand)]
    Token(TokenCommand),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  trefoil completions bash > ~/.local/share/bash-completion/completions/trefoil
  trefoil completions zsh > \"${fpath[1]}/_trefoil\"
  trefoil completions fish > ~/.config/fish/completions/trefoil.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write one for each command
    #[command(after_help = "\
Examples:
  trefoil man | man -l -
  trefoil man ~/.local/share/man/man1")]
    Man {
        /// Folder for one page a command; made if absent
        #[arg(value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DemoArgs {
    /// Fetch no models: use those that are there, else keywords only
    #[arg(long)]
    pub(crate) no_pull: bool,
    /// Tell a small story of what memory observes, recalls, lets age and forgets
    #[arg(long)]
    pub(crate) memory: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct IndexArgs {
    /// Files and folders
    #[arg(required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Go on until Ctrl-C, and index what changes
    #[arg(long)]
    pub(crate) watch: bool,
    /// Fetch the models first if they are absent
    #[arg(long)]
    pub(crate) pull: bool,
    /// Remove what is gone from a path even if that is most of it, or the path itself
    #[arg(long)]
    pub(crate) prune: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RemoveArgs {
    /// Files and folders, or keys of documents
    #[arg(required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    /// How many passages are asked for
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) sample: usize,
    /// They are to be among so many results, 1–100
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// Which passages: the same for the same number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// What of the graph to show.
#[derive(Debug, ClapArgs)]
pub(crate) struct GraphArgs {
    /// An entity by its name, however it is spelt
    pub(crate) entity: Option<String>,
    /// How many entities are shown
    #[arg(short, long, default_value_t = 20, value_name = "N")]
    pub(crate) limit: usize,
    /// Draw them in the language of Graphviz
    #[arg(long, conflicts_with_all = ["svg", "json"])]
    pub(crate) dot: bool,
    /// Draw them as SVG
    #[arg(long, conflicts_with = "json")]
    pub(crate) svg: bool,
    #[command(flatten)]
    pub(crate) filters: FilterArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WhyNotArgs {
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// The passage: a chunk's id, or the path of an indexed file
    #[arg(value_name = "CHUNK|PATH")]
    pub(crate) passage: String,
}

#[derive(Debug, ClapArgs)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch of the command line"
)]
pub(crate) struct SearchArgs {
    /// The question, 1–1,000 characters. Of one to three words, passages that have them as they are
    /// written come first. Quotes and operators have no special meaning
    pub(crate) query: String,
    /// How many results, 1–100
    #[arg(short = 'n', long, default_value_t = 10)]
    pub(crate) limit: usize,
    /// How many results to skip
    #[arg(long, default_value_t = 0)]
    pub(crate) offset: usize,
    /// Go on where a page ended: the `nextCursor` of its JSON
    #[arg(long, value_name = "CURSOR", conflicts_with = "offset")]
    pub(crate) cursor: Option<Cursor>,
    /// Most results of one file, 1–100 [default: any number]
    #[arg(long, value_name = "N")]
    pub(crate) per_file: Option<usize>,
    /// Show also what adjoins a better result of its section
    #[arg(long)]
    pub(crate) adjoining: bool,
    /// Leave out what says the same as better results
    #[arg(long)]
    pub(crate) diverse: bool,
    /// The least relevance of what the semantic retriever finds, 0–1 [default: none]
    #[arg(long, value_name = "SCORE", value_parser = score)]
    pub(crate) min_similarity: Option<Score>,
    /// Which strategies run, separated by commas [default: hybrid]
    #[arg(long, value_delimiter = ',', value_name = "STRATEGY", value_parser = choice::<SearchStrategy>(STRATEGIES))]
    pub(crate) strategies: Vec<SearchStrategy>,
    /// Which types of results are wanted, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "TYPE", value_parser = choice::<SearchResultType>(RESULT_TYPES))]
    pub(crate) results: Vec<SearchResultType>,
    /// What kind of answer is wanted; left out, it is told from the question
    #[arg(long = "type", value_name = "TYPE", value_parser = choice::<QueryType>(QUERY_TYPES))]
    pub(crate) query_type: Option<QueryType>,
    /// Print whole passages with what stands before and after them
    #[arg(long)]
    pub(crate) full: bool,
    /// Show how each result came to its place
    #[arg(long)]
    pub(crate) explain: bool,
    /// Leave the fused order as it is
    #[arg(long)]
    pub(crate) no_rerank: bool,
    /// Read many passages with the question, not only the first few
    #[arg(long, conflicts_with = "no_rerank")]
    pub(crate) thorough: bool,
    /// Grade the evidence and repair it
    #[arg(long)]
    pub(crate) crag: bool,
    /// How long the search may take, 1–600,000; what is not done by then is left out
    #[arg(long, value_name = "MILLISECONDS")]
    pub(crate) timeout: Option<u32>,
    /// Print what is found by keyword before the model is loaded, then the results
    #[arg(long)]
    pub(crate) progressive: bool,
    /// The least score, 0–1 [default: 0.3]
    #[arg(long, value_name = "SCORE", value_parser = score, help_heading = "Filters")]
    pub(crate) min_relevance: Option<Score>,
    #[command(flatten)]
    pub(crate) filters: FilterArgs,
}

/// Which documents are looked at. Each holds on every retriever.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArgs {
    /// Only this language; may be repeated
    #[arg(long = "lang", value_name = "LANG", value_parser = choice::<Language>(LANGUAGES))]
    pub(crate) languages: Vec<Language>,
    /// Only paths that match this glob
    #[arg(long, value_name = "GLOB")]
    pub(crate) path_glob: Option<String>,
    /// Only documents with this tag; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only this file; may be repeated
    #[arg(long = "file-id", value_name = "fil_…")]
    pub(crate) file_ids: Vec<FileId>,
    /// Only documents dated on or after this day
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) since: Option<Date>,
    /// Only documents dated on or before this day
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) until: Option<Date>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples() {
        fn check(command: &clap::Command) {
            for command in command.get_subcommands() {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(
                    command.has_subcommands() || help.contains("  trefoil "),
                    "{}",
                    command.get_name()
                );
                check(command);
            }
        }
        check(&Args::command());
    }
}
