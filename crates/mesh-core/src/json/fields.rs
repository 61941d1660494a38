//! An object whose keys are read once each and whose values are left as text.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::check::{check, located};
use super::{JsonError, JsonProblem};

/// The fields of one JSON object, in order, no key twice.
pub(crate) struct Fields<'a> {
    text: &'a str,
    fields: Vec<(Cow<'a, str>, &'a RawValue)>,
}

/// A value of another type than the one wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueError {
    pub(crate) expected: &'static str,
    pub(crate) offset: usize,
}

impl<'a> Fields<'a> {
    /// Reads `bytes`, which are one JSON object and nothing else.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, JsonError> {
        let text = check(bytes)?;
        Self::of(text, text)
    }

    /// Reads a value of this object as an object; `None` where it is something else.
    pub(crate) fn object(&self, value: &'a RawValue) -> Result<Self, JsonError> {
        Self::of(self.text, value.get())
    }

    fn of(text: &'a str, object: &'a str) -> Result<Self, JsonError> {
        let at = offset_in(text, object);
        if !object.trim_ascii_start().starts_with('{') {
            return Err(JsonError {
                problem: JsonProblem::NotAnObject,
                offset: at,
            });
        }
        let Pairs(fields) = serde_json::from_str(object).map_err(|error| {
            let found = located(object, &error);
            JsonError {
                offset: found.offset + at,
                ..found
            }
        })?;
        let this = Self { text, fields };
        this.no_key_twice()?;
        Ok(this)
    }

    fn no_key_twice(&self) -> Result<(), JsonError> {
        let mut order: Vec<usize> = (0..self.fields.len()).collect();
        order.sort_by_key(|&index| (&self.fields[index].0, index));
        let second = order
            .windows(2)
            .filter(|pair| self.fields[pair[0]].0 == self.fields[pair[1]].0)
            .map(|pair| pair[1])
            .min();
        match second {
            None => Ok(()),
            Some(index) => Err(JsonError {
                problem: JsonProblem::DuplicateKey,
                offset: self.offset(self.fields[index].1),
            }),
        }
    }

    /// The value, unless it is absent or `null`.
    pub(crate) fn value(&self, name: &str) -> Option<&'a RawValue> {
        let (_, value) = self.fields.iter().find(|(key, _)| key == name)?;
        (value.get() != "null").then_some(value)
    }

    /// The value as text, unless it is absent or `null`.
    pub(crate) fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, ValueError> {
        self.value(name)
            .map(|value| self.as_text(value))
            .transpose()
    }

    pub(crate) fn as_text(&self, value: &'a RawValue) -> Result<Cow<'a, str>, ValueError> {
        match serde_json::from_str(value.get()) {
            Ok(Text(text)) => Ok(text),
            Err(_) => Err(ValueError {
                expected: "a string",
                offset: self.offset(value),
            }),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.fields.iter().map(|(key, value)| (&**key, *value))
    }

    /// Byte offset of one of this object's values in the text that was read.
    pub(crate) fn offset(&self, value: &RawValue) -> usize {
        offset_in(self.text, value.get())
    }
}

/// Where `part`, a piece of `whole`, begins.
fn offset_in(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

/// Borrows where the text holds no escape.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct Pairs<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Vec::new();
                while let Some((Text(key), value)) = map.next_entry()? {
                    fields.push((key, value));
                }
                Ok(Pairs(fields))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}
