//! From a checked JSON value to the type a field has. `null` counts as not there, save for a body.

use std::borrow::Cow;

use super::super::{MxPath, MxRealm};
use super::{DecodeError, DecodeProblem};
use crate::json::{JsonError, RawJson, Scanner, UnknownFields, Value};

/// A value that may be there, under the name that errors call it by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    field: &'static str,
    value: Option<Value<'a>>,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(field: &'static str, value: Option<Value<'a>>) -> Self {
        Self { field, value: value.filter(|v| !v.is_null()) }
    }

    pub(crate) fn string(self) -> Result<Option<Cow<'a, str>>, DecodeError> {
        self.map("a string", Value::as_string)
    }

    /// A text that must not be empty.
    pub(crate) fn id(self) -> Result<Option<Cow<'a, str>>, DecodeError> {
        match self.string()? {
            Some(id) if id.is_empty() => Err(self.refused(DecodeProblem::Empty)),
            id => Ok(id),
        }
    }

    pub(crate) fn number(self) -> Result<Option<u64>, DecodeError> {
        self.map("a whole number", |value| value.text.parse().ok())
    }

    pub(crate) fn bool(self) -> Result<Option<bool>, DecodeError> {
        self.map("a boolean", |value| value.text.parse().ok())
    }

    pub(crate) fn realm(self) -> Result<Option<MxRealm<'a>>, DecodeError> {
        self.string()?
            .map(MxRealm::new)
            .transpose()
            .map_err(|error| self.refused(DecodeProblem::Realm(error.problem)))
    }

    pub(crate) fn path(self) -> Result<Option<MxPath<'a>>, DecodeError> {
        self.string()?
            .map(MxPath::new)
            .transpose()
            .map_err(|error| self.refused(DecodeProblem::Path(error)))
    }

    /// The object's own scanner, and where it stands.
    pub(crate) fn object(self) -> Result<Option<(Scanner<'a>, usize)>, DecodeError> {
        self.map("an object", |value| {
            value.text.starts_with('{').then(|| (Scanner::inside(value), value.offset))
        })
    }

    pub(crate) fn raw(self) -> Option<RawJson<'a>> {
        self.value.map(Value::raw)
    }

    /// The value of a field that must be there; `at` is where the object begins that lacks it.
    pub(crate) fn required<T>(self, found: Option<T>, at: usize) -> Result<T, DecodeError> {
        found.ok_or_else(|| DecodeError::new(self.field, at, DecodeProblem::Missing))
    }

    pub(crate) fn refused(self, problem: DecodeProblem) -> DecodeError {
        DecodeError::new(self.field, self.value.map_or(0, |v| v.offset), problem)
    }

    fn map<T>(
        self,
        expected: &'static str,
        read: impl FnOnce(Value<'a>) -> Option<T>,
    ) -> Result<Option<T>, DecodeError> {
        let Some(value) = self.value else {
            return Ok(None);
        };
        match read(value) {
            Some(found) => Ok(Some(found)),
            None => Err(self.refused(DecodeProblem::Type { expected })),
        }
    }
}

/// The fields of a small object inside an envelope, known ones in the order of `names`.
pub(super) fn small<'a, const N: usize>(
    field: &'static str,
    scanner: &mut Scanner<'a>,
    names: [&str; N],
) -> Result<([Option<Value<'a>>; N], UnknownFields<'a>), DecodeError> {
    let index = |key: &str| names.iter().position(|name| *name == key);
    crate::json::Fields::read(scanner, index)
        .map(crate::json::Fields::into_parts)
        .map_err(|error: JsonError| DecodeError::json(field)(error))
}
