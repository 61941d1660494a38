use std::borrow::Cow;

use super::super::EdgeCode;
use super::DecodeError;
use super::read::{Entry, small};
use crate::json::{ObjectWriter, RawJson, UnknownFields, Value};

/// Why a request failed: `error {code, message, details?}`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Fault<'a> {
    /// A code for programs, `MX.EDGE.TIMEOUT` say.
    pub code: Cow<'a, str>,
    /// A sentence for people; read as empty where it is not there.
    pub message: Cow<'a, str>,
    /// More, as its exact text.
    pub details: Option<RawJson<'a>>,
    /// Fields of this object that this version does not know.
    pub unknown: UnknownFields<'a>,
}

const NAMES: [&str; 3] = ["code", "message", "details"];

impl<'a> Fault<'a> {
    /// A failure with a code of the caller's own.
    #[must_use]
    pub fn new(code: impl Into<Cow<'a, str>>, message: impl Into<Cow<'a, str>>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            details: None,
            unknown: UnknownFields::default(),
        }
    }

    /// A failure with a code of the gateway's.
    #[must_use]
    pub fn edge(code: EdgeCode, message: impl Into<Cow<'a, str>>) -> Self {
        Self::new(code.as_str(), message)
    }

    /// The failure without a borrow.
    #[must_use]
    pub fn into_owned(self) -> Fault<'static> {
        Fault {
            code: Cow::Owned(self.code.into_owned()),
            message: Cow::Owned(self.message.into_owned()),
            details: self.details.map(RawJson::into_owned),
            unknown: self.unknown.into_owned(),
        }
    }

    pub(crate) fn read(entry: Entry<'a>) -> Result<Option<Self>, DecodeError> {
        let Some((mut scanner, at)) = entry.object()? else {
            return Ok(None);
        };
        let ([code, message, details], unknown) = small("error", &mut scanner, NAMES)?;
        let code = Entry::new("error.code", code);
        Ok(Some(Self {
            code: code.required(code.string()?, at)?,
            message: Entry::new("error.message", message).string()?.unwrap_or_default(),
            details: Entry::new("error.details", details).raw(),
            unknown,
        }))
    }

    /// Reads what a component of one's own realm says, and only asks for a string `code`.
    pub(crate) fn read_lenient(value: Value<'a>) -> Result<Option<Self>, DecodeError> {
        let Some((mut scanner, _)) = Entry::new("error", Some(value)).object().unwrap_or(None)
        else {
            return Ok(None);
        };
        let ([code, message, details], unknown) = small("error", &mut scanner, NAMES)?;
        let text = |value: Option<Value<'a>>| value.and_then(Value::as_string);
        Ok(text(code).map(|code| Self {
            code,
            message: text(message).unwrap_or_default(),
            details: Entry::new("error.details", details).raw(),
            unknown,
        }))
    }

    pub(crate) fn write(&self, out: &mut ObjectWriter<'_>) {
        out.string("code", &self.code);
        out.string("message", &self.message);
        if let Some(details) = &self.details {
            out.raw("details", details);
        }
        self.unknown.write(out);
    }
}
