//! What a connection may publish and subscribe to, and the rows of protocol §4 that say so.
//!
//! To a nats-server an empty list allows everything. Here it can't be written: a side allows
//! nothing, everything, or at least one filter.
//!
//! ```
//! use mesh_core::permissions::Rules;
//! use mesh_core::subject::{Filter, Subject};
//!
//! let tools = Rules::allow([Filter::new("mesh.tools.>")?])
//!     .except([Filter::new("mesh.tools.*.provision_grant")?]);
//! assert!(tools.permits(&Subject::new("mesh.tools.mail.send")?));
//! assert!(!tools.permits(&Subject::new("mesh.tools.mail.provision_grant")?));
//! assert!(!Rules::nothing().permits(&Subject::new("a")?));
//! # Ok::<(), mesh_core::subject::SubjectError>(())
//! ```

mod heard;
mod principals;
mod realm;
mod responses;
mod rights;
mod rows;
mod rules;
mod verdict;

#[cfg(test)]
mod tests;

pub use principals::{ModuleGrants, PersonGrants};
pub use realm::RealmGrants;
pub use responses::{Answers, Responses};
pub use rights::{Effect, Origin, Right, Rights, Side};
pub use rules::{Permissions, Rule, Rules};
pub use verdict::Verdict;
