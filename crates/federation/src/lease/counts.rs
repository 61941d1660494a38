use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use mesh_core::mx::MxPath;

/// Who notices are from.
pub(super) static FEDERATION: LazyLock<MxPath<'static>> = LazyLock::new(federation);

fn federation() -> MxPath<'static> {
    ours("emits.lease-notice")
}

/// A path of the facade's own component. `message` is one of ours, so this is a path.
#[expect(clippy::expect_used, reason = "texts of this module alone")]
pub(super) fn ours(message: &str) -> MxPath<'static> {
    MxPath::new(format!("_federation.{message}")).expect("a path")
}

/// What a facade has done since it was started, and what was lost on the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FederationCounts {
    /// Leases given or extended by `subscribe`.
    pub granted: u64,
    /// Leases extended by `refresh`.
    pub refreshed: u64,
    /// Leases ended by their owners.
    pub unsubscribed: u64,
    /// Leases ended by time, an operator, a shutdown or the loss of their source.
    pub ended: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Events sent to a sink: one for each of its leases.
    pub forwarded: u64,
    /// Events lost, since too many waited for their realm, or too many bytes in all.
    pub queue_full: u64,
    /// Events lost, since they are no JSON, or too deep for an envelope.
    pub unusable: u64,
    /// Events lost, since the backbone did not take them.
    pub undelivered: u64,
    /// Events lost, since this gateway could not prove in time that it is still the one to forward them.
    pub withheld: u64,
    /// How often events were or may have been missed on the local bus.
    pub gaps: u64,
    /// Notices sent.
    pub notices: u64,
    /// Notices that could not be sent.
    pub notices_lost: u64,
    /// Entries of the shared store that can't be read: passed over.
    pub unreadable: u64,
    /// Calls of the shared store that failed.
    pub store_failures: u64,
    /// Leases taken over from a gateway that is gone.
    pub adopted: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) granted: AtomicU64,
    pub(super) refreshed: AtomicU64,
    pub(super) unsubscribed: AtomicU64,
    pub(super) ended: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) forwarded: AtomicU64,
    pub(super) queue_full: AtomicU64,
    pub(super) unusable: AtomicU64,
    pub(super) undelivered: AtomicU64,
    pub(super) withheld: AtomicU64,
    pub(super) gaps: AtomicU64,
    pub(super) notices: AtomicU64,
    pub(super) notices_lost: AtomicU64,
    pub(super) unreadable: AtomicU64,
    pub(super) store_failures: AtomicU64,
    pub(super) adopted: AtomicU64,
}

pub(super) fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

impl Counts {
    pub(super) fn snapshot(&self) -> FederationCounts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        FederationCounts {
            granted: of(&self.granted),
            refreshed: of(&self.refreshed),
            unsubscribed: of(&self.unsubscribed),
            ended: of(&self.ended),
            refused: of(&self.refused),
            forwarded: of(&self.forwarded),
            queue_full: of(&self.queue_full),
            unusable: of(&self.unusable),
            undelivered: of(&self.undelivered),
            withheld: of(&self.withheld),
            gaps: of(&self.gaps),
            notices: of(&self.notices),
            notices_lost: of(&self.notices_lost),
            unreadable: of(&self.unreadable),
            store_failures: of(&self.store_failures),
            adopted: of(&self.adopted),
        }
    }
}
