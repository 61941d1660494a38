//! A serialiser that writes nothing and refuses floats that are not finite: `serde_json` writes
//! those as `null`, which is another value.

use std::fmt;

use serde::ser::{self, Serialize};

use super::EmitError;

pub(super) fn check<T: Serialize + ?Sized>(value: &T) -> Result<(), EmitError> {
    match value.serialize(Finite) {
        // Any other failure shows itself again when the value is written.
        Ok(()) | Err(Refusal::Other) => Ok(()),
        Err(Refusal::NotFinite) => Err(EmitError::NotFinite),
    }
}

#[derive(Debug, Clone, Copy)]
struct Finite;

#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("not finite")]
    NotFinite,
    #[error("refused by the type")]
    Other,
}

impl ser::Error for Refusal {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Other
    }
}

macro_rules! passes {
    ($($method:ident($($argument:ty),*))*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<(), Refusal> { Ok(()) })*
    };
}

macro_rules! compounds {
    ($($method:ident($($argument:ty),*) as $assoc:ident)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<Self::$assoc, Refusal> { Ok(self) })*
    };
}

impl ser::Serializer for Finite {
    type Ok = ();
    type Error = Refusal;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    passes! {
        serialize_bool(bool)
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
        serialize_char(char) serialize_str(&str) serialize_bytes(&[u8])
        serialize_none() serialize_unit() serialize_unit_struct(&'static str)
        serialize_unit_variant(&'static str, u32, &'static str)
    }

    compounds! {
        serialize_seq(Option<usize>) as SerializeSeq
        serialize_tuple(usize) as SerializeTuple
        serialize_tuple_struct(&'static str, usize) as SerializeTupleStruct
        serialize_tuple_variant(&'static str, u32, &'static str, usize) as SerializeTupleVariant
        serialize_map(Option<usize>) as SerializeMap
        serialize_struct(&'static str, usize) as SerializeStruct
        serialize_struct_variant(&'static str, u32, &'static str, usize) as SerializeStructVariant
    }

    fn serialize_f32(self, value: f32) -> Result<(), Refusal> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Refusal> {
        if value.is_finite() { Ok(()) } else { Err(Refusal::NotFinite) }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Refusal> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Refusal> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Refusal> {
        value.serialize(self)
    }
}

macro_rules! elements {
    ($($of:ident :: $method:ident($($key:ty)?))*) => {
        $(impl ser::$of for Finite {
            type Ok = ();
            type Error = Refusal;
            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> Result<(), Refusal> {
                value.serialize(*self)
            }
            fn end(self) -> Result<(), Refusal> {
                Ok(())
            }
        })*
    };
}

elements! {
    SerializeSeq::serialize_element()
    SerializeTuple::serialize_element()
    SerializeTupleStruct::serialize_field()
    SerializeTupleVariant::serialize_field()
    SerializeStruct::serialize_field(&'static str)
    SerializeStructVariant::serialize_field(&'static str)
}

impl ser::SerializeMap for Finite {
    type Ok = ();
    type Error = Refusal;

    // A float is no key of a JSON object in any case; the writer says so.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
        value.serialize(*self)
    }

    fn end(self) -> Result<(), Refusal> {
        Ok(())
    }
}
