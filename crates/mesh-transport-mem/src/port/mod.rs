//! The ports, on a connection of any of the brokers.

mod administration;
mod requests;
mod streams;
mod transport;

use std::pin::Pin;
use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::{Capability, Connection, ErrorKind, Operation, TransportError};

use crate::link::Link;
use crate::live::{Full, wait};

/// One connection behind the ports.
#[derive(Debug)]
pub(crate) struct Port {
    link: Arc<Link>,
}

impl Port {
    /// The ports that the broker's capabilities speak of.
    pub(crate) fn connection(link: Arc<Link>) -> Connection {
        let principal = (*link.principal).clone();
        let capabilities = link.broker.capabilities.clone();
        let clock = Arc::clone(&link.broker.clock);
        let administers = matches!(principal, Principal::Controller { .. });
        let port = Arc::new(Self { link });
        let mut connection =
            Connection::new(principal, clock, port.clone()).with_system("mesh_memory");
        if capabilities.has(Capability::Requests) {
            connection = connection.with_requests(port.clone());
        }
        if capabilities.has(Capability::DurableConsumers) {
            connection = connection.with_streams(port.clone());
            if administers {
                connection = connection.with_administration(port);
            }
        }
        connection
    }

    /// What every message is checked for before it goes anywhere.
    fn check(&self, message: &Message, operation: Operation) -> Result<(), TransportError> {
        self.check_sound(message, operation)?;
        self.check_permitted(message, operation)
    }

    /// What the connection itself refuses, before the server has a say.
    fn check_sound(&self, message: &Message, operation: Operation) -> Result<(), TransportError> {
        let link = &self.link;
        link.check_open(operation)?;
        let subject = message.subject().as_str();
        message
            .check(link.broker.capabilities.limits())
            .map_err(|problem| TransportError::of_message(problem, operation, subject))
    }

    /// What a server refuses.
    fn check_permitted(
        &self,
        message: &Message,
        operation: Operation,
    ) -> Result<(), TransportError> {
        self.link.access.publish(message.subject(), message.reply(), operation)
    }

    /// Publishes what was checked; the answer is whether anybody receives it.
    async fn send(&self, message: Message) -> Result<bool, TransportError> {
        let published = self.link.broker.publish(self.link.sender(), message)?;
        match published.full {
            None => Ok(published.received),
            Some(full) => Ok(published.received | self.wait(full).await),
        }
    }

    /// Waits a moment for readers without room; the answer is whether anybody received it or was
    /// told of its loss. Rare, so its room is not part of every call.
    fn wait(&self, full: Box<Full>) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        Box::pin(async { self.link.broker.reach(wait(full).await, self.link.sender()).received })
    }

    fn require(&self, capability: Capability, operation: Operation) -> Result<(), TransportError> {
        if self.link.broker.capabilities.has(capability) {
            Ok(())
        } else {
            Err(TransportError::new(ErrorKind::Unsupported, operation))
        }
    }
}
