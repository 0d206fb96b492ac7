//! Nodes that lead and follow, over a network that loses, delays and doubles, with crashes, pauses
//! and a truth that fails over: the machines that decide in a node run on a queue of events by a
//! seed. A seed that fails is run again by `TREFOIL_FIRST` and `TREFOIL_COUNT=1`.

use std::{
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::truth::{
    Append, AppendAnswer, AppendStep, Appended, Column, ColumnKind, Lost, MemoryShard, MemoryTruth,
    Node, NodeStep, NodeTimes, Place, RowSink, Sequences, Shard, Start, Table, Touched,
    TouchedTable, Truth, Value, Within,
};

/// Milliseconds of faults, and of peace after them.
const FAULTS: u64 = 15_000;
const PEACE: u64 = 20_000;
const NODES: usize = 3;
/// After so long a call counts as not answered.
const TIMEOUT: u64 = 800;

fn times() -> NodeTimes {
    NodeTimes {
        poll: Duration::from_millis(80),
        lease: Duration::from_millis(2_500),
        renew: Duration::from_millis(800),
        doubt: Duration::from_secs(3),
        retry: Duration::from_millis(400),
    }
}

type Rows = BTreeMap<i64, i64>;

/// What one write changes: a key, and its value or that it is gone. It is known by its number.
#[derive(Clone, Debug)]
struct Write {
    number: u64,
    changes: Vec<(i64, Option<i64>)>,
}

impl Write {
    fn touched(&self, table: &Arc<Table>) -> Touched {
        let mut rows = TouchedTable { table: Arc::clone(table), gone: vec![], rows: vec![] };
        for &(key, value) in &self.changes {
            match value {
                Some(value) => rows.rows.push(vec![Value::Integer(key), Value::Integer(value)]),
                None => rows.gone.push(vec![Value::Integer(key)]),
            }
        }
        Touched { tables: vec![rows], ..Touched::default() }
    }

    fn apply(&self, rows: &mut Rows) {
        for &(key, value) in &self.changes {
            match value {
                Some(value) => drop(rows.insert(key, value)),
                None => drop(rows.remove(&key)),
            }
        }
    }
}

/// What a node asks.
#[derive(Clone, Debug)]
enum Call {
    Head,
    Shard,
    Lead(Place),
    Renew(Place),
    Append(Place, Write),
    Pull(Place),
}

/// What it is told; nothing where the truth refused or nobody answered.
#[derive(Clone, Debug)]
enum Reply {
    Place(Place),
    Shard(Shard),
    Led(Option<Place>),
    Renewed,
    Refused,
    Pulled(Pulled),
    Silence,
}

/// What a pull brought.
#[derive(Clone, Debug)]
struct Pulled {
    start: Start,
    /// The place that it starts from was part of the history.
    held: bool,
    gone: Vec<i64>,
    rows: Rows,
    head: Place,
}

impl Default for Pulled {
    fn default() -> Self {
        let (gone, rows) = Default::default();
        let start = Start::Nothing { lost: None };
        Self { start, held: false, gone, rows, head: Place::NOTHING }
    }
}

impl RowSink for Pulled {
    fn begin(&mut self, start: &Start) -> trefoil_core::Result<()> {
        self.start = *start;
        Ok(())
    }
    fn gone(&mut self, _: &str, key: &[Value]) -> trefoil_core::Result<()> {
        let [Value::Integer(key)] = key else { panic!("{key:?}") };
        assert!(self.rows.is_empty(), "keys that are gone come first");
        self.gone.push(*key);
        Ok(())
    }
    fn row(&mut self, _: &str, values: &[Value]) -> trefoil_core::Result<()> {
        let [Value::Integer(key), Value::Integer(value)] = values else { panic!("{values:?}") };
        self.rows.insert(*key, *value);
        Ok(())
    }
    fn end(&mut self, head: Place, _: &Sequences) -> trefoil_core::Result<()> {
        self.head = head;
        Ok(())
    }
}

/// The two threads of a node that ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thread {
    Node,
    Writer,
}

#[derive(Clone, Debug)]
enum Event {
    /// A call comes to the truth.
    Arrive {
        node: usize,
        life: u64,
        thread: Thread,
        id: u64,
        call: Call,
    },
    /// A reply, or that there is none, comes to a node.
    Return {
        node: usize,
        life: u64,
        thread: Thread,
        id: u64,
        reply: Reply,
    },
    /// A node looks what there is to do.
    Wake {
        node: usize,
        life: u64,
        thread: Thread,
    },
    /// Somebody writes to a node.
    Write(usize),
    Crash(usize),
    Restart(usize),
    Pause(usize),
    /// The standby has what the truth has.
    Replicate,
    FailOver,
    Down,
    Prune,
}

/// What stands in the queue: earliest first, then in the order of coming.
struct Queued(u64, u64, Event);

impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Queued {}
impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Queued {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.0, other.1).cmp(&(self.0, self.1))
    }
}

/// A node: what is on its disk, and what is in its memory.
struct SimNode {
    truth: MemoryTruth,
    place: Place,
    rows: Rows,
    /// What is on disk is lost by the truth, and nobody was told yet.
    owes_report: bool,
    life: u64,
    is_up: bool,
    paused_until: u64,
    node: Node,
    leads: Option<Place>,
    writing: Option<(Append, Write)>,
    /// Where the shard was when its writer last heard of it.
    saw: Place,
    pending: BTreeMap<Thread, (u64, Option<NodeStep>)>,
}

impl SimNode {
    fn new(truth: MemoryTruth) -> Self {
        Self {
            truth,
            place: Place::NOTHING,
            rows: Rows::new(),
            owes_report: false,
            life: 0,
            is_up: true,
            paused_until: 0,
            node: Node::new(times(), true),
            leads: None,
            writing: None,
            saw: Place::NOTHING,
            pending: BTreeMap::new(),
        }
    }

    /// Forgets all that is in memory.
    fn die(&mut self) {
        self.life += 1;
        self.is_up = false;
        (self.leads, self.writing) = (None, None);
        self.pending.clear();
    }
}

struct World {
    rng: fastrand::Rng,
    now: Arc<AtomicU64>,
    queue: BinaryHeap<Queued>,
    count: u64,
    is_faulty: bool,
    /// A standby that takes over has everything.
    is_synchronous: bool,
    down_until: u64,
    truth: MemoryTruth,
    standby: MemoryShard,
    /// How much of the history the standby has.
    standby_has: usize,
    table: Arc<Table>,
    nodes: Vec<SimNode>,
    /// The way to what there is now: each place, and the write that led to it; none where an epoch
    /// began.
    history: Vec<(Place, Option<u64>)>,
    /// The rows at each place that ever was.
    archive: BTreeMap<Place, Rows>,
    lost: BTreeSet<u64>,
    acknowledged: Vec<u64>,
    /// What was refused, and the place that showed that it had to be.
    refused: Vec<(u64, Place)>,
    losses_told: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        fastrand::seed(seed);
        let mut rng = fastrand::Rng::with_seed(seed);
        let now = Arc::new(AtomicU64::new(0));
        let time = Arc::clone(&now);
        let time = Arc::new(move || Duration::from_millis(time.load(Ordering::Relaxed)));
        let truth = MemoryTruth::with_time("0", time);
        let column = |name: &str| Column {
            name: name.to_owned(),
            kind: ColumnKind::Integer,
            not_null: true,
            instead: None,
            default: None,
        };
        let columns = vec![column("key"), column("value")];
        let table = Table {
            name: "pairs".to_owned(),
            columns,
            key: vec![0],
            tombstone: None,
            within: Within::All,
        };
        let nodes =
            (0..NODES).map(|number| SimNode::new(truth.node(&number.to_string()))).collect();
        let is_synchronous = rng.bool();
        let mut world = Self {
            rng,
            now,
            queue: BinaryHeap::new(),
            count: 0,
            is_faulty: true,
            is_synchronous,
            down_until: 0,
            standby: truth.state(),
            standby_has: 0,
            truth,
            table: Arc::new(table),
            nodes,
            history: Vec::new(),
            archive: BTreeMap::from([(Place::NOTHING, Rows::new())]),
            lost: BTreeSet::new(),
            acknowledged: Vec::new(),
            refused: Vec::new(),
            losses_told: 0,
        };
        for node in 0..NODES {
            world.wake(node, Thread::Node, 0);
        }
        world.plan();
        world
    }

    /// What happens from outside.
    fn plan(&mut self) {
        let mut at = 0;
        while at < FAULTS {
            at += self.rng.u64(1..160);
            let node = self.rng.usize(..NODES);
            let event = match self.rng.u32(..100) {
                0..76 => Event::Write(node),
                76..79 => Event::Crash(node),
                79..82 => Event::Pause(node),
                82..94 => Event::Replicate,
                94..96 => Event::FailOver,
                96..98 => Event::Down,
                _ => Event::Prune,
            };
            self.push(at, event);
        }
    }

    fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    fn time(&self) -> Duration {
        Duration::from_millis(self.now())
    }

    fn push(&mut self, at: u64, event: Event) {
        self.count += 1;
        self.queue.push(Queued(at, self.count, event));
    }

    fn wake(&mut self, node: usize, thread: Thread, after: u64) {
        let life = self.nodes[node].life;
        let at = self.now() + after;
        self.push(at, Event::Wake { node, life, thread });
    }

    /// How long a message takes, once or more often; never, if it is lost.
    fn delays(&mut self) -> Vec<u64> {
        let near = self.rng.u64(1..15);
        if !self.is_faulty {
            return vec![near];
        }
        match self.rng.u32(..100) {
            0..4 => vec![],
            4..8 => vec![near, self.rng.u64(1..3_000)],
            8..12 => vec![self.rng.u64(100..4_000)],
            _ => vec![near],
        }
    }

    fn run(&mut self, until: u64) {
        while let Some(Queued(at, count, event)) = self.queue.pop() {
            if at > until {
                self.queue.push(Queued(at, count, event));
                break;
            }
            self.now.fetch_max(at, Ordering::Relaxed);
            self.handle(event);
        }
        self.now.fetch_max(until, Ordering::Relaxed);
    }

    fn handle(&mut self, event: Event) {
        let now = self.now();
        match event {
            Event::Arrive { node, life, thread, id, call } => {
                if now < self.down_until {
                    return;
                }
                let reply = self.answer(node, call);
                for delay in self.delays() {
                    let reply = reply.clone();
                    self.push(now + delay, Event::Return { node, life, thread, id, reply });
                }
            }
            Event::Return { node, life, .. } | Event::Wake { node, life, .. }
                if self.nodes[node].life != life => {}
            Event::Return { node, .. } | Event::Wake { node, .. }
                if now < self.nodes[node].paused_until =>
            {
                let at = self.nodes[node].paused_until;
                self.push(at, event);
            }
            Event::Return { node, thread, id, reply, .. } => {
                let pending = self.nodes[node].pending.get(&thread);
                let Some(&(_, step)) = pending.filter(|(asked, _)| *asked == id) else { return };
                self.nodes[node].pending.remove(&thread);
                match thread {
                    Thread::Node => self.step_done(node, step.unwrap(), &reply),
                    Thread::Writer => self.write_answered(node, reply),
                }
            }
            Event::Wake { node, thread: Thread::Node, .. } => self.next_step(node),
            Event::Wake { node, thread: Thread::Writer, .. } => self.go_on_writing(node),
            Event::Write(node) => {
                // Whoever writes finds the node that leads, most of the time.
                let leads = (0..NODES).find(|&one| self.nodes[one].leads.is_some());
                let finds = self.rng.u32(..5) > 0;
                self.write(leads.filter(|_| finds).unwrap_or(node));
            }
            Event::Crash(node) => {
                self.nodes[node].die();
                if self.rng.u32(..8) == 0 {
                    // With its disk.
                    let node = &mut self.nodes[node];
                    (node.place, node.rows, node.owes_report) =
                        (Place::NOTHING, Rows::new(), false);
                }
                let at = now + self.rng.u64(10..4_000);
                self.push(at, Event::Restart(node));
            }
            Event::Restart(node) => self.restart(node),
            Event::Pause(node) => {
                self.nodes[node].paused_until = now + self.rng.u64(100..5_000);
            }
            Event::Replicate => {
                self.standby = self.truth.state();
                self.standby_has = self.history.len();
            }
            Event::FailOver => self.fail_over(),
            Event::Down => self.down_until = now + self.rng.u64(100..3_000),
            Event::Prune => {
                let head = self.truth.head().unwrap();
                let upto = head.tx.saturating_sub(self.rng.u64(..6));
                if head.tx > 0 {
                    self.truth.prune(head, upto).unwrap();
                }
            }
        }
    }

    fn restart(&mut self, node: usize) {
        if !self.nodes[node].is_up {
            self.nodes[node].is_up = true;
            self.nodes[node].node = Node::new(times(), true);
            // Its clock goes on: times are counted from the beginning of the world.
            self.wake(node, Thread::Node, 0);
        }
    }

    fn fail_over(&mut self) {
        if self.is_synchronous {
            // The same rows; calls that were on their way are gone.
            self.down_until = self.now() + 300;
            return;
        }
        self.truth.put_back(self.standby.clone());
        let lost = self.history.split_off(self.standby_has);
        self.lost.extend(lost.iter().filter_map(|(_, number)| *number));
        let lost: BTreeSet<Place> = lost.iter().map(|(place, _)| *place).collect();
        for node in &mut self.nodes {
            node.owes_report |= lost.contains(&node.place);
        }
    }

    /// The truth does what it is asked.
    fn answer(&mut self, node: usize, call: Call) -> Reply {
        let truth = self.nodes[node].truth.clone();
        let at = self.history.last().map_or(Place::NOTHING, |(place, _)| *place);
        assert_eq!(truth.head().unwrap(), at);
        let mut rows = self.archive[&at].clone();
        match call {
            Call::Head => Reply::Place(truth.head().unwrap()),
            Call::Shard => Reply::Shard(truth.shard().unwrap()),
            Call::Lead(from) => {
                let led = truth.lead(from, times().lease).unwrap();
                if let Some(place) = led {
                    self.archive.insert(place, rows);
                    self.history.push((place, None));
                }
                Reply::Led(led)
            }
            Call::Renew(place) => match truth.renew(place, times().lease) {
                Ok(()) => Reply::Renewed,
                Err(_) => Reply::Refused,
            },
            Call::Append(place, write) => match truth.append(place, &write.touched(&self.table)) {
                Ok(at) => {
                    assert_eq!(at, place.next(), "one writer a transaction");
                    write.apply(&mut rows);
                    self.history.push((at, Some(write.number)));
                    // Twice only by a copy of the call, after the truth lost the first.
                    for one in self.nodes.iter_mut().filter(|one| one.place == at) {
                        one.owes_report = false;
                    }
                    let before = self.archive.insert(at, rows.clone());
                    assert!(before.is_none_or(|before| before == rows), "{at:?} is two states");
                    Reply::Place(at)
                }
                Err(_) => Reply::Refused,
            },
            Call::Pull(after) => {
                let held = after != Place::NOTHING;
                let held = held && self.history.iter().any(|(place, _)| *place == after);
                let mut pulled = Pulled { held, ..Pulled::default() };
                truth.pull(after, &mut pulled).unwrap();
                Reply::Pulled(pulled)
            }
        }
    }

    fn ask(&mut self, node: usize, thread: Thread, step: Option<NodeStep>, call: &Call) {
        let (now, life) = (self.now(), self.nodes[node].life);
        self.count += 1;
        let id = self.count;
        self.nodes[node].pending.insert(thread, (id, step));
        for delay in self.delays() {
            let call = call.clone();
            self.push(now + delay, Event::Arrive { node, life, thread, id, call });
        }
        let reply = Reply::Silence;
        self.push(now + TIMEOUT, Event::Return { node, life, thread, id, reply });
    }

    /// What the thread of a node does.
    fn next_step(&mut self, node: usize) {
        let one = &self.nodes[node];
        if one.pending.contains_key(&Thread::Node) {
            return;
        }
        let step = one.node.next(self.time(), one.place, one.leads.is_some());
        let needs_writer = matches!(step, NodeStep::Pull | NodeStep::Lead);
        if needs_writer && one.writing.is_some() {
            return self.wake(node, Thread::Node, 20);
        }
        let call = match step {
            NodeStep::AskHead => Call::Head,
            NodeStep::Pull => Call::Pull(one.place),
            NodeStep::Lead => Call::Lead(one.place),
            NodeStep::Renew => Call::Renew(one.leads.unwrap()),
            NodeStep::Wait(until) => {
                let wait = until.saturating_sub(self.time()).as_millis();
                let wait = u64::try_from(wait).unwrap().clamp(1, 200);
                return self.wake(node, Thread::Node, wait);
            }
        };
        self.ask(node, Thread::Node, Some(step), &call);
    }

    fn step_done(&mut self, node: usize, step: NodeStep, reply: &Reply) {
        let now = self.time();
        let one = &mut self.nodes[node];
        match (step, reply) {
            (NodeStep::AskHead, Reply::Place(head)) => one.node.asked(now, Some(*head)),
            (NodeStep::AskHead, _) => one.node.asked(now, None),
            (NodeStep::Pull, Reply::Pulled(pulled)) => {
                self.take_over(node, pulled);
                self.nodes[node].node.pulled(now, Some(pulled.head));
            }
            (NodeStep::Pull, _) => one.node.pulled(now, None),
            (NodeStep::Lead, Reply::Led(led)) => {
                if let Some(place) = led {
                    one.leads = Some(*place);
                }
                one.node.led(now, led.is_some());
                if let Some(place) = *led {
                    self.move_to(node, place, None);
                }
            }
            (NodeStep::Lead, _) => one.node.led(now, false),
            (NodeStep::Renew, Reply::Renewed) => one.node.renewed(now, true),
            (NodeStep::Renew, Reply::Refused) => {
                // Unless it leads in another epoch by now.
                one.leads = None;
                one.node.deposed(now);
            }
            (NodeStep::Renew, _) => one.node.renewed(now, false),
            (NodeStep::Wait(_), _) => {}
        }
        self.wake(node, Thread::Node, 0);
    }

    /// A node takes over what a pull brought, in one transaction of its disk.
    fn take_over(&mut self, node: usize, pulled: &Pulled) {
        let one = &mut self.nodes[node];
        match pulled.start {
            Start::After(at) => {
                assert_eq!(at, one.place);
                assert!(pulled.held, "node {node} goes on from {at:?}, which is lost");
                for key in &pulled.gone {
                    one.rows.remove(key);
                }
                one.rows.extend(&pulled.rows);
                self.move_to(node, pulled.head, None);
            }
            Start::Nothing { lost } => {
                one.rows.clone_from(&pulled.rows);
                self.move_to(node, pulled.head, lost);
            }
        }
    }

    /// The disk of a node is at another place; where it was made again, perhaps with a loss that
    /// it was told of.
    fn move_to(&mut self, node: usize, place: Place, told: Option<Lost>) {
        let one = &mut self.nodes[node];
        if let Some(lost) = told {
            assert_eq!(lost.at, one.place);
            one.owes_report = false;
            self.losses_told += 1;
        } else {
            assert!(place.tx >= one.place.tx && place.epoch >= one.place.epoch, "a place fell");
        }
        one.place = place;
        assert_eq!(
            Some(&one.rows),
            self.archive.get(&place),
            "node {node} is no prefix: {place:?}"
        );
    }

    fn write(&mut self, node: usize) {
        self.count += 1;
        let number = self.count;
        let changes = (0..self.rng.u32(1..4)).map(|_| {
            let gone = self.rng.u32(..4) == 0;
            let value = i64::try_from(number).unwrap();
            (self.rng.i64(..12), (!gone).then_some(value))
        });
        // Each key once.
        let changes: BTreeMap<_, _> = changes.collect();
        let write = Write { number, changes: changes.into_iter().collect() };
        let one = &mut self.nodes[node];
        let is_busy = one.writing.is_some()
            || matches!(
                one.pending.get(&Thread::Node),
                Some((_, Some(NodeStep::Pull | NodeStep::Lead)))
            );
        let is_paused = self.now.load(Ordering::Relaxed) < one.paused_until;
        let Some(place) = one.leads.filter(|_| one.is_up && !is_busy && !is_paused) else { return };
        one.writing = Some((Append::new(place, times().doubt), write));
        self.go_on_writing(node);
    }

    fn go_on_writing(&mut self, node: usize) {
        let now = self.time();
        let Some((append, write)) = &mut self.nodes[node].writing else { return };
        let call = match append.next(now) {
            AppendStep::Append(place) => Call::Append(place, write.clone()),
            AppendStep::Lead(from) => Call::Lead(from),
            AppendStep::Look => Call::Shard,
            AppendStep::Wait(until) => {
                let wait = u64::try_from(until.saturating_sub(now).as_millis()).unwrap();
                return self.wake(node, Thread::Writer, wait.max(1));
            }
            AppendStep::End(how) => return self.written(node, how),
        };
        self.ask(node, Thread::Writer, None, &call);
    }

    fn write_answered(&mut self, node: usize, reply: Reply) {
        let now = self.time();
        let Some((append, _)) = &mut self.nodes[node].writing else { return };
        let was_append = matches!(append.next(now), AppendStep::Append(_));
        let heard = match &reply {
            Reply::Shard(shard) => Some(shard.head),
            Reply::Led(led) => *led,
            Reply::Place(_)
            | Reply::Renewed
            | Reply::Refused
            | Reply::Pulled(_)
            | Reply::Silence => None,
        };
        let answer = match reply {
            Reply::Place(at) => AppendAnswer::Appended(at),
            Reply::Shard(shard) => AppendAnswer::Saw(shard),
            Reply::Led(led) => AppendAnswer::Led(led),
            Reply::Refused => AppendAnswer::Fenced,
            Reply::Silence if was_append => AppendAnswer::InDoubt,
            Reply::Silence | Reply::Renewed | Reply::Pulled(_) => AppendAnswer::Failed,
        };
        append.answered(now, &answer);
        let one = &mut self.nodes[node];
        one.saw = heard.unwrap_or(one.saw);
        self.go_on_writing(node);
    }

    fn written(&mut self, node: usize, how: Appended) {
        let now = self.time();
        let one = &mut self.nodes[node];
        let Some((_, write)) = one.writing.take() else { return };
        match how {
            Appended::Written { at, leads } => {
                write.apply(&mut one.rows);
                one.leads = leads;
                match leads {
                    Some(_) => one.node.renewed(now, true),
                    None => one.node.deposed(now),
                }
                self.acknowledged.push(write.number);
                // The truth may have failed over since.
                let place = leads.unwrap_or(at);
                let is_lost = self.history.iter().all(|(one, _)| *one != place);
                self.nodes[node].owes_report |= is_lost;
                self.move_to(node, place, None);
            }
            Appended::Failed(place) => one.leads = Some(place),
            Appended::Fenced => {
                one.leads = None;
                one.node.deposed(now);
                self.refused.push((write.number, one.saw));
            }
            Appended::Undecided => {
                one.leads = None;
                one.node.deposed(now);
            }
        }
        self.wake(node, Thread::Node, 0);
    }

    /// Ends the faults, and sees what is left.
    fn end(&mut self) {
        self.is_faulty = false;
        self.down_until = 0;
        for node in 0..NODES {
            self.nodes[node].paused_until = 0;
            self.restart(node);
        }
        self.run(FAULTS + PEACE);
        let leaders: Vec<usize> =
            (0..NODES).filter(|&node| self.nodes[node].leads.is_some()).collect();
        let head = self.truth.head().unwrap();
        let at_head = |one: &&usize| self.nodes[**one].leads == Some(head);
        let leader = *leaders.iter().find(at_head).expect("nobody leads");
        let before = self.acknowledged.len();
        self.write(leader);
        self.run(FAULTS + PEACE + 5_000);
        assert_eq!(self.acknowledged.len(), before + 1, "the last write is not acknowledged");
        let head = self.truth.head().unwrap();
        for (number, node) in self.nodes.iter().enumerate() {
            assert_eq!(node.place, head, "node {number} is behind");
            assert!(!node.owes_report, "node {number} never said what it lost");
        }
        let there: BTreeSet<u64> = self.history.iter().filter_map(|(_, number)| *number).collect();
        for number in &self.acknowledged {
            assert!(there.contains(number) || self.lost.contains(number), "{number} is gone");
        }
        for (number, shown_by) in &self.refused {
            // A truth that falls back behind what showed it may take a late copy of the call.
            let holds = self.history.iter().any(|(place, _)| place == shown_by);
            assert!(!holds || !there.contains(number), "{number} was refused and is there");
        }
        if self.is_synchronous {
            assert_eq!((self.lost.len(), self.losses_told), (0, 0), "a loss where there is none");
        }
    }
}

/// What a run came to.
#[derive(Default)]
struct Seen {
    acknowledged: usize,
    refused: usize,
    lost: usize,
    losses_told: usize,
}

fn simulate(seed: u64) -> Seen {
    let mut world = World::new(seed);
    world.run(FAULTS);
    world.end();
    Seen {
        acknowledged: world.acknowledged.len(),
        refused: world.refused.len(),
        lost: world.lost.len(),
        losses_told: world.losses_told,
    }
}

/// A number that the justfile gives.
fn given(name: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "how the justfile tells a test how long to be")]
    let given = std::env::var(name);
    given.ok().map(|number| number.parse().unwrap())
}

#[test]
fn nodes_keep_what_is_acknowledged_and_say_what_is_lost() {
    let first = given("TREFOIL_FIRST").unwrap_or(0);
    let count = given("TREFOIL_COUNT").unwrap_or(200);
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let seen: Vec<Seen> = std::thread::scope(|scope| {
        let of = |thread: u64| {
            scope.spawn(move || {
                let seeds = (first..first + count).filter(|seed| seed % threads == thread);
                let run = |seed| {
                    std::panic::catch_unwind(|| simulate(seed))
                        .unwrap_or_else(|_| panic!("seed {seed} fails"))
                };
                seeds.map(run).collect::<Vec<_>>()
            })
        };
        let runs: Vec<_> = (0..threads).map(of).collect();
        runs.into_iter().flat_map(|run| run.join().unwrap()).collect()
    });
    let sum = |of: fn(&Seen) -> usize| seen.iter().map(of).sum::<usize>();
    let (acknowledged, refused) = (sum(|one| one.acknowledged), sum(|one| one.refused));
    let (lost, told) = (sum(|one| one.lost), sum(|one| one.losses_told));
    #[expect(clippy::print_stdout, reason = "what a campaign came to")]
    {
        println!(
            "{count} seeds: {acknowledged} acknowledged, {refused} refused, {lost} lost, {told} told"
        );
    }
    if count >= 100 {
        // The faults are real.
        assert!(acknowledged > 1_000 && refused > 10 && lost > 100 && told > 10);
    }
}
