//! What the modules of the demo did, written down as it happens.

use std::time::Duration;

use mesh_core::event::EventId;
use mesh_core::identity::Instance;
use mesh_core::name::EventName;
use mesh_core::topology::{ConsumerRules, StreamName};
use mesh_sdk::ReceivedEvent;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// One run of a handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Handling {
    /// Who handled.
    pub(crate) at: Instance,
    /// Which event.
    pub(crate) id: EventId,
    /// What happened.
    pub(crate) event: EventName,
    /// Who says so.
    pub(crate) from: Instance,
    /// The event that caused it.
    pub(crate) cause: Option<EventId>,
    /// Which try, from 1.
    pub(crate) attempt: u32,
    /// Whether it succeeded.
    pub(crate) ok: bool,
}

impl Handling {
    pub(crate) fn of(event: &ReceivedEvent, at: &Instance, ok: bool) -> Self {
        Self {
            at: at.clone(),
            id: event.event.id().clone(),
            event: event.name.clone(),
            from: Instance { node: event.event.node().clone(), module: event.module.clone() },
            cause: event.event.causation().cloned(),
            attempt: event.attempt,
            ok,
        }
    }
}

/// Every run of every handler, in order.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: Mutex<Vec<Handling>>,
    written: Notify,
}

/// How long a flow waits for what must happen. Long, since it is only ever waited out by a flow
/// that came out otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Between two looks at something that comes without a word.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

impl Journal {
    pub(crate) fn write(&self, handling: Handling) {
        self.entries.lock().push(handling);
        self.written.notify_waiters();
    }

    /// The runs for one event.
    pub(crate) fn of(&self, id: &EventId) -> Vec<Handling> {
        self.entries.lock().iter().filter(|handling| handling.id == *id).cloned().collect()
    }

    /// Every run until now.
    pub(crate) fn all(&self) -> Vec<Handling> {
        self.entries.lock().clone()
    }

    /// Waits until `enough` of the runs for one event, or until patience ends.
    pub(crate) async fn wait(
        &self,
        id: &EventId,
        enough: impl Fn(&[Handling]) -> bool + Send + Sync,
    ) {
        self.within(PATIENCE, || enough(&self.of(id))).await;
    }

    /// The same for one that its reader had in hand when it left: where the word that it is given back did
    /// not reach the broker, it comes once the claim has run out.
    pub(crate) async fn wait_for_a_claim(
        &self,
        id: &EventId,
        enough: impl Fn(&[Handling]) -> bool + Send + Sync,
    ) {
        let claim = ConsumerRules::of(StreamName::Events).ack_wait;
        self.within(claim + PATIENCE, || enough(&self.of(id))).await;
    }

    /// Waits until it is so, by what is written here, or until patience ends.
    pub(crate) async fn wait_for(&self, is_so: impl Fn() -> bool + Send + Sync) {
        self.within(PATIENCE, is_so).await;
    }

    async fn within(&self, patience: Duration, is_so: impl Fn() -> bool + Send + Sync) {
        let waiting = async {
            loop {
                let written = self.written.notified();
                tokio::pin!(written);
                written.as_mut().enable();
                if is_so() {
                    return;
                }
                written.await;
            }
        };
        // Whoever asked compares what is written with what it expected, in time or not.
        drop(tokio::time::timeout(patience, waiting).await);
    }
}
