//! Objects whose keys are asked for by name: each there at most once, values left as text.

use std::borrow::Cow;

use super::{JsonError, JsonProblem, Scanner, Value};

/// The members of one object, in order, no key twice. For objects read once by name; the envelopes
/// of the federation, which are read by the thousand, have [`Fields`](super::Fields).
#[derive(Debug)]
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

/// A value of another type than the one wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueError {
    pub(crate) expected: &'static str,
    pub(crate) offset: usize,
}

impl<'a> Members<'a> {
    /// Reads `bytes`, which are one JSON object and nothing else.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, JsonError> {
        let mut scanner = Scanner::new(bytes, usize::MAX)?;
        let members = Self::read(&mut scanner)?;
        scanner.end()?;
        Ok(members)
    }

    /// Reads a value of this object as an object.
    pub(crate) fn object(&self, value: Value<'a>) -> Result<Self, JsonError> {
        Self::read(&mut Scanner::inside(value))
    }

    fn read(scanner: &mut Scanner<'a>) -> Result<Self, JsonError> {
        if scanner.peek() != Some(b'{') {
            return Err(JsonError::new(JsonProblem::NotAnObject, scanner.offset()));
        }
        let mut members = Vec::new();
        let mut keys = Vec::new();
        scanner.object(|key, offset, value| {
            members.push((key, value));
            keys.push(offset);
            Ok::<_, JsonError>(())
        })?;
        match second_of_a_pair(&members) {
            Some(index) => Err(JsonError::new(JsonProblem::DuplicateKey, keys[index])),
            None => Ok(Self(members)),
        }
    }

    /// The value, unless it is absent or `null`.
    pub(crate) fn value(&self, name: &str) -> Option<Value<'a>> {
        self.any(name).filter(|value| !value.is_null())
    }

    /// The value, `null` too.
    pub(crate) fn any(&self, name: &str) -> Option<Value<'a>> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// The value as text, unless it is absent or `null`.
    pub(crate) fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, ValueError> {
        self.value(name).map(text_of).transpose()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Value<'a>)> {
        self.0.iter().map(|(key, value)| (&**key, *value))
    }
}

/// A value as text.
pub(crate) fn text_of(value: Value<'_>) -> Result<Cow<'_, str>, ValueError> {
    value.as_string().ok_or(ValueError { expected: "a string", offset: value.offset })
}

/// The first member whose key an earlier one has.
fn second_of_a_pair(members: &[(Cow<'_, str>, Value<'_>)]) -> Option<usize> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|&index| (&members[index].0, index));
    order
        .windows(2)
        .filter(|pair| members[pair[0]].0 == members[pair[1]].0)
        .map(|pair| pair[1])
        .min()
}
