//! The adapter: the first port, `Transport`, on a connection to the broker. It declares no capability.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream;
use mesh_clock::SystemClock;
use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::{
    Capabilities, CloseReport, Connection, ConnectionState, ConnectionStates, ErrorKind, Incoming,
    Limits, Operation, PublishOptions, SubscribeOptions, Subscription, Transport, TransportError,
};
use mesh_core::subject::Filter;
use tokio::net::TcpStream;

use super::link::{Link, Place};
use super::wire::{Frame, Head, Letter};

/// Dials the broker. It asks nobody who they are: `principal` would come from a credential elsewhere.
pub(crate) async fn connect(
    broker: SocketAddr,
    principal: Principal,
) -> Result<Connection, TransportError> {
    let stream = TcpStream::connect(broker).await.map_err(|error| {
        let failed = TransportError::new(ErrorKind::Disconnected, Operation::Connect);
        failed.about(broker.to_string()).caused_by(error)
    })?;
    let transport = TinyTransport {
        capabilities: Capabilities::new(Limits::default(), []),
        link: Link::over(stream),
    };
    Ok(Connection::new(principal, Arc::new(SystemClock::new()), Arc::new(transport)))
}

#[derive(Debug)]
struct TinyTransport {
    capabilities: Capabilities,
    link: Arc<Link>,
}

#[async_trait]
impl Transport for TinyTransport {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn states(&self) -> ConnectionStates {
        let mut states = self.link.states.subscribe();
        states.mark_changed(); // so that the first is the current one
        ConnectionStates::new(stream::unfold(states, |mut states| async move {
            states.changed().await.ok()?;
            let now = states.borrow_and_update().clone();
            Some((now, states))
        }))
    }

    async fn publish(
        &self,
        message: Message,
        options: PublishOptions,
    ) -> Result<(), TransportError> {
        let (operation, subject) = (Operation::Publish, message.subject().as_str());
        self.link.check_open(operation)?;
        message
            .check(self.capabilities.limits())
            .map_err(|problem| TransportError::of_message(problem, operation, subject))?;
        if options.require_receiver {
            return Err(TransportError::new(ErrorKind::Unsupported, operation).about(subject));
        }
        let head = Head::Publish(Letter::of(&message));
        let frame = Frame { head, payload: message.payload().clone() };
        self.link.call(frame, operation, options.timeout).await.map_err(|e| e.about(subject))
    }

    async fn subscribe(
        &self,
        filter: Filter,
        options: SubscribeOptions,
    ) -> Result<Subscription, TransportError> {
        let operation = Operation::Subscribe;
        self.link.check_open(operation)?;
        let Some(subject) = filter.as_subject().filter(|_| options.group.is_none()) else {
            let error = TransportError::new(ErrorKind::Unsupported, operation).about(&filter);
            return Err(error.detail("exact subjects only, and no groups"));
        };
        // From here on it leaves by itself, also where this call is given up midway.
        let place = Place::take(&self.link, subject, options.buffer.get());
        let head = Head::Subscribe { number: place.number(), subject: filter.to_string() };
        let asked = self.link.call(head.into(), operation, options.timeout).await;
        asked.map_err(|error| error.about(&filter))?;
        Ok(Incoming::new(stream::poll_fn(move |context| place.poll(context))))
    }

    async fn flush(&self, timeout: Duration) -> Result<(), TransportError> {
        self.link.check_open(Operation::Flush)?;
        self.link.call(Head::Flush.into(), Operation::Flush, timeout).await
    }

    async fn close(&self, timeout: Duration) -> CloseReport {
        if !self.link.begin_close() {
            // Somebody else closes it; that one reports.
            let mut states = self.link.states.subscribe();
            let over = states.wait_for(|state| matches!(state, ConnectionState::Closed));
            let _ = tokio::time::timeout(timeout, over).await;
            return CloseReport::default();
        }
        // Every `publish` that has returned is with the broker. This waits for those that have not.
        let _ = self.link.call(Head::Flush.into(), Operation::Close, timeout).await;
        self.link.end(ConnectionState::Closed);
        CloseReport::default()
    }
}
