use super::super::{Profile, principal};
use super::field::Field;
use super::{DecodeError, DecodeProblem, Entry, Envelope, LegacyReply, LegacyRequest};
use crate::json::{Fields, JsonProblem, RawJson, Scanner, UnknownFields, Value};

/// A message from a mailbox, told apart by its shape.
#[derive(Debug, Clone, PartialEq)]
// Exhaustive on purpose: the protocol's four shapes.
#[allow(clippy::large_enum_variant, reason = "read once, taken apart at once")]
pub enum Decoded<'a> {
    /// A string `msgType` and an object `to`.
    MxEnv(Envelope<'a>),
    /// A string `toPath` and a `fromRealm`.
    LegacyRequest(LegacyRequest<'a>),
    /// The same on an `emits` path, without reply fields.
    LegacyEvent(LegacyRequest<'a>),
    /// A boolean `ok` and a `correlationId`, no `toPath`.
    LegacyReply(LegacyReply<'a>),
}

/// Reads an envelope of any profile: strict JSON of at most `max_bytes`
/// ([`DEFAULT_MAX_BYTES`](super::DEFAULT_MAX_BYTES)). Unknown fields are kept, realms and paths
/// are checked, and no key of the envelope's own objects (itself, `to`, `from`, `replyTo`, `error`,
/// `principal`) comes twice; `params` beside `body` counts as that too.
///
/// # Errors
/// [`DecodeError`] with the field and the byte offset.
pub fn decode(bytes: &[u8], max_bytes: usize) -> Result<Decoded<'_>, DecodeError> {
    let top = Top::read(bytes, max_bytes)?;
    let is = |field, starts| top.begins(field, starts);
    let has = |field| top.at(field).is_some_and(|v| !v.is_null());
    if top.is_mxenv() {
        return Envelope::read(top).map(Decoded::MxEnv);
    }
    if is(Field::Ok, &['t', 'f'][..]) && has(Field::CorrelationId) && !has(Field::ToPath) {
        return LegacyReply::read(top).map(Decoded::LegacyReply);
    }
    if is(Field::ToPath, &['"'][..]) && has(Field::FromRealm) {
        let request = LegacyRequest::read(top)?;
        return Ok(if request.is_event() {
            Decoded::LegacyEvent(request)
        } else {
            Decoded::LegacyRequest(request)
        });
    }
    Err(DecodeError::new(WHOLE, top.offset, DecodeProblem::Shape))
}

impl Decoded<'_> {
    /// The profile that the message is written in.
    #[must_use]
    pub fn profile(&self) -> Profile {
        match self {
            Self::MxEnv(_) => Profile::MxEnv1,
            Self::LegacyRequest(_) | Self::LegacyEvent(_) | Self::LegacyReply(_) => Profile::Legacy,
        }
    }

    /// The message without a borrow.
    #[must_use]
    pub fn into_owned(self) -> Decoded<'static> {
        match self {
            Self::MxEnv(envelope) => Decoded::MxEnv(envelope.into_owned()),
            Self::LegacyRequest(request) => Decoded::LegacyRequest(request.into_owned()),
            Self::LegacyEvent(event) => Decoded::LegacyEvent(event.into_owned()),
            Self::LegacyReply(reply) => Decoded::LegacyReply(reply.into_owned()),
        }
    }
}

/// What errors call the whole document.
pub(super) const WHOLE: &str = "envelope";

/// The fields at an envelope's top, before anyone knows its profile.
#[derive(Debug)]
pub(super) struct Top<'a> {
    fields: Fields<'a, { Field::COUNT }>,
    /// Where the object begins.
    pub(super) offset: usize,
}

impl<'a> Top<'a> {
    pub(super) fn read(bytes: &'a [u8], max_bytes: usize) -> Result<Self, DecodeError> {
        let refused = DecodeError::json(WHOLE);
        let mut scanner = Scanner::new(bytes, max_bytes).map_err(&refused)?;
        let opens = scanner.peek();
        let offset = scanner.offset();
        if opens != Some(b'{') {
            // A good value of another kind is no envelope; anything else is no JSON.
            scanner.value().map_err(&refused)?;
            scanner.end().map_err(&refused)?;
            return Err(DecodeError::new(WHOLE, offset, DecodeProblem::Shape));
        }
        let index = |key: &str| Field::of(key).map(|field| field as usize);
        let mut fields = Fields::read(&mut scanner, index).map_err(&refused)?;
        scanner.end().map_err(&refused)?;
        fields.unknown.remove("_mx");
        Ok(Self { fields, offset })
    }

    pub(super) fn at(&self, field: Field) -> Option<Value<'a>> {
        self.fields.at(field as usize)
    }

    fn begins(&self, field: Field, starts: &[char]) -> bool {
        self.at(field).is_some_and(|value| value.text.starts_with(starts))
    }

    /// Whether the shape is that of MXENV/1: a string `msgType` and an object `to`.
    pub(super) fn is_mxenv(&self) -> bool {
        self.begins(Field::MsgType, &['"']) && self.begins(Field::To, &['{'])
    }

    /// Takes a field out.
    pub(super) fn entry(&mut self, field: Field) -> Entry<'a> {
        Entry::new(field.name(), self.fields.take(field as usize))
    }

    /// Takes the principal out, which may not say anything twice.
    pub(super) fn principal(&mut self) -> Result<Option<RawJson<'a>>, DecodeError> {
        let name = Field::Principal.name();
        let value = self.fields.take(Field::Principal as usize);
        if let Some(value) = value {
            principal::check(value).map_err(DecodeError::json(name))?;
        }
        Ok(Entry::new(name, value).raw())
    }

    /// Takes the body out, under whichever of its names it has; `null` is a body too.
    pub(super) fn body(&mut self, names: &[Field]) -> Result<Option<RawJson<'a>>, DecodeError> {
        let mut body = None;
        for &field in names {
            let Some(value) = self.fields.take(field as usize) else {
                continue;
            };
            if body.replace(value.raw()).is_some() {
                let twice = DecodeProblem::Json(JsonProblem::DuplicateKey);
                return Err(DecodeError::new(field.name(), value.offset, twice));
            }
        }
        Ok(body)
    }

    /// What is left: unknown fields, and those that only another profile knows.
    pub(super) fn unknown(self) -> UnknownFields<'a> {
        let mut fields = self.fields;
        for &field in Field::ALL {
            if let Some(value) = fields.take(field as usize) {
                fields.unknown.push(field.name(), value.raw());
            }
        }
        fields.unknown
    }
}
