use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::identity::Responder;
use mesh_core::message::{Headers, Message};
use mesh_core::port::{
    Answer, Call, Calls, ErrorKind, Incoming, Operation, ReceiveError, RefusalReason, Requests,
    ServeOptions, TransportError,
};
use mesh_core::subject::Filter;
use mesh_core::topology::ReplyAddress;

use super::{Owner, Port, malformed};
use crate::convert::{self, Recent};
use crate::live::{self, Place};
use crate::{link, publish, request};

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
            link.check_open(Operation::Request)?;
            return Err(TransportError::new(ErrorKind::Invalid, Operation::Request)
                .about(message.subject())
                .detail("it brings a reply address"));
        }
        link.check(&message, Operation::Request)?;
        request::ask(link, &responder, &message, link::deadline(timeout)).await
    }

    async fn serve(&self, filter: Filter, options: ServeOptions) -> Result<Calls, TransportError> {
        let link = self.link();
        link.check_open(Operation::Serve)?;
        let Some(responder) = link.principal.responder() else {
            return Err(TransportError::new(ErrorKind::Denied, Operation::Serve)
                .about(&filter)
                .detail("only modules and the controller answer"));
        };
        let place = Place {
            operation: Operation::Serve,
            filter: filter.as_str().to_owned(),
            group: Some(options.group.as_str().to_owned()),
        };
        let due = link::deadline(options.timeout);
        let owner = Arc::downgrade(&self.owner);
        let clock = Arc::clone(&link.clock);
        let mut recent = Recent::of(&filter);
        let admit = Box::new(move |message: async_nats::Message| {
            let call = admit(owner.upgrade()?, message, &responder, &mut recent);
            Some(call.map(|call| call.arrived_at(clock.monotonic())))
        });
        let arrivals = live::listen(&self.owner, place, options.buffer.get(), due, admit).await?;
        Ok(Incoming::new(arrivals))
    }
}

/// A call that may be answered. Anything else is told as refused, and nothing is sent to where it
/// points (protocol §4).
fn admit(
    owner: Arc<Owner>,
    message: async_nats::Message,
    responder: &Responder,
    recent: &mut Recent,
) -> Result<Call, ReceiveError> {
    let message =
        convert::message_in(message, true, recent).map_err(|subject| malformed(&subject))?;
    let refused = |reason| ReceiveError::Refused { subject: message.subject().clone(), reason };
    let Some(reply) = message.reply() else {
        return Err(refused(RefusalReason::NoReply));
    };
    let to = ReplyAddress::check(message.subject(), reply, responder)
        .map_err(|_| refused(RefusalReason::ForeignReply))?;
    // Who may publish to a tool is the server's to say, and it doesn't say who did.
    Ok(Call::new(message, None, Box::new(Owed { owner, to })))
}

/// An answer that is owed.
struct Owed {
    owner: Arc<Owner>,
    to: ReplyAddress,
}

#[async_trait]
impl Answer for Owed {
    async fn send(self: Box<Self>, headers: Headers, payload: Bytes) -> Result<(), TransportError> {
        let link = self.owner.link();
        let answer = Message::new(self.to.subject().clone(), payload).with_headers(headers);
        link.check(&answer, Operation::Answer)?;
        let due = link::deadline(link.options.connect_timeout);
        publish::live(link, Operation::Answer, answer, due).await
    }
}
