use std::borrow::Cow;

use super::super::Profile;
use super::decode::Top;
use super::field::Field;
use super::{Address, DecodeError, DecodeProblem, EncodeError, Fault, MsgType, Party};
use crate::json::{ObjectWriter, RawJson, UnknownFields};

/// A message between realms: MXENV/1, and what a legacy message is turned into.
///
/// `auth` is not shown by `Debug`, and neither is the text of a body.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Envelope<'a> {
    /// `msgType`
    pub kind: MsgType,
    /// Where it goes.
    pub to: Address<'a>,
    /// Who says that they sent it.
    pub from: Party<'a>,
    /// Who is answered, where it is not the sender. MXENV/1 wants a path in it.
    pub reply_to: Option<Party<'a>>,
    /// The message's own id; MXENV/1 wants one.
    pub msg_id: Option<Cow<'a, str>>,
    /// Ties an answer to its request.
    pub correlation_id: Option<Cow<'a, str>>,
    /// How many routers may still pass it on. Not a time; legacy has no place for it.
    pub ttl: Option<u64>,
    /// When it was sent, ms since 1970.
    pub timestamp: Option<u64>,
    /// How long after `timestamp` it expires, ms. Not a hop count; MXENV/1 has no place for it.
    pub ttl_ms: Option<u64>,
    /// `traceId`
    pub trace_id: Option<Cow<'a, str>>,
    /// Who it is sent for, as its exact text.
    pub principal: Option<RawJson<'a>>,
    /// A proof of the sender, as its exact text.
    pub auth: Option<RawJson<'a>>,
    /// The body, as its exact text.
    pub body: Option<RawJson<'a>>,
    /// Why a request failed.
    pub error: Option<Fault<'a>>,
    /// Fields that this version does not know, `_mx` excepted: that is never taken from a remote.
    pub unknown: UnknownFields<'a>,
}

pub(super) const TO: [&str; 3] = ["to", "to.realm", "to.path"];
pub(super) const FROM: [&str; 3] = ["from", "from.realm", "from.path"];
pub(super) const REPLY_TO: [&str; 3] = ["replyTo", "replyTo.realm", "replyTo.path"];

impl<'a> Envelope<'a> {
    /// An envelope with nothing but its type and the two ends.
    #[must_use]
    pub fn new(kind: MsgType, from: Party<'a>, to: Address<'a>) -> Self {
        Self {
            kind,
            to,
            from,
            reply_to: None,
            msg_id: None,
            correlation_id: None,
            ttl: None,
            timestamp: None,
            ttl_ms: None,
            trace_id: None,
            principal: None,
            auth: None,
            body: None,
            error: None,
            unknown: UnknownFields::default(),
        }
    }

    /// Writes MXENV/1.
    ///
    /// # Errors
    /// [`EncodeError`] names what MXENV/1 wants and is not set (`msgId`, `replyTo.path`), or has
    /// no place for (`ttlMs`).
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let profile = Profile::MxEnv1;
        let no_place = |field| Err(EncodeError::NoPlace { field, profile });
        let missing = |field| EncodeError::Missing { field, profile };
        if self.msg_id.is_none() {
            return Err(missing("msgId"));
        }
        if self.reply_to.as_ref().is_some_and(|p| p.path.is_none()) {
            return Err(missing("replyTo.path"));
        }
        if self.ttl_ms.is_some() {
            return no_place("ttlMs");
        }
        let own = |(key, _): (&str, _)| Field::of(key).is_some_and(Field::is_mxenv);
        if self.unknown.iter().any(own) {
            return no_place("unknown field");
        }
        Ok(self.write())
    }

    /// Writes the fields that MXENV/1 has and that are set.
    pub(in super::super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size_hint());
        ObjectWriter::write(&mut out, |out| {
            out.string("msgType", self.kind.as_str());
            out.object("to", |out| self.to.write(out));
            out.object("from", |out| self.from.write(out));
            if let Some(party) = &self.reply_to {
                out.object("replyTo", |out| party.write(out));
            }
            out.opt_string("msgId", self.msg_id.as_deref());
            out.opt_string("correlationId", self.correlation_id.as_deref());
            out.opt_number("ttl", self.ttl);
            out.opt_number("timestamp", self.timestamp);
            out.opt_string("traceId", self.trace_id.as_deref());
            out.opt_raw("principal", self.principal.as_ref());
            out.opt_raw("auth", self.auth.as_ref());
            out.opt_raw("body", self.body.as_ref());
            if let Some(error) = &self.error {
                out.object("error", |out| error.write(out));
            }
            self.unknown.write(out);
        });
        out
    }

    /// The envelope without a borrow of its message.
    #[must_use]
    pub fn into_owned(self) -> Envelope<'static> {
        let owned = |text: Option<Cow<'a, str>>| text.map(|t| Cow::Owned(t.into_owned()));
        Envelope {
            kind: self.kind,
            to: self.to.into_owned(),
            from: self.from.into_owned(),
            reply_to: self.reply_to.map(Party::into_owned),
            msg_id: owned(self.msg_id),
            correlation_id: owned(self.correlation_id),
            ttl: self.ttl,
            timestamp: self.timestamp,
            ttl_ms: self.ttl_ms,
            trace_id: owned(self.trace_id),
            principal: self.principal.map(RawJson::into_owned),
            auth: self.auth.map(RawJson::into_owned),
            body: self.body.map(RawJson::into_owned),
            error: self.error.map(Fault::into_owned),
            unknown: self.unknown.into_owned(),
        }
    }

    pub(super) fn read(mut top: Top<'a>) -> Result<Self, DecodeError> {
        let kind = top.entry(Field::MsgType);
        let text = kind.required(kind.string()?, top.offset)?;
        let kind = MsgType::from_text(&text).ok_or_else(|| kind.refused(DecodeProblem::MsgType))?;
        let [to, from] = [Field::To, Field::From].map(|field| top.entry(field));
        let msg_id = top.entry(Field::MsgId);
        Ok(Self {
            kind,
            to: to.required(Address::read(TO, to)?, top.offset)?,
            from: from.required(Party::read(FROM, from)?, top.offset)?,
            reply_to: Address::read(REPLY_TO, top.entry(Field::ReplyTo))?.map(Party::from),
            msg_id: Some(msg_id.required(msg_id.id()?, top.offset)?),
            correlation_id: top.entry(Field::CorrelationId).id()?,
            ttl: top.entry(Field::Ttl).number()?,
            timestamp: top.entry(Field::Timestamp).number()?,
            ttl_ms: None,
            trace_id: top.entry(Field::TraceId).string()?,
            principal: top.principal()?,
            auth: top.entry(Field::Auth).raw(),
            body: top.body(&[Field::Body])?,
            error: Fault::read(top.entry(Field::Error))?,
            unknown: top.unknown(),
        })
    }

    /// About the bytes that `encode` writes, so that it allocates once.
    fn size_hint(&self) -> usize {
        let raw = |value: &Option<RawJson<'_>>| value.as_ref().map_or(0, |v| v.as_str().len());
        512 + raw(&self.body) + raw(&self.principal) + raw(&self.auth)
    }
}
