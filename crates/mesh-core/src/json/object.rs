//! Objects with fields we know: each at most once, and the rest kept.

use std::borrow::Cow;

use super::{JsonError, JsonProblem, MAX_UNKNOWN_FIELDS, ObjectWriter, RawJson, Scanner, string};

/// A checked value where it stands in its document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'a> {
    /// Its exact text, without white space around it.
    pub(crate) text: &'a str,
    /// Byte offset in the document.
    pub(crate) offset: usize,
}

impl<'a> Value<'a> {
    /// The text of what is known to be a string token.
    pub(crate) fn string(self) -> Cow<'a, str> {
        string::unescape(self.text)
    }

    /// The text, where this is a string.
    pub(crate) fn as_string(self) -> Option<Cow<'a, str>> {
        self.text.starts_with('"').then(|| self.string())
    }

    /// The value on its own.
    pub(crate) fn raw(self) -> RawJson<'a> {
        RawJson::from_checked(Cow::Borrowed(self.text))
    }

    pub(crate) fn is_null(self) -> bool {
        self.text == "null"
    }
}

/// The members of one object: `N` known ones by index, and the unknown ones in order.
#[derive(Debug)]
pub(crate) struct Fields<'a, const N: usize> {
    known: [Option<Value<'a>>; N],
    /// The members that `index` did not know.
    pub(crate) unknown: UnknownFields<'a>,
}

impl<'a, const N: usize> Fields<'a, N> {
    /// Reads the object at `scanner`. `index` gives the place of a known key, below `N`.
    /// A key that comes twice is refused, known or not, however it is escaped.
    pub(crate) fn read(
        scanner: &mut Scanner<'a>,
        index: impl Fn(&str) -> Option<usize>,
    ) -> Result<Self, JsonError> {
        let mut known = [None; N];
        let mut unknown = UnknownFields::default();
        scanner.object(|key, offset, value| {
            let repeated = match index(&key).and_then(|i| known.get_mut(i)) {
                Some(place) => place.replace(value).is_some(),
                None => {
                    let repeated = unknown.get(&key).is_some();
                    unknown.0.push((key, value.raw()));
                    repeated
                }
            };
            if repeated {
                return Err(JsonError::new(JsonProblem::DuplicateKey, offset));
            }
            if unknown.0.len() > MAX_UNKNOWN_FIELDS {
                return Err(JsonError::new(JsonProblem::TooManyFields, offset));
            }
            Ok(())
        })?;
        Ok(Self { known, unknown })
    }

    /// The known members in their places, and the unknown ones.
    pub(crate) fn into_parts(self) -> ([Option<Value<'a>>; N], UnknownFields<'a>) {
        (self.known, self.unknown)
    }

    /// The value at a known place, left where it is.
    pub(crate) fn at(&self, index: usize) -> Option<Value<'a>> {
        self.known.get(index).copied().flatten()
    }

    /// The value at a known place, taken out.
    pub(crate) fn take(&mut self, index: usize) -> Option<Value<'a>> {
        self.known.get_mut(index).and_then(Option::take)
    }
}

/// Fields of an object that its reader does not know: kept, and written again on a forward.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UnknownFields<'a>(Vec<(Cow<'a, str>, RawJson<'a>)>);

impl<'a> UnknownFields<'a> {
    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&RawJson<'a>> {
        self.iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }

    /// The fields in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a field away.
    pub fn remove(&mut self, key: &str) -> Option<RawJson<'a>> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(at).1)
    }

    /// The fields without a borrow of the document.
    #[must_use]
    pub fn into_owned(self) -> UnknownFields<'static> {
        UnknownFields(
            self.0
                .into_iter()
                .map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned()))
                .collect(),
        )
    }

    pub(crate) fn push(&mut self, key: impl Into<Cow<'a, str>>, value: RawJson<'a>) {
        self.0.push((key.into(), value));
    }

    pub(crate) fn write(&self, out: &mut ObjectWriter<'_>) {
        for (key, value) in self.iter() {
            out.raw(key, value);
        }
    }
}
