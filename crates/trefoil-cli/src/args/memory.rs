//! What the commands of memory take.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueHint};
use trefoil::memory::{BoundaryClass, ClaimId, SessionId};
use trefoil_memory::{
    AllowTag, ContextRequest, FeedbackSignal, ObservationKind, PolicyVersion, Rating, Scope,
    SourceType,
    recall::{RecallProfile, RecallQuery},
};

use super::value::one_of;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Tell what happened; what it says is learnt at once
    #[command(after_help = "\
What the policy cuts out, such as addresses and keys, is never stored. Claims, things left to
do and names are found by rules, in English, Japanese and Korean.

Examples:
  trefoil memory observe \"Mika lives in Kyoto and prefers green tea.\"
  trefoil memory observe \"다음 주 금요일까지 보고서를 보내야 한다\" --actor 지훈
  trefoil memory observe \"Which tea?\" --reply \"Green tea.\" --note place=kitchen
  cargo test 2>&1 | trefoil memory observe --kind bash --source tool")]
    Observe(ObserveArgs),
    /// Ask what is known; without a question, what is most worthwhile
    #[command(after_help = "\
A request sees what is public or internal, unless it asks for another class with a tag that
the policy admits to it.

Examples:
  trefoil memory recall \"where does Mika live?\"
  trefoil memory recall \"미카의 전화\" --class pii --allow tool:contact-lookup
  trefoil memory recall \"what does Mika drink?\" --explain --json")]
    Recall(RecallArgs),
    /// Say what a claim is worth
    #[command(after_help = "\
helpful raises utility and confidence, harmful lowers both, outdated lowers confidence, and
duplicate merges the claim into the one that says the same.

Examples:
  trefoil memory feedback clm_01JD2Z8Q7C helpful
  trefoil memory feedback clm_01JD2Z8Q7C duplicate --of clm_01JD2Z5N3B")]
    Feedback(FeedbackArgs),
    /// Put together what to tell a language model, within its window
    #[command(after_help = "\
Six tenths of the window are used: facts that hold, what happened lately, persons and topics,
what is left to do, and what was said that is relevant to the question.

Examples:
  trefoil memory context \"plan the week with Mika\"
  trefoil memory context \"회의 준비\" --window 4096 --about \"the project of the bridge\"")]
    Context(ContextArgs),
    /// Let memory age: summarise, consolidate, discard and erase what is due
    #[command(after_help = "\
Says of each thing what was done and why. Claims that name files or commits as their sources
are held against them: what has changed is no longer verified.

Examples:
  trefoil memory maintain --dry-run
  trefoil memory maintain --git ~/project")]
    Maintain(MaintainArgs),
    /// Forget for good, with everything that was made from it, and prove it
    #[command(after_help = "\
Every file is rewritten and searched for what was erased: it costs as much as writing the
whole index.

Examples:
  trefoil memory forget Mika
  trefoil memory forget --unit obs_01JD2Z8Q7C
  trefoil memory forget --document notes/2024.md")]
    Forget(ForgetArgs),
    /// Show, check and apply policies
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Show all that is known of a claim, an observation, a summary or a loop
    #[command(after_help = "\
Without an id, an overview. No boundary is asked: this is for who looks after it.

Examples:
  trefoil memory show
  trefoil memory show clm_01JD2Z8Q7C --json")]
    Show {
        /// Its id
        id: Option<String>,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ObserveArgs {
    /// What happened, 1–65,536 bytes; read from stdin if left out
    pub(crate) text: Option<String>,
    /// What was answered, in a turn of a conversation
    #[arg(long, value_name = "TEXT")]
    pub(crate) reply: Option<String>,
    /// What a picture that came with it shows
    #[arg(long, value_name = "TEXT")]
    pub(crate) image: Option<String>,
    /// A circumstance, such as `place=at the desk`; may be repeated
    #[arg(long = "note", value_name = "NAME=TEXT", value_parser = note)]
    pub(crate) notes: Vec<(String, String)>,
    /// What it is
    #[arg(long, value_name = "KIND", default_value = "message", value_parser = one_of::<ObservationKind>(ObservationKind::NAMES))]
    pub(crate) kind: ObservationKind,
    /// Where it comes from
    #[arg(long, value_name = "SOURCE", default_value = "chat", value_parser = one_of::<SourceType>(SourceType::NAMES))]
    pub(crate) source: SourceType,
    /// Which file, address or tool
    #[arg(long, value_name = "ID")]
    pub(crate) source_id: Option<String>,
    /// Who told it
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// It is a message that the program sent unasked: nothing is learnt from it
    #[arg(long)]
    pub(crate) proactive: bool,
    /// The session in which it happened
    #[arg(long, value_name = "ses_…")]
    pub(crate) session: Option<SessionId>,
    /// A label; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Who may see it; what is found in it can only raise this
    #[arg(long, value_name = "CLASS", default_value = "internal", value_parser = one_of::<BoundaryClass>(BoundaryClass::NAMES))]
    pub(crate) class: BoundaryClass,
    /// For how many days its words are kept, 1–90
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub(crate) days: u8,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RecallArgs {
    /// The question
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) question: String,
    /// How many claims, 1–50
    #[arg(short = 'n', long, value_name = "N", default_value_t = RecallQuery::TOP_K)]
    pub(crate) limit: usize,
    /// How to search
    #[arg(long = "search", id = "search", value_name = "PROFILE", default_value = "hybrid", value_parser = one_of::<RecallProfile>(RecallProfile::NAMES))]
    pub(crate) profile: RecallProfile,
    /// What was said before, for the profile `episodes`; may be repeated
    #[arg(long = "turn", value_name = "TEXT")]
    pub(crate) turns: Vec<String>,
    /// Show what each score is made of
    #[arg(long)]
    pub(crate) explain: bool,
    /// Keep what was found as a context, for a day at most
    #[arg(long)]
    pub(crate) save: bool,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ContextArgs {
    /// What is being said; left out, what is most worthwhile
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) question: String,
    /// Tokens of the model's window
    #[arg(long, value_name = "TOKENS", default_value_t = ContextRequest::WINDOW)]
    pub(crate) window: u32,
    /// What the work is about; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) about: Vec<String>,
    /// Keep the claims as a context, for a day at most
    #[arg(long)]
    pub(crate) save: bool,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MaintainArgs {
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Let summaries of persons and topics hold personal data
    #[arg(long)]
    pub(crate) with_personal_data: bool,
    /// Folder that claims name files of
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) files: PathBuf,
    /// Repository that claims name files and commits of, in place of the folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) git: Option<PathBuf>,
}

/// What a request may see.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Boundary")]
pub(crate) struct RequestArgs {
    /// Only this scope; may be repeated
    #[arg(long = "scope", value_name = "SCOPE", value_parser = one_of::<Scope>(Scope::NAMES))]
    pub(crate) scopes: Vec<Scope>,
    /// Only this class; may be repeated [default: public, internal]
    #[arg(long = "class", value_name = "CLASS", value_parser = one_of::<BoundaryClass>(BoundaryClass::NAMES))]
    pub(crate) classes: Vec<BoundaryClass>,
    /// What the request says of itself, such as tool:contact-lookup; may be repeated
    #[arg(long = "allow", value_name = "TAG")]
    pub(crate) allow: Vec<AllowTag>,
    /// The session that asks: its claims are seen too
    #[arg(long, value_name = "ses_…")]
    pub(crate) session: Option<SessionId>,
    /// Who asks, for rules of the policy that want to know
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// The tool that asks, for rules of the policy that want to know
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FeedbackArgs {
    /// The claim
    #[arg(value_name = "clm_…")]
    pub(crate) claim: ClaimId,
    /// What is said of it
    #[arg(value_name = "SIGNAL", value_parser = one_of::<FeedbackSignal>(FeedbackSignal::NAMES))]
    pub(crate) signal: FeedbackSignal,
    /// How much, −1 to 1; kept, and never used
    #[arg(long, value_name = "SCORE", value_parser = rating, allow_hyphen_values = true)]
    pub(crate) score: Option<Rating>,
    /// The claim that says the same [default: the nearest in meaning]
    #[arg(long = "of", value_name = "clm_…")]
    pub(crate) duplicate_of: Option<ClaimId>,
}

#[derive(Debug, ClapArgs)]
#[group(required = true, multiple = false)]
pub(crate) struct ForgetArgs {
    /// A person or a thing: all that speaks of it
    pub(crate) subject: Option<String>,
    /// A claim, an observation, a summary or a loop
    #[arg(long, value_name = "ID")]
    pub(crate) unit: Option<String>,
    /// An indexed document; the file itself stays
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) document: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Print a policy; without a version, the one that holds
    #[command(after_help = "\
Examples:
  trefoil memory policy show > policy.yaml
  trefoil memory policy show 1.0.0")]
    Show {
        /// Its version
        version: Option<PolicyVersion>,
    },
    /// Check a policy and make it the one that holds
    #[command(after_help = "\
Every mistake is told, with what is allowed. Earlier versions are kept.

Examples:
  trefoil memory policy apply policy.yaml --dry-run
  trefoil memory policy apply policy.yaml")]
    Apply {
        /// The policy, as YAML
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Only check it
        #[arg(long)]
        dry_run: bool,
    },
}

fn note(text: &str) -> Result<(String, String), String> {
    let (name, text) = text.split_once('=').ok_or("give it as `name=text`")?;
    Ok((name.trim().to_owned(), text.trim().to_owned()))
}

fn rating(text: &str) -> anyhow::Result<Rating> {
    Ok(Rating::new(text.parse()?)?)
}
