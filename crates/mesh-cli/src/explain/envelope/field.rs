//! A field of a message: its name, what it says, and what that means.

use std::borrow::Cow;

use mesh_core::json::{JsonKind, RawJson};
use serde::Serialize;

use super::moment;
use crate::explain::cut;

/// A field that a message has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Field {
    /// As it is on the wire; of a part of an object `to.realm`.
    pub(super) name: &'static str,
    pub(super) value: Shown,
    pub(super) meaning: Cow<'static, str>,
}

/// What a field says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Shown {
    Text(String),
    Number(u64),
    Truth(bool),
    /// A value that is not the envelope's: its beginning.
    Value {
        /// `object`, `string`, …
        kind: &'static str,
        bytes: usize,
        begins: String,
    },
    /// What may be secret.
    Hidden {
        bytes: usize,
        hidden: bool,
    },
}

/// The most characters of a value's beginning.
const BEGINNING: usize = 120;

impl Shown {
    pub(super) fn of(value: &RawJson<'_>) -> Self {
        let kind = match value.kind() {
            JsonKind::Null => "null",
            JsonKind::Bool => "boolean",
            JsonKind::Number => "number",
            JsonKind::String => "string",
            JsonKind::Array => "array",
            JsonKind::Object => "object",
        };
        let text = value.as_str();
        let begins = text.chars().take(BEGINNING).collect();
        Self::Value { kind, bytes: text.len(), begins }
    }

    pub(super) fn hidden(value: &RawJson<'_>) -> Self {
        Self::Hidden { bytes: value.as_str().len(), hidden: true }
    }
}

impl From<&str> for Shown {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&cut(text, 300)),
            Self::Number(number) => write!(f, "{number}"),
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::Value { bytes, begins, .. } if begins.len() == *bytes => f.write_str(begins),
            Self::Value { kind, bytes, begins } => write!(f, "{begins}… ({kind}, {bytes} bytes)"),
            Self::Hidden { bytes, .. } => write!(f, "not shown ({bytes} bytes)"),
        }
    }
}

/// The fields of a message, in the order in which they are told; those that it has not are left out.
#[derive(Debug, Default)]
pub(super) struct Fields(pub(super) Vec<Field>);

impl Fields {
    pub(super) fn push(
        &mut self,
        name: &'static str,
        value: impl Into<Option<Shown>>,
        meaning: &'static str,
    ) {
        if let Some(value) = value.into() {
            self.0.push(Field { name, value, meaning: Cow::Borrowed(meaning) });
        }
    }

    /// Milliseconds since 1970, and the moment that they are.
    pub(super) fn moment(&mut self, name: &'static str, millis: Option<u64>, meaning: &str) {
        if let Some(millis) = millis {
            let meaning = match moment(millis) {
                Some(moment) => format!("{moment}: {meaning}"),
                None => format!("after the year 9999: {meaning}"),
            };
            self.0.push(Field { name, value: Shown::Number(millis), meaning: meaning.into() });
        }
    }

    pub(super) fn text(
        &mut self,
        name: &'static str,
        value: Option<impl AsRef<str>>,
        meaning: &'static str,
    ) {
        self.push(name, value.map(|text| Shown::from(text.as_ref())), meaning);
    }

    pub(super) fn number(&mut self, name: &'static str, value: Option<u64>, meaning: &'static str) {
        self.push(name, value.map(Shown::Number), meaning);
    }

    pub(super) fn raw(
        &mut self,
        name: &'static str,
        value: Option<&RawJson<'_>>,
        meaning: &'static str,
    ) {
        self.push(name, value.map(Shown::of), meaning);
    }
}
