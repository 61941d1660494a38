use std::borrow::Cow;

use super::super::MxRealm;
use super::decode::Top;
use super::field::Field;
use super::{DecodeError, Fault};
use crate::json::{ObjectWriter, RawJson, UnknownFields};

/// A legacy reply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LegacyReply<'a> {
    /// `correlationId` of the request.
    pub correlation_id: Cow<'a, str>,
    /// Whether the request succeeded.
    pub ok: bool,
    /// `fromRealm`: who says that they answer.
    pub from_realm: Option<MxRealm<'a>>,
    /// The answer, as its exact text; read from `result` too.
    pub body: Option<RawJson<'a>>,
    /// Why the request failed.
    pub error: Option<Fault<'a>>,
    /// When it was sent, ms since 1970.
    pub timestamp: Option<u64>,
    /// Fields that this version does not know, `_mx` excepted.
    pub unknown: UnknownFields<'a>,
}

impl<'a> LegacyReply<'a> {
    /// A reply with nothing but the fields it must have.
    #[must_use]
    pub fn new(correlation_id: impl Into<Cow<'a, str>>, ok: bool) -> Self {
        Self {
            correlation_id: correlation_id.into(),
            ok,
            from_realm: None,
            body: None,
            error: None,
            timestamp: None,
            unknown: UnknownFields::default(),
        }
    }

    /// Writes the reply.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let body = self.body.as_ref().map_or(0, |body| body.as_str().len());
        let mut out = Vec::with_capacity(256 + body);
        ObjectWriter::write(&mut out, |out| {
            out.string("correlationId", &self.correlation_id);
            out.bool("ok", self.ok);
            out.opt_string("fromRealm", self.from_realm.as_ref().map(AsRef::as_ref));
            out.opt_raw("body", self.body.as_ref());
            if let Some(error) = &self.error {
                out.object("error", |out| error.write(out));
            }
            out.opt_number("timestamp", self.timestamp);
            self.unknown.write(out);
        });
        out
    }

    /// The reply without a borrow of its message.
    #[must_use]
    pub fn into_owned(self) -> LegacyReply<'static> {
        LegacyReply {
            correlation_id: Cow::Owned(self.correlation_id.into_owned()),
            ok: self.ok,
            from_realm: self.from_realm.map(MxRealm::into_owned),
            body: self.body.map(RawJson::into_owned),
            error: self.error.map(Fault::into_owned),
            timestamp: self.timestamp,
            unknown: self.unknown.into_owned(),
        }
    }

    pub(super) fn read(mut top: Top<'a>) -> Result<Self, DecodeError> {
        let [ok, correlation_id] = [Field::Ok, Field::CorrelationId].map(|field| top.entry(field));
        Ok(Self {
            correlation_id: correlation_id.required(correlation_id.id()?, top.offset)?,
            ok: ok.required(ok.bool()?, top.offset)?,
            from_realm: top.entry(Field::FromRealm).realm()?,
            body: top.body(&[Field::Body, Field::Result])?,
            error: Fault::read(top.entry(Field::Error))?,
            timestamp: top.entry(Field::Timestamp).number()?,
            unknown: top.unknown(),
        })
    }
}
