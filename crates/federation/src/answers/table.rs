use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use mesh_core::mx::{Answer, Profile};
use mesh_core::name::RealmName;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::sinks::Sinks;
use super::{AnswerCounts, AnswerLimits, RegisterError, Reply, Settled};

/// The questions that wait, and counts. Held for a few look-ups at a time, never while anyone waits.
pub(super) struct Table {
    limits: AnswerLimits,
    state: Mutex<State>,
    /// How often what comes to the realm's mailboxes was or may have been missed.
    pub(super) gaps: watch::Sender<u64>,
    pub(super) sinks: Sinks,
}

#[derive(Default)]
struct State {
    questions: HashMap<Arc<str>, Question>,
    per_realm: HashMap<RealmName, usize>,
    next: u64,
    closed: bool,
    counts: AnswerCounts,
}

struct Question {
    /// Tells it from a later one of the same id.
    number: u64,
    realm: RealmName,
    profile: Profile,
    asker: oneshot::Sender<Reply>,
}

impl Table {
    pub(super) fn new(limits: AnswerLimits) -> Self {
        let gaps = watch::Sender::default();
        Self { limits, state: Mutex::default(), gaps, sinks: Sinks::default() }
    }

    pub(super) fn insert(
        &self,
        realm: &RealmName,
        id: &Arc<str>,
        profile: Profile,
    ) -> Result<(u64, oneshot::Receiver<Reply>), RegisterError> {
        let mut state = self.state.lock();
        if let Err(error) = self.room(&state, realm, id) {
            state.counts.refused += 1;
            return Err(error);
        }
        state.next += 1;
        let number = state.next;
        let (asker, answer) = oneshot::channel();
        *state.per_realm.entry(realm.clone()).or_default() += 1;
        let question = Question { number, realm: realm.clone(), profile, asker };
        state.questions.insert(Arc::clone(id), question);
        Ok((number, answer))
    }

    fn room(&self, state: &State, realm: &RealmName, id: &str) -> Result<(), RegisterError> {
        let AnswerLimits { per_realm, total } = self.limits;
        if state.closed {
            return Err(RegisterError::Closed);
        }
        if state.questions.contains_key(id) {
            return Err(RegisterError::Taken);
        }
        if state.per_realm.get(realm).copied().unwrap_or(0) >= per_realm {
            return Err(RegisterError::RealmFull { limit: per_realm });
        }
        if state.questions.len() >= total {
            return Err(RegisterError::Full { limit: total });
        }
        Ok(())
    }

    pub(super) fn settle(&self, answer: &Answer<'_>) -> Settled {
        let asker = {
            let mut state = self.state.lock();
            let Some(question) = state.questions.get(&*answer.correlation_id) else {
                state.counts.unknown += 1;
                return Settled::Unknown;
            };
            if !question.is_for(answer.from_realm.as_ref().map(AsRef::as_ref)) {
                state.counts.foreign += 1;
                return Settled::Foreign;
            }
            let number = question.number;
            state.remove(&answer.correlation_id, number).map(|question| question.asker)
        };
        // Waking runs others' code: not under the lock.
        let reply = match &answer.outcome {
            Ok(body) => Ok(body.clone().into_owned()),
            Err(fault) => Err(fault.clone().into_owned()),
        };
        let heard = asker.is_some_and(|asker| asker.send(reply).is_ok());
        let mut state = self.state.lock();
        if heard {
            state.counts.matched += 1;
            Settled::Matched
        } else {
            // Given up between the two locks.
            state.counts.given_up += 1;
            state.counts.unknown += 1;
            Settled::Unknown
        }
    }

    pub(super) fn awaits(&self, realm: Option<&str>, id: &str) -> bool {
        let state = self.state.lock();
        state.questions.get(id).is_some_and(|question| question.is_for(realm))
    }

    /// Forgets a question whose asker gives up, if it still waits.
    pub(super) fn forget(&self, id: &str, number: u64) {
        let mut state = self.state.lock();
        if state.remove(id, number).is_some() {
            state.counts.given_up += 1;
        }
    }

    pub(super) fn close(&self) {
        let left = {
            let mut state = self.state.lock();
            state.closed = true;
            state.per_realm.clear();
            let left = std::mem::take(&mut state.questions);
            state.counts.given_up += left.len() as u64;
            left
        };
        // Dropping an asker's end wakes it.
        drop(left);
    }

    pub(super) fn counts(&self) -> AnswerCounts {
        let state = self.state.lock();
        AnswerCounts { pending: state.questions.len(), ..state.counts }
    }
}

impl Question {
    /// Whether an answer that says it is of `realm`, or of none, may be the one.
    fn is_for(&self, realm: Option<&str>) -> bool {
        match realm {
            Some(realm) => realm == self.realm.as_str(),
            None => self.profile == Profile::Legacy,
        }
    }
}

impl State {
    fn remove(&mut self, id: &str, number: u64) -> Option<Question> {
        if self.questions.get(id)?.number != number {
            return None;
        }
        let question = self.questions.remove(id)?;
        if let Entry::Occupied(mut count) = self.per_realm.entry(question.realm.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        Some(question)
    }
}
