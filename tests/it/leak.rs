//! Nothing above the boundary of a request is in anything that memory gives out.
//!
//! Each unit carries a word that no other has. Random requests within random boundaries and
//! under random policies are made of everything that can be asked, and what comes back is
//! searched for the words. Whether a word may be there is computed here again, from the
//! specification, and not by the code that is tested.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    io::Write,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

use fastrand::Rng;
use trefoil::{
    Engine, EngineConfig, Result, Score,
    admin::Clock,
    index::RowId,
    memory::{
        BoundaryClass, ContextId, MemoryUnit, MemoryUpkeep, Payload, SessionId, UnitKind, UnitState,
    },
};
use trefoil_memory::{
    AllowTag, Boundary, ClaimDraft, ContentProbe, ContextNote, ContextRequest, FeedbackInput,
    FeedbackSignal, FindOptions, IdGenerator, Importance, InvariantDefinition, Layer,
    MaintainOptions, Memory, ObservationDraft, Policy, Scope, Tags, Ttl, UnitId,
    recall::{RecallProfile, RecallQuery},
};

use crate::{
    campaign::{progress, rounds},
    files::contents,
    trigrams::with_trigrams,
};

/// Cases that `cargo test` can afford, and how many are under the same policy.
const CASES: u32 = 2_000;
const UNDER_ONE_POLICY: u32 = 50;
const DAY: i64 = 86_400;
/// What units are about: questions ask for these words.
pub(crate) const TOPICS: [&str; 4] = ["walrus", "ferry", "녹차", "銀泉"];
const TAGS: [&str; 4] = ["answer:task", "tool:mail", "tool:contact-lookup", "vault:open"];
const PATTERNS: [&str; 5] = ["*", "answer:task", "tool:*", "tool:contact-lookup", "vault:*"];

#[test]
fn nothing_above_the_boundary_is_in_any_output() {
    let log = Log::default();
    let writer = log.clone();
    let logging = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(logging);
    let mut random = Rng::with_seed(7);
    let world = World::new(&mut random);
    world.check_what_is_stored();
    let (cases, mut seen, mut under) = (rounds(CASES), BTreeMap::new(), None);
    for case in cases.clone() {
        let policy = case / UNDER_ONE_POLICY;
        if under.replace(policy) != Some(policy) {
            world.apply(policy);
        }
        let mut random = Rng::with_seed(u64::from(case));
        Request::random(&mut random, &world).check(&world, &mut random, &mut seen);
        progress("leak", case, &cases);
    }
    world.check_what_is_stored();
    let log = log.0.lock().unwrap();
    assert_eq!(words(&String::from_utf8_lossy(&log)), BTreeSet::new(), "the log tells");
    // Every output does tell what it may, so that silence is no proof.
    println!("leak: cases {cases:?}, words told by {seen:?}");
    let outputs = ["context", "distill", "episodes", "near", "recall", "search", "views"];
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), outputs);
}

/// A clock that stands where it is put.
#[derive(Debug)]
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Everything that was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Who may see a unit, by what it was written with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Carrier {
    kind: UnitKind,
    class: BoundaryClass,
    scope: Option<Scope>,
    session: Option<SessionId>,
}

/// A memory full of words that must not be told.
pub(crate) struct World {
    dir: tempfile::TempDir,
    engine: Arc<Engine>,
    memory: Memory,
    sessions: Vec<SessionId>,
    contexts: Vec<ContextId>,
    pub(crate) units: Vec<UnitId>,
    /// Which units carry each word.
    carriers: BTreeMap<String, BTreeSet<Carrier>>,
}

/// How the engine of a world works, by a clock that stands.
fn config(clock: Arc<Hands>) -> EngineConfig {
    let memory = MemoryUpkeep::ASKED_FOR;
    EngineConfig { clock, memory, ..with_trigrams() }
}

impl World {
    pub(crate) fn new(random: &mut Rng) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(Hands(AtomicI64::new(20_000 * DAY)));
        let config = config(Arc::clone(&clock));
        let engine = Arc::new(Engine::open_with(dir.path().join("index"), config).unwrap());
        let memory = Memory::with_ids(Arc::clone(&engine), IdGenerator::seeded(7));
        memory.apply_policy(&policy("2.0.0", &[&["*"], &["*"], &["*"], &["*"]]), false).unwrap();
        let sessions = (0..2).map(|n| memory.create_session(&format!("/p{n}")).unwrap().id);
        let mut world = Self {
            sessions: sessions.collect(),
            contexts: Vec::new(),
            units: Vec::new(),
            carriers: BTreeMap::new(),
            dir,
            engine,
            memory,
        };
        world.fill(random);
        world.list();
        // What is stale is folded, what has expired is scrubbed, and all that is summarised.
        clock.0.fetch_add(2 * DAY, Ordering::SeqCst);
        let personal = MaintainOptions { with_personal_data: true, ..MaintainOptions::default() };
        let done = world.memory.maintain(&ContentProbe::new(""), &personal).unwrap();
        assert!(done.steps.len() > 20, "{done:?}");
        world.list();
        world.engine.wait_until_indexed().unwrap();
        for topic in TOPICS {
            let all = RecallQuery { allow: vec![tag("tool:mail")], ..RecallQuery::new(topic) };
            let found = world.memory.recall(&all, &everything()).unwrap();
            assert!(!found.claims.is_empty());
            world.contexts.push(found.context.id);
        }
        world
    }

    /// Closes it, lets `open` open the same index by another way, and goes on with that engine.
    pub(crate) fn opened_by<T>(
        self,
        open: impl FnOnce(&Path, EngineConfig) -> (T, Arc<Engine>),
    ) -> (T, Self) {
        let Self { dir, engine, memory, sessions, contexts, units, carriers } = self;
        drop((memory, engine));
        let clock = Arc::new(Hands(AtomicI64::new(20_002 * DAY)));
        let (by, engine) = open(&dir.path().join("index"), config(clock));
        let memory = Memory::new(Arc::clone(&engine));
        (by, Self { dir, engine, memory, sessions, contexts, units, carriers })
    }

    /// Tells of every topic in every class, scope and session.
    fn fill(&self, random: &mut Rng) {
        let mut number = 0;
        let mut text = |topic: &str, class: BoundaryClass| {
            number += 1;
            format!("The {topic} of station {number} is seen with zq{}x{number:04}.", class.code())
        };
        for &class in BoundaryClass::ALL {
            for topic in TOPICS {
                for session in [None, Some(&self.sessions[0]), Some(&self.sessions[1])] {
                    let draft = ObservationDraft {
                        boundary_class: class,
                        session: session.cloned(),
                        actor: Some("Queen Victoria".to_owned()),
                        tags: Tags::new([topic]).unwrap(),
                        lifetime_days: if random.bool() { 1 } else { 30 },
                        reply_text: random.bool().then(|| text(topic, class)),
                        image_summary: random.bool().then(|| text(topic, class)),
                        context_note: Some(
                            ContextNote::new([("place", text(topic, class))]).unwrap(),
                        ),
                        ..ObservationDraft::message(text(topic, class))
                    };
                    let seen = self.memory.observe(draft).unwrap();
                    let scope = session
                        .map_or(*random.choice(&Scope::ALL[1..]).unwrap(), |_| Scope::Session);
                    let claim = ClaimDraft {
                        boundary_class: class,
                        scope,
                        session: session.cloned(),
                        importance: random.choice(&[Importance::S0, Importance::S1]).copied(),
                        ttl: Some(
                            if random.bool() { Ttl::hours(12) } else { Ttl::days(90) }.unwrap(),
                        ),
                        subject: random.bool().then(|| topic.to_owned()),
                        pin: random.u8(0..8) == 0,
                        ..ClaimDraft::observed(text(topic, class), seen.id)
                    };
                    // One that is said to be of a lower class than what it comes from is not.
                    let lower = random.u8(0..4) == 0 && class > BoundaryClass::Public;
                    let claim = if lower {
                        ClaimDraft { boundary_class: BoundaryClass::Public, ..claim }
                    } else {
                        claim
                    };
                    self.memory.insert_claim(claim).unwrap();
                }
                let task = format!("I need to {}", text(topic, class).to_lowercase());
                let draft =
                    ObservationDraft { boundary_class: class, ..ObservationDraft::message(task) };
                self.memory.observe(draft).unwrap();
            }
        }
        self.memory.work().unwrap();
    }

    /// Notes which units carry which words; summaries are told from what they are made of.
    fn list(&mut self) {
        for unit in self.all() {
            let id: UnitId = unit.unit.id.parse().unwrap();
            if !self.units.contains(&id) {
                self.units.push(id);
            }
            let (scope, session) = match &unit.payload {
                Payload::Claim(claim) => {
                    (Some(claim.scope.parse().unwrap()), claim.session.clone())
                }
                Payload::Episode(_) | Payload::Loop(_) => (None, None),
                Payload::Summary(_) => continue,
            };
            let carrier = Carrier {
                kind: unit.payload.kind(),
                class: unit.unit.boundary,
                scope,
                session: session.map(|session| session.parse().unwrap()),
            };
            for word in words(&unit.payload.texts().join("\n")) {
                assert!(class_of(&word) <= carrier.class, "{unit:?}");
                self.carriers.entry(word).or_default().insert(carrier.clone());
            }
        }
    }

    fn all(&self) -> Vec<MemoryUnit> {
        let memory = self.engine.memory();
        let rows: Vec<RowId> = (1..5_000).map(RowId::new).collect();
        memory.read("look at everything", |read| read.units(&rows)).unwrap()
    }

    /// Another policy: who may see which class.
    pub(crate) fn apply(&self, number: u32) {
        let mut random = Rng::with_seed(u64::from(number));
        let mut some = || {
            let patterns = PATTERNS.iter().copied();
            patterns.filter(|_| random.u8(0..3) == 0).collect::<Vec<_>>()
        };
        let allow = [some(), some(), some(), some()];
        let allow = allow.each_ref().map(Vec::as_slice);
        let yaml = policy(&format!("3.{number}.0"), &[allow[0], allow[1], allow[2], allow[3]]);
        self.memory.apply_policy(&yaml, false).unwrap();
    }

    /// No event and no failed job holds a word; no summary, vector or index one that is
    /// secret; and a summary has the class of the highest that it tells.
    fn check_what_is_stored(&self) {
        let memory = self.engine.memory();
        let events = memory.read("look", |read| read.events(None, 0, usize::MAX)).unwrap();
        assert!(events.len() > 100);
        for event in events {
            assert_eq!(words(&event.payload_json), BTreeSet::new(), "{event:?}");
        }
        let mut in_indexes = 0;
        for unit in self.all() {
            let text = unit.payload.text();
            let secret = unit.unit.boundary == BoundaryClass::Secret;
            let found = !secret && unit.unit.state != UnitState::Archived && !text.is_empty();
            in_indexes += u64::from(found);
            if secret {
                assert!(memory.vectors(&[unit.row]).unwrap().is_empty(), "{unit:?}");
                assert!(!matches!(unit.payload, Payload::Summary(_)), "{unit:?}");
            }
            if matches!(unit.payload, Payload::Summary(_)) {
                for word in words(&unit.payload.texts().join("\n")) {
                    assert!(class_of(&word) <= unit.unit.boundary, "{unit:?}");
                }
            }
        }
        for (retriever, rows) in memory.rows() {
            assert_eq!(rows, in_indexes, "{retriever}");
        }
        let secrets: Vec<&String> =
            self.carriers.keys().filter(|word| class_of(word) == BoundaryClass::Secret).collect();
        assert!(secrets.len() > 20);
        for (file, bytes) in contents(&self.dir.path().join("index/memory")) {
            let told = words(&String::from_utf8_lossy(&bytes));
            assert!(secrets.iter().all(|word| !told.contains(*word)), "{}", file.display());
        }
    }
}

/// One request within a boundary, and what it may see.
pub(crate) struct Request {
    pub(crate) query: RecallQuery,
    boundary: Boundary,
    classes: BTreeSet<BoundaryClass>,
    scopes: BTreeSet<Scope>,
    /// The scopes in which only public claims may be told.
    public_only: BTreeSet<Scope>,
    policy: Policy,
}

/// A boundary, and the scopes in which it lets only public claims be told.
pub(crate) fn random_boundary(random: &mut Rng) -> (Boundary, BTreeSet<Scope>) {
    let mut boundary = Boundary {
        scope: some(random, Scope::ALL).into_iter().collect(),
        boundary_classes: some(random, BoundaryClass::ALL).into_iter().collect(),
        allow: some(random, &PATTERNS).into_iter().map(tag).collect(),
        invariants: Vec::new(),
    };
    let mut public_only = BTreeSet::new();
    if random.u8(0..4) == 0 {
        let scope = *random.choice(Scope::ALL).unwrap();
        public_only.insert(scope);
        boundary.invariants.push(InvariantDefinition {
            name: "public only".to_owned(),
            applies_to: vec![scope.to_string()],
            rule: "claim.boundary_class == 'public'".to_owned(),
        });
    }
    (boundary, public_only)
}

/// About two of three.
fn some<T: Copy>(random: &mut Rng, all: &[T]) -> Vec<T> {
    all.iter().copied().filter(|_| random.u8(0..3) > 0).collect()
}

impl Request {
    fn random(random: &mut Rng, world: &World) -> Self {
        let within = random_boundary(random);
        Self::within(random, world, within)
    }

    pub(crate) fn within(
        random: &mut Rng,
        world: &World,
        within: (Boundary, BTreeSet<Scope>),
    ) -> Self {
        let allow: Vec<AllowTag> = some(random, &TAGS).into_iter().map(tag).collect();
        let narrowed = (some(random, Scope::ALL), some(random, BoundaryClass::ALL));
        let word = random.choice(world.carriers.keys()).unwrap();
        let topic = *random.choice(&TOPICS).unwrap();
        let q = match random.u8(0..5) {
            0 => String::new(),
            1 => word.clone(),
            2 => format!("Where was {word} seen with the {topic}?"),
            3 => format!("what of station {} and the {topic}", random.u8(..)),
            _ => topic.to_owned(),
        };
        let query = RecallQuery {
            allow,
            scope: random.bool().then(|| narrowed.0.into_iter().collect()),
            boundary_classes: random.bool().then(|| narrowed.1.into_iter().collect()),
            session: random.choice(&world.sessions).filter(|_| random.bool()).cloned(),
            top_k: random.usize(1..=50),
            include_meta: random.bool(),
            diverse: random.bool(),
            save: false,
            profile: if random.bool() {
                RecallProfile::Hybrid
            } else {
                RecallProfile::KeywordFirst
            },
            recent_turns: if random.bool() {
                vec![format!("we spoke of {topic}")]
            } else {
                Vec::new()
            },
            ..RecallQuery::new(q)
        };
        Self::asking(query, world, within)
    }

    pub(crate) fn asking(
        query: RecallQuery,
        world: &World,
        (boundary, public_only): (Boundary, BTreeSet<Scope>),
    ) -> Self {
        let policy = world.memory.policy().unwrap();
        let (scopes, classes) = admitted(&query, &boundary, &policy);
        Self { query, boundary, classes, scopes, public_only, policy }
    }

    /// Asks all there is to ask.
    fn check(&self, world: &World, random: &mut Rng, seen: &mut BTreeMap<&'static str, u32>) {
        let Self { query, boundary, .. } = self;
        let memory = &world.memory;
        let mut look = |output, told: String, limit| {
            let found = self.leaks(world, &told, limit);
            assert_eq!(
                found.0,
                BTreeSet::new(),
                "{output}: {query:?} {boundary:?} {:?}",
                self.policy
            );
            if found.1 > 0 {
                *seen.entry(output).or_default() += 1;
            }
        };
        let pii = BoundaryClass::Pii;
        look("recall", told(memory.recall(query, boundary)), BoundaryClass::Secret);
        look("episodes", told(memory.episodes(query, boundary)), pii);
        let request = ContextRequest { query: query.clone(), ..ContextRequest::new("") };
        look("context", told(memory.context(&request, boundary)), pii);
        let context = random.choice(&world.contexts).unwrap();
        look("distill", told(memory.distill(context, query, boundary)), pii);
        let view = memory.view(query.clone(), boundary.clone());
        let layer = *random.choice(&[Layer::Line, Layer::Context, Layer::Whole]).unwrap();
        let options = FindOptions { layer, limit: query.top_k, ..FindOptions::default() };
        look("search", told(view.search(&query.q, &options)), BoundaryClass::Secret);
        let vector: Vec<f32> = (0..64).map(|_| random.f32() - 0.5).collect();
        look("near", told(view.search_by_embedding(&vector, &options)), pii);
        let asked: Vec<(UnitId, Score)> =
            (0..8).map(|_| (random.choice(&world.units).unwrap().clone(), Score::ONE)).collect();
        look("views", told(view.of(&asked, layer)), BoundaryClass::Secret);
        // What fails must not tell more than what succeeds.
        if let Some(UnitId::Claim(claim)) = asked.iter().map(|(id, _)| id).next() {
            let denied = memory.promote(claim, Scope::Session, query, boundary);
            look("promote", told(denied.map(drop)), BoundaryClass::Public);
            let mut opinion = FeedbackInput::new(claim.clone(), FeedbackSignal::Duplicate);
            opinion.duplicate_of = Some("clm_none".parse().unwrap());
            look("feedback", told(memory.feedback(&opinion).map(drop)), BoundaryClass::Public);
        }
    }

    /// The words of a text that this request may not see, and how many it may.
    pub(crate) fn leaks(
        &self,
        world: &World,
        told: &str,
        highest: BoundaryClass,
    ) -> (BTreeSet<String>, usize) {
        let (may, must_not): (BTreeSet<_>, BTreeSet<_>) =
            words(told).into_iter().partition(|word| {
                world.carriers.get(word).is_some_and(|carriers| {
                    carriers.iter().any(|carrier| carrier.class <= highest && self.may_see(carrier))
                })
            });
        // The words that it asks with it knows.
        let asked = words(&self.query.q);
        let is_error = told.starts_with("error");
        let leaks = must_not.into_iter().filter(|word| !(is_error && asked.contains(word)));
        (leaks.collect(), may.len())
    }

    fn may_see(&self, carrier: &Carrier) -> bool {
        let Carrier { class, scope, session, .. } = carrier;
        self.classes.contains(class)
            && !self.scopes.is_empty()
            && scope.is_none_or(|scope| {
                self.scopes.contains(&scope)
                    && (scope != Scope::Session || *session == self.query.session)
                    && (!self.public_only.contains(&scope) || *class == BoundaryClass::Public)
            })
    }
}

/// The scopes and the classes that a request may see: those of the query that are within the
/// boundary, and of the classes those that one of its tags opens in boundary and policy.
fn admitted(
    query: &RecallQuery,
    boundary: &Boundary,
    policy: &Policy,
) -> (BTreeSet<Scope>, BTreeSet<BoundaryClass>) {
    let default = [tag("answer:task")];
    let tags = if query.allow.is_empty() { &default[..] } else { &query.allow };
    let opens = |patterns: &BTreeSet<AllowTag>, tag: &AllowTag| {
        patterns.iter().any(|pattern| match pattern.as_str().strip_suffix('*') {
            Some(stem) => tag.as_str().starts_with(stem),
            None => pattern == tag,
        })
    };
    let is_open = |class: &BoundaryClass| {
        let patterns = &policy.boundary_classes[class].allow;
        tags.iter().any(|tag| opens(&boundary.allow, tag) && opens(patterns, tag))
    };
    let asked = |class: &BoundaryClass| {
        query.boundary_classes.as_ref().is_none_or(|classes| classes.contains(class))
    };
    let classes = boundary.boundary_classes.iter().copied();
    let wanted = |scope: &Scope| query.scope.as_ref().is_none_or(|scopes| scopes.contains(scope));
    (
        boundary.scope.iter().copied().filter(wanted).collect(),
        classes.filter(|class| asked(class) && is_open(class)).collect(),
    )
}

/// A policy in which these patterns may see public, internal, pii and secret units.
fn policy(version: &str, allow: &[&[&str]; 4]) -> String {
    let classes = ["public", "internal", "pii", "secret"];
    let classes = classes.iter().zip(allow).map(|(class, allow)| {
        let allow: Vec<String> = allow.iter().map(|one| format!("\"{one}\"")).collect();
        format!("  {class}: {{ allow: [{}] }}\n", allow.join(", "))
    });
    let built_in = Policy::BUILT_IN.replace("version: 1.0.0", &format!("version: {version}"));
    let (before, rest) = built_in.split_once("boundary_classes:\n").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    format!("{before}boundary_classes:\n{}\n{after}", classes.collect::<String>())
}

fn everything() -> Boundary {
    Boundary {
        scope: Scope::ALL.iter().copied().collect(),
        boundary_classes: BoundaryClass::ALL.iter().copied().collect(),
        allow: [tag("*")].into(),
        invariants: Vec::new(),
    }
}

fn tag(tag: &str) -> AllowTag {
    AllowTag::new(tag).unwrap()
}

/// All that a caller gets, errors with their sources.
fn told<T: Debug>(output: Result<T>) -> String {
    match output {
        Ok(output) => format!("{output:?}"),
        Err(error) => format!("error {} {error:?}", error.chain()),
    }
}

/// The words in a text that only one unit was written with: `zq`, its class, `x`, its number.
fn words(text: &str) -> BTreeSet<String> {
    let is_word = |word: &&str| {
        let bytes = word.as_bytes();
        bytes[2].is_ascii_digit() && bytes[3] == b'x' && bytes[4..].iter().all(u8::is_ascii_digit)
    };
    let found = text.match_indices("zq").filter_map(|(at, _)| text.get(at..at + 8));
    found.filter(is_word).map(str::to_owned).collect()
}

/// The class of the unit that a word was written with.
fn class_of(word: &str) -> BoundaryClass {
    BoundaryClass::from_code(word.as_bytes()[2] - b'0').unwrap()
}
