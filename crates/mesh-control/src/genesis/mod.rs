//! What a new mesh needs on its broker, raised and looked at by the controller, over the ports alone.
//!
//! [`Genesis`] makes the streams and consumers that a mesh's files ask for, in an order in which a mesh that is
//! raised halfway loses nothing, and says what differs from what is asked for. What is harmless it puts right;
//! what it doesn't, it says why, and what to do ([`RULES`]). [`Status::look`] tells how a bus is.
//!
//! The *epoch* of what the controller declares to its nodes (protocol §2) is when NODES was created, as the
//! broker itself says: nobody has to keep it beside the stream, and a stream that is made anew has a greater
//! one. [`Raised::epoch`] and [`Status::epoch`] tell it; a controller that was restored takes a greater one of
//! its own.

mod judge;
mod order;
mod presence;
mod raise;
mod raised;
mod rules;
mod status;
mod stranger;
#[cfg(test)]
mod tests;

pub use judge::{Accepted, Judged, Verdict};
pub use raise::Genesis;
pub use raised::{Mode, Raised, Stopped};
pub use rules::{Care, Of, RULES, Rule, Stock, care};
pub use status::{Alarm, ConsumerReport, DeadLetters, Letters, Status, StatusError, StreamReport};
pub use stranger::{Owed, RetireError, Stranger, retire};

/// Why a mesh in one account is dangerous (protocol §4): told to whoever raises or looks at one.
pub const ONE_ACCOUNT: &str = "one account for everybody: any user with a right to acknowledge can delete any stream, by \
     aiming the reply of its own acknowledgement at $JS.API.STREAM.DELETE.<stream>; the server answers there with an \
     empty message, and no grant or setting of a stream stops it. `isolation = \"split\"` does";
