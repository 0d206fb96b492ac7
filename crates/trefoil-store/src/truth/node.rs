//! What a node does next: decisions only, no calls.

use std::time::Duration;

use super::Place;

/// How often a node asks, and how long it leads without being heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeTimes {
    /// How often a node that follows asks for the head; 50 ms by default.
    pub poll: Duration,
    /// How long a node that leads may be silent until another one may lead; 10 s by default. By
    /// the clock of the truth.
    pub lease: Duration,
    /// How often the lease is renewed; 3 s by default.
    pub renew: Duration,
    /// How long a write that was not answered is looked for; 10 s by default.
    pub doubt: Duration,
    /// How long a node waits until it asks again where nobody answered, or where another node has
    /// the lease; 1 s by default.
    pub retry: Duration,
}

impl Default for NodeTimes {
    fn default() -> Self {
        Self {
            poll: Duration::from_millis(50),
            lease: Duration::from_secs(10),
            renew: Duration::from_secs(3),
            doubt: Duration::from_secs(10),
            retry: Duration::from_secs(1),
        }
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStep {
    /// Ask for [`Truth::head`](super::Truth::head).
    AskHead,
    /// Follow: pull, and apply what came.
    Pull,
    /// Call [`Truth::lead`](super::Truth::lead) from the place of the cache.
    Lead,
    /// Call [`Truth::renew`](super::Truth::renew).
    Renew,
    /// Nothing, until then or until something is written.
    Wait(Duration),
}

/// What a node decides by.
#[derive(Clone, Debug)]
pub struct Node {
    times: NodeTimes,
    /// Whether it is to lead when nobody does.
    may_lead: bool,
    /// The last head that it was told, since its own place changed or something failed.
    head: Option<Place>,
    ask_at: Duration,
    lead_at: Duration,
    renew_at: Duration,
}

impl Node {
    /// A node that has just started.
    pub const fn new(times: NodeTimes, may_lead: bool) -> Self {
        Self {
            times,
            may_lead,
            head: None,
            ask_at: Duration::ZERO,
            lead_at: Duration::ZERO,
            renew_at: Duration::ZERO,
        }
    }

    /// What to do next, for a cache at `place` of a node that leads or follows.
    pub fn next(&self, now: Duration, place: Place, leads: bool) -> NodeStep {
        if leads {
            return if now >= self.renew_at {
                NodeStep::Renew
            } else {
                NodeStep::Wait(self.renew_at)
            };
        }
        match self.head {
            Some(head) if head != place => NodeStep::Pull,
            Some(_) if self.may_lead && now >= self.lead_at => NodeStep::Lead,
            _ if now >= self.ask_at => NodeStep::AskHead,
            _ => NodeStep::Wait(self.ask_at),
        }
    }

    /// The head was asked for.
    pub fn asked(&mut self, now: Duration, head: Option<Place>) {
        self.head = head;
        self.ask_at = now + if head.is_some() { self.times.poll } else { self.times.retry };
    }

    /// It has pulled, or could not.
    pub fn pulled(&mut self, now: Duration, reached: Option<Place>) {
        self.asked(now, reached);
    }

    /// It asked to lead, and does or does not: another node leads, or nobody answered.
    pub fn led(&mut self, now: Duration, leads: bool) {
        self.head = None;
        self.ask_at = now;
        if leads {
            self.renew_at = now + self.times.renew;
        } else {
            self.lead_at = now + self.times.retry;
        }
    }

    /// It renewed its lease, or wrote, which renews it too; or nobody answered.
    pub fn renewed(&mut self, now: Duration, answered: bool) {
        self.renew_at = now + if answered { self.times.renew } else { self.times.retry };
    }

    /// It leads no more: another node does, or nobody knows.
    pub fn deposed(&mut self, now: Duration) {
        self.head = None;
        self.ask_at = now;
    }

    /// How many transactions a cache at `place` is behind what the node last heard of.
    pub fn behind(&self, place: Place) -> u64 {
        self.head.map_or(0, |head| head.tx.saturating_sub(place.tx))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(tx: u64) -> Place {
        Place { epoch: 1, by: 7, tx }
    }

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_node_that_follows_asks_takes_over_and_asks_again_after_a_while() {
        let times = NodeTimes { poll: seconds(1), retry: seconds(5), ..NodeTimes::default() };
        let mut node = Node::new(times, false);
        assert_eq!(node.next(seconds(0), at(2), false), NodeStep::AskHead);
        node.asked(seconds(0), Some(at(5)));
        assert_eq!(node.behind(at(2)), 3);
        assert_eq!(node.next(seconds(0), at(2), false), NodeStep::Pull);
        node.pulled(seconds(0), Some(at(5)));
        assert_eq!(node.next(seconds(0), at(5), false), NodeStep::Wait(seconds(1)));
        assert_eq!(node.next(seconds(1), at(5), false), NodeStep::AskHead);
        // Nobody answers: it asks less often.
        node.asked(seconds(1), None);
        assert_eq!(node.next(seconds(2), at(5), false), NodeStep::Wait(seconds(6)));
        // A head that is before its own place, or of another writer, is another history.
        node.asked(seconds(6), Some(at(4)));
        assert_eq!(node.next(seconds(6), at(5), false), NodeStep::Pull);
        node.asked(seconds(6), Some(Place { by: 8, ..at(5) }));
        assert_eq!(node.next(seconds(6), at(5), false), NodeStep::Pull);
    }

    #[test]
    fn a_node_asks_to_lead_only_with_everything_and_not_all_the_time() {
        let times = NodeTimes { poll: seconds(1), retry: seconds(5), ..NodeTimes::default() };
        let mut node = Node::new(times, true);
        node.asked(seconds(0), Some(at(5)));
        assert_eq!(node.next(seconds(0), at(4), false), NodeStep::Pull);
        assert_eq!(node.next(seconds(0), at(5), false), NodeStep::Lead);
        node.led(seconds(0), false);
        node.asked(seconds(0), Some(at(5)));
        assert_eq!(node.next(seconds(0), at(5), false), NodeStep::Wait(seconds(1)));
        node.asked(seconds(5), Some(at(5)));
        assert_eq!(node.next(seconds(5), at(5), false), NodeStep::Lead);
        node.led(seconds(5), true);
        // It renews in time, and sooner where nobody answers.
        assert_eq!(node.next(seconds(5), at(6), true), NodeStep::Wait(seconds(8)));
        assert_eq!(node.next(seconds(8), at(6), true), NodeStep::Renew);
        node.renewed(seconds(8), true);
        assert_eq!(node.next(seconds(8), at(6), true), NodeStep::Wait(seconds(11)));
        node.renewed(seconds(11), false);
        assert_eq!(node.next(seconds(11), at(6), true), NodeStep::Wait(seconds(16)));
        node.deposed(seconds(16));
        assert_eq!(node.next(seconds(16), at(6), false), NodeStep::AskHead);
    }
}
