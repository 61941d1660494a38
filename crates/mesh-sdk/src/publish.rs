use std::time::Duration;

use mesh_core::event::{Event, EventId, TraceContext};
use mesh_core::identity::Instance;
use mesh_core::json::JsonText;
use mesh_core::message::{HeaderError, HeaderName, HeaderValue, Headers, Message, PublishId};
use mesh_core::name::{EventName, NameError};
use mesh_core::port::{AppendOptions, Appended, ErrorKind, Operation, TransportError};
use mesh_core::topology::MeshSubject;
use serde::Serialize;
use tracing::Instrument as _;

use crate::broker::Broker;
use crate::causation::cause;
use crate::error::PublishError;
use crate::limit::within;
use crate::scope::{Events, Has};

/// What is published: an event's name, and what else is said about it.
#[derive(Debug, Clone)]
pub struct Emission {
    event: EventName,
    schema: Option<String>,
    causation: Option<EventId>,
    trace: Option<TraceContext>,
}

impl Emission {
    /// An event of this name.
    #[must_use]
    pub fn new(event: EventName) -> Self {
        Self { event, schema: None, causation: None, trace: None }
    }

    /// With the version of the data's shape.
    #[must_use]
    pub fn schema(mut self, version: impl Into<String>) -> Self {
        self.schema = Some(version.into());
        self
    }

    /// With what caused it. Inside a handler that is the event handled, unless told here.
    #[must_use]
    pub fn caused_by(mut self, id: EventId) -> Self {
        self.causation = Some(id);
        self
    }

    /// In this trace, with a span of its own; what W3C does not allow is left out. Inside a handler it is
    /// that of the event handled, unless told here.
    #[must_use]
    pub fn traced(mut self, trace: TraceContext) -> Self {
        self.trace = Some(trace);
        self
    }
}

impl From<EventName> for Emission {
    fn from(event: EventName) -> Self {
        Self::new(event)
    }
}

impl TryFrom<&str> for Emission {
    type Error = NameError;
    fn try_from(event: &str) -> Result<Self, NameError> {
        EventName::new(event).map(Self::new)
    }
}

/// An event that the broker has.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Published {
    /// Its id.
    pub id: EventId,
    /// Its number in the stream, where the transport numbers.
    pub sequence: Option<u64>,
}

impl<S: Has<Events>> Broker<S> {
    /// Says that something has happened. Returns when the broker has it: it will be given to every
    /// module that consumes it, also to one that is away now.
    ///
    /// While the broker can't be reached it is tried again with the same id, until the time to
    /// publish has passed. A broker that knows ids keeps one copy; of one that does not
    /// ([`Deduplication`](mesh_core::port::Capability::Deduplication)), who consumes the event handles
    /// the id once.
    ///
    /// # Errors
    /// [`PublishError`]; `Denied` where the manifest does not emit it.
    pub async fn publish<E, T>(&self, event: E, data: &T) -> Result<Published, PublishError>
    where
        E: TryInto<Emission>,
        PublishError: From<E::Error>,
        T: Serialize + ?Sized + Sync,
    {
        let emission = event.try_into()?;
        let data = JsonText::from_value(data)?;
        let Instance { node, module } = &self.part::<Events>().here;
        let subject = MeshSubject::Event { module: module.clone(), event: emission.event.clone() }
            .to_subject()?;
        let now = self.0.connection.clock().now();
        let id = self.0.ids.next(now);
        let mut event = Event::new(id.clone(), module.clone(), node.clone(), now, data);
        if let Some(cause) = emission.causation.or_else(cause) {
            event = event.caused_by(cause);
        }
        if let Some(schema) = emission.schema {
            event = event.with_schema(schema);
        }
        let publish_id = PublishId::new(event.publish_id())?;
        let body = event.data().as_bytes().clone();
        let sending = self.0.publishing.begin(&emission.event, &subject, &id, body.len());
        let message = Message::new(subject, body).with_headers(headers(&event)?);
        let message = traced(message, &sending.trace(emission.trace))?;
        let appended = self.append(message, publish_id).instrument(sending.span()).await;
        sending.end(appended.as_ref().err().map(PublishError::kind));
        Ok(Published { id, sequence: appended?.sequence })
    }

    async fn append(&self, message: Message, id: PublishId) -> Result<Appended, PublishError> {
        let streams = &self.part::<Events>().streams;
        let clock = self.0.connection.clock();
        let deadline = clock.monotonic().saturating_add(self.0.settings.publish_timeout);
        let mut attempt = 0;
        let mut unsure: Option<TransportError> = None;
        loop {
            attempt += 1;
            let left = deadline.saturating_sub(clock.monotonic()).min(ATTEMPT);
            let options =
                AppendOptions { id: Some(id.clone()), timeout: left, ..AppendOptions::default() };
            let appending = streams.append(message.clone(), options);
            match within(&**clock, left, Operation::Append, appending).await {
                Ok(appended) if appended.duplicate && attempt == 1 => {
                    return Err(PublishError::IdTaken { id: id.to_string() });
                }
                Ok(appended) => return Ok(appended),
                Err(error) if !worth_another_try(&error) => {
                    // An earlier try may have stored it all the same: then that is what is known.
                    return Err(match unsure {
                        Some(unsure) => unsure.caused_by(error),
                        None => error,
                    }
                    .into());
                }
                Err(error) => {
                    let pause = pause(attempt);
                    if clock.monotonic().saturating_add(pause) >= deadline {
                        return Err(error.into());
                    }
                    clock.sleep(pause).await;
                    unsure = Some(error);
                }
            }
        }
    }
}

/// How long one try waits for the broker's word, so that one that got lost leaves time for another.
const ATTEMPT: Duration = Duration::from_secs(2);

/// A broker that was away may have the event or not: the same id makes another try harmless, to the
/// broker or to who consumes it. One
/// that answered is believed, and so is a transport that says that the connection won't be back.
fn worth_another_try(error: &TransportError) -> bool {
    error.operation() == Operation::Append
        && error.may_retry()
        && matches!(error.kind(), ErrorKind::Disconnected | ErrorKind::TimedOut)
}

fn pause(attempt: u32) -> Duration {
    Duration::from_millis(50) * (1 << attempt.min(5))
}

/// With the headers of a trace.
pub(crate) fn traced(mut message: Message, trace: &TraceContext) -> Result<Message, HeaderError> {
    for (name, value) in trace.headers() {
        message = message.with_header(HeaderName::new(name)?, HeaderValue::new(value.to_owned())?);
    }
    Ok(message)
}

pub(crate) fn headers(event: &Event) -> Result<Headers, PublishError> {
    let mut headers = Headers::default();
    for (name, value) in event.headers() {
        headers.append(HeaderName::new(name)?, HeaderValue::new(value)?);
    }
    Ok(headers)
}
