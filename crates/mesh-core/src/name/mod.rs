//! Names: validated text that can be put into a subject (protocol §1).
//!
//! Every constructor checks, and so do `FromStr`, `TryFrom` and `Deserialize`: a value of one of
//! these types always holds its grammar, so a wildcard can't be injected through a name.
//!
//! ```
//! use mesh_core::name::{EventName, ModuleName};
//!
//! let module: ModuleName = "mail".parse()?;
//! let event: EventName = "letter.sent".parse()?;
//! assert_eq!(format!("mesh.events.{module}.{event}"), "mesh.events.mail.letter.sent");
//!
//! let error = "mail.>".parse::<ModuleName>().unwrap_err();
//! assert_eq!(error.to_string(), "module name: character '.' at offset 4 is not allowed");
//! # Ok::<(), mesh_core::name::NameError>(())
//! ```

mod error;
mod fold;
mod grammar;
mod types;

#[cfg(test)]
mod tests;

pub use error::{NameError, NameProblem};
pub use fold::folded;
pub(crate) use grammar::{Class, printable, realm as realm_problem, realm_in_uri, special};
pub use types::{
    CommandName, ConsumerName, EventName, InstanceName, ModuleName, NodeName, PersonName,
    ProvisionName, RealmName, SeatName, TokenId, ToolName, UserName,
};
