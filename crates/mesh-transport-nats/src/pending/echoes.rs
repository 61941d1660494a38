//! Echoes: messages of a session to its own inbox.
//!
//! Where nobody hears a message the server says so at once, to the message's reply address. That somebody does it
//! says by saying nothing. An echo that was sent after the message comes on the same way after that answer, so
//! once it is back there will be none. One echo tells it of all that was sent before: it goes along with a probe,
//! which tells the same of refusals.

use std::collections::VecDeque;

use super::{Entry, Key, Outcome, Pending, State};

#[derive(Default)]
pub(super) struct Echoes {
    /// On their way, oldest first, each with the index up to which it tells.
    sent: VecDeque<(Key, u64)>,
    /// The last operation that wants one, and up to where the newest that was sent tells.
    wanted: u64,
    covered: u64,
    /// Up to where one came back.
    back: u64,
    /// Proven not to be refused, and without an echo yet, oldest first.
    waiting: VecDeque<(u64, Key)>,
}

impl Echoes {
    /// The operation with this index wants one.
    pub(super) fn want(&mut self, index: u64) {
        self.wanted = index;
    }

    /// One that tells of all up to `covers`, if anything new wants it.
    pub(super) fn begin(&mut self, covers: u64) -> Option<Key> {
        if self.wanted <= self.covered {
            return None;
        }
        let key = rand::random();
        self.covered = covers;
        self.sent.push_back((key, covers));
        Some(key)
    }

    /// It was never sent, or it is not known whether it was.
    pub(super) fn take_back(&mut self, key: Key) {
        self.sent.retain(|(other, _)| *other != key);
        self.covered = self.sent.back().map_or(self.back, |(_, covers)| *covers);
    }

    /// Keeps an operation until an echo tells of it. Answers whether one has.
    pub(super) fn keep(&mut self, index: u64, key: Key) -> bool {
        let told = index <= self.back;
        if !told {
            self.waiting.push_back((index, key));
        }
        told
    }

    /// Up to where the echo of this key tells. Those before it are not waited for any more: the client has
    /// no room for all that comes, now and then.
    fn told(&mut self, key: Key) -> Option<u64> {
        let place = self.sent.iter().position(|(other, _)| *other == key)?;
        let (_, covers) = self.sent.drain(..=place).next_back()?;
        Some(covers)
    }

    /// Takes out what waited for an echo that tells up to `covers`.
    fn over(&mut self, covers: u64) -> impl Iterator<Item = Key> {
        let count = self.waiting.iter().take_while(|(index, _)| *index <= covers).count();
        self.waiting.drain(..count).map(|(_, key)| key)
    }

    pub(super) fn clear(&mut self) {
        self.sent.clear();
        self.waiting.clear();
    }
}

impl State {
    /// Forgets who has given up waiting for an echo, oldest first, so that none is kept for long.
    pub(super) fn forget_given_up(&mut self) {
        while let Some((_, key)) = self.echoes.waiting.front() {
            if self.entries.contains_key(key) {
                return;
            }
            self.echoes.waiting.pop_front();
        }
    }

    /// An echo came back, if that is the key of one.
    pub(super) fn echoed(&mut self, key: Key) -> bool {
        let Some(covers) = self.echoes.told(key) else { return false };
        self.echoes.back = covers;
        for key in self.echoes.over(covers) {
            if let Some(Entry { sender, .. }) = self.entries.remove(&key) {
                let _ = sender.send(Outcome::Handled);
            }
        }
        true
    }
}

impl Pending {
    /// The server refused the echo of this key, in these words, if it is one: what it was to tell of is not
    /// known.
    pub(crate) fn echo_refused(&self, key: Key, words: &str) -> bool {
        let mut state = self.state.lock();
        let Some(covers) = state.echoes.told(key) else { return false };
        let mut keys: Vec<Key> = state.echoes.over(covers).collect();
        let sent = state.waiting.iter().filter(|waiting| waiting.echoed && waiting.index <= covers);
        keys.extend(sent.filter_map(|waiting| waiting.key));
        for key in keys {
            if let Some(Entry { sender, .. }) = state.entries.remove(&key) {
                let _ = sender.send(Outcome::Denied(words.to_owned()));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_echo_tells_of_all_before_it() {
        let mut echoes = Echoes::default();
        assert_eq!(echoes.begin(0), None, "nobody wants one");
        echoes.want(1);
        echoes.want(3);
        let first = echoes.begin(3).unwrap();
        assert_eq!(echoes.begin(3), None, "one is on its way");
        assert!(!echoes.keep(1, 11) && !echoes.keep(3, 33));
        echoes.want(4);
        let second = echoes.begin(4).unwrap();
        assert_eq!(echoes.told(first), Some(3));
        assert_eq!(echoes.over(3).collect::<Vec<_>>(), [11, 33]);
        assert_eq!((echoes.told(first), echoes.told(second)), (None, Some(4)));
    }

    #[test]
    fn one_that_was_not_sent_is_sent_by_the_next_who_can() {
        let mut echoes = Echoes::default();
        echoes.want(1);
        let given_up = echoes.begin(1).unwrap();
        echoes.take_back(given_up);
        let sent = echoes.begin(1).unwrap();
        assert_eq!((echoes.told(given_up), echoes.told(sent)), (None, Some(1)));
    }

    #[test]
    fn one_that_is_lost_is_made_good_by_the_next() {
        let mut echoes = Echoes::default();
        echoes.want(1);
        echoes.begin(1).unwrap();
        assert!(!echoes.keep(1, 11));
        echoes.want(2);
        let next = echoes.begin(2).unwrap();
        assert!(!echoes.keep(2, 22));
        assert_eq!(echoes.told(next), Some(2));
        assert_eq!(echoes.over(2).collect::<Vec<_>>(), [11, 22]);
        assert!(echoes.sent.is_empty());
    }

    #[test]
    fn what_was_proven_after_its_echo_is_over_at_once() {
        let pending = Pending::default();
        let mut state = pending.state.lock();
        state.echoes.want(2);
        let key = state.echoes.begin(2).unwrap();
        assert!(state.echoed(key) && !state.echoed(key));
        assert!(state.echoes.keep(2, 22) && !state.echoes.keep(3, 33));
        state.forget_given_up();
        assert!(state.echoes.waiting.is_empty());
    }
}
