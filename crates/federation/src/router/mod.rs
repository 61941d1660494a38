//! Routers: realms in a tree pass on what is meant for others (protocol §8).
//!
//! [`Routes`] knows the tree from where one router stands, its parent and its children, and decides about
//! a message without doing anything. [`RouterBridge`] does it: it listens at the router's own inbox
//! `mx/route/1/<realm>/<shard>` on a backbone, hands what is for its own realm to that realm's mailbox, where the
//! gateway and its guards are, and publishes the rest to the inbox of the next router, with a smaller
//! `ttl` and otherwise the bytes that came.
//!
//! # What ends a loop
//!
//! A child is the realm that its prefix names, and no realm is its own child or below one. So each step down
//! leads to a longer name, and nothing that went down goes up again. A loop can be made of parents alone,
//! by routers each of which is right about itself; [`check_tree`] finds it where the routers are known
//! together, and `ttl` ends each message that is in it.
//!
//! # What is proven, and what is claimed
//!
//! The names in an envelope are claims, `from` and `to` alike. A router believes them as far as this: it
//! takes part in no journey both of whose ends are outside the tree below it ([`DropReason::Transit`]), so
//! that it is no open relay for strangers. A stranger that writes a realm below the router as its `from` passes
//! that test, so who may publish to a router's inbox must be the backbone's to say:
//! [`Permissions::of_router`](mesh_core::permissions::Permissions::of_router) composes such rights. Whom a
//! message is from is proven at its end, by MXSEC, or not at all; the guards of the last gateway see each
//! routed message as they see any other.

mod bridge;
mod counters;
mod links;
mod options;
mod reason;
mod routes;
mod status;
mod tree;

#[cfg(test)]
mod tests;

pub use bridge::RouterBridge;
pub use counters::RouterCounters;
pub use options::{RouterClosed, RouterOptions};
pub use reason::DropReason;
pub use routes::{DEFAULT_MAX_TTL, DEFAULT_TTL, Hop, Routes, RoutesError};
pub use status::{FailingLink, RouterStatus};
pub use tree::{TreeFault, check_tree};
