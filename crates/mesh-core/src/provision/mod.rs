//! Giving a consumer an instance of what a module provides, and taking it away (protocol §6).
//!
//! The controller calls the provider's reserved tools with a [`GrantRequest`] or a
//! [`WithdrawRequest`]; a grant answers a [`Granted`]. Both are idempotent on their
//! [`ProvisionKey`]: the provision and the consumer, which is a module on a node and never a node
//! alone, so that withdrawing one takes nothing away from another. What was granted reaches the consumer
//! as a [`Handover`].
//!
//! ```
//! use mesh_core::provision::{Granted, GrantRequest};
//!
//! let request = GrantRequest::decode(
//!     br#"{"provision": "database", "consumer": {"node": "n1", "module": "mail"},
//!          "contributed": {"schema": "mail"}}"#,
//! )?;
//! assert_eq!(request.key().to_string(), "database for mail on n1");
//!
//! let granted = Granted::decode(br#"{"credential": {"url": "db:s3cr3t@h"}}"#, &["url"])?;
//! assert_eq!(granted.field("url").unwrap().as_str(), r#""db:s3cr3t@h""#);
//! assert!(!format!("{granted:?}").contains("s3cr3t"));
//! # Ok::<(), mesh_core::provision::ProvisionError>(())
//! ```

mod consumer;
mod error;
mod granted;
mod handover;
mod request;

#[cfg(test)]
mod tests;

pub use error::{ProvisionError, ProvisionProblem};
pub use granted::Granted;
pub use handover::{Handover, MAX_HANDOVER_BYTES};
pub use request::{GrantRequest, ProvisionKey, WithdrawRequest};

/// The tool of a provider that grants; nobody but the controller calls it.
pub const GRANT_TOOL: &str = "provision_grant";
/// The tool of a provider that withdraws; nobody but the controller calls it.
pub const WITHDRAW_TOOL: &str = "provision_withdraw";

/// Whether a tool of this name is one that only the controller calls.
#[must_use]
pub fn is_reserved_tool(tool: &str) -> bool {
    matches!(tool, GRANT_TOOL | WITHDRAW_TOOL)
}
