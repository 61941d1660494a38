//! Leases: another realm hears this realm's events for as long as it asks for them (protocol §8,
//! FederationFacade).
//!
//! [`LeaseTable`] holds the rules, and neither waits nor sends; [`FederationFacade`] serves them.

mod counts;
mod desk;
mod facade;
mod hearing;
mod id;
mod inner;
mod notice;
mod outbox;
mod request;
mod shared;
mod source;
mod table;
mod terms;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use desk::LeaseDesk;
pub(crate) use request::bad_request;

pub use counts::FederationCounts;
pub use facade::{
    FederationError, FederationFacade, FederationOptions, FederationReport, FederationStatus,
};
pub use id::{LeaseId, LeaseIdError};
pub use notice::{EndReason, Notice, NoticeKind, notice_path};
pub use outbox::OutboxLimits;
pub use request::codes;
pub use shared::SharedOptions;
pub use source::{BadSource, check_source};
pub use table::{LeaseTable, Sink};
pub use terms::{Lease, LeaseAsk, LeaseLimits, LeaseRefusal};
