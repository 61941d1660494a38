use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt as _;
use mesh_core::guard::{
    Finding, GuardCounters, Mode, Now, Outcome, Refusal, Reservation, Step, Trace, Verdict,
};
use mesh_core::mx::MsgType;

use super::super::Arrival;
use super::AsyncGuard;

/// A guard that has to wait, in its place.
#[derive(Debug)]
pub(crate) struct Outside {
    pub(super) guard: Arc<dyn AsyncGuard>,
    mode: Mode,
    passed: AtomicU64,
    refused: AtomicU64,
    shadow_refused: AtomicU64,
}

impl Outside {
    pub(super) fn new(mode: Mode, guard: Arc<dyn AsyncGuard>) -> Self {
        let (passed, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { guard, mode, passed, refused, shadow_refused: AtomicU64::new(0) }
    }

    /// What it says. One that panics can't tell, and so refuses.
    pub(crate) async fn check(&self, arrival: &Arrival<'_>, now: Now) -> Verdict {
        let check = AssertUnwindSafe(self.guard.check(arrival, now)).catch_unwind();
        check.await.unwrap_or_else(|_| {
            tracing::error!(guard = self.guard.name(), "a guard panicked; the message is refused");
            Verdict::Refuse(Refusal::silent("the guard failed"))
        })
    }

    /// What follows from what it said: a reservation to keep, nothing, or the end.
    pub(crate) fn heed(
        &self,
        verdict: Verdict,
        kind: MsgType,
        trace: Option<&mut Trace>,
    ) -> Result<Option<Reservation>, Outcome> {
        let found = match &verdict {
            Verdict::Pass => Finding::Passed,
            Verdict::Reserved(_) => Finding::Reserved,
            Verdict::Refuse(refusal) => Finding::Refused(refusal.clone()),
        };
        if let Some(trace) = trace {
            trace.push(Step::new(self.guard.name(), self.mode, found));
        }
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        match verdict {
            Verdict::Refuse(_) if self.mode == Mode::Shadow => {
                count(&self.shadow_refused);
                Ok(None)
            }
            Verdict::Refuse(refusal) => {
                count(&self.refused);
                Err(Outcome::of_refusal(self.guard.name(), refusal, kind))
            }
            Verdict::Reserved(reservation) => {
                count(&self.passed);
                Ok(Some(reservation))
            }
            Verdict::Pass => {
                count(&self.passed);
                Ok(None)
            }
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.guard.name()
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Undoes a reservation. One that panics keeps it.
    pub(crate) async fn release(&self, arrival: &Arrival<'_>, reservation: Reservation) {
        let release = AssertUnwindSafe(self.guard.release(arrival, reservation)).catch_unwind();
        if release.await.is_err() {
            tracing::error!(
                guard = self.guard.name(),
                "a guard panicked while it released a message"
            );
        }
    }

    pub(super) fn counters(&self) -> GuardCounters {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut counters = GuardCounters::new(self.guard.name(), self.guard.stage(), self.mode);
        counters.passed = count(&self.passed);
        counters.refused = count(&self.refused);
        counters.shadow_refused = count(&self.shadow_refused);
        counters.figures = self.guard.figures();
        counters
    }
}
