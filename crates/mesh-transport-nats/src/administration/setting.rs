//! One setting of a stream or a consumer: what should be, and what the server says there is.
//!
//! A configuration stays the JSON object that the server gave. What is mended is put into it and the
//! whole is sent back, so a setting that this crate does not know keeps its value.

use std::time::Duration;

use mesh_core::port::Drift;
use serde_json::{Map, Value};

/// The configuration of a stream or consumer, as the server has it.
pub(super) type Config = Map<String, Value>;

/// One setting.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// The server's name for it.
    key: &'static str,
    /// Ours, as a [`Drift`] names it.
    field: &'static str,
    kind: Kind,
    /// Never sent in an update: the server can't change it, or would lose something.
    fixed: bool,
    wanted: Value,
    /// What it means to the server if it is not there.
    absent: Value,
}

/// How a value is read, compared and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Flag,
    /// A number; what is not above 0 is no limit, and the server writes -1.
    Limit,
    Count,
    /// Nanoseconds.
    Span,
    Word,
    /// Texts whose order says nothing.
    Set,
    /// Something that should not be there at all.
    Nothing,
}

impl Setting {
    fn new(key: &'static str, kind: Kind, wanted: Value, absent: Value) -> Self {
        Self { key, field: key, kind, fixed: false, wanted, absent }
    }

    pub(super) fn flag(key: &'static str, wanted: bool) -> Self {
        Self::new(key, Kind::Flag, wanted.into(), false.into())
    }

    /// A number, or no limit.
    pub(super) fn limit(key: &'static str, wanted: Option<i64>) -> Self {
        Self::new(key, Kind::Limit, wanted.unwrap_or(-1).into(), (-1).into())
    }

    pub(super) fn count(key: &'static str, wanted: u8, absent: u8) -> Self {
        Self::new(key, Kind::Count, wanted.into(), absent.into())
    }

    pub(super) fn span(key: &'static str, nanos: i64) -> Self {
        Self::new(key, Kind::Span, nanos.into(), 0.into())
    }

    pub(super) fn word(key: &'static str, wanted: &str, absent: &'static str) -> Self {
        Self::new(key, Kind::Word, wanted.into(), absent.into())
    }

    pub(super) fn set(key: &'static str, wanted: impl IntoIterator<Item = String>) -> Self {
        let mut wanted: Vec<String> = wanted.into_iter().collect();
        wanted.sort_unstable();
        Self::new(key, Kind::Set, wanted.into(), Value::Array(Vec::new()))
    }

    pub(super) fn nothing(key: &'static str) -> Self {
        Self::new(key, Kind::Nothing, Value::Null, Value::Null)
    }

    /// The mesh's own word for it, where it has one.
    pub(super) fn called(self, field: &'static str) -> Self {
        Self { field, ..self }
    }

    /// It is reported and left.
    pub(super) fn fixed(self) -> Self {
        Self { fixed: true, ..self }
    }

    pub(super) fn key(&self) -> &'static str {
        self.key
    }

    pub(super) fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// The limit that should be.
    pub(super) fn wanted_limit(&self) -> u64 {
        self.wanted.as_u64().unwrap_or(u64::MAX)
    }

    /// Whether `config` has a higher limit, or none.
    pub(super) fn lowers(&self, config: &Config) -> bool {
        self.found(config).as_u64().unwrap_or(u64::MAX) > self.wanted_limit()
    }

    /// Whether `config` has what should be.
    pub(super) fn holds(&self, config: &Config) -> bool {
        self.found(config) == self.wanted
    }

    /// Puts what should be into `config`. What the server takes for granted is left out, so that an
    /// older one is not asked for what it does not know.
    pub(super) fn put(&self, config: &mut Config) {
        if self.wanted == self.absent {
            config.remove(self.key);
        } else {
            config.insert(self.key.to_owned(), self.wanted.clone());
        }
    }

    /// The difference between what should be and `before`; `after` is what it is now.
    pub(super) fn drift(&self, object: &str, before: &Config, after: &Config) -> Drift {
        Drift {
            object: object.to_owned(),
            field: self.field,
            expected: self.show(&self.wanted),
            found: self.show(&self.found(before)),
            mended: self.holds(after),
        }
    }

    /// What `config` says, in the one form that it is compared in.
    fn found(&self, config: &Config) -> Value {
        let Some(found) = config.get(self.key).filter(|value| !value.is_null()) else {
            return self.absent.clone();
        };
        match (self.kind, found) {
            (Kind::Limit, Value::Number(number)) if number.as_f64().is_some_and(|n| n <= 0.0) => {
                (-1).into()
            }
            (Kind::Count, Value::Number(number)) if number.as_i64() == Some(0) => {
                self.absent.clone()
            }
            (Kind::Word, Value::String(word)) if word.is_empty() => self.absent.clone(),
            (Kind::Set, Value::Array(values)) => {
                let mut values = values.clone();
                values.sort_unstable_by(|a, b| a.as_str().cmp(&b.as_str()));
                values.into()
            }
            (Kind::Nothing, found) if is_empty(found) => Value::Null,
            _ => found.clone(),
        }
    }

    fn show(&self, value: &Value) -> String {
        match (self.kind, value) {
            (Kind::Limit, Value::Number(number)) if number.as_i64() == Some(-1) => {
                "no limit".to_owned()
            }
            (Kind::Span, Value::Number(number)) => match number.as_u64() {
                Some(0) => "none".to_owned(),
                Some(nanos) => format!("{:?}", Duration::from_nanos(nanos)),
                None => number.to_string(),
            },
            (Kind::Set, Value::Array(values)) if !values.is_empty() => {
                let texts = values.iter().map(|value| value.as_str().unwrap_or("?"));
                texts.collect::<Vec<_>>().join(", ")
            }
            (_, Value::String(text)) if !text.is_empty() => text.clone(),
            (_, Value::Bool(_) | Value::Number(_)) => value.to_string(),
            (_, other) if is_empty(other) => "none".to_owned(),
            (_, other) => other.to_string(),
        }
    }
}

/// Whether the value says no more than its absence would.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}
