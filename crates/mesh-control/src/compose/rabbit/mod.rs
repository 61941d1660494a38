//! A mesh on the bus that is being left: RabbitMQ's definitions, hardened (protocol §7).
//!
//! Everybody has an account of their own that declares nothing: one regular expression says which queues *and
//! exchanges* an account may declare, and who may declare an exchange can forge any event through a binding of
//! it. So the queues, their bindings and the policies are in the definitions, too. Expressions are anchored, and
//! every name in them is escaped. Each account has a row for every topic exchange: without one all keys are
//! allowed.
//!
//! An import only adds. It stops at the first row that the node doesn't like, goes on without the rest, and says
//! that all is well. So definitions are looked at before ([`Definitions::findings`]), and what a node exports is
//! held against them afterwards ([`Definitions::missing_in`]).
//!
//! ```
//! use mesh_control::compose::rabbit::{Host, Member, PasswordHash};
//! use mesh_core::manifest::{Mesh, ModuleManifest};
//! use mesh_core::identity::Principal;
//!
//! let mail = "name = 'mail'\nversion = '1'\nemits = ['sent']";
//! let mesh = Mesh::on_one_node(&"n1".parse()?, [ModuleManifest::parse("mail.toml", mail)?])?;
//! let mail = Principal::Module { node: "n1".parse()?, module: "mail".parse()? };
//! let rights = mesh.permissions(&mail)?;
//! let hash = PasswordHash::new("kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR")?;
//! let definitions = Host::new("mesh")?
//!     .member(Member::new(mail, rights, hash))?
//!     .topology(&mesh.topology()?)?
//!     .definitions();
//! assert!(definitions.findings().is_empty());
//! let rows = definitions.rows("permissions");
//! assert_eq!(rows[0]["configure"], "");
//! assert_eq!(rows[0]["write"], r"^(?:mesh\.events)\z");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod definitions;
mod error;
mod hash;
mod host;
mod lint;
mod rights;

pub use definitions::Definitions;
pub use error::{DefinitionsError, HostError, RabbitError};
pub use hash::{HashError, PasswordHash};
pub use host::{Host, Member};
pub use lint::Finding;
pub use rights::{Declares, Rights, TopicRights};

#[cfg(test)]
mod tests;
