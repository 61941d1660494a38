use std::borrow::Cow;

use super::super::{MxPath, MxRealm, Plane};
use super::DecodeError;
use super::decode::Top;
use super::field::Field;
use crate::json::{ObjectWriter, RawJson, UnknownFields};

/// A legacy request; or a legacy event, which is a request on an `emits` path without reply fields.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LegacyRequest<'a> {
    /// `fromRealm`: who says that they sent it.
    pub from_realm: MxRealm<'a>,
    /// `toPath`
    pub to_path: MxPath<'a>,
    /// `correlationId`
    pub correlation_id: Cow<'a, str>,
    /// `toRealm`; where it is not there, the realm of the mailbox.
    pub to_realm: Option<MxRealm<'a>>,
    /// `fromPath`
    pub from_path: Option<MxPath<'a>>,
    /// `replyToRealm`; where it is not there, the sender's.
    pub reply_to_realm: Option<MxRealm<'a>>,
    /// `replyToPath`
    pub reply_to_path: Option<MxPath<'a>>,
    /// When it was sent, ms since 1970.
    pub timestamp: Option<u64>,
    /// `ttlMs`: how long after `timestamp` it expires, ms.
    pub ttl_ms: Option<u64>,
    /// `msgId`
    pub msg_id: Option<Cow<'a, str>>,
    /// Who it is sent for, as its exact text.
    pub principal: Option<RawJson<'a>>,
    /// The body, as its exact text; read from `params` or `payload` too.
    pub body: Option<RawJson<'a>>,
    /// Fields that this version does not know, `_mx` excepted.
    pub unknown: UnknownFields<'a>,
}

impl<'a> LegacyRequest<'a> {
    /// A request with nothing but the fields it must have.
    #[must_use]
    pub fn new(
        from_realm: impl Into<MxRealm<'a>>,
        to_path: MxPath<'a>,
        correlation_id: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self {
            from_realm: from_realm.into(),
            to_path,
            correlation_id: correlation_id.into(),
            to_realm: None,
            from_path: None,
            reply_to_realm: None,
            reply_to_path: None,
            timestamp: None,
            ttl_ms: None,
            msg_id: None,
            principal: None,
            body: None,
            unknown: UnknownFields::default(),
        }
    }

    /// Whether this is an event: an `emits` path and no reply fields.
    #[must_use]
    pub fn is_event(&self) -> bool {
        self.to_path.plane() == Plane::Emits
            && self.reply_to_realm.is_none()
            && self.reply_to_path.is_none()
    }

    /// Writes the request.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let body = self.body.as_ref().map_or(0, |body| body.as_str().len());
        let mut out = Vec::with_capacity(512 + body);
        ObjectWriter::write(&mut out, |out| {
            out.string("fromRealm", self.from_realm.as_str());
            out.opt_string("toRealm", self.to_realm.as_ref().map(AsRef::as_ref));
            out.opt_string("fromPath", self.from_path.as_ref().map(AsRef::as_ref));
            out.string("toPath", self.to_path.as_str());
            out.opt_string("replyToRealm", self.reply_to_realm.as_ref().map(AsRef::as_ref));
            out.opt_string("replyToPath", self.reply_to_path.as_ref().map(AsRef::as_ref));
            out.string("correlationId", &self.correlation_id);
            out.opt_number("timestamp", self.timestamp);
            out.opt_number("ttlMs", self.ttl_ms);
            out.opt_string("msgId", self.msg_id.as_deref());
            out.opt_raw("principal", self.principal.as_ref());
            out.opt_raw("body", self.body.as_ref());
            self.unknown.write(out);
        });
        out
    }

    /// The request without a borrow of its message.
    #[must_use]
    pub fn into_owned(self) -> LegacyRequest<'static> {
        let owned = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        LegacyRequest {
            from_realm: self.from_realm.into_owned(),
            to_path: self.to_path.into_owned(),
            correlation_id: owned(self.correlation_id),
            to_realm: self.to_realm.map(MxRealm::into_owned),
            from_path: self.from_path.map(MxPath::into_owned),
            reply_to_realm: self.reply_to_realm.map(MxRealm::into_owned),
            reply_to_path: self.reply_to_path.map(MxPath::into_owned),
            timestamp: self.timestamp,
            ttl_ms: self.ttl_ms,
            msg_id: self.msg_id.map(owned),
            principal: self.principal.map(RawJson::into_owned),
            body: self.body.map(RawJson::into_owned),
            unknown: self.unknown.into_owned(),
        }
    }

    pub(super) fn read(mut top: Top<'a>) -> Result<Self, DecodeError> {
        let fields = [Field::FromRealm, Field::ToPath, Field::CorrelationId];
        let [from_realm, to_path, correlation_id] = fields.map(|field| top.entry(field));
        Ok(Self {
            from_realm: from_realm.required(from_realm.realm()?, top.offset)?,
            to_path: to_path.required(to_path.path()?, top.offset)?,
            correlation_id: correlation_id.required(correlation_id.id()?, top.offset)?,
            to_realm: top.entry(Field::ToRealm).realm()?,
            from_path: top.entry(Field::FromPath).path()?,
            reply_to_realm: top.entry(Field::ReplyToRealm).realm()?,
            reply_to_path: top.entry(Field::ReplyToPath).path()?,
            timestamp: top.entry(Field::Timestamp).number()?,
            ttl_ms: top.entry(Field::TtlMs).number()?,
            msg_id: top.entry(Field::MsgId).id()?,
            principal: top.principal()?,
            body: top.body(&[Field::Body, Field::Params, Field::Payload])?,
            unknown: top.unknown(),
        })
    }
}
