//! From a mesh's files to accounts with no more rights than these files justify, and a server's
//! configuration.
//!
//! [`Composition::of`] reads a mesh file and its modules' manifests and says who has a user, with which
//! grants, each with the line that justifies it. A manifest that is wrong is refused alone: nobody else's
//! account depends on it. [`Composition::nats`] writes the whole configuration of a nats-server, byte for
//! byte the same whatever the order of files and lists. Secrets are not made here; of each user the
//! configuration holds a [`Verifier`], never what it verifies.
//!
//! ```
//! use mesh_control::compose::{Composition, More, Source};
//!
//! let mesh = Source { file: "mesh.toml", text: "
//!     nodes = [{ name = 'n1' }]
//!     assignments = [{ module = 'mail', manifest = 'mail.toml', nodes = ['n1'] }]
//! " };
//! let mail = Source { file: "mail.toml", text: "
//!     name = 'mail'
//!     version = '1'
//!     emits = ['sent']
//! " };
//! let composed = Composition::of(mesh, &[mail], &More::default())?;
//! let names: Vec<&str> = composed.users().iter().map(|user| user.name()).collect();
//! assert_eq!(names, ["builder.n1", "controller", "controller-edge", "host.n1", "mail.n1"]);
//!
//! let mail = composed.user("mail.n1").unwrap();
//! let event = mail.grants().iter().find(|g| g.rule.filter.as_str() == "mesh.events.mail.sent");
//! assert_eq!(event.unwrap().because.to_string(), "mail.toml:4:14: emits[0]");
//! # Ok::<(), mesh_core::manifest::Problems>(())
//! ```

mod account;
mod composition;
mod danger;
mod error;
mod grant;
mod manifests;
mod more;
mod nats;
mod place;
mod principals;
pub mod rabbit;
mod refused;
mod source;
mod user;
mod verifier;

pub use account::Account;
pub use composition::Composition;
pub use danger::Danger;
pub use error::ComposeError;
pub use grant::{Because, Grant, Line};
pub use more::{Gateway, More};
pub use nats::Accounts;
pub use place::Place;
pub use refused::Refused;
pub use source::Source;
pub use user::User;
pub use verifier::{Verifier, VerifierError, Verifiers};
