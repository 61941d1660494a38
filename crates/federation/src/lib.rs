#![doc = include_str!("../README.md")]

mod answers;
#[cfg(feature = "discovery")]
mod cache;
#[cfg(feature = "discovery")]
pub mod discovery;
pub mod edge;
#[cfg(any(feature = "discovery", feature = "security"))]
mod freshness;
pub mod lease;
mod local;
mod random;
mod remote;
#[cfg(feature = "security")]
pub mod security;
pub mod session;
mod state;
mod tables;

pub use answers::{
    AnswerCounts, AnswerLimits, Answers, AnswersClosed, RegisterError, Reply, Settled, Waiting,
};
#[cfg(any(feature = "discovery", feature = "security"))]
pub use freshness::Freshness;
pub use local::{
    Call, ComponentHost, Handler, HostCounts, HostError, HostOptions, HostReport, LocalError,
    LocalOptions, LocalRequestReplyClient, Registration, Remote, ReplyCounts,
};
pub use random::{OsRandom, Random, Seeded};
pub use remote::{
    CallOptions, Direct, DirectError, DirectErrorKind, RealmClient, RealmOptions, RemoteError,
    ResolvedClient, SendCounts, SendError, Sent, Sign, SignError,
};
pub use state::{InMemoryState, MemoryUsage, StateLimits};
