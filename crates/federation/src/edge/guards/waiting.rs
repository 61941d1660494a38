use std::fmt;

use async_trait::async_trait;
use mesh_core::guard::{Now, Reservation, Stage, Verdict};

use super::super::Arrival;

/// A check of the gateway that has to wait for something: a key that is fetched, a mark that several
/// gateways share.
///
/// It stands in the order of protocol §8 like a [`Guard`](mesh_core::guard::Guard): after all guards of
/// its own stage that don't wait, before all guards of later stages. What it sees has passed the guards
/// before it.
///
/// A guard:
/// - ends its [`check`](Self::check) within a time of its own; the gateway sets none, and holds one of
///   [`max_waiting`](super::super::EdgeLimits::max_waiting) places meanwhile;
/// - keeps what it remembers, and what it fetches at a time, bounded whatever the messages claim;
/// - that remembers a message says so with [`Verdict::Reserved`], and forgets it in
///   [`release`](Self::release): a later guard refused the message, or it never reached the inside;
/// - where it can't tell, refuses: a store that is away lets nothing through. Silently where the
///   protocol drops what it guards against, else with a code.
#[async_trait]
pub trait AsyncGuard: Send + Sync + fmt::Debug {
    /// Its name in decisions, traces and counters. Unique within a gateway.
    fn name(&self) -> &'static str;

    /// Its place in the order.
    fn stage(&self) -> Stage;

    /// Whether the message may go on. `now` is when its turn came.
    async fn check(&self, arrival: &Arrival<'_>, now: Now) -> Verdict;

    /// Undoes what [`check`](Self::check) reserved for this message. Called at most once a reservation.
    async fn release(&self, arrival: &Arrival<'_>, reservation: Reservation) {
        let _ = (arrival, reservation);
    }

    /// Frees what is no longer needed at `now`, and tells how many entries that were.
    fn reclaim(&self, now: Now) -> usize {
        let _ = now;
        0
    }

    /// Its own numbers beside passed and refused, by name.
    fn figures(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
