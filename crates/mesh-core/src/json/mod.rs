//! Strict JSON that keeps what it does not own as exact text (protocol §8).
//!
//! One pass checks a whole document: the grammar of RFC 8259, at most [`MAX_DEPTH`] nested
//! containers, no lone surrogates, no byte-order mark, nothing after the value. A refusal is a
//! [`JsonError`] with what is wrong and the byte offset. A [`RawJson`] is one checked value that
//! still has its own spelling: big numbers, key order and white space inside it are not touched.
//!
//! ```
//! use mesh_core::json::{JsonProblem, RawJson};
//!
//! let body = RawJson::new(r#"{"big": 1e400, "a": 1}"#)?;
//! assert_eq!(body.as_str(), r#"{"big": 1e400, "a": 1}"#);
//!
//! let error = RawJson::new(r#"["\ud800"]"#).unwrap_err();
//! assert_eq!((error.problem, error.offset), (JsonProblem::LoneSurrogate, 2));
//! # Ok::<(), mesh_core::json::JsonError>(())
//! ```

mod error;
mod finite;
mod members;
mod object;
mod raw;
mod scan;
mod string;
mod text;
mod write;

#[cfg(test)]
mod tests;

pub use error::{EmitError, JsonError, JsonProblem};
pub(crate) use members::{Members, ValueError, text_of};
pub use object::UnknownFields;
pub(crate) use object::{Fields, Value};
pub use raw::{JsonKind, RawJson};
pub(crate) use scan::Scanner;
pub(crate) use string::token_offset;
pub use text::JsonText;
pub(crate) use write::ObjectWriter;

/// The most containers that may be open at once.
pub const MAX_DEPTH: usize = 128;

/// The most unknown fields one object of an envelope may have: they are kept, so they are bounded.
pub const MAX_UNKNOWN_FIELDS: usize = 128;
