#![doc = include_str!("README.md")]

mod addressed;
mod builder;
mod chain;
mod counters;
mod decision;
mod edge;
mod expiry;
mod inbound;
mod keyed;
mod policy;
mod rate;
mod relay;
mod replay;
mod verdict;

#[cfg(test)]
mod tests;

pub use addressed::Addressed;
pub use builder::{ChainBuilder, Mode, Stage};
pub use chain::{GuardChain, Held};
pub use counters::{ChainCounters, GuardCounters};
pub use decision::{Decision, Finding, Outcome, Step, Trace};
pub use edge::EdgeGuards;
pub use expiry::Expiry;
pub use inbound::{Inbound, Now, ReplayId};
pub use keyed::HashSecret;
pub use policy::{Policy, PolicyGuard, PrefixDeny, Ruling};
pub use rate::{Quota, Rate, RateLimits};
pub use relay::Relay;
pub use replay::{Replay, ReplayLimits, ReplayUsage};
pub use verdict::{Guard, Refusal, Reservation, Verdict};
