use std::sync::Arc;

use mesh_core::guard::{Finding, Held, Now, Outcome, Reservation, Step, Trace};
use mesh_core::port::Clock;
use smallvec::SmallVec;

use super::guards::{GuardSet, Part};
use super::places::Place;
use super::{Arrival, Edge, Reaction};

/// A message on its way through the guards, and what they have reserved for it so far.
#[derive(Debug)]
pub(super) struct Passage<'a> {
    pub(super) arrival: Arrival<'a>,
    guards: Arc<GuardSet>,
    /// The part of the guards that it is in.
    at: usize,
    /// What the chain of each part before reserved.
    held: SmallVec<[Held; 1]>,
    /// What the guards that wait reserved, each with its part.
    asked: Vec<(usize, Reservation)>,
    pub(super) trace: Option<Trace>,
}

/// How far a message came.
#[derive(Debug)]
pub(super) enum Progress {
    Passed,
    Refused(Outcome),
    /// The guard after the present part has to be asked.
    Waits,
}

impl<'a> Passage<'a> {
    pub(super) fn new(arrival: Arrival<'a>, guards: Arc<GuardSet>, traced: bool) -> Self {
        let trace = traced.then(Trace::default);
        Self { arrival, guards, at: 0, held: SmallVec::new(), asked: Vec::new(), trace }
    }

    /// Through the guards of the present part.
    pub(super) fn run(&mut self, now: Now) -> Progress {
        let Some(part) = self.guards.part(self.at) else {
            return Progress::Passed;
        };
        let inbound = self.arrival.inbound();
        let (outcome, held) = match &mut self.trace {
            None => part.chain.admit(&inbound, now),
            Some(trace) => part.chain.admit_traced(&inbound, now, trace),
        };
        if !outcome.is_pass() {
            self.undo();
            return Progress::Refused(outcome);
        }
        self.held.push(held);
        if part.then.is_some() { Progress::Waits } else { Progress::Passed }
    }

    /// Asks the guard that has to be waited for, and goes on to the next part where it lets it.
    async fn ask(&mut self, clock: &dyn Clock) -> Result<(), Outcome> {
        let guards = Arc::clone(&self.guards);
        if let Some(Part { then: Some(outside), .. }) = guards.part(self.at) {
            let verdict = outside.check(&self.arrival, Now::of(clock)).await;
            let kind = self.arrival.inbound().kind;
            match outside.heed(verdict, kind, self.trace.as_mut()) {
                Ok(Some(reservation)) => self.asked.push((self.at, reservation)),
                Ok(None) => {}
                Err(outcome) => {
                    self.undo();
                    return Err(outcome);
                }
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Forgets what was reserved and can be forgotten at once; the rest is for [`Release`].
    pub(super) fn undo(&mut self) {
        let inbound = self.arrival.inbound();
        for (number, held) in std::mem::take(&mut self.held).into_iter().enumerate().rev() {
            if let Some(part) = self.guards.part(number) {
                match &mut self.trace {
                    None => part.chain.release(&inbound, held),
                    Some(trace) => part.chain.release_traced(&inbound, held, trace),
                }
            }
        }
    }

    /// What is left to undo, after [`undo`](Self::undo).
    pub(super) fn into_release(mut self: Box<Self>) -> Release<'a> {
        self.undo();
        Release(self)
    }

    async fn undo_asked(&mut self) {
        for (number, reservation) in std::mem::take(&mut self.asked).into_iter().rev() {
            if let Some(Part { then: Some(outside), .. }) = self.guards.part(number) {
                outside.release(&self.arrival, reservation).await;
                if let Some(trace) = &mut self.trace {
                    trace.push(Step::new(outside.name(), outside.mode(), Finding::Released));
                }
            }
        }
    }
}

/// A message that a guard has to wait for. It holds one of
/// [`max_waiting`](super::EdgeLimits::max_waiting) places.
#[derive(Debug)]
#[must_use]
pub struct Waiting<'a> {
    pub(super) passage: Box<Passage<'a>>,
    pub(super) place: Place,
}

impl<'a> Waiting<'a> {
    /// Asks the guard and goes on: to what is to be done, or to the next guard that has to wait. Where
    /// the message is refused, all that was reserved for it is released when this returns.
    pub async fn proceed(self, edge: &Edge, clock: &dyn Clock) -> Reaction<'a> {
        let Self { mut passage, place } = self;
        let outcome = match passage.ask(clock).await {
            Ok(()) => match passage.run(Now::of(clock)) {
                Progress::Passed => {
                    return match edge.route(passage, Now::of(clock)) {
                        Ok(reaction) => reaction,
                        Err((mut passage, outcome)) => {
                            passage.undo_asked().await;
                            edge.refused(&passage, outcome, Now::of(clock))
                        }
                    };
                }
                Progress::Waits => return Reaction::Wait(Self { passage, place }),
                Progress::Refused(outcome) => outcome,
            },
            Err(outcome) => outcome,
        };
        passage.undo_asked().await;
        edge.refused(&passage, outcome, Now::of(clock))
    }
}

/// What guards that have to wait still hold for a message that was not handled.
#[derive(Debug)]
#[must_use = "what it holds stays reserved unless it is finished"]
pub struct Release<'a>(Box<Passage<'a>>);

impl Release<'_> {
    /// Whether nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.asked.is_empty()
    }

    /// Has it all forgotten, the last first.
    pub async fn finish(mut self) {
        self.0.undo_asked().await;
    }
}
