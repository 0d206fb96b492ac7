//! A small story in three languages: what memory observes, recalls, is told of it, lets age
//! and forgets, and why.

use std::{
    fmt::Write,
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use jiff::Timestamp;
use serde::Serialize;
use trefoil::{
    Engine, Error,
    admin::{Clock, ForgetReceipt, SystemClock},
    memory::BoundaryClass,
};
use trefoil_memory::{
    AllowTag, Boundary, ContentProbe, ContextRequest, FeedbackInput, FeedbackOutcome,
    FeedbackSignal, MaintainOptions, MaintenanceReport, Memory, ObservationDraft, PackedContext,
    RecalledClaims, UnitRecord, recall::RecallQuery,
};

use crate::{
    command::{
        Outcome,
        fill::{note_missing_model, shown},
        memory::{feedback, forget, maintain, observe, paragraph, recall},
    },
    console::{columns, print},
    settings::Settings,
    show::{DIM, TITLE, printable},
};

/// One thing that happens in the story.
enum Scene {
    /// Somebody says something.
    Tell { who: &'static str, words: &'static str },
    /// A request asks, with this class and tag besides what every request has.
    Ask { question: &'static str, as_well: Option<(BoundaryClass, &'static str)> },
    /// Somebody says what the first answer to a question was worth.
    Judge { question: &'static str, signal: FeedbackSignal },
    /// What a language model is told.
    Pack { question: &'static str },
    /// Time passes, and memory is looked after.
    Wait { days: i64 },
    /// Somebody is to be forgotten.
    Forget { subject: &'static str },
}

use Scene::{Ask, Forget, Judge, Pack, Tell, Wait};

const fn ask(question: &'static str) -> Scene {
    Ask { question, as_well: None }
}

/// Mika, 健太 and 지훈 prepare a concert.
const STORY: [(&str, &[Scene]); 7] = [
    (
        "Three people prepare a concert, each in their own language",
        &[
            Tell { who: "Mika", words: "I live in Kyoto and I prefer green tea." },
            Tell {
                who: "健太",
                words: "今は大阪に住んでいます。パクチーが苦手です。\
                        金曜日までに会場を予約しなければならない。",
            },
            Tell {
                who: "지훈",
                words: "저는 매운 음식을 좋아하지 않아요. 악보는 항상 두 부씩 인쇄해야 합니다.",
            },
            Tell {
                who: "Mika",
                words: "I work at the city library; write to mika@example.com there.",
            },
        ],
    ),
    (
        "What is known is asked for, by words and by meaning",
        &[
            ask("what does Mika like to drink?"),
            ask("健太はどこに住んでいますか"),
            ask("지훈이 싫어하는 음식은?"),
            ask("who is from Osaka?"),
        ],
    ),
    (
        "What was told with an address is personal: only a request that may see it does",
        &[
            ask("where does Mika work?"),
            Ask {
                question: "where does Mika work?",
                as_well: Some((BoundaryClass::Pii, "tool:contact-lookup")),
            },
        ],
    ),
    (
        "Somebody moves: the newest holds, and what was so before is not lost",
        &[
            Tell { who: "Mika", words: "I moved to Fukuoka last week." },
            ask("where does Mika live?"),
        ],
    ),
    (
        "What answers are worth is told, and moves them",
        &[
            Judge { question: "what does Mika like to drink?", signal: FeedbackSignal::Helpful },
            Judge {
                question: "지훈이 싫어하는 음식은?", signal: FeedbackSignal::Outdated
            },
            Pack { question: "plan a dinner for Mika, 健太 and 지훈" },
        ],
    ),
    (
        "Time passes: words are erased after a month, what nobody checks fades",
        &[Wait { days: 10 }, Wait { days: 30 }, Wait { days: 120 }],
    ),
    ("Mika wants to be forgotten", &[Forget { subject: "Mika" }, ask("what does Mika drink?")]),
];

/// What a scene brought, on the wire.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum SceneOutcome {
    Told(Box<UnitRecord>),
    Recalled {
        question: &'static str,
        found: Box<RecalledClaims>,
    },
    #[serde(rename = "heard")]
    Feedback(FeedbackOutcome),
    Packed(Box<PackedContext>),
    Maintained(MaintenanceReport),
    Forgotten(ForgetReceipt),
}

/// Tells the story in an index of its own, which is rebuilt each time.
pub(super) fn run(settings: &Settings) -> anyhow::Result<Outcome> {
    let index = settings.home.root().join("demo/memory");
    remove(&index)?;
    let clock = Arc::new(StoryClock(AtomicI64::new(SystemClock.now())));
    let config =
        trefoil::EngineConfig { clock: Arc::clone(&clock) as _, ..settings.engine.clone() };
    let engine = Arc::new(Engine::open_with(&index, config)?);
    note_missing_model(&engine, settings.console)?;
    let teller = Teller { memory: Memory::new(Arc::clone(&engine)), engine, clock };
    let mut shown_scenes = Vec::new();
    for (heading, scenes) in &STORY {
        if !settings.console.json {
            print(format_args!("{DIM}{}{DIM:#}\n{TITLE}{heading}{TITLE:#}\n\n", rule()))?;
        }
        for scene in *scenes {
            let happened = teller.play(scene)?;
            if settings.console.json {
                shown_scenes.push(happened);
            } else {
                print(format_args!("{}\n", text(scene, &happened)))?;
            }
        }
    }
    settings.console.show(&shown_scenes, |_| closing(&index))?;
    Ok(Outcome::Found)
}

/// Plays scenes.
struct Teller {
    memory: Memory,
    engine: Arc<Engine>,
    clock: Arc<StoryClock>,
}

impl Teller {
    fn play(&self, scene: &Scene) -> trefoil::Result<SceneOutcome> {
        let memory = &self.memory;
        Ok(match *scene {
            Tell { who, words } => {
                self.clock.pass(60);
                let draft = ObservationDraft {
                    actor: Some(who.to_owned()),
                    ..ObservationDraft::message(words)
                };
                let observation = memory.observe(draft)?;
                memory.work()?;
                self.engine.memory().wait_until_indexed()?;
                let record = memory.record(observation.id.as_str())?;
                SceneOutcome::Told(Box::new(record.ok_or_else(|| gone(observation.id.as_str()))?))
            }
            Ask { question, as_well } => {
                let found = Box::new(self.ask(question, as_well)?);
                SceneOutcome::Recalled { question, found }
            }
            Judge { question, signal } => {
                let found = self.ask(question, None)?;
                let first = found.claims.into_iter().next().ok_or_else(|| gone(question))?;
                SceneOutcome::Feedback(
                    memory.feedback(&FeedbackInput::new(first.claim.id, signal))?,
                )
            }
            Pack { question } => {
                let mut request = ContextRequest { window: 1024, ..ContextRequest::new(question) };
                request.query.save = false;
                SceneOutcome::Packed(Box::new(memory.context(&request, &Boundary::default())?))
            }
            Wait { days } => {
                self.clock.pass(days * 86_400);
                let options = MaintainOptions::default();
                let done = memory.maintain(&ContentProbe::new("."), &options)?;
                self.engine.memory().wait_until_indexed()?;
                SceneOutcome::Maintained(done)
            }
            Forget { subject } => SceneOutcome::Forgotten(memory.forget_subject(subject)?),
        })
    }

    fn ask(
        &self,
        question: &str,
        as_well: Option<(BoundaryClass, &'static str)>,
    ) -> trefoil::Result<RecalledClaims> {
        let mut boundary = Boundary::default();
        let mut query =
            RecallQuery { top_k: 2, include_meta: true, save: false, ..RecallQuery::new(question) };
        if let Some((class, tag)) = as_well {
            let tag = AllowTag::new(tag)?;
            boundary.boundary_classes.insert(class);
            boundary.allow.insert(tag.clone());
            query.allow.push(tag);
        }
        self.memory.recall(&query, &boundary)
    }
}

/// The story needs what it has just told of: without it there is nothing to go on with.
fn gone(what: &str) -> Error {
    Error::invalid_query("q", what, "a question that memory can answer")
}

/// The time of the story, which passes as it is told.
#[derive(Debug)]
struct StoryClock(AtomicI64);

impl StoryClock {
    fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for StoryClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn remove(index: &Path) -> trefoil::Result<()> {
    match fs::remove_dir_all(index) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", index, error))
        }
        _ => Ok(()),
    }
}

fn rule() -> String {
    "─".repeat(columns())
}

fn text(scene: &Scene, shown: &SceneOutcome) -> String {
    let heading = match scene {
        Tell { who, words } => format!("{TITLE}{who} says{TITLE:#}\n{}", paragraph(words, "  ")),
        Ask { question, as_well: None } => format!("{TITLE}asked{TITLE:#} {question}\n"),
        Ask { question, as_well: Some((class, tag)) } => {
            format!(
                "{TITLE}asked{TITLE:#} {question} {DIM}by {tag}, which may see {class}{DIM:#}\n"
            )
        }
        Judge { question, signal } => {
            format!("{TITLE}the first answer to “{question}” is said to be {signal}{TITLE:#}\n")
        }
        Pack { question } => format!("{TITLE}what a model is told to{TITLE:#} {question}\n"),
        Wait { days } => format!("{TITLE}{days} days pass{TITLE:#}\n"),
        Forget { subject } => format!("{TITLE}forget {subject}{TITLE:#}\n"),
    };
    let body = match shown {
        SceneOutcome::Told(record) => learnt(scene, record),
        SceneOutcome::Recalled { found, .. } => {
            format!("{}{DIM}{}{DIM:#}\n", recall::text(found), found.reason)
        }
        SceneOutcome::Feedback(heard) => feedback::text(heard),
        SceneOutcome::Packed(packed) => format!(
            "{}\n{DIM}{} of {} tokens{DIM:#}\n",
            printable(packed.pack.text.trim_end()),
            packed.pack.tokens,
            packed.pack.budget
        ),
        SceneOutcome::Maintained(done) => {
            let day = Timestamp::strftime(&done.at, "%Y-%m-%d");
            format!("{DIM}it is {day}{DIM:#}\n{}", maintain::text(done))
        }
        SceneOutcome::Forgotten(receipt) => forget::text(receipt),
    };
    heading + &body
}

/// What is stored of what was said, if it is not all of it, and what is learnt of it.
fn learnt(scene: &Scene, record: &UnitRecord) -> String {
    let mut text = String::new();
    if !matches!(scene, Tell { words, .. } if *words == record.text) {
        _ = write!(
            text,
            "{DIM}stored as {}{DIM:#}\n{}",
            record.boundary_class,
            paragraph(&record.text, "  ")
        );
    }
    text += &observe::learnt(&record.made);
    text
}

fn closing(index: &Path) -> String {
    let index = shown(index);
    let mut text = format!("\n{TITLE}Try next{TITLE:#}\n");
    for line in [
        &format!("trefoil memory recall \"매운 음식\" --explain --index {index}"),
        &format!("trefoil memory show --index {index}"),
        "trefoil memory observe \"I prefer window seats.\"",
        "trefoil memory policy show > policy.yaml",
        "trefoil memory --help",
    ] {
        _ = writeln!(text, "  {line}");
    }
    text
}
