use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use mesh_core::message::Message;
use mesh_core::port::{
    Capabilities, CloseReport, ConnectionStates, ErrorKind, Operation, PublishOptions,
    SubscribeOptions, Subscription, Transport, TransportError,
};
use mesh_core::subject::Filter;
use mesh_core::topology::Inbox;
use tokio::time::timeout_at;

use super::Port;
use crate::{close, link, live, publish};

#[async_trait]
impl Transport for Port {
    fn capabilities(&self) -> &Capabilities {
        &self.link().capabilities
    }

    fn states(&self) -> ConnectionStates {
        self.link().line.states()
    }

    async fn publish(
        &self,
        message: Message,
        options: PublishOptions,
    ) -> Result<(), TransportError> {
        let link = self.link();
        link.check(&message, Operation::Publish)?;
        options.check(&message).map_err(|problem| {
            TransportError::of_message(problem, Operation::Publish, message.subject().as_str())
        })?;
        if message.reply().is_some_and(Inbox::is_brokers) {
            return Err(TransportError::new(ErrorKind::Denied, Operation::Publish)
                .about(message.subject())
                .detail("its reply address is a broker's own"));
        }
        publish::live(link, &message, options.require_receiver, link::deadline(options.timeout))
            .await
    }

    async fn subscribe(
        &self,
        filter: Filter,
        options: SubscribeOptions,
    ) -> Result<Subscription, TransportError> {
        live::subscribe(&self.owner, filter, options).await
    }

    async fn flush(&self, timeout: Duration) -> Result<(), TransportError> {
        let link = self.link();
        link.line.check_open(Operation::Flush)?;
        let due = link::deadline(timeout);
        // Subscriptions that were dropped before are to be over. Whatever was published is confirmed.
        if timeout_at(due, link.line.places().left()).await.is_err() {
            return Err(TransportError::new(ErrorKind::TimedOut, Operation::Flush));
        }
        let hearings = link.hearings();
        let heard = join_all(hearings.iter().map(|hearing| hearing.all_came()));
        if timeout_at(due, heard).await.is_err() {
            return Err(TransportError::new(ErrorKind::TimedOut, Operation::Flush));
        }
        for reader in link.readers() {
            reader.settled(Operation::Flush, due).await?;
        }
        Ok(())
    }

    async fn close(&self, timeout: Duration) -> CloseReport {
        close::close(self.link(), link::deadline(timeout)).await
    }
}
