//! Leases: another realm hears this realm's events for as long as it asks for them (protocol §8,
//! FederationFacade).

mod id;
mod source;
mod table;
mod terms;

#[cfg(test)]
mod tests;

pub use id::{LeaseId, LeaseIdError};
pub use source::{BadSource, check_source};
pub use table::{LeaseTable, Sink};
pub use terms::{Lease, LeaseAsk, LeaseLimits, LeaseRefusal};
