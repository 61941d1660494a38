use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Inbound, Now, Stage};

/// One check of the [chain](super::GuardChain).
///
/// A guard:
/// - looks at one message at a time and does not block: no I/O, no waiting;
/// - keeps what it remembers bounded, whatever the messages claim;
/// - takes the time from its argument;
/// - that remembers a message in [`check`](Self::check) says so with [`Verdict::Reserved`], and
///   forgets it in [`release`](Self::release): a later guard refused the message, so it was not
///   handled and may come again;
/// - does not know whether it is enforced or in shadow.
pub trait Guard: Send + Sync + fmt::Debug {
    /// Its name in decisions, traces and counters. Unique within a chain.
    fn name(&self) -> &'static str;

    /// Its place in the order.
    fn stage(&self) -> Stage;

    /// Whether the message may go on.
    fn check(&self, inbound: &Inbound<'_>, now: Now) -> Verdict;

    /// Undoes what [`check`](Self::check) reserved for this message. Called at most once a
    /// reservation, with the message that it was made for.
    fn release(&self, inbound: &Inbound<'_>, reservation: Reservation) {
        let _ = (inbound, reservation);
    }

    /// Frees what is no longer needed at `now`, and tells how many entries that were. A timer
    /// calls it, so that memory shrinks without new traffic.
    fn reclaim(&self, now: Now) -> usize {
        let _ = now;
        0
    }

    /// Its own numbers beside passed and refused, by name: sizes, and refusals by reason.
    fn figures(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// A shared guard, for one who keeps a handle to it.
impl<G: Guard + ?Sized> Guard for Arc<G> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn stage(&self) -> Stage {
        (**self).stage()
    }

    fn check(&self, inbound: &Inbound<'_>, now: Now) -> Verdict {
        (**self).check(inbound, now)
    }

    fn release(&self, inbound: &Inbound<'_>, reservation: Reservation) {
        (**self).release(inbound, reservation);
    }

    fn reclaim(&self, now: Now) -> usize {
        (**self).reclaim(now)
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        (**self).figures()
    }
}

/// What one guard says of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
#[expect(
    clippy::exhaustive_enums,
    reason = "the chain handles each; another would change its contract"
)]
pub enum Verdict {
    /// It may go on.
    Pass,
    /// It may go on, and the guard has remembered it: undo that if it gets no further.
    Reserved(Reservation),
    /// It may not go on.
    Refuse(Refusal),
}

/// What a guard needs to find again what it reserved; the guard alone knows what the number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation(u64);

impl Reservation {
    /// A reservation that the guard knows by this number.
    #[must_use]
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// The guard's number.
    #[must_use]
    pub const fn id(self) -> u64 {
        self.0
    }
}

/// Why a guard refuses, and whether the sender is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    reason: Cow<'static, str>,
    code: Option<&'static str>,
}

impl Refusal {
    /// The message is dropped and the sender told nothing: for what is forged, misdirected or late.
    #[must_use]
    pub fn silent(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: reason.into(), code: None }
    }

    /// A sender that waits for an answer gets this code and text; any other is told nothing.
    #[must_use]
    pub fn answered(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: message.into(), code: Some(code) }
    }

    /// Why, in words that may be shown to the sender.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The code of the answer, if it is answered.
    #[must_use]
    pub const fn code(&self) -> Option<&'static str> {
        self.code
    }

    pub(super) fn into_reason(self) -> Cow<'static, str> {
        self.reason
    }
}
