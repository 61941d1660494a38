use std::sync::atomic::{AtomicU64, Ordering};

use metrics::counter;

use super::DropReason;

/// What a router has done so far. Of all that arrived, each is delivered, passed down, passed up, dropped or
/// still waiting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RouterCounters {
    /// What came in at the inbox.
    pub arrived: u64,
    /// What the realm's own mailbox took.
    pub delivered: u64,
    /// What children's inboxes took.
    pub down: u64,
    /// What the parent's inbox took.
    pub up: u64,
    /// Lost before it was looked at: the inbox brought more than could wait.
    pub lagged: u64,
    /// How often the inbox was interrupted: live messages may have been missed.
    pub interrupted: u64,
    dropped: [u64; DropReason::ALL.len()],
}

impl RouterCounters {
    /// What was dropped for this reason.
    #[must_use]
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize]
    }

    /// What was dropped, for whatever reason.
    #[must_use]
    pub fn dropped_in_all(&self) -> u64 {
        self.dropped.iter().sum()
    }
}

/// Where a message goes, for the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Deliver,
    Down,
    Up,
}

impl Way {
    fn as_str(self) -> &'static str {
        match self {
            Self::Deliver => "deliver",
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

/// The counters themselves, and the metrics that say the same.
#[derive(Debug, Default)]
pub(super) struct Counts {
    arrived: AtomicU64,
    ways: [AtomicU64; 3],
    lagged: AtomicU64,
    interrupted: AtomicU64,
    dropped: [AtomicU64; DropReason::ALL.len()],
}

impl Counts {
    pub(super) fn arrived(&self) {
        self.arrived.fetch_add(1, Ordering::Relaxed);
        counter!("mesh.federation.router.arrived").increment(1);
    }

    pub(super) fn passed_on(&self, way: Way) {
        self.ways[way as usize].fetch_add(1, Ordering::Relaxed);
        counter!("mesh.federation.router.passed_on", "way" => way.as_str()).increment(1);
    }

    pub(super) fn dropped(&self, reason: DropReason) {
        self.dropped[reason as usize].fetch_add(1, Ordering::Relaxed);
        counter!("mesh.federation.router.dropped", "reason" => reason.as_str()).increment(1);
    }

    pub(super) fn lagged(&self, lost: u64) {
        self.lagged.fetch_add(lost, Ordering::Relaxed);
        counter!("mesh.federation.router.lagged").increment(lost);
    }

    pub(super) fn interrupted(&self) {
        self.interrupted.fetch_add(1, Ordering::Relaxed);
        counter!("mesh.federation.router.interrupted").increment(1);
    }

    pub(super) fn read(&self) -> RouterCounters {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let [delivered, down, up] = &self.ways;
        RouterCounters {
            arrived: load(&self.arrived),
            delivered: load(delivered),
            down: load(down),
            up: load(up),
            lagged: load(&self.lagged),
            interrupted: load(&self.interrupted),
            dropped: std::array::from_fn(|reason| load(&self.dropped[reason])),
        }
    }
}
