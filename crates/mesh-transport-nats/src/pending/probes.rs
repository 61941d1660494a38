//! The probes of one session that are on their way.
//!
//! An account that has all the subscriptions that it may have is told so before a subscription is read,
//! each time and in the same words. Whether a probe was meant by that or a real subscription can't be told.
//! From then on a session's probes are *marked*: a message with a reply address that the server lets nobody
//! use, refused in words that name it. How many real subscriptions were refused is then what is left of
//! those words after one for each probe. Marked probes stand in the server's log.

use std::collections::VecDeque;

use tokio::time::Instant;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// Oldest first.
    list: VecDeque<Probe>,
    made: u64,
    /// Whether the server has said that it takes no more subscriptions.
    full: bool,
    /// How often it has, since the last marked probe.
    excess: usize,
}

#[derive(Debug)]
struct Probe {
    number: u64,
    marked: bool,
    /// How many operations it covers.
    covers: u64,
    /// When the client had it.
    since: Option<Instant>,
}

/// What the answer to a probe proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Proof {
    /// So many operations were handled.
    pub(super) covers: u64,
    /// The last so many subscriptions of them were refused.
    pub(super) refused: usize,
}

impl Probes {
    /// A new one; its number, and whether it is to be marked with that.
    pub(super) fn begin(&mut self, covers: u64) -> (u64, bool) {
        self.made += 1;
        let (number, marked) = (self.made, self.full);
        self.list.push_back(Probe { number, marked, covers, since: None });
        (number, marked)
    }

    /// The client has it.
    pub(super) fn handed_over(&mut self, number: u64) {
        if let Some(probe) = self.list.iter_mut().find(|probe| probe.number == number) {
            probe.since = Some(Instant::now());
        }
    }

    /// It was never sent.
    pub(super) fn take_back(&mut self, number: u64) {
        self.list.retain(|probe| probe.number != number);
    }

    /// Whether none is on its way whose answer can be known.
    pub(super) fn is_wanting(&self) -> bool {
        !self.list.iter().any(|probe| probe.marked || !self.full)
    }

    /// Since when the oldest is on its way.
    pub(super) fn since(&self) -> Option<Instant> {
        self.list.front()?.since
    }

    /// One that is not marked came back.
    pub(super) fn answered(&mut self) -> Option<Proof> {
        let place = self.list.iter().position(|probe| !probe.marked)?;
        let Probe { covers, .. } = self.list.remove(place)?;
        Some(Proof { covers, refused: 0 })
    }

    /// The server takes no more subscriptions.
    pub(super) fn full(&mut self) {
        self.full = true;
        self.excess += 1;
    }

    /// The marked one of this number came back.
    pub(super) fn marked(&mut self, number: u64) -> Option<Proof> {
        let own = |probe: &Probe| probe.marked && probe.number == number;
        let place = self.list.iter().position(own)?;
        let covers = self.list.get(place)?.covers;
        let meant = self.list.drain(..=place).filter(|probe| !probe.marked).count();
        let refused = std::mem::take(&mut self.excess).saturating_sub(meant);
        Some(Proof { covers, refused })
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(covers: u64, refused: usize) -> Option<Proof> {
        Some(Proof { covers, refused })
    }

    #[test]
    fn answers_belong_to_the_probes_in_their_order() {
        let mut probes = Probes::default();
        assert!(probes.is_wanting());
        assert_eq!(probes.begin(3), (1, false));
        assert_eq!(probes.begin(5), (2, false));
        assert!(!probes.is_wanting());
        assert_eq!(probes.answered(), proof(3, 0));
        probes.take_back(2);
        assert_eq!(probes.answered(), None);
    }

    #[test]
    fn the_last_subscription_that_fits_is_not_refused() {
        let mut probes = Probes::default();
        probes.begin(1);
        // What the server says is meant for the probe.
        probes.full();
        assert!(probes.is_wanting());
        assert_eq!(probes.begin(1), (2, true));
        assert_eq!(probes.marked(2), proof(1, 0));
    }

    #[test]
    fn a_subscription_that_does_not_fit_is_refused() {
        let mut probes = Probes::default();
        probes.begin(1);
        probes.full();
        probes.begin(2);
        probes.full();
        probes.full();
        assert_eq!(probes.answered(), proof(1, 0));
        // Two of the three were meant for subscriptions, and one for the probe that was answered else.
        assert_eq!(probes.marked(1), None);
        assert_eq!(probes.marked(2), proof(2, 3));
        probes.begin(4);
        probes.full();
        assert_eq!(probes.marked(3), proof(4, 1));
    }

    #[test]
    fn the_oldest_tells_since_when() {
        let mut probes = Probes::default();
        probes.begin(1);
        assert!(probes.since().is_none());
        probes.handed_over(1);
        assert!(probes.since().is_some());
        probes.clear();
        assert!(probes.since().is_none());
    }
}
