use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::identity::Principal;
use mesh_core::identity::Responder;
use mesh_core::message::{Headers, Message, names};
use mesh_core::name::{ModuleName, NodeName};
use mesh_core::port::{
    Answer, Call, Calls, Capability, ErrorKind, Incoming, Operation, ReceiveError, RefusalReason,
    Requests, ServeOptions, TransportError,
};
use mesh_core::provision::is_reserved_tool;
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{Inbox, MeshSubject, ReplyAddress};

use super::Broker;
use super::link::Link;

/// Where an answer goes, to what, and on whose behalf.
struct Reply {
    link: Link,
    asked: Subject,
    to: Option<Subject>,
}

#[async_trait]
impl Answer for Reply {
    async fn send(self: Box<Self>, headers: Headers, payload: Bytes) -> Result<(), TransportError> {
        let Some(to) = self.to else { return Ok(()) };
        let headers =
            if self.link.breaks("answers without headers") { Headers::default() } else { headers };
        let answer = Message::new(to, payload).with_headers(headers);
        match self.link.checked(answer, Operation::Answer) {
            Ok(_) if self.link.breaks("keeps its answers") => {}
            Ok(answer) => {
                self.link.broker.lock().deliver(&answer, self.link.id);
            }
            Err(error) if error.kind() == ErrorKind::Denied => self.link.denied(self.asked, error),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Link {
    /// Says that an answer was denied.
    fn denied(&self, subject: Subject, error: TransportError) {
        let asked = subject.clone();
        let mut word = ReceiveError::AnswerLost { subject, error };
        if self.breaks("loses a denied answer without a word") {
            return;
        }
        if self.breaks("tells a denied answer as a refused call") {
            word = ReceiveError::Refused {
                subject: asked.clone(),
                reason: RefusalReason::ForeignReply,
            };
        }
        let mut state = self.broker.lock();
        state.tell(self.id, &asked, word);
        if state.breaks("ends the calls with a denied answer") {
            let ended = TransportError::new(ErrorKind::Denied, Operation::Serve);
            state.tell(self.id, &asked, ReceiveError::Ended(ended));
        }
    }

    fn error(kind: ErrorKind) -> TransportError {
        TransportError::new(kind, Operation::Request)
    }

    fn reply_address(&self, responder: &Responder) -> Subject {
        let inbox = Inbox::of(&self.principal);
        let random = u128::from(self.broker.lock().id());
        if self.breaks("repeats the reply address") {
            return inbox.reply(responder, 7);
        }
        if self.breaks("names nobody in the reply address") {
            return inbox.confirmation(random);
        }
        inbox.reply(responder, random)
    }

    /// Whether nobody who may ask this is answered there.
    fn is_foreign(&self, message: &Message, reply: &Subject, responder: &Responder) -> bool {
        let asked = message.subject();
        let (ask, grant) = match MeshSubject::parse(asked) {
            Ok(MeshSubject::Ask { .. }) => (true, false),
            Ok(MeshSubject::Tool { tool, .. }) => (false, is_reserved_tool(tool.as_str())),
            _ => (false, false),
        };
        if ask && self.breaks("refuses every ask") || grant && self.breaks("refuses every grant") {
            return true;
        }
        let anybody =
            ask && self.breaks("lets anybody ask") || grant && self.breaks("lets anybody grant");
        let unguarded = Subject::new("test.a").unwrap();
        let asked = if anybody { &unguarded } else { asked };
        ReplyAddress::check(asked, reply, responder).is_err()
    }

    /// The call in a message, or why it is none.
    fn call(
        &self,
        message: Message,
        caller: Option<Principal>,
        since: Duration,
    ) -> Result<Call, ReceiveError> {
        let refused = |reason| {
            let subject = message.subject().clone();
            Err(ReceiveError::Refused { subject, reason })
        };
        let responder = match &self.principal {
            Principal::Module { module, .. } => Responder::Module(module.clone()),
            _ => Responder::Controller,
        };
        let anywhere =
            self.breaks("answers anywhere") || self.breaks("names nobody in the reply address");
        match message.reply() {
            None if self.breaks("hands on calls without a reply") => {}
            None => return refused(RefusalReason::NoReply),
            Some(reply) if !anywhere && self.is_foreign(&message, reply, &responder) => {
                if self.breaks("answers with a refusal") {
                    let no = Message::new(reply.clone(), "no");
                    self.broker.lock().deliver(&no, self.id);
                }
                return refused(RefusalReason::ForeignReply);
            }
            Some(_) => {}
        }
        let caller = if self.breaks("believes the reply address") {
            let tokens = message.reply().map(Subject::tokens).into_iter().flatten();
            named(&tokens.skip(1).take(2).collect::<Vec<_>>())
        } else if self.breaks("believes a header") {
            let claim = message.headers().value(names::SOURCE.as_str());
            claim.and_then(|module| named(&[module, "n1"]))
        } else {
            caller
        };
        let (asked, to) = (message.subject().clone(), message.reply().cloned());
        let answer = Reply { link: self.again(), asked, to };
        let call = Call::new(message, caller, Box::new(answer));
        if self.breaks("does not say when a call arrived") {
            return Ok(call);
        }
        let late = self.breaks("counts a call from its reading");
        Ok(call.arrived_at(if late { self.broker.clock.monotonic() } else { since }))
    }
}

fn named(tokens: &[&str]) -> Option<Principal> {
    Some(Principal::Module {
        module: ModuleName::new(tokens.first()?).ok()?,
        node: NodeName::new(tokens.get(1)?).ok()?,
    })
}

async fn sleep(broker: &Broker, span: Duration) {
    broker.clock.sleep(span).await;
}

#[async_trait]
impl Requests for Link {
    async fn request(
        &self,
        responder: Responder,
        message: Message,
        timeout: Duration,
    ) -> Result<Message, TransportError> {
        self.broker.needs(Capability::Requests, Operation::Request)?;
        self.open(Operation::Request, "requests after close")?;
        if message.reply().is_some() && !self.breaks("takes a reply address of the caller") {
            return Err(Self::error(ErrorKind::Invalid));
        }
        let message = self.checked(message, Operation::Request)?;
        let reply = self.reply_address(&responder);
        let mut place = Filter::from(reply.clone());
        if self.breaks("answers whoever waits first") {
            place = Inbox::of(&self.principal).filter();
        }
        let mut answers: Incoming<Message> =
            self.listen(place, None, 1, false, |message, _, _| Ok(message));
        let asked = self.broker.lock().deliver(&message.with_reply(reply), self.id);
        self.under_way().await;
        if asked == 0 && self.breaks("says timed out for nobody") {
            return Err(Self::error(ErrorKind::TimedOut));
        }
        if asked == 0 && !self.breaks("waits for nobody") {
            return Err(Self::error(ErrorKind::NoResponders));
        }
        if self.breaks("times out at once") {
            return Err(Self::error(ErrorKind::TimedOut));
        }
        let timeout = if self.breaks("never times out") { Duration::MAX } else { timeout };
        tokio::select! {
            biased;
            answer = answers.next() => match answer {
                Some(Ok(answer)) => Ok(answer),
                _ => Err(Self::error(ErrorKind::Closed)),
            },
            () = sleep(&self.broker, timeout) => Err(Self::error(ErrorKind::TimedOut)),
        }
    }

    async fn serve(&self, filter: Filter, options: ServeOptions) -> Result<Calls, TransportError> {
        let ServeOptions { group, buffer, .. } = options;
        self.broker.needs(Capability::Requests, Operation::Serve)?;
        self.open(Operation::Serve, "serves after close")?;
        self.may_subscribe(&filter, Some(&group), Operation::Serve)?;
        if self.breaks("keeps what was given up") {
            self.leave_midway(filter.clone(), Some(group.clone()), true).await;
        } else {
            self.under_way().await;
        }
        let link = self.again();
        Ok(self.listen(filter, Some(group), buffer.get(), true, move |message, from, since| {
            let caller = link.broker.lock().principals.get(&from).cloned();
            link.call(message, caller, since)
        }))
    }
}
