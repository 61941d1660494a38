use mesh_core::name::RealmName;
use mesh_core::port::ErrorKind;

use super::RouterCounters;

/// How a router stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RouterStatus {
    /// Whether its inbox is listened to.
    pub listening: bool,
    /// How many messages wait for a neighbour or for the mailbox, those included that are on their way.
    pub waiting: usize,
    /// How many bytes those are.
    pub waiting_bytes: usize,
    /// What it has done so far.
    pub counters: RouterCounters,
    /// Where the last message was not taken, by realm; at most [`FailingLink::MOST`] are kept.
    pub failing: Vec<FailingLink>,
}

/// A neighbour, or the own mailbox, that did not take the last message for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailingLink {
    /// The neighbour; nobody where it is the own mailbox.
    pub neighbour: Option<RealmName>,
    /// What went wrong last.
    pub error: ErrorKind,
    /// How many were not taken since one was.
    pub failures: u64,
}

impl FailingLink {
    /// The most that are remembered at a time.
    pub const MOST: usize = 256;
}
