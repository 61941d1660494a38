//! What was settled and is not confirmed: said again in each session until the server has confirmed it.

use std::collections::VecDeque;

use async_nats::Subject;
use bytes::Bytes;

/// The verdicts on a reading's deliveries that the server may not have, oldest first. Each has a number,
/// which rises.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    list: VecDeque<Said>,
    /// How many are no longer here: the number of the oldest that is.
    gone: u64,
}

#[derive(Debug, Clone)]
struct Said {
    ack: Subject,
    verb: Bytes,
    /// The session that it was last said in; 0 before it was in any.
    session: u64,
    /// Nobody decided it: it was given back.
    released: bool,
}

/// One that is to be said.
#[derive(Debug)]
pub(super) struct Unsaid {
    pub(super) number: u64,
    pub(super) ack: Subject,
    pub(super) verb: Bytes,
}

impl Verdicts {
    /// Adds one, before it is said. More than `most`, which the server lets be unsettled, can't be in
    /// doubt: the oldest made room for the newest.
    pub(super) fn add(&mut self, ack: Subject, verb: Bytes, released: bool, most: usize) -> Unsaid {
        let number = self.gone + self.list.len() as u64;
        self.list.push_back(Said { ack: ack.clone(), verb: verb.clone(), session: 0, released });
        while self.list.len() > most.max(1) {
            self.drop_oldest();
        }
        Unsaid { number, ack, verb }
    }

    /// Says that one was handed to the client of that session.
    pub(super) fn said(&mut self, number: u64, session: u64) {
        let place = number.checked_sub(self.gone).and_then(|place| usize::try_from(place).ok());
        if let Some(said) = place.and_then(|place| self.list.get_mut(place)) {
            said.session = said.session.max(session);
        }
    }

    /// Those that were not said in that session.
    pub(super) fn unsaid(&self, session: u64) -> Vec<Unsaid> {
        let numbered = (self.gone..).zip(&self.list);
        let unsaid = numbered.filter(|(_, said)| said.session < session);
        unsaid
            .map(|(number, Said { ack, verb, .. })| {
                let (ack, verb) = (ack.clone(), verb.clone());
                Unsaid { number, ack, verb }
            })
            .collect()
    }

    /// Their addresses.
    pub(super) fn addresses(&self) -> impl Iterator<Item = &Subject> {
        self.list.iter().map(|said| &said.ack)
    }

    /// The number of the first that was not said in that session: whatever the server says there to
    /// something later proves all before it.
    pub(super) fn said_before(&self, session: u64) -> u64 {
        let said = self.list.iter().take_while(|said| said.session == session).count();
        self.gone + said as u64
    }

    /// Forgets those before that number: the server has them.
    pub(super) fn confirmed(&mut self, before: u64) {
        while self.gone < before && !self.list.is_empty() {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        self.list.pop_front();
        self.gone += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many were decided and are in doubt; what was only given back comes again without it.
    pub(super) fn in_doubt(&self) -> u64 {
        self.list.iter().filter(|said| !said.released).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(verdicts: &mut Verdicts, ack: &'static str) -> u64 {
        verdicts.add(Subject::from_static(ack), Bytes::new(), false, 3).number
    }

    fn acks(unsaid: &[Unsaid]) -> Vec<&str> {
        unsaid.iter().map(|unsaid| unsaid.ack.as_str()).collect()
    }

    #[test]
    fn what_was_said_in_a_lost_session_is_not_confirmed_by_the_next() {
        let mut verdicts = Verdicts::default();
        let (one, two) = (add(&mut verdicts, "1"), add(&mut verdicts, "2"));
        verdicts.said(one, 1);
        verdicts.said(two, 1);
        assert_eq!(verdicts.said_before(1), 2);
        assert_eq!(verdicts.said_before(2), 0);
        assert_eq!(acks(&verdicts.unsaid(2)), ["1", "2"]);
        verdicts.said(one, 2);
        verdicts.confirmed(verdicts.said_before(2));
        assert_eq!(acks(&verdicts.unsaid(2)), ["2"]);
    }

    #[test]
    fn one_that_is_not_said_yet_holds_back_those_after_it() {
        let mut verdicts = Verdicts::default();
        let (_, two) = (add(&mut verdicts, "1"), add(&mut verdicts, "2"));
        verdicts.said(two, 1);
        verdicts.confirmed(verdicts.said_before(1));
        assert_eq!((verdicts.in_doubt(), acks(&verdicts.unsaid(1))), (2, vec!["1"]));
    }

    #[test]
    fn no_more_are_kept_than_may_be_unsettled() {
        let mut verdicts = Verdicts::default();
        let numbers: Vec<_> = ["1", "2", "3", "4"].map(|ack| add(&mut verdicts, ack)).into();
        assert_eq!(acks(&verdicts.unsaid(1)), ["2", "3", "4"]);
        verdicts.said(numbers[0], 1);
        verdicts.said(numbers[1], 1);
        assert_eq!(verdicts.said_before(1), 2);
        verdicts.confirmed(9);
        assert!(verdicts.is_empty());
        assert_eq!(add(&mut verdicts, "5"), 4);
    }

    #[test]
    fn what_was_given_back_is_not_in_doubt() {
        let mut verdicts = Verdicts::default();
        verdicts.add(Subject::from_static("1"), Bytes::new(), true, 3);
        assert_eq!(verdicts.in_doubt(), 0);
        assert!(!verdicts.is_empty());
    }
}
