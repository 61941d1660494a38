//! What waits to be sent to other realms: a queue for each, so that none waits for another.

mod queue;
mod send;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::{MxPath, Profile};
use mesh_core::name::RealmName;
use mesh_core::port::Connection;
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::queue::Queue;
use super::counts::{Counts, add};
use super::{Lease, LeaseId, Notice, NoticeKind, Sink};
use crate::local::Task;
use crate::{Random, Sign};

/// How much may wait for the backbone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutboxLimits {
    /// The most events that wait for one realm. 1,024 unless told. What comes beyond is lost: counted, and
    /// told to the sink.
    pub per_realm: usize,
    /// The most bytes of events' bodies that wait in all; a body that waits for several realms counts
    /// once. 64 MiB unless told.
    pub bytes: usize,
    /// The most of them that wait for one realm: one whose mailbox takes nothing leaves room for the others.
    /// 8 MiB unless told.
    pub bytes_per_realm: usize,
    /// For how long a message is tried again while the backbone is away. 30 s unless told.
    pub retry: Duration,
}

impl Default for OutboxLimits {
    fn default() -> Self {
        Self {
            per_realm: 1_024,
            bytes: 64 << 20,
            bytes_per_realm: 8 << 20,
            retry: Duration::from_secs(30),
        }
    }
}

/// The queues. Clones are the same.
#[derive(Clone)]
pub(super) struct Outboxes(Arc<Inner>);

pub(super) struct Setup {
    pub(super) realm: RealmName,
    pub(super) backbone: Connection,
    pub(super) random: Arc<dyn Random>,
    pub(super) sign: Option<Arc<dyn Sign>>,
    pub(super) limits: OutboxLimits,
    pub(super) counts: Arc<Counts>,
}

struct Inner {
    setup: Setup,
    queues: Mutex<HashMap<RealmName, Outbox>>,
    bytes: Arc<AtomicUsize>,
    /// Told whenever a queue has become empty.
    emptied: Notify,
}

struct Outbox {
    queue: Queue,
    /// What sends it. It takes the outbox away when that is empty.
    _task: Task,
}

/// An event, once for all of its sinks.
pub(super) struct Happened {
    pub(super) source: MxPath<'static>,
    pub(super) body: RawJson<'static>,
    pub(super) trace_id: Option<String>,
    bytes: Arc<AtomicUsize>,
}

impl Drop for Happened {
    fn drop(&mut self) {
        self.bytes.fetch_sub(self.body.as_str().len(), Ordering::Relaxed);
    }
}

/// What is known of a lease where something is sent for it.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) id: LeaseId,
    pub(super) path: Arc<str>,
    pub(super) profile: Profile,
}

impl Target {
    fn of(sink: &Sink<'_>) -> Self {
        Self { id: sink.id, path: Arc::clone(sink.path), profile: sink.profile }
    }
}

impl Outboxes {
    pub(super) fn new(setup: Setup) -> Self {
        Self(Arc::new(Inner {
            setup,
            queues: Mutex::default(),
            bytes: Arc::default(),
            emptied: Notify::new(),
        }))
    }

    /// Takes an event in, if there is room for its body.
    pub(super) fn happened(
        &self,
        source: &MxPath<'static>,
        body: RawJson<'static>,
        trace_id: Option<String>,
    ) -> Option<Arc<Happened>> {
        let Inner { bytes, setup, .. } = &*self.0;
        let more = body.as_str().len();
        let before = bytes.fetch_add(more, Ordering::Relaxed);
        let bytes = Arc::clone(bytes);
        let happened = Happened { source: source.clone(), body, trace_id, bytes };
        (before.saturating_add(more) <= setup.limits.bytes).then(|| Arc::new(happened))
    }

    /// Lets it wait for each of these sinks.
    pub(super) fn send<'t>(&self, event: &Arc<Happened>, sinks: impl Iterator<Item = Sink<'t>>) {
        let limits = &self.0.setup.limits;
        let mut queues = self.0.queues.lock();
        for sink in sinks {
            let Some(outbox) = self.outbox(&mut queues, sink.realm) else { continue };
            if !outbox.queue.event(Target::of(&sink), event, limits) {
                add(&self.0.setup.counts.queue_full, 1);
                tracing::debug!(sink = %sink.realm, lease = %sink.id, "an event was lost: too many wait");
            }
        }
    }

    /// Tells these sinks that at least so many events of `source` are missing.
    pub(super) fn missed<'t>(
        &self,
        source: &MxPath<'static>,
        events: u64,
        sinks: impl Iterator<Item = Sink<'t>>,
    ) {
        let mut queues = self.0.queues.lock();
        for sink in sinks {
            if let Some(outbox) = self.outbox(&mut queues, sink.realm) {
                outbox.queue.missed(Target::of(&sink), source, events);
            }
        }
    }

    /// Tells the sink something about its lease, after what waits for it.
    pub(super) fn tell(&self, lease: &Lease, kind: NoticeKind) {
        let most = self.0.setup.limits.per_realm;
        let notice = Notice::of(lease, kind);
        let mut queues = self.0.queues.lock();
        let told = self
            .outbox(&mut queues, lease.sink_realm.as_str())
            .is_some_and(|outbox| outbox.queue.notice(notice, lease.profile, most));
        if !told {
            add(&self.0.setup.counts.notices_lost, 1);
            tracing::warn!(sink = %lease.sink_realm, "a notice was lost: too many wait");
        }
    }

    /// Returns when nothing waits any more.
    pub(super) async fn drained(&self) {
        loop {
            let emptied = self.0.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            if self.0.queues.lock().is_empty() {
                return;
            }
            emptied.await;
        }
    }

    /// Sends nothing more; says how many events and notices are given up.
    pub(super) fn stop(&self) -> usize {
        let queues = std::mem::take(&mut *self.0.queues.lock());
        queues.values().map(|outbox| outbox.queue.len()).sum()
    }

    /// How many events and notices wait, and for how many realms.
    pub(super) fn waiting(&self) -> (usize, usize) {
        let queues = self.0.queues.lock();
        (queues.values().map(|outbox| outbox.queue.len()).sum(), queues.len())
    }

    fn outbox<'q>(
        &self,
        queues: &'q mut HashMap<RealmName, Outbox>,
        realm: &str,
    ) -> Option<&'q mut Outbox> {
        if !queues.contains_key(realm) {
            // A lease's realm was checked when it came in.
            let name = RealmName::new(realm).ok()?;
            let task = Task::spawn(self.0.clone().work(name.clone()));
            queues.insert(name, Outbox { queue: Queue::default(), _task: task });
        }
        queues.get_mut(realm)
    }
}

impl fmt::Debug for Outboxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waiting, realms) = self.waiting();
        f.debug_struct("Outboxes")
            .field("waiting", &waiting)
            .field("realms", &realms)
            .finish_non_exhaustive()
    }
}
