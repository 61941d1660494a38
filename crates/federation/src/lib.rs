#![doc = include_str!("../README.md")]

mod answers;
#[cfg(feature = "discovery")]
mod cache;
#[cfg(feature = "discovery")]
pub mod discovery;
pub mod edge;
mod event;
#[cfg(any(feature = "discovery", feature = "security"))]
mod freshness;
pub mod lease;
mod local;
mod operator;
mod random;
mod remote;
pub mod router;
#[cfg(feature = "security")]
pub mod security;
pub mod session;
mod state;
mod tables;

pub use answers::{
    AnswerCounts, AnswerLimits, Answers, AnswersClosed, RegisterError, Reply, Settled, Waiting,
};
pub use event::EventError;
#[cfg(any(feature = "discovery", feature = "security"))]
pub use freshness::Freshness;
pub use local::{
    Call, ComponentHost, Handler, HostCounts, HostError, HostOptions, HostReport, LocalError,
    LocalOptions, LocalRequestReplyClient, Registration, Remote, ReplyCounts,
};
pub use operator::OperatorDesk;
pub use random::{OsRandom, Random, Seeded};
pub use remote::{
    CallOptions, Direct, DirectError, DirectErrorKind, RealmClient, RealmOptions, RemoteError,
    ResolvedClient, Seen, SendCounts, SendError, Sent, Sign, SignError, StartError, Watch,
    WatchEnd,
};
pub use state::{
    InMemoryState, MemoryUsage, SharedReplay, SharedReplayOptions, StateLimits, StoreAway,
};
