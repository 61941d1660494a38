#![doc = include_str!("README.md")]

mod arrival;
mod config;
mod decisions;
#[expect(clippy::module_inception, reason = "the type that the module is named after")]
mod edge;
mod gateway;
mod guards;
mod passage;
mod pending;
mod places;
mod reaction;
mod route;
mod settle;
mod tally;

pub use arrival::Arrival;
pub use config::{EdgeConfig, EdgeLimits, EdgeRules, RulesError};
pub use decisions::{Decided, Decisions, Message, Missed};
pub use edge::Edge;
pub use gateway::{
    EarStatus, EdgeGateway, EdgeReport, EdgeStatus, GatewayError, GatewayOptions, On, ReplyTopics,
    Sharing,
};
pub use guards::{AsyncGuard, Closed};
pub use passage::{Release, Waiting};
pub use reaction::{Ask, Dropped, Outgoing, Reaction, Tell};
pub use route::Unsent;
pub use settle::Replied;
pub use tally::EdgeCounters;

#[cfg(test)]
mod tests;
