//! What was settled and not yet confirmed, to be said again in the next session.

use std::collections::VecDeque;

use async_nats::Subject;
use bytes::Bytes;

/// Verdicts with their addresses, oldest first. Nearly all of them are only ever written and forgotten, so
/// their text lies end to end in one piece of memory.
#[derive(Debug, Default)]
pub(super) struct Unconfirmed {
    text: VecDeque<u8>,
    /// How long the address and the verb of each are.
    lengths: VecDeque<(usize, usize)>,
    /// How many were confirmed, or made room for others, since the reading began.
    over: u64,
}

impl Unconfirmed {
    /// Adds one, and forgets the oldest of more than `most`.
    pub(super) fn push(&mut self, ack: &Subject, verb: &Bytes, most: usize) {
        self.text.extend(ack.as_bytes());
        self.text.extend(&verb[..]);
        self.lengths.push_back((ack.len(), verb.len()));
        while self.lengths.len() > most {
            self.pop();
        }
    }

    /// How many have been added so far.
    pub(super) fn added(&self) -> u64 {
        self.over + self.lengths.len() as u64
    }

    /// Forgets the first so many of all that have been added.
    pub(super) fn confirm(&mut self, added: u64) {
        while self.over < added && !self.lengths.is_empty() {
            self.pop();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// All of them.
    pub(super) fn list(&self) -> Vec<(Subject, Bytes)> {
        let mut text = self.text.iter().copied();
        let mut take = |length: usize| text.by_ref().take(length).collect::<Vec<u8>>();
        let pairs = self.lengths.iter().map(|(ack, verb)| (take(*ack), take(*verb)));
        // Each address is one that the client had as text.
        pairs.filter_map(|(ack, verb)| Some((Subject::from_utf8(ack).ok()?, verb.into()))).collect()
    }

    fn pop(&mut self) {
        if let Some((ack, verb)) = self.lengths.pop_front() {
            self.text.drain(..ack + verb);
            self.over += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(unconfirmed: &mut Unconfirmed, numbers: std::ops::Range<u32>, most: usize) {
        for number in numbers {
            let (ack, verb) = (Subject::from(format!("ack.{number}")), format!("+{number}"));
            unconfirmed.push(&ack, &verb.into(), most);
        }
    }

    fn listed(unconfirmed: &Unconfirmed) -> Vec<String> {
        let list = unconfirmed.list().into_iter();
        list.map(|(ack, verb)| format!("{ack} {}", String::from_utf8_lossy(&verb))).collect()
    }

    #[test]
    fn what_is_added_is_listed_until_it_is_confirmed() {
        let mut unconfirmed = Unconfirmed::default();
        add(&mut unconfirmed, 9..12, 10);
        assert_eq!(listed(&unconfirmed), ["ack.9 +9", "ack.10 +10", "ack.11 +11"]);
        unconfirmed.confirm(2);
        assert_eq!(listed(&unconfirmed), ["ack.11 +11"]);
        assert_eq!(unconfirmed.added(), 3);
        unconfirmed.confirm(2);
        assert!(!unconfirmed.is_empty());
        unconfirmed.confirm(7);
        assert!(unconfirmed.is_empty());
        assert_eq!(unconfirmed.added(), 3);
    }

    #[test]
    fn the_oldest_makes_room_for_the_newest() {
        let mut unconfirmed = Unconfirmed::default();
        add(&mut unconfirmed, 0..1000, 2);
        assert_eq!(listed(&unconfirmed), ["ack.998 +998", "ack.999 +999"]);
        assert_eq!(unconfirmed.added(), 1000);
    }
}
