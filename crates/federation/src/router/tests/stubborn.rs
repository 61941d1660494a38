//! A connection whose transport does not do what it is told.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use mesh_core::message::Message;
use mesh_core::port::{
    Capabilities, CloseReport, Connection, ConnectionStates, ErrorKind, Incoming, Operation,
    PublishOptions, ReceiveError, SubscribeOptions, Subscription, Transport, TransportError,
};
use mesh_core::subject::{Filter, Subject};
use parking_lot::Mutex;
use tokio::sync::watch;

#[derive(Debug, Clone)]
pub(super) struct Stubborn {
    connection: Connection,
    held: watch::Sender<Vec<Subject>>,
    ends: watch::Sender<u32>,
    refusals: Arc<Mutex<u32>>,
}

impl Stubborn {
    pub(super) fn around(connection: &Connection) -> Self {
        Self {
            connection: connection.clone(),
            held: watch::Sender::new(Vec::new()),
            ends: watch::Sender::new(0),
            refusals: Arc::default(),
        }
    }

    pub(super) fn connection(&self) -> Connection {
        let (principal, clock) = (self.connection.principal(), self.connection.clock());
        Connection::new(principal.clone(), Arc::clone(clock), Arc::new(self.clone()))
    }

    /// What is published there waits until it is freed.
    pub(super) fn hold(&self, subject: &Subject) {
        self.held.send_modify(|held| held.push(subject.clone()));
    }

    pub(super) fn free(&self) {
        self.held.send_modify(Vec::clear);
    }

    /// Ends every subscription, and refuses the next `refusals` less one.
    pub(super) fn end_subscriptions(&self, refusals: u32) {
        *self.refusals.lock() = refusals - 1;
        self.ends.send_modify(|ends| *ends += 1);
    }
}

fn away(operation: Operation) -> TransportError {
    TransportError::new(ErrorKind::Disconnected, operation)
}

#[async_trait]
impl Transport for Stubborn {
    fn capabilities(&self) -> &Capabilities {
        self.connection.transport().capabilities()
    }

    fn states(&self) -> ConnectionStates {
        self.connection.transport().states()
    }

    async fn publish(
        &self,
        message: Message,
        options: PublishOptions,
    ) -> Result<(), TransportError> {
        let mut held = self.held.subscribe();
        let free = |held: &Vec<Subject>| !held.contains(message.subject());
        held.wait_for(free).await.map_err(|_gone| away(Operation::Publish))?;
        self.connection.transport().publish(message, options).await
    }

    async fn subscribe(
        &self,
        filter: Filter,
        options: SubscribeOptions,
    ) -> Result<Subscription, TransportError> {
        if let Some(less) = {
            let refusals = *self.refusals.lock();
            refusals.checked_sub(1)
        } {
            *self.refusals.lock() = less;
            return Err(away(Operation::Subscribe));
        }
        let arrivals = self.connection.transport().subscribe(filter, options).await?;
        let mut ends = self.ends.subscribe();
        ends.mark_unchanged();
        let end = async move {
            let _ = ends.changed().await;
        };
        let last = async { Err(ReceiveError::Ended(away(Operation::Subscribe))) };
        let arrivals = arrivals.take_until(end).chain(futures_util::stream::once(last));
        Ok(Incoming::new(arrivals))
    }

    async fn flush(&self, timeout: Duration) -> Result<(), TransportError> {
        self.connection.transport().flush(timeout).await
    }

    async fn close(&self, timeout: Duration) -> CloseReport {
        self.connection.transport().close(timeout).await
    }
}
