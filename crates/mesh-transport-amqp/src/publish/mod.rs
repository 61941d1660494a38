//! Publishing: confirmed by the broker, and a refusal harms nobody but its own message.
//!
//! A broker that refuses a message closes the channel it came on, with everything else that waits for its
//! confirmation there. So the first message to a key goes [alone](lanes), on a channel where nothing
//! else waits. What was let through once is [known](known), and the next one goes with all others over
//! [one channel](pipeline). Should that be closed all the same, each message on it is sent again, alone,
//! and hears its own answer.
//!
//! A message that must have a receiver goes alone too: the broker gives back what no queue takes, without
//! saying which message it was, and the client can only guess when several wait.

mod flight;
mod known;
mod lanes;
mod pipeline;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use lapin::BasicProperties;
use lapin::types::ShortString;
use mesh_core::message::Message;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::topology::{AmqpExchange, AmqpRoute};
use mesh_session::Session as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::convert;
use crate::error::{lost, timed_out};
use crate::link::Link;
use crate::session::Session;

use flight::Flight;
use known::Known;
use lanes::Lanes;
use pipeline::Pipeline;

/// What is to be published, and where.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) exchange: AmqpExchange,
    pub(crate) key: ShortString,
    /// Whether it comes back where no queue takes it.
    pub(crate) mandatory: bool,
    pub(crate) properties: BasicProperties,
    pub(crate) payload: Bytes,
}

/// What the broker said of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirmed {
    /// It has it, in every queue that takes it.
    Taken,
    /// No queue takes it; only a mandatory message is told.
    Unroutable,
    /// A queue refused it, or could not keep it.
    Refused,
}

/// Where a subject's messages go.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    exchange: AmqpExchange,
    key: ShortString,
    mandatory: bool,
    persistent: bool,
}

impl Route {
    pub(crate) fn of(message: &Message, operation: Operation) -> Result<Self, TransportError> {
        let AmqpRoute { exchange, key, mandatory, persistent } = AmqpRoute::of(message.subject());
        let key = ShortString::try_new(key).map_err(|error| {
            TransportError::new(ErrorKind::Invalid, operation)
                .about(message.subject())
                .detail(error.to_string())
        })?;
        Ok(Self { exchange, key, mandatory, persistent })
    }
}

impl Outgoing {
    /// `message` on its own subject's route.
    pub(crate) fn of(
        message: &Message,
        session: &Session,
        operation: Operation,
    ) -> Result<Self, TransportError> {
        Ok(Self::on(&Route::of(message, operation)?, message, session))
    }

    /// `message` on this route.
    pub(crate) fn on(route: &Route, message: &Message, session: &Session) -> Self {
        let Route { exchange, key, mandatory, persistent } = route.clone();
        let properties = convert::properties(message, &session.user, persistent);
        Self { exchange, key, mandatory, properties, payload: message.payload().clone() }
    }
}

/// Publishes one message to whoever listens now; returns when the broker has accepted it.
pub(crate) async fn live(
    link: &Arc<Link>,
    message: &Message,
    require_receiver: bool,
    due: Instant,
) -> Result<(), TransportError> {
    let under_way = link.line.accepted().begin();
    let about = |error: TransportError| error.about(message.subject());
    under_way.end(accepted(link, message, require_receiver, due).await.map_err(about))
}

async fn accepted(
    link: &Arc<Link>,
    message: &Message,
    require_receiver: bool,
    due: Instant,
) -> Result<(), TransportError> {
    const OPERATION: Operation = Operation::Publish;
    let session = link.line.session(OPERATION, due).await?;
    // Whatever the subject, that nobody listens is no error unless the caller says so.
    let route = Route { mandatory: require_receiver, ..Route::of(message, OPERATION)? };
    let made = || Outgoing::on(&route, message, &session);
    match session.publish_made(OPERATION, made, due).await? {
        // A queue that is full keeps what it has; those that listen have heard it.
        Confirmed::Taken | Confirmed::Refused => Ok(()),
        Confirmed::Unroutable => Err(TransportError::new(ErrorKind::NoResponders, OPERATION)),
    }
}

/// What a session publishes with.
#[derive(Debug)]
pub(crate) struct Publisher {
    /// How many more messages may wait for their confirmation.
    window: Arc<Semaphore>,
    known: Known,
    pipeline: Pipeline,
    lanes: Arc<Lanes>,
}

impl Publisher {
    /// At most `window` messages wait for their confirmation at a time.
    pub(crate) fn new(window: usize) -> Self {
        Self {
            window: Arc::new(Semaphore::new(window)),
            known: Known::default(),
            pipeline: Pipeline::default(),
            lanes: Arc::default(),
        }
    }
}

impl Session {
    /// Publishes once; returns when the broker has confirmed it, or said why not. Given up midway, it may
    /// be published all the same.
    ///
    /// # Errors
    /// `Denied`, `NotFound` for an absent exchange, `TooLarge`, `Broker`, and without the broker's word
    /// `TimedOut` and `Disconnected`.
    pub(crate) async fn publish(
        &self,
        operation: Operation,
        outgoing: &Outgoing,
        due: Instant,
    ) -> Result<Confirmed, TransportError> {
        self.publish_made(operation, || outgoing.clone(), due).await
    }

    /// The same for what is made when it is needed: once, as a rule.
    pub(crate) async fn publish_made(
        &self,
        operation: Operation,
        make: impl Fn() -> Outgoing,
        due: Instant,
    ) -> Result<Confirmed, TransportError> {
        let sending = self.sent(operation, make, due);
        timeout_at(due, sending).await.unwrap_or_else(|_| {
            let error = timed_out(operation);
            Err(match self.blocked() {
                Some(why) => error.detail(format!("the broker takes no messages for now: {why}")),
                None => error,
            })
        })
    }

    async fn sent(
        &self,
        operation: Operation,
        make: impl Fn() -> Outgoing,
        due: Instant,
    ) -> Result<Confirmed, TransportError> {
        let Publisher { known, pipeline, .. } = &self.publisher;
        let mut outgoing = make();
        if !outgoing.mandatory && known.has(outgoing.exchange, outgoing.key.as_str()) {
            let line = pipeline.line(&self.publishing, operation, due).await?;
            let place = self.place(operation).await?;
            // The client fails it when the connection is lost.
            match Flight::new(&line, outgoing, move |_| drop(place)).await {
                Ok(confirmed) => return Ok(confirmed),
                Err(_) if !self.stands() => return Err(lost(operation, self.why())),
                // The message that the broker refused may be any of those that waited there.
                Err(_) => known.forget_all(),
            }
            outgoing = make();
        }
        Box::pin(async {
            tokio::select! {
                sent = self.sent_alone(operation, outgoing, due) => sent,
                why = self.over() => Err(lost(operation, why)),
            }
        })
        .await
    }

    async fn sent_alone(
        &self,
        operation: Operation,
        outgoing: Outgoing,
        due: Instant,
    ) -> Result<Confirmed, TransportError> {
        let Publisher { known, lanes, .. } = &self.publisher;
        let (exchange, key) = (outgoing.exchange, outgoing.key.clone());
        let place = self.place(operation).await?;
        let confirmed = lanes.publish(&self.publishing, operation, outgoing, place, due).await?;
        known.learn(exchange, &key);
        Ok(confirmed)
    }

    /// Waits for a place among those whose confirmation is waited for.
    async fn place(&self, operation: Operation) -> Result<OwnedSemaphorePermit, TransportError> {
        let window = Arc::clone(&self.publisher.window);
        window.acquire_owned().await.map_err(|_| lost(operation, self.why()))
    }
}
