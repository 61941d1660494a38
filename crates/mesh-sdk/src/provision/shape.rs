//! Reads a credential as a type, and tells what is wrong without telling a value: what a type's own
//! `Deserialize` says may quote it.

use std::fmt;

use mesh_core::json::JsonText;
use mesh_core::provision::Granted;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

/// How a credential is not what it is read as. Names fields, and never holds a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The type has a field that was not granted.
    #[error("it has no field {field}")]
    Missing {
        /// Which.
        field: &'static str,
    },
    /// The type has no place for a field that was granted.
    #[error("nothing is expected of the field {field}")]
    Unexpected {
        /// Which.
        field: String,
    },
    /// A field's value is of another type.
    #[error("the field {field} is not of the type that is expected")]
    Type {
        /// Which.
        field: String,
    },
    /// The type does not take it, as a whole.
    #[error("it is not what is expected")]
    Whole,
}

/// The credential as a `T`.
pub(super) fn decode<T: DeserializeOwned>(granted: &Granted) -> Result<T, ShapeError> {
    T::deserialize(Credential { rest: granted.fields(), value: None })
}

struct Credential<'g, I> {
    rest: I,
    /// The field whose name was given last.
    value: Option<(&'g str, &'g JsonText)>,
}

impl<'de, I> Deserializer<'de> for Credential<'de, I>
where
    I: Iterator<Item = (&'de str, &'de JsonText)>,
{
    type Error = ShapeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        visitor.visit_map(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, I> MapAccess<'de> for Credential<'de, I>
where
    I: Iterator<Item = (&'de str, &'de JsonText)>,
{
    type Error = ShapeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ShapeError> {
        self.value = self.rest.next();
        match self.value {
            Some((name, _)) => seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ShapeError> {
        let (field, value) = self.value.take().ok_or(ShapeError::Whole)?;
        let mut value = serde_json::Deserializer::from_slice(value.as_bytes());
        let wrong = |_| ShapeError::Type { field: field.to_owned() };
        seed.deserialize(&mut value).map_err(wrong)
    }
}

impl de::Error for ShapeError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Whole
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing { field }
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Self::Unexpected { field: field.to_owned() }
    }
}
