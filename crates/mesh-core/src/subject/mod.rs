//! Subjects and filters: where a message goes and what a subscriber asks for (protocol §1).
//!
//! A [`Subject`] is one address, tokens joined by `.`. A [`Filter`] is a set of them: `*` stands
//! for one whole token, a last `>` for one or more. `/` is an ordinary character. A star inside a
//! longer token (`a*`) is an ordinary character too, as it is to nats-server.
//!
//! ```
//! use mesh_core::subject::{Filter, Subject};
//!
//! let filter = Filter::new("mesh.events.mail.>")?;
//! assert!(filter.matches(&Subject::new("mesh.events.mail.letter.sent")?));
//! assert!(!filter.matches(&Subject::new("mesh.events.mail")?));
//! # Ok::<(), mesh_core::subject::SubjectError>(())
//! ```

mod error;
mod filter;
mod normalise;
mod text;

#[cfg(test)]
pub(crate) mod tests;

pub use error::{SubjectError, SubjectProblem};
pub use filter::Filter;
pub(crate) use filter::matches as matches_bytes;
pub use normalise::{normalise, overlaps};
pub use text::Subject;
pub(crate) use text::{check_tokens, text_impls};

/// The most bytes a subject or a filter may have: an AMQP routing key's limit.
pub const MAX_SUBJECT_BYTES: usize = 255;
