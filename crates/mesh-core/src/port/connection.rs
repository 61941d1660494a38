use std::sync::Arc;

use super::{
    Administration, Clock, ErrorKind, Operation, Requests, Streams, Transport, TransportError,
};
use crate::identity::Principal;

/// What dialling a broker gives: who one is there, and the ports that this transport has.
/// Cheap to clone; every clone is the same connection.
#[derive(Debug, Clone)]
pub struct Connection {
    principal: Principal,
    clock: Arc<dyn Clock>,
    transport: Arc<dyn Transport>,
    streams: Option<Arc<dyn Streams>>,
    requests: Option<Arc<dyn Requests>>,
    administration: Option<Arc<dyn Administration>>,
    broker: Option<Arc<str>>,
    system: &'static str,
}

impl Connection {
    /// A connection with the first port only.
    #[must_use]
    pub fn new(principal: Principal, clock: Arc<dyn Clock>, transport: Arc<dyn Transport>) -> Self {
        Self {
            principal,
            clock,
            transport,
            streams: None,
            requests: None,
            administration: None,
            broker: None,
            system: "mesh",
        }
    }

    /// The same with streams.
    #[must_use]
    pub fn with_streams(mut self, streams: Arc<dyn Streams>) -> Self {
        self.streams = Some(streams);
        self
    }

    /// The same with requests.
    #[must_use]
    pub fn with_requests(mut self, requests: Arc<dyn Requests>) -> Self {
        self.requests = Some(requests);
        self
    }

    /// The same with administration.
    #[must_use]
    pub fn with_administration(mut self, administration: Arc<dyn Administration>) -> Self {
        self.administration = Some(administration);
        self
    }

    /// The same with what the broker says that it is, such as `nats-server 2.15.1`.
    #[must_use]
    pub fn with_broker(mut self, broker: impl Into<Arc<str>>) -> Self {
        self.broker = Some(broker.into());
        self
    }

    /// The same with the name of the messaging system.
    #[must_use]
    pub fn with_system(mut self, system: &'static str) -> Self {
        self.system = system;
        self
    }

    /// Who this connection is, from its credential.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// What the broker said that it is when it was first reached, for people to read: a claim. Nothing
    /// where the broker is in the process, or where the client library does not tell, as on RabbitMQ.
    #[must_use]
    pub fn broker(&self) -> Option<&str> {
        self.broker.as_deref()
    }

    /// The messaging system, as OpenTelemetry's `messaging.system`: `nats`, `rabbitmq`, `mesh_memory` for a
    /// broker in the process, and `mesh` where a transport does not say.
    #[must_use]
    pub fn system(&self) -> &'static str {
        self.system
    }

    /// The clock that the transport goes by.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Live messages.
    #[must_use]
    pub fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }

    /// What must not be lost.
    ///
    /// # Errors
    /// `Unsupported` where the transport has no such port.
    pub fn streams(&self) -> Result<&Arc<dyn Streams>, TransportError> {
        self.streams.as_ref().ok_or_else(|| unsupported(Operation::Consume))
    }

    /// Questions with one answer.
    ///
    /// # Errors
    /// `Unsupported` where the transport has no such port.
    pub fn requests(&self) -> Result<&Arc<dyn Requests>, TransportError> {
        self.requests.as_ref().ok_or_else(|| unsupported(Operation::Request))
    }

    /// The controller's side.
    ///
    /// # Errors
    /// `Unsupported` where the transport has no such port, or this principal is not the controller.
    pub fn administration(&self) -> Result<&Arc<dyn Administration>, TransportError> {
        self.administration.as_ref().ok_or_else(|| {
            let error = unsupported(Operation::Assert);
            match &self.principal {
                Principal::Controller { .. } => error,
                other => {
                    error.detail(format!("this is {other}, and only the controller administers"))
                }
            }
        })
    }
}

fn unsupported(operation: Operation) -> TransportError {
    TransportError::new(ErrorKind::Unsupported, operation)
}
