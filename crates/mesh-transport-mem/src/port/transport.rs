use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::message::Message;
use mesh_core::port::{
    Capabilities, Capability, CloseReport, ConnectionStates, ErrorKind, Incoming, Operation,
    PublishOptions, SubscribeOptions, Subscription, Transport, TransportError,
};
use mesh_core::subject::Filter;
use tokio::task::coop;

use super::Port;
use crate::live::{Arrivals, Listener, Queue, Sink};
use crate::status::Over;

#[async_trait]
impl Transport for Port {
    fn capabilities(&self) -> &Capabilities {
        &self.link.broker.capabilities
    }

    fn states(&self) -> ConnectionStates {
        self.link.status.states()
    }

    async fn publish(
        &self,
        message: Message,
        options: PublishOptions,
    ) -> Result<(), TransportError> {
        self.check_sound(&message, Operation::Publish)?;
        options.check(&message).map_err(|problem| {
            TransportError::of_message(problem, Operation::Publish, message.subject().as_str())
        })?;
        self.check_permitted(&message, Operation::Publish)?;
        // A publisher that never waits for anything else lets others run now and then.
        coop::consume_budget().await;
        let nobody = options.require_receiver.then(|| {
            TransportError::new(ErrorKind::NoResponders, Operation::Publish)
                .about(message.subject())
        });
        let published = self.link.broker.publish(self.link.sender(), message)?;
        let received = match published.full {
            None => published.received,
            Some(full) => published.received | self.wait(full).await,
        };
        match nobody {
            Some(nobody) if !received => Err(nobody),
            _ => Ok(()),
        }
    }

    async fn subscribe(
        &self,
        filter: Filter,
        options: SubscribeOptions,
    ) -> Result<Subscription, TransportError> {
        let operation = Operation::Subscribe;
        let link = &self.link;
        link.check_open(operation)?;
        if filter.has_wildcard() {
            self.require(Capability::Wildcards, operation)
                .map_err(|error| error.about(&filter).detail("exact subjects only"))?;
        }
        if options.group.is_some() {
            self.require(Capability::QueueGroups, operation)
                .map_err(|error| error.about(&filter))?;
        }
        link.access.subscribe(&filter, options.group.as_ref(), operation)?;
        let listener = Listener {
            number: link.broker.next_id(),
            filter,
            group: options.group,
            sink: Sink::Messages(Queue::new(options.buffer.get())),
            access: Arc::clone(&link.access),
            account: link.account,
        };
        let held = link.attach_listener(listener, operation)?;
        // Again, in case the permissions were replaced before it had its place.
        let Listener { filter, group, .. } = &*held.listener;
        link.access.subscribe(filter, group.as_ref(), operation)?;
        Ok(Incoming::new(Arrivals::<Message>::new(held)))
    }

    async fn flush(&self, _timeout: Duration) -> Result<(), TransportError> {
        // A publish that has returned has reached every reader's buffer.
        self.link.check_open(Operation::Flush)
    }

    async fn close(&self, _timeout: Duration) -> CloseReport {
        // What was accepted is with the broker already, so nothing is left to finish or to lose.
        CloseReport { released: self.link.end(Over::Closed), ..CloseReport::default() }
    }
}
