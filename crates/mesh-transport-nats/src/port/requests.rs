use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::identity::Responder;
use mesh_core::message::Message;
use mesh_core::port::{
    Call, Calls, ErrorKind, Incoming, Operation, ReceiveError, RefusalReason, Requests,
    ServeOptions, TransportError,
};
use mesh_core::subject::Filter;
use mesh_core::topology::ReplyAddress;
use mesh_session::Queue;

use super::{Owner, Port, malformed};
use crate::answer::Owed;
use crate::convert::{self, Recent};
use crate::live::{self, Place};
use crate::{link, request};

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
        request::ask(link, &responder, &message, link::deadline(timeout)).await
    }

    async fn serve(&self, filter: Filter, options: ServeOptions) -> Result<Calls, TransportError> {
        let link = self.link();
        link.line.check_open(Operation::Serve)?;
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
        let queue = Arc::new(Queue::new(options.buffer.get()));
        let calls = Arc::downgrade(&queue);
        let admit = Box::new(move |message: async_nats::Message| {
            let call = admit(owner.upgrade()?, &calls, message, &responder, &mut recent);
            Some(call.map(|call| call.arrived_at(clock.monotonic())))
        });
        let arrivals = live::listen(&self.owner, place, queue, due, admit).await?;
        Ok(Incoming::new(arrivals))
    }
}

/// A call that may be answered. Anything else is told as refused, and nothing is sent to where it
/// points (protocol §4).
fn admit(
    owner: Arc<Owner>,
    calls: &Weak<Queue<Call>>,
    message: async_nats::Message,
    responder: &Responder,
    recent: &mut Recent,
) -> Result<Call, ReceiveError> {
    let address = message.reply.clone();
    let message =
        convert::message_in(message, true, recent).map_err(|subject| malformed(&subject))?;
    let refused = |reason| ReceiveError::Refused { subject: message.subject().clone(), reason };
    let (Some(reply), Some(address)) = (message.reply(), address) else {
        return Err(refused(RefusalReason::NoReply));
    };
    let to = ReplyAddress::check(message.subject(), reply, responder)
        .map_err(|_| refused(RefusalReason::ForeignReply))?;
    // Who may publish to a tool is the server's to say, and it doesn't say who did.
    let (asked, calls) = (message.subject().clone(), Weak::clone(calls));
    Ok(Call::new(message, None, Box::new(Owed { owner, to, reply: address, asked, calls })))
}
