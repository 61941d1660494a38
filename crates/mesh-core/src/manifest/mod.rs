//! What a mesh is made of, declared in TOML: one file a module, and one for the mesh.
//!
//! A [`ModuleManifest`] says what a module emits, consumes, calls, serves, provides and requires.
//! A [`MeshFile`] names the nodes, which module runs where, the people, and the [`Bus`] that carries it. [`Mesh::resolve`] puts
//! them together and finds what no single file can show. Unknown keys are refused, and all mistakes
//! that can be found are reported at once, each with file, line, column and field.
//!
//! JSON Schemas of both files, for editors, are in the repository under `docs/schema`.
//!
//! ```
//! use mesh_core::manifest::{MeshFile, Mesh, ModuleManifest};
//!
//! let mail = ModuleManifest::parse("mail.toml", r#"
//!     name = "mail"
//!     version = "1.0.0"
//!     emits = ["letter.sent"]
//!     calls = ["ledger.balance"]
//! "#).unwrap();
//! let mesh = MeshFile::parse("mesh.toml", r#"
//!     nodes = [{ name = "n1" }]
//!     assignments = [{ module = "mail", manifest = "mail.toml", nodes = ["n2"] }]
//! "#).unwrap();
//! let problems = Mesh::resolve(&mesh, &[mail]).unwrap_err();
//! assert_eq!(
//!     problems[0].to_string(),
//!     "mail.toml:5:14: error: calls[0]: no module has the tool ledger.balance \
//!      (let its module list it under `tools`, or leave it out)"
//! );
//! assert_eq!(
//!     problems[1].to_string(),
//!     "mesh.toml:3:72: error: assignments[0].nodes[0]: no node is named n2 (list it under `nodes`)"
//! );
//! ```

mod advice;
mod bus;
mod checker;
mod compose;
mod events;
mod kind;
mod mend;
mod mesh;
mod mesh_file;
mod module;
mod outline;
mod pattern;
mod place;
mod problem;
mod remedy;
mod resolve;
mod seats;
mod sketch;
mod source;
mod tool;

#[cfg(test)]
mod tests;

pub use bus::{Bus, ConfigText, Isolation, Limits, ONE_ACCOUNT_SENTENCE, SecretKind, Tls};
pub use kind::ProblemKind;
pub use mesh::{AssignedModule, Mesh};
pub use mesh_file::{Access, Assignment, MeshFile, Person};
pub use module::{ModuleManifest, Provision, Requirement};
pub use pattern::{EventPattern, PatternError};
pub use problem::{Problem, Problems, Severity};
pub use sketch::FileKind;
pub use tool::{DEFAULT_TIMEOUT, MAX_TIMEOUT, SchemaError, Tool, ToolRef, ToolRefError};

/// The largest manifest or mesh file that is read, in bytes.
pub const MAX_FILE_BYTES: usize = 1024 * 1024;
