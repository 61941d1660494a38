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
        for (tag, multiple) in self.take(ordered) {
            // The frame stands in the client's queue after the first look; who waits for it to be written
            // waits for the network, once for each. What it does not take comes again, and is known as
            // unproven.
            let _ = channel.basic_ack(tag, BasicAckOptions { multiple }).now_or_never();
        }
    }

    fn take(&mut self, ordered: bool) -> Vec<(u64, bool)> {
        let open = self.open.first().copied().unwrap_or(u64::MAX);
        frames(&mut self.tags, ordered.then_some(open))
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
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// What happens on a channel, to whichever of those that it may happen to.
    #[derive(Debug, Clone)]
    enum Step {
        /// The broker sends one for this queue.
        Sends(bool),
        /// The reader takes the next of this queue.
        Comes(bool),
        Acked(prop::sample::Index),
        Refused(prop::sample::Index),
        /// Those that wait go.
        Goes,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => any::<bool>().prop_map(Step::Sends),
            3 => any::<bool>().prop_map(Step::Comes),
            3 => any::<prop::sample::Index>().prop_map(Step::Acked),
            1 => any::<prop::sample::Index>().prop_map(Step::Refused),
            1 => Just(Step::Goes),
        ]
    }

    /// The broker's side of a channel: what it has sent and who may settle it.
    #[derive(Default)]
    struct Sent {
        unsettled: BTreeSet<u64>,
        acked: BTreeSet<u64>,
    }

    impl Sent {
        fn takes(&mut self, frames: Vec<(u64, bool)>) {
            for (tag, multiple) in frames {
                // The broker closes a channel that settles what is not there.
                assert!(self.unsettled.contains(&tag), "{tag} is unknown");
                let settled = |one: &u64| *one == tag || multiple && *one < tag;
                let settled: Vec<u64> = self.unsettled.extract_if(.., |one| settled(one)).collect();
                for one in settled {
                    assert!(
                        self.acked.contains(&one),
                        "{one} has no verdict, and {tag} settled it"
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_the_order_only_what_was_acknowledged_is_settled_and_all_of_it(
            two in any::<bool>(),
            steps in vec(step(), 0..200),
        ) {
            let (mut acks, mut sent) = (Acks::default(), Sent::default());
            let mut waiting: BTreeMap<bool, Vec<u64>> = BTreeMap::new();
            let (mut last, mut hand) = (0, Vec::new());
            for step in steps {
                match step {
                    Step::Sends(queue) => {
                        last += 1;
                        sent.unsettled.insert(last);
                        waiting.entry(two && queue).or_default().push(last);
                    }
                    Step::Comes(queue) => {
                        let waiting = waiting.entry(two && queue).or_default();
                        if !waiting.is_empty() {
                            let tag = waiting.remove(0);
                            acks.came(tag);
                            hand.push(tag);
                        }
                    }
                    Step::Acked(index) if !hand.is_empty() => {
                        let tag = hand.remove(index.index(hand.len()));
                        sent.acked.insert(tag);
                        acks.push(tag);
                    }
                    Step::Refused(index) if !hand.is_empty() => {
                        sent.takes(acks.take(!two));
                        let tag = hand.remove(index.index(hand.len()));
                        acks.refused(tag);
                        assert!(sent.unsettled.remove(&tag));
                    }
                    Step::Acked(_) | Step::Refused(_) => {}
                    Step::Goes => sent.takes(acks.take(!two)),
                }
            }
            sent.takes(acks.take(!two));
            prop_assert!(sent.unsettled.is_disjoint(&sent.acked));
        }
    }

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
