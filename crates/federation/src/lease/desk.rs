use std::sync::Arc;

use mesh_core::guard::Now;

use super::inner::Inner;
use super::shared::GRACE;
use super::{EndReason, Lease, LeaseId};

/// What an operator may see and do of a facade.
#[derive(Clone)]
pub(crate) struct LeaseDesk(pub(super) Arc<Inner>);

impl LeaseDesk {
    /// At most `most` leases from place `from` on, each with the place after it, and how many there are.
    pub(crate) fn page(&self, from: u32, most: usize) -> (Now, Vec<(u32, Lease)>, usize) {
        let now = self.0.now();
        let state = self.0.state.lock();
        let page = state.table.page(from, most).map(|(next, mut lease)| {
            if lease.keeper != state.table.me() {
                // It stands in the table longer than it lasts.
                lease.ends = lease.ends.saturating_sub(GRACE);
            }
            (next, lease)
        });
        (now, page.collect(), state.table.len())
    }

    pub(crate) async fn evict(&self, id: LeaseId) -> bool {
        self.0.end(id, EndReason::Evicted).await
    }
}
