use std::time::Duration;

use async_trait::async_trait;
use mesh_core::identity::Responder;
use mesh_core::message::Message;
use mesh_core::port::{Calls, ErrorKind, Operation, Requests, ServeOptions, TransportError};
use mesh_core::subject::Filter;

use super::Port;
use crate::{link, requests};

#[async_trait]
impl Requests for Port {
    async fn request(
        &self,
        responder: Responder,
        message: Message,
        timeout: Duration,
    ) -> Result<Message, TransportError> {
        let link = self.link();
        if message.reply().is_some() {
            link.line.check_open(Operation::Request)?;
            return Err(TransportError::new(ErrorKind::Invalid, Operation::Request)
                .about(message.subject())
                .detail("it brings a reply address"));
        }
        link.check(&message, Operation::Request)?;
        requests::ask(link, &responder, &message, link::deadline(timeout)).await
    }

    async fn serve(&self, filter: Filter, options: ServeOptions) -> Result<Calls, TransportError> {
        self.link().line.check_open(Operation::Serve)?;
        requests::serve(&self.owner, filter, options).await
    }
}
