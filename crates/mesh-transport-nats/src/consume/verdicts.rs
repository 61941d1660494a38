//! What was settled and is not confirmed: said again in each session until the server has confirmed it.

use std::collections::VecDeque;

use async_nats::Subject;
use bytes::Bytes;

/// The verdicts on a reading's deliveries that the server may not have, oldest first. Each has a number,
/// which rises.
///
/// Their texts lie in one piece of memory, one after another: a thousand of them, freed one by one long
/// after they were made, would keep the caches busy.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    list: VecDeque<Said>,
    /// The address and the verb of each in the list.
    texts: VecDeque<u8>,
    /// How many are no longer here: the number of the oldest that is.
    gone: u64,
}

#[derive(Debug, Clone, Copy)]
struct Said {
    /// How long its texts are.
    ack: u32,
    verb: u32,
    /// Nobody decided it: it was given back.
    released: bool,
    /// The session that it was last said in; 0 before it was in any.
    session: u64,
}

impl Said {
    fn len(self) -> usize {
        self.ack as usize + self.verb as usize
    }
}

/// One that is to be said.
#[derive(Debug)]
pub(super) struct Unsaid {
    pub(super) number: u64,
    pub(super) ack: Subject,
    pub(super) verb: Bytes,
}

impl Verdicts {
    /// Adds one, before it is said, and answers its number. More than `most`, which the server lets be
    /// unsettled, can't be in doubt: the oldest made room for the newest.
    pub(super) fn add(&mut self, ack: &str, verb: &[u8], released: bool, most: usize) -> u64 {
        while self.list.len() >= most.max(1) {
            self.drop_oldest();
        }
        let number = self.gone + self.list.len() as u64;
        let length = |text: &[u8]| u32::try_from(text.len()).unwrap_or(u32::MAX);
        let said = Said { ack: length(ack.as_bytes()), verb: length(verb), released, session: 0 };
        self.list.push_back(said);
        self.texts.extend(ack.as_bytes());
        self.texts.extend(verb);
        number
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
        let numbered = (self.gone..).zip(self.placed());
        let unsaid = numbered.filter(|(_, (_, said))| said.session < session);
        unsaid
            .map(|(number, (start, said))| {
                let verb = self.text(start + said.ack as usize, said.verb);
                Unsaid { number, ack: self.address(start, *said), verb: verb.into() }
            })
            .collect()
    }

    /// Their addresses.
    pub(super) fn addresses(&self) -> impl Iterator<Item = Subject> {
        self.placed().map(|(start, said)| self.address(start, *said))
    }

    /// Each with where its texts begin.
    fn placed(&self) -> impl Iterator<Item = (usize, &Said)> {
        let mut end = 0;
        self.list.iter().map(move |said| {
            let start = end;
            end += said.len();
            (start, said)
        })
    }

    fn address(&self, start: usize, said: Said) -> Subject {
        Subject::from(String::from_utf8_lossy(&self.text(start, said.ack)).into_owned())
    }

    fn text(&self, start: usize, length: u32) -> Vec<u8> {
        self.texts.iter().skip(start).take(length as usize).copied().collect()
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
        let Some(oldest) = self.list.pop_front() else { return };
        self.texts.drain(..oldest.len().min(self.texts.len()));
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
        verdicts.add(ack, b"+ACK", false, 3)
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
    fn each_is_said_again_in_its_own_words() {
        let mut verdicts = Verdicts::default();
        let verbs = ["+ACK", "-NAK {\"delay\": 5}", "+TERM no such account", "-NAK", "+ACK"];
        for (number, verb) in verbs.iter().enumerate() {
            verdicts.add(&format!("ack.of.{number}"), verb.as_bytes(), false, 3);
        }
        let unsaid = verdicts.unsaid(1);
        assert_eq!(acks(&unsaid), ["ack.of.2", "ack.of.3", "ack.of.4"]);
        let said: Vec<&[u8]> = unsaid.iter().map(|unsaid| unsaid.verb.as_ref()).collect();
        assert_eq!(said, verbs[2..].iter().map(|verb| verb.as_bytes()).collect::<Vec<_>>());
        let addresses: Vec<_> = verdicts.addresses().map(|address| address.to_string()).collect();
        assert_eq!(addresses, acks(&unsaid));
        verdicts.confirmed(9);
        assert!(verdicts.is_empty() && verdicts.texts.is_empty());
    }

    #[test]
    fn what_was_given_back_is_not_in_doubt() {
        let mut verdicts = Verdicts::default();
        verdicts.add("1", b"-NAK", true, 3);
        assert_eq!(verdicts.in_doubt(), 0);
        assert!(!verdicts.is_empty());
    }
}
