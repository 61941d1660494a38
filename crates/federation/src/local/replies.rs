use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use mesh_core::message::Message;
use mesh_core::mx::{ReplyId, Topic};
use mesh_core::name::RealmName;
use mesh_core::port::{
    Connection, ErrorKind, Operation, ReceiveError, SubscribeOptions, Subscription, TransportError,
};
use mesh_core::subject::Filter;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::{Heard, Listening, LocalError, Task};

/// How replies are heard.
#[derive(Debug)]
pub(super) enum Replies {
    /// By one subscription for all.
    Shared { table: Arc<Table>, live: watch::Receiver<bool>, _task: Task },
    /// By one subscription each.
    Apart,
}

/// What a [`LocalRequestReplyClient`](super::LocalRequestReplyClient) waits for, and what became of
/// replies since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplyCounts {
    /// Requests that wait now.
    pub pending: usize,
    /// Replies that nobody here waits for: late ones, repeated ones, and those to others' requests.
    pub unmatched: u64,
    /// Replies that were lost, since the reader was too slow; some may have been others'.
    pub lost: u64,
}

/// The requests that wait for a reply on the shared subscription.
#[derive(Debug, Default)]
pub(super) struct Table(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<[u8; 16], oneshot::Sender<Message>>,
    closed: bool,
    counts: ReplyCounts,
}

impl Replies {
    /// One subscription for all replies, with room for as many as may be waited for.
    pub(super) async fn shared(
        realm: &RealmName,
        local: Connection,
        pending: usize,
    ) -> Result<Self, TransportError> {
        let filter = Filter::new(format!("mx/1/{realm}/_reply.*")).map_err(|error| {
            TransportError::new(ErrorKind::Invalid, Operation::Subscribe).detail(error.to_string())
        })?;
        let buffer = NonZeroUsize::new(pending).unwrap_or(NonZeroUsize::MIN);
        let default = SubscribeOptions::default();
        let options = SubscribeOptions { buffer: buffer.max(default.buffer), ..default };
        let listening = Listening::open(local, filter, options).await?;
        let table = Arc::new(Table::default());
        let (alive, live) = watch::channel(true);
        let task = Task::spawn(read(listening, Arc::clone(&table), alive));
        Ok(Self::Shared { table, live, _task: task })
    }

    pub(super) fn apart() -> Self {
        Self::Apart
    }

    /// `in_hand`: how many requests there are; each of those has a subscription of its own, or a place.
    pub(super) fn counts(&self, in_hand: usize) -> ReplyCounts {
        match self {
            Self::Shared { table, .. } => {
                let state = table.0.lock();
                ReplyCounts { pending: state.waiting.len(), ..state.counts }
            }
            Self::Apart => ReplyCounts { pending: in_hand, ..ReplyCounts::default() },
        }
    }

    /// Returns once a reply to `id` would be heard.
    pub(super) async fn expect(
        &self,
        realm: &RealmName,
        local: &Connection,
        id: ReplyId,
    ) -> Result<Expected, LocalError> {
        match self {
            Self::Shared { table, live, .. } => {
                let reply = table.expect(id).ok_or_else(closed)?;
                let place = Place { table: Arc::clone(table), id };
                // An error says that the reader has ended, and then the table is closed.
                live.clone().wait_for(|live| *live).await.map_err(|_| closed())?;
                Ok(Expected::Shared(reply, place))
            }
            Self::Apart => {
                let filter = Topic::internal_reply(realm, id).into();
                // The first reply counts.
                let options =
                    SubscribeOptions { buffer: NonZeroUsize::MIN, ..SubscribeOptions::default() };
                let subscription = local.transport().subscribe(filter, options).await?;
                Ok(Expected::Apart(subscription))
            }
        }
    }
}

/// A reply that is to come.
#[derive(Debug)]
pub(super) enum Expected {
    Shared(oneshot::Receiver<Message>, #[expect(dead_code, reason = "dropped with this")] Place),
    Apart(Subscription),
}

impl Expected {
    /// The first reply.
    pub(super) async fn heard(&mut self) -> Result<Message, LocalError> {
        let subscription = match self {
            Self::Shared(reply, _) => return reply.await.map_err(|_| closed()),
            Self::Apart(subscription) => subscription,
        };
        loop {
            match subscription.next().await {
                Some(Ok(message)) => return Ok(message),
                Some(Err(ReceiveError::Ended(error))) => return Err(error.into()),
                // The reply may have been missed, or may yet come.
                Some(Err(_)) => {}
                None => return Err(closed()),
            }
        }
    }
}

/// A request's place in the table, which it leaves when it ends.
#[derive(Debug)]
pub(super) struct Place {
    table: Arc<Table>,
    id: ReplyId,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.table.0.lock().waiting.remove(&self.id.0);
    }
}

impl Table {
    /// `None` once nothing is heard any more.
    fn expect(&self, id: ReplyId) -> Option<oneshot::Receiver<Message>> {
        let mut state = self.0.lock();
        let (sender, reply) = oneshot::channel();
        // 128 random bits: nobody else has them.
        (!state.closed).then(|| state.waiting.insert(id.0, sender)).map(|_| reply)
    }

    fn heard(&self, message: Message) {
        let id = match message.subject().as_str().parse() {
            Ok(Topic::InternalReply(_, id)) => Some(id),
            _ => None,
        };
        let waiting = id.and_then(|id| self.0.lock().waiting.remove(&id.0));
        // Waking runs others' code: not under the lock.
        if waiting.is_none_or(|waiting| waiting.send(message).is_err()) {
            self.0.lock().counts.unmatched += 1;
        }
    }

    fn close(&self) {
        let left = {
            let mut state = self.0.lock();
            state.closed = true;
            std::mem::take(&mut state.waiting)
        };
        drop(left);
    }
}

async fn read(mut listening: Listening, table: Arc<Table>, live: watch::Sender<bool>) {
    loop {
        match listening.next().await {
            Heard::Message(message) => table.heard(message),
            Heard::Gap(lost) => table.0.lock().counts.lost += lost.unwrap_or_default(),
            Heard::Away(error) => {
                live.send_replace(false);
                tracing::warn!(%error, "replies inside the realm are not heard");
            }
            Heard::Back => {
                live.send_replace(true);
            }
            Heard::Closed => break,
        }
    }
    table.close();
}

fn closed() -> LocalError {
    TransportError::new(ErrorKind::Closed, Operation::Request).into()
}
