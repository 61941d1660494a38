//! Drives a node's gateway, and stands for the components of its realm.

use bytes::Bytes;
use futures_util::FutureExt as _;
use mesh_core::mx::{DEFAULT_MAX_BYTES, InternalRequest, MailboxKind, ReplyId, Topic};
use mesh_core::port::ErrorKind;
use mesh_core::subject::Subject;
use mesh_federation::edge::{Outgoing, Reaction, Replied};
use mesh_federation::{Settled, Waiting};
use rand::Rng as _;

use crate::letters::{self, Claim};
use crate::truth::Ending;
use crate::world::{Happening, World};

impl World {
    /// What a mailbox brings goes through the gateway.
    pub(crate) fn mail(&mut self, node: usize, kind: MailboxKind, bytes: &Bytes) {
        let now = self.clock();
        let here = &self.nodes[node];
        let Some(up) = &here.up else {
            return self.count("came while down");
        };
        let claim = letters::claim(bytes);
        match up.edge.receive(bytes, kind, now) {
            Reaction::Drop(dropped) => self.count(dropped.guard),
            Reaction::Answer(answer) => {
                self.truth.owe(here, claim.as_ref(), kind);
                self.count("refused");
                self.answer(node, &answer);
            }
            Reaction::Ask(ask) => {
                self.truth.owe(here, claim.as_ref(), kind);
                self.truth.stays_inside(here, claim.as_ref(), ask.message.subject());
                let (subject, payload) = (ask.message.subject(), ask.message.payload());
                if subject.as_str().ends_with(".absent") {
                    let unsent = up.edge.unsent(ask, ErrorKind::NoResponders, now);
                    self.count("nobody serves");
                    if let Some(answer) = unsent.answer {
                        self.answer(node, &answer);
                    }
                } else {
                    let inside = Happening::Inside(node, subject.clone(), payload.clone());
                    drop(ask);
                    self.after(1, inside);
                }
                self.wake(node);
            }
            Reaction::Tell(tell) => {
                self.truth.stays_inside(here, claim.as_ref(), tell.message.subject());
                let (subject, payload) = (tell.message.subject(), tell.message.payload());
                let inside = Happening::Inside(node, subject.clone(), payload.clone());
                drop(tell);
                self.after(1, inside);
            }
            Reaction::Settle(answer) => {
                self.truth.addressed(here, claim.as_ref());
                let settled = up.answers.settle(&answer);
                let id = answer.correlation_id.to_string();
                self.settled(node, &id, settled);
            }
            Reaction::Wait(_) => self.truth.broken("no guard has to wait here".to_owned()),
        }
    }

    fn settled(&mut self, node: usize, id: &str, settled: Settled) {
        match settled {
            Settled::Matched => {
                let question = id.strip_prefix("c-").and_then(|number| number.parse().ok());
                let waiting = question.and_then(|number| {
                    Some((number, self.nodes[node].up.as_mut()?.questions.remove(&number)?))
                });
                match waiting {
                    Some((question, mut waiting)) => self.hear(question, &mut waiting),
                    None => self.truth.broken(format!("{id} was matched, and nobody waits for it")),
                }
            }
            Settled::Unknown => self.count("answer to nobody"),
            Settled::Foreign => self.count("answer of another realm"),
        }
    }

    /// What a caller hears, once.
    pub(crate) fn hear(&mut self, question: u64, waiting: &mut Waiting) {
        let ending = match waiting.now_or_never() {
            Some(Ok(Ok(body))) => Ending::Answered(letters::token(body.as_str())),
            Some(Ok(Err(fault))) => Ending::Refused(fault.code.into_owned()),
            Some(Err(_)) => Ending::Closed,
            None => return self.truth.broken(format!("{question} has ended and does not say how")),
        };
        self.count(ending.name());
        self.truth.ended(question, &ending);
    }

    pub(crate) fn give_up(&mut self, node: usize, question: u64) {
        let Some(up) = &mut self.nodes[node].up else {
            return;
        };
        if up.questions.remove(&question).is_some() {
            self.count(Ending::TimedOut.name());
            self.truth.ended(question, &Ending::TimedOut);
        }
    }

    fn answer(&mut self, node: usize, answer: &Outgoing) {
        let message = answer.message();
        let correlation = letters::claim(answer.bytes()).and_then(|claim| claim.correlation);
        self.truth.goes_back(&self.nodes[node], answer, message.subject(), correlation.as_deref());
        self.send(node, message.subject(), message.payload());
    }

    pub(crate) fn reply(&mut self, node: usize, id: ReplyId, bytes: &Bytes) {
        let now = self.clock();
        let Some(up) = &self.nodes[node].up else {
            return;
        };
        match up.edge.reply(id, bytes, now) {
            Replied::Answer(answer) => {
                self.count("replied");
                self.answer(node, &answer);
            }
            Replied::Late => self.count("late reply"),
            Replied::Unknown => self.count("reply to a gateway that is gone"),
        }
    }

    /// Has the gateway woken when it has something to do, or a little later.
    pub(crate) fn wake(&mut self, node: usize) {
        let Some(due) = self.nodes[node].due(self.now) else {
            return;
        };
        let late = self.random.random_range(0..=self.plan.sloth);
        let here = &mut self.nodes[node];
        if here.alarm.is_none_or(|alarm| due + late < alarm) {
            here.alarm = Some(due + late);
            self.at(due + late, Happening::Wake(node));
        }
    }

    pub(crate) fn woken(&mut self, node: usize) {
        // An earlier alarm took the place of this one.
        if self.nodes[node].alarm != Some(self.now) {
            return;
        }
        self.nodes[node].alarm = None;
        let now = self.clock();
        while let Some(answer) = self.nodes[node].up.as_ref().and_then(|up| up.edge.expire(now)) {
            self.count("timed out inside");
            self.answer(node, &answer);
        }
        self.end_leases(node);
        self.wake(node);
    }

    /// What the components of a realm do when they are asked or told.
    pub(crate) fn inside(&mut self, node: usize, subject: &Subject, bytes: &Bytes) {
        let Ok(Topic::Internal(_, path)) = subject.as_str().parse() else {
            return self.truth.broken(format!("published inside: {subject}"));
        };
        if path.as_str().contains(".emits.") {
            let token = letters::token(std::str::from_utf8(bytes).unwrap_or_default());
            self.count("heard");
            return self.truth.handled(&self.nodes[node], token, None);
        }
        let request = match InternalRequest::decode(bytes, DEFAULT_MAX_BYTES) {
            Ok(request) => request,
            Err(error) => return self.truth.broken(format!("an internal request: {error}")),
        };
        let token = letters::token(request.params.as_str());
        let from = request.mx.as_ref().map(|mx| mx.from_realm.to_name());
        self.count("handled");
        self.truth.handled(&self.nodes[node], token, from.as_ref());
        let Ok(Topic::InternalReply(_, id)) = request.reply_to.as_str().parse() else {
            return self.truth.broken(format!("replies wanted at {}", request.reply_to));
        };
        let echo = format!(r#"{{"ok":true,"body":{}}}"#, request.params.as_str());
        let fault = r#"{"error":{"code":"DESK.NO","message":"never"}}"#;
        let replies: Vec<(u64, String)> = match path.message() {
            "silent" => vec![],
            "slow" => vec![(6_000, echo)],
            "fails" => vec![(2, fault.to_owned())],
            "twice" => vec![(2, echo.clone()), (4, fault.to_owned()), (9, echo)],
            _ if path.component() == "_federation" => {
                vec![(1, self.federation(node, &path, &request))]
            }
            _ => vec![(3, echo)],
        };
        for (millis, reply) in replies {
            self.after(millis, Happening::Reply(node, id, reply.into()));
        }
    }
}

/// Whom a claim would have answered, if the gateway is to answer it at all.
pub(crate) fn answered(claim: &Claim) -> Option<&mesh_core::name::RealmName> {
    claim.reply_to.as_ref().or(claim.from.as_ref())
}
