use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{Key, Label, Level, Metadata, Unit, with_recorder};

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

const ARRIVED: &str = "mesh.federation.router.arrived";
const PASSED_ON: &str = "mesh.federation.router.passed_on";
const DROPPED: &str = "mesh.federation.router.dropped";
const LAGGED: &str = "mesh.federation.router.lagged";
const INTERRUPTED: &str = "mesh.federation.router.interrupted";

const DESCRIPTIONS: [(&str, &str); 5] = [
    (ARRIVED, "Messages that came in at a router's inbox."),
    (PASSED_ON, "Messages that the next inbox took, by `mx.way`: deliver, down or up."),
    (DROPPED, "Messages that a router did not pass on, by `mx.reason`."),
    (LAGGED, "Messages that were lost since a router was slower than its inbox."),
    (INTERRUPTED, "How often a router's inbox was interrupted."),
];

const METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

/// The counters themselves, and the metrics that say the same. No attribute is a stranger's text.
#[derive(Debug)]
pub(super) struct Counts {
    arrived: Count,
    ways: [Count; 3],
    lagged: Count,
    interrupted: Count,
    dropped: [Count; DropReason::ALL.len()],
}

#[derive(Debug)]
struct Count {
    total: AtomicU64,
    metric: Key,
}

impl Counts {
    /// The counters of the router of `realm`, on a backbone of this messaging system.
    pub(super) fn new(system: &'static str, realm: &str) -> Self {
        with_recorder(|recorder| {
            for (name, description) in DESCRIPTIONS {
                recorder.describe_counter(name.into(), Some(Unit::Count), description.into());
            }
        });
        let count = |name: &'static str, label: Option<(&'static str, &'static str)>| {
            let mut labels = vec![
                Label::from_static_parts("messaging.system", system),
                Label::new("mx.realm", realm.to_owned()),
            ];
            labels.extend(label.map(|(name, value)| Label::from_static_parts(name, value)));
            Count { total: AtomicU64::new(0), metric: Key::from_parts(name, labels) }
        };
        Self {
            arrived: count(ARRIVED, None),
            ways: ["deliver", "down", "up"].map(|way| count(PASSED_ON, Some(("mx.way", way)))),
            lagged: count(LAGGED, None),
            interrupted: count(INTERRUPTED, None),
            dropped: DropReason::ALL
                .map(|reason| count(DROPPED, Some(("mx.reason", reason.as_str())))),
        }
    }

    pub(super) fn arrived(&self) {
        self.arrived.add(1);
    }

    pub(super) fn passed_on(&self, way: Way) {
        self.ways[way as usize].add(1);
    }

    pub(super) fn dropped(&self, reason: DropReason) {
        self.dropped[reason as usize].add(1);
    }

    pub(super) fn lagged(&self, lost: u64) {
        self.lagged.add(lost);
    }

    pub(super) fn interrupted(&self) {
        self.interrupted.add(1);
    }

    pub(super) fn read(&self) -> RouterCounters {
        let [delivered, down, up] = self.ways.each_ref().map(Count::read);
        RouterCounters {
            arrived: self.arrived.read(),
            delivered,
            down,
            up,
            lagged: self.lagged.read(),
            interrupted: self.interrupted.read(),
            dropped: self.dropped.each_ref().map(Count::read),
        }
    }
}

impl Count {
    fn add(&self, more: u64) {
        self.total.fetch_add(more, Ordering::Relaxed);
        with_recorder(|recorder| {
            recorder.register_counter(&self.metric, &METADATA).increment(more);
        });
    }

    fn read(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}
