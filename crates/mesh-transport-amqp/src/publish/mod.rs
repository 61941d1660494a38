//! Publishing: confirmed by the broker, and a refusal harms nobody but its own message.
//!
//! A broker that refuses a message closes the channel it came on, with everything else that waits for its
//! confirmation there. So the first message to a key goes [alone](lanes), on a channel where nothing
//! else waits. What was let through once is [known](routes) to be, and the next one goes together with others over
//! one channel. Should that be closed all the same, each message on it is sent again, alone, and hears its
//! own answer; but questions, which are never asked twice, have a channel of their own.
//!
//! What no queue takes comes [back](returned) to its own caller.

mod flight;
mod lanes;
mod returned;
mod routes;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use lapin::BasicProperties;
use lapin::options::ConfirmSelectOptions;
use mesh_core::message::Message;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_session::Session as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use crate::convert;
use crate::correlation::CorrelationId;
use crate::error::{failed, lost, timed_out};
use crate::kept::Kept;
use crate::link::Link;
use crate::session::Session;

use flight::{Flight, Line, Unconfirmed};
use lanes::{Lanes, Room};
pub(crate) use returned::Returned;
use routes::Passing;
pub(crate) use routes::{Route, Routes};

/// What is to be published.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    /// Its correlation id, by which it is known when it comes back because no queue takes it. Nothing if it
    /// is not to come back.
    pub(crate) mandatory: Option<CorrelationId>,
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

impl Outgoing {
    /// `message` as its route has it.
    pub(crate) fn on(route: &Route, message: &Message, session: &Session) -> Self {
        let properties = convert::properties(message, &session.user, route.persistent);
        Self { mandatory: None, properties, payload: message.payload().clone() }
    }

    /// The same, to come back under this id.
    pub(crate) fn mandatory_as(self, id: CorrelationId) -> Self {
        let properties = self.properties.with_correlation_id(id.text());
        Self { mandatory: Some(id), properties, ..self }
    }

    /// The same, to come back where no queue takes it.
    pub(crate) fn mandatory_if(self, wanted: bool) -> Self {
        if wanted { self.mandatory_as(CorrelationId::random()) } else { self }
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
    let route = link.routes.of(message.subject(), OPERATION)?;
    // Whatever the subject, that nobody listens is no error unless the caller says so.
    let made = || Outgoing::on(&route, message, &session).mandatory_if(require_receiver);
    match session.publish(OPERATION, &route, made, due).await? {
        // A queue that is full keeps what it has; those that listen have heard it.
        Confirmed::Taken | Confirmed::Refused => Ok(()),
        Confirmed::Unroutable => Err(TransportError::new(ErrorKind::NoResponders, OPERATION)),
    }
}

/// What a session publishes with.
#[derive(Debug)]
pub(crate) struct Publisher {
    passing: Passing,
    /// Where all but questions go together.
    together: Kept<Line>,
    questions: Kept<Line>,
    lanes: Arc<Lanes>,
    returned: Arc<Returned>,
}

impl Publisher {
    /// For the session with this number. What comes back is noted in `returned`.
    pub(crate) fn new(session: u64, returned: Arc<Returned>) -> Self {
        Self {
            passing: Passing::new(session),
            together: Kept::default(),
            questions: Kept::default(),
            lanes: Arc::default(),
            returned,
        }
    }
}

impl Session {
    /// Publishes what is made when it is needed, once as a rule; returns when the broker has confirmed it, or
    /// said why not. It may be there twice. Given up midway, it may be published all the same.
    ///
    /// # Errors
    /// `Denied`, `NotFound` for an absent exchange, `TooLarge`, `Broker`, and without the broker's word
    /// `TimedOut` and `Disconnected`.
    pub(crate) async fn publish(
        &self,
        operation: Operation,
        route: &Route,
        make: impl Fn() -> Outgoing,
        due: Instant,
    ) -> Result<Confirmed, TransportError> {
        let sending = self.sent(operation, &self.publisher.together, route, make, due);
        self.in_time(operation, due, sending).await
    }

    /// Publishes a question, which is there once at most. Whoever calls keeps the time.
    ///
    /// # Errors
    /// As [`publish`](Self::publish), and `Disconnected` too where the broker refused another question just
    /// then, and it can't be known what became of this one.
    pub(crate) async fn publish_question(
        &self,
        route: &Route,
        make: impl Fn() -> Outgoing,
        due: Instant,
    ) -> Result<Confirmed, TransportError> {
        self.sent(Operation::Request, &self.publisher.questions, route, make, due).await
    }

    async fn sent(
        &self,
        operation: Operation,
        line: &Kept<Line>,
        route: &Route,
        make: impl Fn() -> Outgoing,
        due: Instant,
    ) -> Result<Confirmed, TransportError> {
        let passing = &self.publisher.passing;
        let mut known = passing.passes(route);
        let mut room = None;
        if known.is_none() {
            // Boxed, since it is seldom needed.
            room = Some(Box::pin(self.room(operation)).await?);
            // Of many that are the first one is enough.
            known = passing.passes(route);
        }
        if let Some(known) = known {
            drop(room.take());
            let line = line.or_made(operation, due, || self.open_line(operation, due)).await?;
            let place = self.place(operation).await?;
            match Flight::new(&line, route, make(), move |_| drop(place)).await {
                Ok(confirmed) => return Ok(confirmed),
                // The client fails it when the connection is lost.
                Err(_) if !self.stands() => return Err(lost(operation, self.why())),
                // The message that the broker refused may be any of those that waited there.
                Err(unconfirmed) => {
                    passing.forget(known);
                    if let (Unconfirmed::Sent(error), Operation::Request) = (unconfirmed, operation)
                    {
                        return Err(in_doubt(&error));
                    }
                }
            }
        }
        Box::pin(self.alone(operation, route, make(), room, due)).await
    }

    /// Whether the broker is known to let messages through on that route.
    pub(crate) fn lets_through(&self, route: &Route) -> bool {
        self.publisher.passing.passes(route).is_some()
    }

    /// The broker lets messages through on that route.
    pub(crate) fn learn(&self, route: &Route) {
        self.publisher.passing.learn(route);
    }

    /// Waits until a message may go alone.
    async fn room(&self, operation: Operation) -> Result<Room, TransportError> {
        tokio::select! {
            room = self.publisher.lanes.room(operation) => room,
            why = self.over() => Err(lost(operation, why)),
        }
    }

    async fn alone(
        &self,
        operation: Operation,
        route: &Route,
        outgoing: Outgoing,
        room: Option<Room>,
        due: Instant,
    ) -> Result<Confirmed, TransportError> {
        let Publisher { passing, lanes, .. } = &self.publisher;
        let sending = async {
            let room = match room {
                Some(room) => room,
                None => lanes.room(operation).await?,
            };
            let place = self.place(operation).await?;
            let open = self.open_line(operation, due);
            let said = lanes.publish(route, outgoing, (room, place), open).await?;
            said.map_err(|unconfirmed| self.fate.failed(unconfirmed.error(), operation))
        };
        let confirmed = tokio::select! {
            sent = sending => sent?,
            why = self.over() => return Err(lost(operation, why)),
        };
        passing.learn(route);
        Ok(confirmed)
    }

    /// A new channel in confirm mode.
    async fn open_line(
        &self,
        operation: Operation,
        due: Instant,
    ) -> Result<Arc<Line>, TransportError> {
        let channel = self.publishing.channel(operation, due).await?;
        let selecting = channel.confirm_select(ConfirmSelectOptions::default());
        self.answered(operation, due, selecting).await?;
        Ok(Line::new(channel, &self.publisher.returned))
    }

    /// Waits for a place among those whose confirmation is waited for.
    async fn place(&self, operation: Operation) -> Result<OwnedSemaphorePermit, TransportError> {
        self.fate.place().await.ok_or_else(|| lost(operation, self.why()))
    }

    /// What `sending` comes to until `due`. Whatever it was that took too long, a channel or the confirmation:
    /// where the broker takes no messages, the error says so.
    pub(crate) async fn in_time<T>(
        &self,
        operation: Operation,
        due: Instant,
        sending: impl Future<Output = Result<T, TransportError>>,
    ) -> Result<T, TransportError> {
        match timeout_at(due, sending).await {
            Ok(Err(error)) if error.kind() == ErrorKind::TimedOut => Err(self.late(error)),
            Ok(done) => done,
            Err(_) => Err(self.late(timed_out(operation))),
        }
    }

    fn late(&self, error: TransportError) -> TransportError {
        match self.blocked() {
            Some(why) => error.detail(format!("the broker takes no messages for now: {why}")),
            None => error,
        }
    }
}

/// The error of a question that may have been asked.
fn in_doubt(error: &lapin::Error) -> TransportError {
    TransportError::new(ErrorKind::Disconnected, Operation::Request)
        .detail("the broker refused another question before it confirmed this one, or this one")
        .caused_by(failed(error, Operation::Request))
}
