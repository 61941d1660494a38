use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mesh_core::guard::Now;
use mesh_core::port::{Capability, Connection};
use tokio::sync::{Notify, watch};

use super::super::Edge;
use super::super::pending::Pending;
use super::GatewayOptions;
use super::ear::EarState;
use super::observe::Observer;

/// What the tasks of a gateway have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) edge: Edge,
    pub(super) backbone: Connection,
    pub(super) local: Connection,
    pub(super) options: GatewayOptions,
    /// Tells this gateway from others of the realm.
    pub(super) id: String,
    /// Whether a request insists on somebody who serves it.
    pub(super) require_receiver: bool,
    /// Whether one subscription hears all replies.
    pub(super) replies_together: bool,
    /// The places of answers that wait in a mailbox's lane, since a mailbox takes nothing.
    pub(super) stuck: Pending,
    pub(super) timer: Timer,
    pub(super) observer: Observer,
    pub(super) ears: Vec<Arc<EarState>>,
    phase: watch::Sender<Phase>,
}

/// How far a gateway is. It never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Open,
    /// It takes nothing more from its mailboxes, and ends what it has begun.
    Draining,
    Over,
}

/// Wakes the timer when there is a deadline to wait for and it waits for none. The time-out of all
/// requests is one, so a later request is never over before an earlier one.
#[derive(Debug, Default)]
pub(super) struct Timer {
    armed: AtomicBool,
    wake: Notify,
}

impl Shared {
    pub(super) fn new(
        edge: Edge,
        backbone: Connection,
        local: Connection,
        options: GatewayOptions,
        ears: Vec<Arc<EarState>>,
    ) -> Self {
        let can = |capability| local.transport().capabilities().has(capability);
        Self {
            id: options.random.id(),
            require_receiver: options.check_receiver && can(Capability::ReceiverCheck),
            replies_together: replies_together(&local, &options),
            stuck: Pending::new(
                (options.at_once.get() / 2).max(1),
                (options.at_once.get() / 8).max(1),
            ),
            timer: Timer::default(),
            observer: Observer::new(backbone.system(), edge.realm.as_str()),
            phase: watch::Sender::new(Phase::Open),
            edge,
            backbone,
            local,
            options,
            ears,
        }
    }

    pub(super) fn now(&self) -> Now {
        Now::of(&**self.backbone.clock())
    }

    pub(super) fn enter(&self, next: Phase) {
        self.phase.send_if_modified(|phase| {
            let is_new = *phase < next;
            *phase = next.max(*phase);
            is_new
        });
    }

    /// Returns once this phase is reached.
    pub(super) async fn reached(&self, phase: Phase) {
        let mut now = self.phase.subscribe();
        // Its sender is in here, so it can't be gone.
        let _ = now.wait_for(|now| *now >= phase).await;
    }
}

/// Whether one subscription hears all replies.
pub(super) fn replies_together(local: &Connection, options: &GatewayOptions) -> bool {
    options.replies == super::ReplyTopics::WherePossible
        && local.transport().capabilities().has(Capability::Wildcards)
}

impl Timer {
    /// There is a deadline.
    pub(super) fn set(&self) {
        if !self.armed.load(Ordering::SeqCst) {
            self.wake.notify_one();
        }
    }

    /// Says whether the timer will look at the deadlines again without being woken.
    pub(super) fn arm(&self, armed: bool) {
        self.armed.store(armed, Ordering::SeqCst);
    }

    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }
}
