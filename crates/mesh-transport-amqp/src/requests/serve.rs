//! Those who answer: calls that may be answered, and where the answer goes.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use lapin::message::Delivery;
use lapin::types::ShortString;
use mesh_core::identity::Principal;
use mesh_core::message::{Headers, Message};
use mesh_core::port::{
    Answer, Call, Calls, ErrorKind, Incoming, Operation, QueueGroup, ReceiveError, RefusalReason,
    ServeOptions, TransportError,
};
use mesh_core::provision::is_reserved_tool;
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::MeshSubject;

use super::queue_of;
use crate::counters::count;
use crate::link::deadline;
use crate::live::{Place, Sender, Sieve, Wanted, listen};
use crate::port::Owner;
use crate::publish::Outgoing;

/// Takes calls.
pub(crate) async fn serve(
    owner: &Arc<Owner>,
    filter: Filter,
    options: ServeOptions,
) -> Result<Calls, TransportError> {
    let link = owner.link();
    if link.principal.responder().is_none() {
        return Err(TransportError::new(ErrorKind::Denied, Operation::Serve)
            .about(&filter)
            .detail("only modules and the controller answer"));
    }
    // Whoever calls a tool looks at the queue of its name.
    let known = filter.as_subject().and_then(|subject| queue_of(&subject));
    let wanted = match known.filter(|_| options.group == QueueGroup::serve()) {
        Some(name) => Wanted::Lasting(name.to_string()),
        None => Wanted::shared(&options.group, &filter),
    };
    let place = Place::of(Operation::Serve, wanted, &filter)?;
    let sieve = Sieve { filter, place: place.clone(), counters: link.counters.clone() };
    let (held, clock) = (Arc::downgrade(owner), Arc::clone(&link.clock));
    let admit = Box::new(move |delivery| {
        let call = admit(&held.upgrade()?, &sieve, delivery)?;
        Some(call.map(|call| call.arrived_at(clock.monotonic())))
    });
    let due = deadline(options.timeout);
    let arrivals = listen(owner, place, options.buffer.get(), due, admit).await?;
    Ok(Incoming::new(arrivals))
}

/// A call that may be answered. Anything else is told as refused, and nothing is sent to where it points:
/// an answer goes to the queue of whom the broker proved to have asked, and to no other.
fn admit(
    owner: &Arc<Owner>,
    sieve: &Sieve,
    delivery: Delivery,
) -> Option<Result<Call, ReceiveError>> {
    let correlation = delivery.properties.correlation_id().clone();
    let (message, sender) = match sieve.read(delivery, true)? {
        Ok(read) => read,
        Err(word) => return Some(Err(word)),
    };
    let (to, id) = match owed(&message, &sender, correlation) {
        Ok(owed) => owed,
        Err(reason) => {
            count(&sieve.counters.refused);
            let subject = message.subject().clone();
            return Some(Err(ReceiveError::Refused { subject, reason }));
        }
    };
    let owed = Owed { owner: Arc::clone(owner), to, id };
    Some(Ok(Call::new(message, sender.principal, Box::new(owed))))
}

/// Where the answer goes, and under which id.
fn owed(
    message: &Message,
    sender: &Sender,
    correlation: Option<ShortString>,
) -> Result<(Subject, ShortString), RefusalReason> {
    let reply = message.reply().ok_or(RefusalReason::NoReply)?;
    if !is_queue_of(reply, &sender.user) || !may_ask(message.subject(), sender.principal.as_ref()) {
        return Err(RefusalReason::ForeignReply);
    }
    let id = correlation.filter(|id| !id.as_str().is_empty()).ok_or(RefusalReason::Malformed)?;
    Ok((reply.clone(), id))
}

/// Whether answers to `user` go there: to `reply.<user>`, or `reply.<user>.<one token>`.
fn is_queue_of(reply: &Subject, user: &str) -> bool {
    let rest = reply.as_str().strip_prefix("reply.").and_then(|rest| rest.strip_prefix(user));
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix('.').is_some_and(|random| !random.contains('.'))
    })
}

/// Whether that may be asked by whoever asks (protocol §4): what a node asks by its host, what only the
/// controller calls by the controller.
fn may_ask(asked: &Subject, caller: Option<&Principal>) -> bool {
    match MeshSubject::parse(asked) {
        Ok(MeshSubject::Ask { node, .. }) => caller == Some(&Principal::Host { node }),
        Ok(MeshSubject::Tool { tool, .. }) if is_reserved_tool(tool.as_str()) => {
            matches!(caller, Some(Principal::Controller { .. }))
        }
        _ => true,
    }
}

/// An answer that is owed.
struct Owed {
    owner: Arc<Owner>,
    to: Subject,
    id: ShortString,
}

#[async_trait]
impl Answer for Owed {
    async fn send(self: Box<Self>, headers: Headers, payload: Bytes) -> Result<(), TransportError> {
        const OPERATION: Operation = Operation::Answer;
        let link = self.owner.link();
        let answer = Message::new(self.to.clone(), payload).with_headers(headers);
        link.check(&answer, OPERATION)?;
        let under_way = link.line.accepted().begin();
        let about = |error: TransportError| error.about(&self.to);
        let sending = async {
            let due = deadline(link.options.connect_timeout);
            let session = link.line.session(OPERATION, due).await?;
            let route = link.routes.of_answers(&self.to, OPERATION)?;
            let made = || {
                let mut outgoing = Outgoing::on(&route, &answer, &session);
                outgoing.properties = outgoing.properties.with_correlation_id(self.id.clone());
                outgoing
            };
            // A queue that is full takes no more answers, and its reader will not know.
            session.publish(OPERATION, &route, made, due).await.map(drop)
        };
        under_way.end(sending.await.map_err(about))
    }
}
