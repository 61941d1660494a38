use std::collections::BTreeMap;
use std::time::Duration;

use mesh_core::topology::ConsumerSpec;

/// What the model knows of one consumer.
#[derive(Debug, Clone)]
pub(super) struct Consumer {
    pub(super) spec: ConsumerSpec,
    /// The last sequence that was delivered for the first time.
    cursor: u64,
    /// What was delivered and is not settled, by sequence.
    owed: BTreeMap<u64, Owed>,
}

#[derive(Debug, Clone, Copy)]
struct Owed {
    attempts: u32,
    since: Since,
}

#[derive(Debug, Clone, Copy)]
enum Since {
    /// A reader holds it until then.
    Held(Duration),
    /// It waits to be given again, from then on.
    Waiting(Duration),
}

/// What becomes of a delivery that is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    ComesAgain,
    /// It has had its last try, which was this many.
    GivenUp(u32),
}

impl Consumer {
    pub(super) fn new(spec: ConsumerSpec) -> Self {
        Self { spec, cursor: 0, owed: BTreeMap::new() }
    }

    /// What may be delivered now, with the try it would be; `stored` are the sequences it selects.
    pub(super) fn admits(&self, stored: &[u64], now: Duration) -> Vec<(u64, u32)> {
        let again = self.owed.iter().filter_map(|(sequence, owed)| {
            let due = matches!(owed.since, Since::Waiting(from) if from <= now);
            due.then_some((*sequence, owed.attempts + 1))
        });
        let mut admitted: Vec<_> = again.collect();
        if self.owed.len() < self.spec.rules.max_ack_pending {
            let next = stored.iter().find(|sequence| **sequence > self.cursor);
            admitted.extend(next.map(|sequence| (*sequence, 1)));
        }
        admitted
    }

    pub(super) fn deliver(&mut self, sequence: u64, attempt: u32, now: Duration) {
        self.cursor = self.cursor.max(sequence);
        let owed = Owed { attempts: attempt, since: Since::Held(now + self.spec.rules.ack_wait) };
        self.owed.insert(sequence, owed);
    }

    pub(super) fn extend(&mut self, sequence: u64, now: Duration) {
        let until = now + self.spec.rules.ack_wait;
        if let Some(owed) = self.owed.get_mut(&sequence) {
            owed.since = Since::Held(until);
        }
    }

    /// Forgets it; answers how many tries it had.
    pub(super) fn settle(&mut self, sequence: u64) -> u32 {
        let owed = self.owed.remove(&sequence);
        owed.map_or(0, |owed| owed.attempts)
    }

    pub(super) fn give_back(&mut self, sequence: u64, from: Duration) -> Fate {
        let max = self.spec.rules.max_deliver;
        let Some(owed) = self.owed.get_mut(&sequence) else {
            return Fate::ComesAgain;
        };
        let attempts = owed.attempts;
        if max.is_some_and(|max| attempts >= max) {
            self.owed.remove(&sequence);
            return Fate::GivenUp(attempts);
        }
        owed.since = Since::Waiting(from);
        Fate::ComesAgain
    }

    /// The claims that have run out.
    pub(super) fn expired(&self, now: Duration) -> Vec<u64> {
        let held = self.owed.iter();
        let held =
            held.filter(|(_, owed)| matches!(owed.since, Since::Held(until) if until <= now));
        held.map(|(sequence, _)| *sequence).collect()
    }

    /// When time alone changes something.
    pub(super) fn next_due(&self, now: Duration) -> Option<Duration> {
        let times = self.owed.values().map(|owed| match owed.since {
            Since::Held(time) | Since::Waiting(time) => time,
        });
        times.filter(|time| *time > now).min()
    }

    /// How many messages it has not settled.
    pub(super) fn owes(&self, stored: &[u64]) -> u64 {
        let new = stored.iter().filter(|sequence| **sequence > self.cursor);
        (new.count() + self.owed.len()) as u64
    }
}
