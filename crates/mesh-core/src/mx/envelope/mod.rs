//! MXENV/1 and the three legacy envelopes (protocol §8).
//!
//! An [`Envelope`] is what the rest of the federation works with, whatever profile it came in:
//! MXENV/1 field for field, with the legacy expiry `ttlMs` beside the hop limit `ttl`. Everything
//! borrows the message it was read from; `into_owned` lets it live longer.

mod address;
mod convert;
mod decode;
mod error;
mod fault;
mod field;
mod legacy_reply;
mod legacy_request;
mod msg_type;
mod mxenv;
mod passage;
mod read;
mod replay;

#[cfg(test)]
mod tests;

pub use address::{Address, Party};
pub use decode::{Decoded, decode};
pub use error::{DecodeError, DecodeProblem, EncodeError};
pub use fault::Fault;
pub use legacy_reply::LegacyReply;
pub use legacy_request::LegacyRequest;
pub use msg_type::MsgType;
pub use mxenv::Envelope;
pub use passage::Passage;
pub(crate) use read::Entry;
pub use replay::ReplayKey;

/// The most bytes of an envelope where nobody says otherwise: what a NATS server takes by default.
pub const DEFAULT_MAX_BYTES: usize = 1 << 20;
