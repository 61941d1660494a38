//! Other realms: how they are asked and told.

mod call;
mod client;
mod direct;
mod error;
mod options;
mod profiles;
mod resolved;
mod sign;
mod watch;

#[cfg(test)]
mod tests;

pub use client::RealmClient;
pub use direct::{Direct, DirectError, DirectErrorKind};
pub use error::{RemoteError, SendError, StartError};
pub use options::{CallOptions, RealmOptions};
pub use resolved::{ResolvedClient, SendCounts, Sent};
pub use sign::{Sign, SignError};
pub use watch::{Seen, Watch, WatchEnd};
