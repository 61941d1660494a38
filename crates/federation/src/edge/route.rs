use std::time::Duration;

use bytes::Bytes;
use mesh_core::guard::{Now, Outcome, Refusal};
use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::mx::{
    AnswerRoute, Decoded, EdgeCode, Envelope, Fault, InternalRequest, MailboxKind, MsgType, Plane,
    Stamp, Topic, without_mx,
};
use mesh_core::port::ErrorKind;

use super::arrival::Content;
use super::edge::ROUTE;
use super::passage::{Passage, Release};
use super::pending::{Found, Full, Request, Slot};
use super::tally::count;
use super::{Arrival, Ask, Edge, Outgoing, Reaction, Tell};

/// What is to be done about a request that could not be published inside the realm.
#[derive(Debug)]
#[must_use]
#[non_exhaustive]
pub struct Unsent<'a> {
    /// The answer. Nothing where there is one already, or where a reply may still come.
    pub answer: Option<Outgoing>,
    /// What is to be undone: the request never reached the inside, and may come again.
    pub release: Option<Release<'a>>,
}

/// The way back, by which kind of mailbox, in whose place, and since when it is waited for.
type Back = (AnswerRoute, MailboxKind, Option<Slot>, Duration);
type Refused<'a> = (Box<Passage<'a>>, Outcome);

impl Edge {
    /// The way of a message that all guards let through.
    pub(super) fn route<'a>(
        &self,
        passage: Box<Passage<'a>>,
        now: Now,
    ) -> Result<Reaction<'a>, Refused<'a>> {
        match passage.arrival.content() {
            Content::Envelope(envelope) if !envelope.kind.is_answer() => {
                if envelope.kind == MsgType::Evt {
                    self.event(passage, now)
                } else {
                    self.request(passage, now)
                }
            }
            _ => self.answer(passage, now),
        }
    }

    fn answer<'a>(&self, passage: Box<Passage<'a>>, now: Now) -> Result<Reaction<'a>, Refused<'a>> {
        let nothing = "an answer without a correlationId";
        let is_tied = passage.arrival.inbound().correlation_id.is_some();
        if !is_tied {
            return Err(self.unroutable(passage, None, nothing));
        }
        self.decided(&passage, &Outcome::Pass, now);
        let decoded = match passage.arrival.into_content() {
            Content::Reply(reply) => Decoded::LegacyReply(reply),
            Content::Envelope(envelope) => Decoded::MxEnv(envelope),
        };
        count(&self.tally.answers);
        Ok(match decoded.as_answer() {
            Some(answer) => Reaction::Settle(answer),
            None => Reaction::Drop(super::Dropped { guard: ROUTE, reason: nothing.into() }),
        })
    }

    fn event<'a>(&self, passage: Box<Passage<'a>>, now: Now) -> Result<Reaction<'a>, Refused<'a>> {
        let Some(envelope) = passage.arrival.envelope() else {
            return Err(self.unroutable(passage, None, "no envelope"));
        };
        if envelope.to.path.plane() != Plane::Emits {
            return Err(self.unroutable(passage, None, "an event for a command's path"));
        }
        let Ok(subject) = Topic::internal(&self.realm, &envelope.to.path) else {
            return Err(self.unroutable(passage, None, "the path is too long"));
        };
        let body = envelope.body.as_ref().map_or(RawJson::NULL, without_mx);
        let payload = Bytes::copy_from_slice(body.as_str().as_bytes());
        self.decided(&passage, &Outcome::Pass, now);
        Ok(Reaction::Tell(Tell { message: Message::new(subject, payload), passage }))
    }

    fn request<'a>(
        &self,
        passage: Box<Passage<'a>>,
        now: Now,
    ) -> Result<Reaction<'a>, Refused<'a>> {
        let bad = Some(EdgeCode::BadRequest);
        let Some(envelope) = passage.arrival.envelope() else {
            return Err(self.unroutable(passage, None, "no envelope"));
        };
        if self.has_long_id(envelope) {
            return Err(self.unroutable(passage, None, "an id is too long"));
        }
        let Some(route) = way_back(&passage.arrival) else {
            return Err(self.unroutable(passage, None, "nowhere to answer to"));
        };
        if envelope.to.path.plane() != Plane::Accepts {
            return Err(self.unroutable(passage, bad, "a command for an event's path"));
        }
        let Ok(subject) = Topic::internal(&self.realm, &envelope.to.path) else {
            return Err(self.unroutable(passage, bad, "the path is too long"));
        };
        let slot = match self.pending.take(route.realm()) {
            Ok(slot) => slot,
            Err(full) => return Err(self.overloaded(passage, full)),
        };
        let id = self.reply_id();
        let reply_to = Topic::internal_reply(&self.realm, id);
        let correlation_id = route.correlation_id().to_owned();
        let mut request =
            InternalRequest::of(envelope, passage.arrival.profile(), correlation_id, reply_to);
        if self.include_envelope {
            request.envelope =
                RawJson::from_slice(passage.arrival.bytes(), self.limits.max_bytes).ok();
        }
        let message = Message::new(subject, request.encode());
        self.decided(&passage, &Outcome::Pass, now);
        count(&self.tally.asked);
        let mailbox = passage.arrival.mailbox();
        let since = now.monotonic;
        let deadline = since.saturating_add(self.timeout);
        self.pending.insert(id, Request { route, mailbox, slot, since, deadline, listener: None });
        Ok(Reaction::Ask(Ask { id, message, passage }))
    }

    fn has_long_id(&self, envelope: &Envelope<'_>) -> bool {
        let ids = [&envelope.msg_id, &envelope.correlation_id, &envelope.trace_id];
        ids.into_iter().flatten().any(|id| id.len() > self.limits.max_id_bytes)
    }

    /// There is no way to go for it, whatever it is.
    fn unroutable<'a>(
        &self,
        mut passage: Box<Passage<'a>>,
        code: Option<EdgeCode>,
        words: &'static str,
    ) -> Refused<'a> {
        count(&self.tally.unroutable);
        passage.undo();
        let outcome = match code {
            Some(code) => {
                Outcome::Nack { guard: ROUTE, code: code.as_str(), message: words.into() }
            }
            None => Outcome::Drop { guard: ROUTE, reason: words.into() },
        };
        (passage, outcome)
    }

    fn overloaded<'a>(&self, mut passage: Box<Passage<'a>>, full: Full) -> Refused<'a> {
        count(&self.tally.overloaded);
        passage.undo();
        let words = match full {
            Full::Realm => "too many requests of this realm are under way",
            Full::All => "too many requests are under way",
        };
        let kind = passage.arrival.inbound().kind;
        let refusal = Refusal::answered(EdgeCode::RateLimited.as_str(), words);
        (passage, Outcome::of_refusal(ROUTE, refusal, kind))
    }

    /// What follows when the request `ask` could not be published, for this reason.
    ///
    /// - Nobody serves the path: `MX.EDGE.HANDLER_ERROR`, at once. That is no time-out, and not the
    ///   asker's fault: a component that is restarted is back in a moment.
    /// - It is larger than the realm's bus carries: `MX.EDGE.BAD_REQUEST`.
    /// - Whatever else says that it was not published: `MX.EDGE.HANDLER_ERROR`.
    /// - Where it may have been, as after a time-out or a lost connection: nothing. A reply is still
    ///   waited for, and the mark against replays stays, so that nothing is done twice.
    pub fn unsent<'a>(&self, ask: Ask<'a>, why: ErrorKind, now: Now) -> Unsent<'a> {
        let (code, words) = match why {
            ErrorKind::NoResponders => (EdgeCode::HandlerError, "nobody serves this path"),
            ErrorKind::TooLarge => {
                (EdgeCode::BadRequest, "the request is too large for the realm's bus")
            }
            kind if is_certain(kind) => (EdgeCode::HandlerError, "the realm's bus refused it"),
            _ => return Unsent { answer: None, release: None },
        };
        let Found::Request(Request { route, mailbox, slot, since, .. }) = self.pending.end(ask.id)
        else {
            // It was answered or its time was over: then it did reach somebody, or is told already.
            return Unsent { answer: None, release: None };
        };
        count(match why {
            ErrorKind::NoResponders => &self.tally.nobody,
            _ => &self.tally.unsent,
        });
        let answer =
            self.failed((route, mailbox, Some(slot), since), &Fault::edge(code, words), now);
        Unsent { answer: Some(answer), release: Some(ask.passage.into_release()) }
    }

    /// What is to be undone when the event `tell` could not be published, for this reason. Nothing where
    /// it may have been.
    pub fn untold<'a>(&self, tell: Tell<'a>, why: ErrorKind) -> Option<Release<'a>> {
        count(&self.tally.untold);
        is_certain(why).then(|| tell.passage.into_release())
    }

    /// A refusal of `arrival`, if anybody can be told.
    pub(super) fn nack(
        &self,
        arrival: &Arrival<'_>,
        code: &'static str,
        words: &str,
        now: Now,
    ) -> Option<Outgoing> {
        if self.has_long_id(arrival.envelope()?) {
            return None;
        }
        let route = way_back(arrival)?;
        let back = (route, arrival.mailbox(), None, now.monotonic);
        Some(self.failed(back, &Fault::new(code, words), now))
    }

    pub(super) fn failed(
        &self,
        (route, mailbox, slot, since): Back,
        fault: &Fault<'_>,
        now: Now,
    ) -> Outgoing {
        let bytes = route.failed(&self.stamp(now), fault).into();
        Outgoing { route, mailbox, bytes, slot, since }
    }

    pub(super) fn stamp(&self, now: Now) -> Stamp {
        let id = self.random.id();
        Stamp::new(id, u64::try_from(now.wall.as_millis()).unwrap_or_default())
    }
}

/// The way back to who sent it, if it is one to the realm that it says it comes from: whatever the
/// guards let through, nobody else is ever written to.
fn way_back(arrival: &Arrival<'_>) -> Option<AnswerRoute> {
    let envelope = arrival.envelope()?;
    let route = AnswerRoute::of(envelope, arrival.profile())?;
    (envelope.from.realm == *route.realm()).then_some(route)
}

/// Whether a publish that failed like this has surely not reached anybody.
fn is_certain(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NoResponders
            | ErrorKind::Denied
            | ErrorKind::TooLarge
            | ErrorKind::Closed
            | ErrorKind::Unsupported
            | ErrorKind::Invalid
            | ErrorKind::NotFound
            | ErrorKind::Full
    )
}
