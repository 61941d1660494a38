//! A pass over a value that only looks for numbers JSON can't hold: serde_json writes a NaN as
//! `null` and says nothing.

use std::fmt;

use serde::ser::{self, Serialize, Serializer};

use super::{JsonError, JsonProblem};

pub(super) fn check<T: Serialize + ?Sized>(value: &T) -> Result<(), JsonError> {
    value
        .serialize(Finite)
        .map_err(|Refused(problem)| JsonError { problem, offset: 0 })
}

struct Finite;

#[derive(Debug)]
struct Refused(JsonProblem);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(JsonProblem::Unserialisable)
    }
}

fn finite(yes: bool) -> Result<(), Refused> {
    if yes {
        Ok(())
    } else {
        Err(Refused(JsonProblem::NotFinite))
    }
}

macro_rules! passes {
    ($($method:ident($($arg:ty),*);)*) => {
        $(fn $method(self, $(_: $arg),*) -> Result<(), Refused> { Ok(()) })*
    };
}

macro_rules! opens {
    ($($method:ident($($arg:ty),*);)*) => {
        $(fn $method(self, $(_: $arg),*) -> Result<Self, Refused> { Ok(self) })*
    };
}

impl Serializer for Finite {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn serialize_f32(self, value: f32) -> Result<(), Refused> {
        finite(value.is_finite())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Refused> {
        finite(value.is_finite())
    }

    passes! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    opens! {
        serialize_seq(Option<usize>);
        serialize_tuple(usize);
        serialize_tuple_struct(&'static str, usize);
        serialize_tuple_variant(&'static str, u32, &'static str, usize);
        serialize_map(Option<usize>);
        serialize_struct(&'static str, usize);
        serialize_struct_variant(&'static str, u32, &'static str, usize);
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Refused> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Refused> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Refused> {
        value.serialize(self)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Result<(), Refused> {
        Ok(())
    }
}

macro_rules! compound {
    ($($trait:ident :: $method:ident($($key:ty)?);)*) => {
        $(impl ser::$trait for Finite {
            type Ok = ();
            type Error = Refused;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $(_: $key,)?
                value: &T,
            ) -> Result<(), Refused> {
                value.serialize(Finite)
            }

            fn end(self) -> Result<(), Refused> {
                Ok(())
            }
        })*
    };
}

compound! {
    SerializeSeq::serialize_element();
    SerializeTuple::serialize_element();
    SerializeTupleStruct::serialize_field();
    SerializeTupleVariant::serialize_field();
    SerializeStruct::serialize_field(&'static str);
    SerializeStructVariant::serialize_field(&'static str);
}

impl ser::SerializeMap for Finite {
    type Ok = ();
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        key.serialize(Finite)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        value.serialize(Finite)
    }

    fn end(self) -> Result<(), Refused> {
        Ok(())
    }
}
