//! A live subscription: one task that reads it in each session and fills the reader's queue.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_nats::Subscriber;
use futures_core::Stream;
use futures_util::{FutureExt, StreamExt};
use mesh_core::port::{ErrorKind, Operation, ReceiveError, TransportError};
use mesh_session::Queue;
use mesh_session::Session as _;
use tokio::sync::watch;
use tokio::task::coop::unconstrained;
use tokio::time::Instant;

use crate::link::{Link, Stage, deadline, runtime_ended};
use crate::port::Owner;
use crate::session::Session;

/// What a subscription makes of a message: an arrival, a word about it, or nothing.
pub(crate) type Admit<T> =
    Box<dyn FnMut(async_nats::Message) -> Option<Result<T, ReceiveError>> + Send>;

/// What is listened to.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) operation: Operation,
    pub(crate) filter: String,
    pub(crate) group: Option<String>,
}

/// The reader's end. Dropped, it unsubscribes.
pub(crate) struct Arrivals<T> {
    queue: Arc<Queue<T>>,
    id: u64,
    owner: Arc<Owner>,
    /// Dropped with the reader, which the task sees.
    _reader: watch::Sender<()>,
}

impl<T> Drop for Arrivals<T> {
    fn drop(&mut self) {
        self.owner.link().line.places().leaves(self.id);
    }
}

impl<T> Stream for Arrivals<T> {
    type Item = Result<T, ReceiveError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.queue.poll(context)
    }
}

/// Subscribes, and returns when the server delivers.
pub(crate) async fn listen<T: Send + 'static>(
    owner: &Arc<Owner>,
    place: Place,
    queue: Arc<Queue<T>>,
    due: Instant,
    admit: Admit<T>,
) -> Result<Arrivals<T>, TransportError> {
    let link = owner.link();
    link.line.check_open(place.operation)?;
    let spot = loop {
        let session = link.line.session_for(place.operation, &place.filter, due).await?;
        match Spot::take(Arc::clone(&session), &place, due).await {
            // Nothing was heard yet, so the next session does as well.
            Err(error) if session.is_lost_by(&error, due).await => {}
            taken => break taken?,
        }
    };
    let id = link.line.next_id();
    link.line.placed(id, &spot.session);
    let (reader, gone) = watch::channel(());
    let task = Pump {
        link: Arc::clone(link),
        id,
        end: Some(runtime_ended(place.operation)),
        place,
        queue: Arc::clone(&queue),
        admit,
        gone,
    };
    link.line.runtime().spawn(task.run(spot));
    Ok(Arrivals { queue, id, owner: Arc::clone(owner), _reader: reader })
}

/// A subscription in one session.
struct Spot {
    session: Arc<Session>,
    subscriber: Subscriber,
    /// How many the server had ended when this one was made.
    since: u64,
    /// What tells that the client has thrown messages away.
    overflows: watch::Receiver<u64>,
}

impl Spot {
    async fn take(
        session: Arc<Session>,
        place: &Place,
        due: Instant,
    ) -> Result<Self, TransportError> {
        let since = session.revocations();
        let overflows = session.overflows();
        let Place { operation, filter, group } = place;
        let subscriber = session.listen(*operation, filter, group.as_deref(), due).await?;
        Ok(Self { session, subscriber, since, overflows })
    }
}

struct Pump<T> {
    link: Arc<Link>,
    id: u64,
    place: Place,
    queue: Arc<Queue<T>>,
    admit: Admit<T>,
    gone: watch::Receiver<()>,
    /// How it ends, once it is dropped.
    end: Option<TransportError>,
}

/// A runtime that ends drops it too.
impl<T> Drop for Pump<T> {
    fn drop(&mut self) {
        self.link.line.gone(self.id);
        self.queue.end(self.end.take());
    }
}

impl<T: Send + 'static> Pump<T> {
    async fn run(mut self, mut spot: Spot) {
        self.end = loop {
            if let Some(end) = self.read(&mut spot).await {
                break end;
            }
            self.queue.interrupt();
            match self.again(spot.session.id).await {
                Ok(Some(next)) => spot = next,
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
    }

    /// Reads until the session is lost; the answer is how it ends if it ends for good.
    async fn read(&mut self, spot: &mut Spot) -> Option<Option<TransportError>> {
        let Place { operation, filter, group } = self.place.clone();
        let link = Arc::clone(&self.link);
        let Spot { session, subscriber, since, overflows } = spot;
        let revoked = session.revoked(operation, &filter, group.as_deref(), *since);
        let (draining, lost) = (link.line.reached(Stage::Draining), session.lost());
        let mut revoked = std::pin::pin!(revoked);
        let (mut draining, mut lost) = (std::pin::pin!(draining), std::pin::pin!(lost));
        loop {
            tokio::select! {
                biased;
                // All that is there in one go: the client brings more in one than tokio would let
                // through here.
                message = unconstrained(subscriber.next()) => match message {
                    Some(message) => self.take(message),
                    None if link.line.is_closing() => return Some(None),
                    None => return None,
                },
                error = &mut revoked => return Some(Some(error)),
                _ = self.gone.changed() => {
                    let _ = subscriber.unsubscribe().await;
                    return Some(None);
                }
                () = &mut draining => {
                    while let Some(Some(message)) = unconstrained(subscriber.next()).now_or_never()
                    {
                        self.take(message);
                    }
                    let _ = subscriber.unsubscribe().await;
                    return Some(None);
                }
                // Given up, the client may go on reading for a while.
                () = &mut lost => return None,
                // The client says neither whose messages those were nor how many.
                Ok(()) = overflows.changed() => self.queue.interrupt(),
            }
        }
    }

    fn take(&mut self, message: async_nats::Message) {
        match (self.admit)(message) {
            Some(Ok(arrival)) => self.queue.push(arrival),
            Some(Err(word)) => self.queue.tell(word),
            None => {}
        }
    }

    /// Takes its place in the next session; `None` if there will be none, or no reader.
    async fn again(&mut self, mut last: u64) -> Result<Option<Spot>, TransportError> {
        loop {
            let next = tokio::select! {
                next = self.link.line.session_after(last) => next,
                _ = self.gone.changed() => None,
            };
            let Some(session) = next else { return Ok(None) };
            last = session.id;
            let due = deadline(self.link.options.connect_timeout);
            match Spot::take(Arc::clone(&session), &self.place, due).await {
                Ok(spot) => {
                    self.link.line.placed(self.id, &session);
                    return Ok(Some(spot));
                }
                // Of a session that stands this is the server's word; else the next one tells.
                Err(error) if error.kind() == ErrorKind::Denied => return Err(error),
                Err(error) if session.stands() => {
                    tracing::warn!(%error, "a subscription could not be placed again; reconnecting");
                    session.abandon("a subscription could not be placed again");
                }
                Err(_) => {}
            }
        }
    }
}
