use std::borrow::Cow;

use super::{
    Address, Decoded, EdgeCode, Envelope, Fault, LegacyReply, MsgType, MxPath, MxRealm, Party,
    Profile,
};
use crate::json::RawJson;
use crate::name::RealmName;

/// What an answer carries that is made when it is sent: time and randomness are passed in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stamp {
    /// A fresh `msgId`.
    pub msg_id: String,
    /// Now, ms since 1970.
    pub timestamp: u64,
}

/// The way back to who sent a request, in the profile that it came in. Held while a component
/// works; owns all it needs.
///
/// The caller sends to the mailbox of [`realm`](Self::realm), of the kind the request came in by.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerRoute {
    profile: Profile,
    to: RealmName,
    to_path: Option<MxPath<'static>>,
    from: Address<'static>,
    correlation_id: String,
    trace_id: Option<String>,
}

/// An answer that came in: matched with its request on `correlation_id` and `from_realm`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer<'a> {
    /// Which request it answers.
    pub correlation_id: Cow<'a, str>,
    /// Who says that they answer; a legacy reply may leave it out.
    pub from_realm: Option<MxRealm<'a>>,
    /// The body, or why there is none.
    pub outcome: Result<RawJson<'a>, Fault<'a>>,
}

impl Stamp {
    /// A stamp of these two.
    #[must_use]
    pub fn new(msg_id: impl Into<String>, timestamp: u64) -> Self {
        Self { msg_id: msg_id.into(), timestamp }
    }
}

impl AnswerRoute {
    /// The way back from `request`, which came in `profile`. `None` where nobody is answered: an
    /// event or an answer, or an MXENV/1 request without `replyTo` whose sender has no path.
    ///
    /// `replyTo` is answered where it is set, else the sender; that the two are of one realm is a
    /// guard's to see to. Without a `correlationId` the request's `msgId` takes its place.
    #[must_use]
    pub fn of(request: &Envelope<'_>, profile: Profile) -> Option<Self> {
        if !request.kind.is_answered() {
            return None;
        }
        let party = request.reply_to.as_ref().unwrap_or(&request.from);
        let path = party.path.as_ref().or(request.from.path.as_ref());
        if profile == Profile::MxEnv1 && path.is_none() {
            return None;
        }
        let id = request.correlation_id.as_ref().or(request.msg_id.as_ref())?;
        let to = &request.to;
        Some(Self {
            profile,
            to: party.realm.to_name(),
            to_path: path.map(|path| path.clone().into_owned()),
            from: Address::new(to.realm.borrowed(), to.path.borrowed()).into_owned(),
            correlation_id: id.to_string(),
            trace_id: request.trace_id.as_ref().map(ToString::to_string),
        })
    }

    /// The realm whose mailbox the answer goes to.
    #[must_use]
    pub fn realm(&self) -> &RealmName {
        &self.to
    }

    /// The request's id, which the answer repeats.
    #[must_use]
    pub fn correlation_id(&self) -> &str {
        &self.correlation_id
    }

    /// The profile that the answer is written in.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// A success: `Result`, or a legacy reply with `ok: true`.
    #[must_use]
    pub fn ok(&self, stamp: &Stamp, body: &RawJson<'_>) -> Vec<u8> {
        self.write(stamp, Ok(body))
    }

    /// A failure: `Nack`, or a legacy reply with `ok: false`.
    #[must_use]
    pub fn failed(&self, stamp: &Stamp, fault: &Fault<'_>) -> Vec<u8> {
        self.write(stamp, Err(fault))
    }

    fn write(&self, stamp: &Stamp, outcome: Result<&RawJson<'_>, &Fault<'_>>) -> Vec<u8> {
        let body = outcome.ok().map(RawJson::borrowed);
        let error = outcome.err().cloned();
        // A route in MXENV/1 has a path; without one it could only have been legacy.
        if let (Profile::MxEnv1, Some(path)) = (self.profile, &self.to_path) {
            let kind = match outcome {
                Ok(_) => MsgType::Result,
                Err(_) => MsgType::Nack,
            };
            let to = Address::new(&self.to, path.borrowed());
            let mut envelope = Envelope::new(kind, Party::from(self.from.clone()), to);
            envelope.msg_id = Some(stamp.msg_id.as_str().into());
            envelope.correlation_id = Some(self.correlation_id.as_str().into());
            envelope.timestamp = Some(stamp.timestamp);
            envelope.trace_id = self.trace_id.as_deref().map(Cow::Borrowed);
            envelope.body = body;
            envelope.error = error;
            return envelope.write();
        }
        let mut reply = LegacyReply::new(self.correlation_id.as_str(), outcome.is_ok());
        reply.from_realm = Some(self.from.realm.borrowed());
        reply.timestamp = Some(stamp.timestamp);
        reply.body = body;
        reply.error = error;
        reply.encode()
    }
}

impl<'a> Decoded<'a> {
    /// The answer that this is, if it is one: a legacy reply, or a `Result` or `Nack` with a
    /// `correlationId`. A missing body is `null`; a refusal without a reason has the code
    /// `MX.EDGE.HANDLER_ERROR`.
    #[must_use]
    pub fn as_answer(&self) -> Option<Answer<'a>> {
        let (correlation_id, from_realm, ok, body, error) = match self {
            Self::LegacyReply(r) => {
                (r.correlation_id.clone(), r.from_realm.clone(), r.ok, &r.body, &r.error)
            }
            Self::MxEnv(e) if e.kind.is_answer() => (
                e.correlation_id.clone()?,
                Some(e.from.realm.clone()),
                e.kind == MsgType::Result && e.error.is_none(),
                &e.body,
                &e.error,
            ),
            _ => return None,
        };
        let outcome = if ok {
            Ok(body.clone().unwrap_or(RawJson::NULL))
        } else {
            Err(error
                .clone()
                .unwrap_or_else(|| Fault::edge(EdgeCode::HandlerError, "refused without a reason")))
        };
        Some(Answer { correlation_id, from_realm, outcome })
    }
}
