//! Acknowledgements that go together: many of them cost the broker little more than one.
//!
//! `multiple` settles everything on the channel up to a tag. So it is said only of what lies below every
//! delivery that is in hand yet, or held back; the rest is acknowledged one by one. What waits here is on
//! its way: it goes when enough of it is there, when its reader finds nothing more to read, before any other
//! verdict, and after [`LONGEST`] whatever else happens.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::FutureExt;
use lapin::Channel;
use lapin::options::BasicAckOptions;
use tokio::time::Instant;

/// The longest that an acknowledgement waits for others.
const LONGEST: Duration = Duration::from_millis(1);

/// The most that wait.
const MOST: usize = 16;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Acks {
    /// What came on the channel, and waits for a verdict yet.
    open: BTreeSet<u64>,
    tags: Vec<u64>,
    /// When the keeper looks, if it was told to.
    look: Option<Instant>,
}

impl Acks {
    /// A delivery has come.
    pub(super) fn came(&mut self, tag: u64) {
        self.open.insert(tag);
    }

    /// It has another verdict than this.
    pub(super) fn refused(&mut self, tag: u64) {
        self.open.remove(&tag);
    }

    /// One more; whether the keeper is to be told.
    pub(super) fn push(&mut self, tag: u64) -> bool {
        self.open.remove(&tag);
        self.tags.push(tag);
        let untold = self.look.is_none();
        self.look.get_or_insert_with(|| Instant::now() + LONGEST);
        untold
    }

    /// Whether so many wait that they go now, where `in_flight` deliveries may be out: the broker must not
    /// run out of room because of those.
    pub(super) fn are_many(&self, in_flight: usize) -> bool {
        self.tags.len() >= (in_flight / 4).clamp(1, MOST)
    }

    /// The keeper was not told, since they have gone already.
    pub(super) fn untold(&mut self) {
        self.look = None;
    }

    /// Whether none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    /// When the keeper is to look.
    pub(super) fn look(&self) -> Option<Instant> {
        self.look
    }

    /// The keeper has looked; whether they go now.
    pub(super) fn looked(&mut self, now: Instant) -> bool {
        match self.look {
            Some(look) if look <= now => {
                self.look = None;
                !self.tags.is_empty()
            }
            _ => false,
        }
    }

    /// Those that wait were on a channel that is lost.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Hands all of them to the client. `ordered` says that everything below what came last has come, too.
    pub(super) fn send(&mut self, channel: &Channel, ordered: bool) {
        let open = self.open.first().copied().unwrap_or(u64::MAX);
        let open = ordered.then_some(open);
        for (tag, multiple) in frames(&mut self.tags, open) {
            // The frame stands in the client's queue after the first look; who waits for it to be written
            // waits for the network, once for each. What it does not take comes again, and is known as
            // unproven.
            let _ = channel.basic_ack(tag, BasicAckOptions { multiple }).now_or_never();
        }
    }
}

/// What is to be said to settle those tags and no others. `open` is the lowest that has no verdict, where
/// that is known.
fn frames(tags: &mut Vec<u64>, open: Option<u64>) -> Vec<(u64, bool)> {
    let below = |tag: &u64| open.is_some_and(|open| *tag < open);
    let mut frames = Vec::new();
    let together = tags.iter().copied().filter(below);
    if let Some(highest) = together.clone().max() {
        frames.push((highest, together.count() > 1));
    }
    frames.extend(tags.drain(..).filter(|tag| !below(tag)).map(|tag| (tag, false)));
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_below_whatever_is_open_are_said_at_once_and_no_others() {
        let said = |tags: &[u64], open| frames(&mut tags.to_vec(), open);
        assert_eq!(said(&[2, 1, 3], Some(4)), [(3, true)]);
        assert_eq!(said(&[3], Some(4)), [(3, false)]);
        assert_eq!(said(&[1, 2, 5, 6], Some(4)), [(2, true), (5, false), (6, false)]);
        assert_eq!(said(&[5, 6], Some(4)), [(5, false), (6, false)]);
        assert_eq!(said(&[1, 2], None), [(1, false), (2, false)]);
        assert_eq!(said(&[1, 2], Some(u64::MAX)), [(2, true)]);
        assert_eq!(said(&[], Some(1)), []);
    }

    #[test]
    fn the_keeper_is_told_once_and_looks_again_for_those_that_came_since() {
        let mut acks = Acks::default();
        assert!(acks.push(1) && !acks.push(2));
        let look = acks.look().unwrap();
        assert!(!acks.looked(look - Duration::from_micros(1)));
        assert!(acks.looked(look) && acks.look().is_none());
        assert!(acks.push(3));
    }

    #[test]
    fn one_that_reads_few_at_a_time_waits_for_no_others() {
        let mut acks = Acks::default();
        acks.push(1);
        assert!(acks.are_many(1) && acks.are_many(7) && !acks.are_many(8));
        for tag in 2..=16 {
            acks.push(tag);
        }
        assert!(acks.are_many(1000));
    }
}
