use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;
use futures_util::future::{Either, select};
use mesh_core::identity::Responder;
use mesh_core::message::{Headers, Message};
use mesh_core::port::{
    Answer, Call, Calls, ErrorKind, Incoming, Operation, ReceiveError, RefusalReason, Requests,
    ServeOptions, TransportError,
};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::ReplyAddress;

use super::Port;
use crate::link::Link;
use crate::live::{Arrivals, Asked, Listener, Queue, Sink};
use crate::timer::sleep_until;

#[async_trait]
impl Requests for Port {
    async fn request(
        &self,
        responder: Responder,
        message: Message,
        timeout: Duration,
    ) -> Result<Message, TransportError> {
        let operation = Operation::Request;
        let (link, broker) = (&self.link, &self.link.broker);
        let due = broker.clock.monotonic().saturating_add(timeout);
        let subject = message.subject().clone();
        let error = |kind| TransportError::new(kind, operation).about(&subject);
        if message.reply().is_some() {
            link.check_open(operation)?;
            return Err(error(ErrorKind::Invalid).detail("it brings a reply address"));
        }
        self.check(&message, operation)?;
        let reply = link.inbox.reply(&responder, broker.random());
        link.access.hear_reply(&reply)?;
        let mut question = broker.pending.ask(link, reply.clone(), broker.clock.monotonic());
        link.check_open(operation)?;
        let message = message.with_reply(reply);
        let answered = async {
            if !self.send(message).await? {
                return Err(error(ErrorKind::NoResponders));
            }
            match (&mut question.answer).await {
                Ok(answer) => answer,
                // Only this call takes its question back, so the sender is never dropped unused.
                Err(_) => Err(error(ErrorKind::Disconnected)),
            }
        };
        let expired = sleep_until(&*broker.clock, due);
        match select(pin!(answered), pin!(expired)).await {
            Either::Left((answer, _)) => answer,
            Either::Right(_) => Err(error(ErrorKind::TimedOut)),
        }
    }

    async fn serve(&self, filter: Filter, options: ServeOptions) -> Result<Calls, TransportError> {
        let ServeOptions { group, buffer, .. } = options;
        let operation = Operation::Serve;
        let link = &self.link;
        link.check_open(operation)?;
        link.access.subscribe(&filter, Some(&group), operation)?;
        let Some(responder) = link.principal.responder() else {
            return Err(TransportError::new(ErrorKind::Denied, operation)
                .about(&filter)
                .detail("only modules and the controller answer"));
        };
        let listener = Listener {
            number: link.broker.next_id(),
            filter,
            group: Some(group),
            sink: Sink::Calls(Queue::one_by_one(buffer.get()), Arc::clone(&link.broker.clock)),
            access: Arc::clone(&link.access),
            account: link.account,
        };
        let held = link.attach_listener(listener, operation)?;
        // Again, in case the permissions were replaced before it had its place.
        let Listener { filter, group, .. } = &*held.listener;
        link.access.subscribe(filter, group.as_ref(), operation)?;
        Ok(Incoming::new(Serving { responder, arrivals: Arrivals::new(held) }))
    }
}

/// Calls that may be answered; the others are told as refused.
struct Serving {
    responder: Responder,
    arrivals: Arrivals<Asked>,
}

impl Stream for Serving {
    type Item = Result<Call, ReceiveError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let arrival = ready!(Pin::new(&mut this.arrivals).poll_next(context));
        Poll::Ready(arrival.map(|arrival| this.admit(arrival?)))
    }
}

impl Serving {
    fn admit(&self, Asked { message, caller, at }: Asked) -> Result<Call, ReceiveError> {
        let refused = |reason| ReceiveError::Refused { subject: message.subject().clone(), reason };
        let Some(reply) = message.reply() else {
            return Err(refused(RefusalReason::NoReply));
        };
        let to = ReplyAddress::check(message.subject(), reply, &self.responder)
            .map_err(|_| refused(RefusalReason::ForeignReply))?;
        let (link, calls) =
            (Arc::clone(self.arrivals.link()), Arc::clone(self.arrivals.listener()));
        // It may have waited at a server before that left; who asks has waited since it asked.
        let arrived = link.broker.pending.asked(reply).unwrap_or(at);
        let caller = caller.map(|caller| (*caller).clone());
        let owed = Owed { link, calls, asked: message.subject().clone(), to };
        Ok(Call::new(message, caller, Box::new(owed)).arrived_at(arrived))
    }
}

/// An answer that is owed.
struct Owed {
    link: Arc<Link>,
    /// Where the call was read.
    calls: Arc<Listener>,
    asked: Subject,
    to: ReplyAddress,
}

#[async_trait]
impl Answer for Owed {
    async fn send(self: Box<Self>, headers: Headers, payload: Bytes) -> Result<(), TransportError> {
        let Self { link, calls, asked, to } = *self;
        let port = Port { link };
        let answer = Message::new(to.subject().clone(), payload).with_headers(headers);
        port.check_sound(&answer, Operation::Answer)?;
        // A server's refusal comes when the answer is long on its way.
        if let Err(error) = port.check_permitted(&answer, Operation::Answer) {
            tracing::warn!(subject = %asked, %error, "an answer did not reach its caller");
            port.link.broker.pending.note_lost();
            calls.tell(ReceiveError::AnswerLost { subject: asked, error });
            return Ok(());
        }
        if !port.send(answer).await? {
            port.link.broker.pending.note_late();
        }
        Ok(())
    }
}
