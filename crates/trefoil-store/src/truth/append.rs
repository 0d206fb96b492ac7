//! How one transaction is appended, also where nobody answers: decisions only, no calls.

use std::time::Duration;

use super::{Place, Shard};

/// How long to wait between two questions about a transaction that is in doubt.
const PAUSE: Duration = Duration::from_millis(100);

/// One transaction on its way to the truth. Whoever runs it does what [`next`](Self::next) says
/// and gives the answer to [`answered`](Self::answered), until it ends.
#[derive(Clone, Debug)]
pub struct Append {
    state: State,
    /// The places at which it was asked for without an answer that counts: a truth that falls back
    /// to one of them may still take it from a late copy of the call.
    asked: Vec<Place>,
    /// When doubt ends without an answer.
    give_up_at: Duration,
    patience: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asking(Place),
    Doubting(Place),
    Pausing {
        at: Place,
        until: Duration,
    },
    Looking(Place),
    /// It is written at this place, on a connection that is gone.
    Regaining(Place),
    /// The shard has lost what the writer knows, and stands here in the epoch of the writer or in
    /// one before, which may have been its own when it first made the call: what is refused now
    /// could still be taken from a late copy.
    Closing {
        at: Place,
        head: Place,
    },
    Ended(Appended),
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendStep {
    /// Call [`Truth::append`](super::Truth::append) at this place.
    Append(Place),
    /// Call [`Truth::lead`](super::Truth::lead) from this place.
    Lead(Place),
    /// Call [`Truth::shard`](super::Truth::shard).
    Look,
    /// Wait until then, and ask again.
    Wait(Duration),
    /// Nothing: it has ended so.
    End(Appended),
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is the transaction at this place.
    Written {
        /// Which.
        at: Place,
        /// Where the node leads from then on, if it does.
        leads: Option<Place>,
    },
    /// Nothing was written, and the node does not lead any more.
    Fenced,
    /// Nothing was written, and the node leads at this place.
    Failed(Place),
    /// Nobody knows, and the node does not lead any more.
    Undecided,
}

/// What came of a step.
#[derive(Clone, Debug)]
pub enum AppendAnswer {
    /// It was appended.
    Appended(Place),
    /// It was refused.
    Fenced,
    /// The commit was not answered.
    InDoubt,
    /// Another error.
    Failed,
    /// What [`Truth::lead`](super::Truth::lead) gave.
    Led(Option<Place>),
    /// What [`Truth::shard`](super::Truth::shard) gave.
    Saw(Shard),
}

impl Append {
    /// Begins at the place where the node leads; doubt lasts so long at most.
    pub const fn new(place: Place, patience: Duration) -> Self {
        Self { state: State::Asking(place), asked: Vec::new(), give_up_at: Duration::MAX, patience }
    }

    /// What to do next.
    pub fn next(&mut self, now: Duration) -> AppendStep {
        if let State::Pausing { at, until } = self.state
            && now >= until
        {
            self.state = if now >= self.give_up_at {
                State::Ended(Appended::Undecided)
            } else {
                State::Doubting(at)
            };
        }
        match self.state {
            State::Asking(place) => AppendStep::Append(place),
            State::Doubting(place)
            | State::Regaining(place)
            | State::Closing { head: place, .. } => AppendStep::Lead(place),
            State::Pausing { until, .. } => AppendStep::Wait(until),
            State::Looking(_) => AppendStep::Look,
            State::Ended(how) => AppendStep::End(how),
        }
    }

    /// Takes the answer to the last step.
    pub fn answered(&mut self, now: Duration, answer: &AppendAnswer) {
        self.state = match (self.state, answer) {
            (State::Asking(_), AppendAnswer::Appended(at)) => {
                State::Ended(Appended::Written { at: *at, leads: Some(*at) })
            }
            (State::Asking(at), AppendAnswer::Fenced) => {
                // The refused one may be a second copy of a call that was heard before.
                self.asked.push(at);
                self.doubt_from(now);
                State::Looking(at)
            }
            (State::Asking(at), AppendAnswer::InDoubt) => {
                self.asked.push(at);
                self.doubt_from(now);
                State::Doubting(at)
            }
            (State::Asking(at), _) => State::Ended(Appended::Failed(at)),
            // The shard was still at the place before: it is not written, and cannot be any more.
            (State::Doubting(_), AppendAnswer::Led(Some(place))) => State::Asking(*place),
            (State::Doubting(at), AppendAnswer::Led(None)) => State::Looking(at),
            (State::Looking(at), AppendAnswer::Saw(shard)) => {
                let mut written = self.asked.iter().rev().map(|asked| asked.next());
                if let Some(written) = written.find(|one| shard.lost(*one).is_none()) {
                    State::Regaining(written)
                } else if shard.head == at {
                    self.pause(now, at)
                } else if shard.head.epoch < at.epoch
                    || (shard.head.epoch, shard.head.by) == (at.epoch, at.by)
                {
                    State::Closing { at, head: shard.head }
                } else {
                    State::Ended(Appended::Fenced)
                }
            }
            // That epoch is over.
            (State::Closing { .. }, AppendAnswer::Led(Some(_))) => State::Ended(Appended::Fenced),
            (
                State::Closing { at, .. }
                | State::Doubting(at)
                | State::Looking(at)
                | State::Pausing { at, .. },
                _,
            ) => self.pause(now, at),
            (State::Regaining(at), AppendAnswer::Led(leads)) => {
                State::Ended(Appended::Written { at, leads: *leads })
            }
            (State::Regaining(at), _) => State::Ended(Appended::Written { at, leads: None }),
            (State::Ended(how), _) => State::Ended(how),
        };
    }

    /// The time counts from the first doubt on.
    fn doubt_from(&mut self, now: Duration) {
        self.give_up_at = self.give_up_at.min(now.saturating_add(self.patience));
    }

    fn pause(&self, now: Duration, at: Place) -> State {
        if now >= self.give_up_at {
            return State::Ended(Appended::Undecided);
        }
        State::Pausing { at, until: now.saturating_add(PAUSE).min(self.give_up_at) }
    }
}
