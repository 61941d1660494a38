use std::time::Duration;

use mesh_core::dead_letter::DeadReason;
use mesh_core::port::{Reason, Verdict};
use mesh_core::topology::StreamName;

use super::claim::{Claim, ClaimState, Ticket};
use super::consumer::Consumer;
use super::effects::{Burial, Effects};
use super::log::Log;
use super::seat::SeatId;

/// What a burial that failed waits at least: at an `ack_wait` of nothing it would be tried without a
/// pause.
const AGAIN: Duration = Duration::from_secs(1);

/// What a verdict means for the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    /// Handled or given up for good: a work queue lets the message go.
    Now,
    /// The message stays.
    Kept,
    /// It was settled before.
    Before,
}

impl Consumer {
    /// Settles a delivery. One whose claim has passed to another may still be handled or given up
    /// for good, as long as nobody has settled it; it can't be given back.
    pub(super) fn settle(
        &mut self,
        ticket: &Ticket,
        verdict: Verdict,
        log: &Log,
        now: Duration,
        effects: &mut Effects,
    ) -> Settled {
        let sequence = ticket.sequence;
        if ticket.instance != self.instance {
            return Settled::Before;
        }
        let Some(claim) = self.claims.get_mut(&sequence) else {
            return Settled::Before;
        };
        if matches!(claim.state, ClaimState::GivenUp { .. }) {
            return Settled::Before;
        }
        match verdict {
            Verdict::Ack => {
                self.forget(sequence, effects);
                Settled::Now
            }
            Verdict::Terminate(reason) => {
                self.ready.remove(&sequence);
                self.give_up(sequence, reason.kind(), Some(reason), log, effects)
            }
            Verdict::Nak { delay } => {
                if claim.is_held_by(ticket.number) {
                    let until = delay
                        .filter(|delay| !delay.is_zero())
                        .map(|delay| now.saturating_add(delay));
                    self.give_back(sequence, until, log, effects);
                }
                Settled::Kept
            }
        }
    }

    /// A delivery has left its owner's hands.
    pub(super) fn let_go(&mut self, seat: SeatId, effects: &mut Effects) {
        if let Some(reader) = self.readers.get_mut(&seat) {
            reader.held = reader.held.saturating_sub(1);
            effects.wake.extend(reader.waker.take());
        }
    }

    pub(super) fn progress(&mut self, ticket: &Ticket, now: Duration) {
        let wait = self.spec.rules.ack_wait;
        if ticket.instance == self.instance
            && let Some(claim) = self.claims.get_mut(&ticket.sequence)
        {
            claim.extend(ticket.number, now.saturating_add(wait));
        }
    }

    /// Removes a reader. What it refused goes to others; what it handed on stays with whoever has it, and
    /// the answer is whether there is any.
    pub(super) fn stand_up(&mut self, seat: SeatId, log: &Log, effects: &mut Effects) -> bool {
        self.remove_reader(seat, effects);
        self.give_back_of(seat, |claim| !claim.is_handed_on(), log, effects);
        self.holds(seat)
    }

    /// Removes a reader, if it is still there, and gives what it handed on to others. The answer is how
    /// much that was.
    pub(super) fn leave(&mut self, seat: SeatId, log: &Log, effects: &mut Effects) -> u64 {
        self.remove_reader(seat, effects);
        self.give_back_of(seat, |_| true, log, effects)
    }

    /// Whether anything is in the hands of that reader, or of whoever got it there.
    pub(super) fn holds(&self, seat: SeatId) -> bool {
        self.claims.values().any(|claim| claim.seat() == Some(seat))
    }

    fn remove_reader(&mut self, seat: SeatId, effects: &mut Effects) {
        if let Some(reader) = self.readers.remove(&seat) {
            effects.wake.extend(reader.waker);
            self.wake(effects);
        }
    }

    fn give_back_of(
        &mut self,
        seat: SeatId,
        which: impl Fn(&Claim) -> bool,
        log: &Log,
        effects: &mut Effects,
    ) -> u64 {
        let theirs: Vec<u64> = self
            .claims
            .iter()
            .filter(|(_, claim)| claim.seat() == Some(seat) && which(claim))
            .map(|(sequence, _)| *sequence)
            .collect();
        for sequence in &theirs {
            self.give_back(*sequence, None, log, effects);
        }
        theirs.len() as u64
    }

    /// Does what is due, and arms the next look.
    pub(super) fn look(&mut self, log: &Log, now: Duration, effects: &mut Effects) {
        self.armed = None;
        let due: Vec<u64> = self
            .claims
            .iter()
            .filter(|(_, claim)| claim.until().is_some_and(|until| until <= now))
            .map(|(sequence, _)| *sequence)
            .collect();
        for sequence in due {
            let retry = match self.claims.get(&sequence).map(|claim| &claim.state) {
                Some(ClaimState::GivenUp { reason, error, .. }) => Some((*reason, error.clone())),
                Some(ClaimState::Delayed { .. }) => {
                    self.make_ready(sequence, effects);
                    continue;
                }
                _ => None,
            };
            match retry {
                Some((reason, error)) => {
                    self.give_up(sequence, reason, error, log, effects);
                }
                None => self.give_back(sequence, None, log, effects),
            }
        }
        if let Some(next) = self.claims.values().filter_map(Claim::until).min() {
            self.arm(next, effects);
        }
    }

    /// Gives a claim back, to be delivered again; or gives it up, if that was its last delivery.
    fn give_back(
        &mut self,
        sequence: u64,
        until: Option<Duration>,
        log: &Log,
        effects: &mut Effects,
    ) {
        let Some(claim) = self.claims.get_mut(&sequence) else {
            return;
        };
        if self.spec.rules.max_deliver.is_some_and(|max| claim.deliveries >= max) {
            self.give_up(sequence, DeadReason::MaxDeliver, None, log, effects);
            return;
        }
        match until {
            Some(until) => {
                claim.state = ClaimState::Delayed { until };
                self.arm(until, effects);
            }
            None => self.make_ready(sequence, effects),
        }
    }

    fn make_ready(&mut self, sequence: u64, effects: &mut Effects) {
        if let Some(claim) = self.claims.get_mut(&sequence) {
            claim.state = ClaimState::Ready;
            self.ready.insert(sequence);
            self.wake(effects);
        }
    }

    /// Never delivers it again. Only events become dead letters by themselves (protocol §2).
    fn give_up(
        &mut self,
        sequence: u64,
        reason: DeadReason,
        error: Option<Reason>,
        log: &Log,
        effects: &mut Effects,
    ) -> Settled {
        if self.spec.reference.stream != StreamName::Events {
            self.forget(sequence, effects);
            return match reason {
                // A work queue keeps what was tried too often, and nobody is given it again.
                DeadReason::MaxDeliver => Settled::Kept,
                _ => Settled::Now,
            };
        }
        if let Some(claim) = self.claims.get_mut(&sequence) {
            let message = log.entry(sequence).map(|entry| entry.message.clone());
            effects.burials.push(Burial {
                consumer: self.spec.reference.clone(),
                instance: self.instance,
                sequence,
                deliveries: claim.deliveries,
                reason: if message.is_some() { reason } else { DeadReason::AgedOut },
                message,
                error: error.clone(),
            });
            claim.state = ClaimState::GivenUp { reason, error, retry: None };
        }
        Settled::Kept
    }

    /// Its stream has let a message go. Nobody can be given it again, so nothing waits for it to be
    /// settled; of an event a dead letter says so.
    pub(super) fn lose(&mut self, sequence: u64, log: &Log, effects: &mut Effects) {
        if self.claims.contains_key(&sequence) {
            self.ready.remove(&sequence);
            self.give_up(sequence, DeadReason::AgedOut, None, log, effects);
        }
    }

    /// What became of a burial: done, or to be tried again later.
    pub(super) fn buried(
        &mut self,
        sequence: u64,
        done: bool,
        now: Duration,
        effects: &mut Effects,
    ) {
        if done {
            self.forget(sequence, effects);
            return;
        }
        let later = now.saturating_add(self.spec.rules.ack_wait.max(AGAIN));
        if let Some(Claim { state: ClaimState::GivenUp { retry, .. }, .. }) =
            self.claims.get_mut(&sequence)
        {
            *retry = Some(later);
            self.arm(later, effects);
        }
    }

    pub(super) fn forget(&mut self, sequence: u64, effects: &mut Effects) {
        let was_full = self.claims.len() >= self.spec.rules.max_ack_pending;
        self.claims.remove(&sequence);
        self.ready.remove(&sequence);
        if was_full {
            self.wake(effects);
        }
    }
}
