use std::sync::Arc;

use mesh_core::guard::{Outcome, Trace};
use mesh_core::mx::{MailboxKind, MsgType, Profile};
use mesh_core::time::Timestamp;
use tokio::sync::broadcast;

use super::Arrival;

/// What a gateway decided about one message, and how each guard came to it.
///
/// All but the outcome is the sender's claim.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decided {
    /// When.
    pub at: Timestamp,
    /// By which kind of mailbox it came.
    pub mailbox: MailboxKind,
    /// What it was; nothing where it was no envelope.
    pub what: Option<Message>,
    /// Its length in bytes.
    pub bytes: usize,
    /// What was decided. A guard `route` stands for what came after the guards.
    pub outcome: Outcome,
    /// How each guard came to it. Empty where the message was no envelope.
    pub trace: Trace,
}

/// What a decided message said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// Its profile.
    pub profile: Profile,
    /// What it asked or told.
    pub kind: MsgType,
    /// The realm that it said it came from.
    pub from_realm: Option<String>,
    /// The path that it was for.
    pub to_path: Option<String>,
    /// Its id.
    pub msg_id: Option<String>,
}

impl Message {
    pub(super) fn of(arrival: &Arrival<'_>) -> Self {
        let inbound = arrival.inbound();
        Self {
            profile: arrival.profile(),
            kind: inbound.kind,
            from_realm: inbound.from_realm.map(str::to_owned),
            to_path: inbound.to_path.map(str::to_owned),
            msg_id: inbound.msg_id.map(str::to_owned),
        }
    }
}

/// Decisions as they are made, to one who asked for them ([`Edge::decisions`](super::Edge::decisions)).
#[derive(Debug)]
pub struct Decisions(broadcast::Receiver<Arc<Decided>>);

/// That many decisions were not told, since their reader was too slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} decisions were not told to a slow reader")]
pub struct Missed(pub u64);

impl Decisions {
    pub(super) fn new(receiver: broadcast::Receiver<Arc<Decided>>) -> Self {
        Self(receiver)
    }

    /// The next one. `None` when the gateway is gone.
    ///
    /// # Errors
    /// [`Missed`] where this reader was too slow; the next are told again.
    pub async fn next(&mut self) -> Option<Result<Arc<Decided>, Missed>> {
        match self.0.recv().await {
            Ok(decided) => Some(Ok(decided)),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Err(Missed(missed))),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}
