//! Who takes part in a mesh (protocol §4).
//!
//! ```
//! use mesh_core::identity::{Principal, Responder};
//!
//! let mail = Principal::Module { node: "n1".parse()?, module: "mail".parse()? };
//! assert_eq!(mail.inbox_tokens(), ("mail", "n1"));
//! assert_eq!(mail.responder(), Some(Responder::Module("mail".parse()?)));
//! # Ok::<(), mesh_core::name::NameError>(())
//! ```

mod instance;
mod responder;

use std::fmt;

use crate::credential::{Credential, EnrolmentToken};
use crate::name::{InstanceName, ModuleName, NodeName, PersonName, TokenId};

pub use instance::Instance;
pub use responder::Responder;

/// The user that owns the exchanges and queues of the AMQP bus (protocol §7).
const SUBSTRATE: &str = "substrate";

/// One who connects to the mesh's broker under an account of its own.
///
/// Exhaustive on purpose: an account is composed for each kind, and a kind that somebody forgot
/// must not compile.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Principal {
    /// A module on a node.
    Module {
        /// The node.
        node: NodeName,
        /// The module.
        module: ModuleName,
    },
    /// The program that applies declarations on a node.
    Host {
        /// The node.
        node: NodeName,
    },
    /// The program that builds modules on a node.
    Builder {
        /// The node.
        node: NodeName,
    },
    /// Somebody who calls tools.
    Person {
        /// The person.
        name: PersonName,
    },
    /// The mesh's controller.
    Controller {
        /// Which, where there are several.
        name: InstanceName,
    },
    /// A node that is joining, for as long as its token lasts.
    Enrolment {
        /// The token.
        token: TokenId,
    },
    /// A realm's gateway on its backbone.
    Gateway {
        /// Which.
        name: InstanceName,
    },
}

impl Principal {
    /// The two tokens after `_INBOX` in every subject of its own: what it is and which.
    ///
    /// No module is called `host`, `person` and so on (protocol §1), so no two principals share
    /// them, except that a gateway could share those of a module called `gateway`: a gateway's
    /// backbone is never an account of modules.
    #[must_use]
    pub fn inbox_tokens(&self) -> (&str, &str) {
        match self {
            Self::Module { node, module } => (module.as_str(), node.as_str()),
            Self::Host { node } => ("host", node.as_str()),
            Self::Builder { node } => ("builder", node.as_str()),
            Self::Person { name } => ("person", name.as_str()),
            Self::Controller { name } => ("controller", name.as_str()),
            Self::Enrolment { token } => ("enrol", token.as_str()),
            Self::Gateway { name } => ("gateway", name.as_str()),
        }
    }

    /// Its user on AMQP: `<node>.<module>`, `person.<name>`, `host.<node>`, … (protocol §7). Node names
    /// that would read as one of the others are reserved.
    #[must_use]
    pub fn amqp_user(&self) -> String {
        let (kind, name) = self.inbox_tokens();
        match self {
            Self::Module { node, module } => format!("{node}.{module}"),
            _ => format!("{kind}.{name}"),
        }
    }

    /// Whose user on AMQP that is. `substrate` is the one who owns the bus that is being left: a controller.
    #[must_use]
    pub fn from_amqp_user(user: &str) -> Option<Self> {
        if user == SUBSTRATE {
            return Some(Self::Controller { name: InstanceName::new(SUBSTRATE).ok()? });
        }
        let (kind, name) = user.split_once('.')?;
        Self::of_kind(kind, name).unwrap_or_else(|| {
            Some(Self::Module {
                node: NodeName::new(kind).ok()?,
                module: ModuleName::new(name).ok()?,
            })
        })
    }

    /// Whose [`inbox_tokens`](Self::inbox_tokens) those are. `gateway` is a gateway.
    #[must_use]
    pub fn from_inbox_tokens(kind: &str, name: &str) -> Option<Self> {
        if kind == "gateway" {
            return Some(Self::Gateway { name: InstanceName::new(name).ok()? });
        }
        Self::of_kind(kind, name).unwrap_or_else(|| {
            Some(Self::Module {
                node: NodeName::new(name).ok()?,
                module: ModuleName::new(kind).ok()?,
            })
        })
    }

    /// Those that have a word for their kind both in inboxes and in AMQP's users; nothing, where the
    /// word is none of theirs.
    fn of_kind(kind: &str, name: &str) -> Option<Option<Self>> {
        Some(match kind {
            "host" => NodeName::new(name).ok().map(|node| Self::Host { node }),
            "builder" => NodeName::new(name).ok().map(|node| Self::Builder { node }),
            "person" => PersonName::new(name).ok().map(|name| Self::Person { name }),
            "controller" => InstanceName::new(name).ok().map(|name| Self::Controller { name }),
            "enrol" => TokenId::new(name).ok().map(|token| Self::Enrolment { token }),
            _ => return None,
        })
    }

    /// Whom a caller's reply address must name for this principal to answer there: only a module and
    /// the controller answer anything.
    #[must_use]
    pub fn responder(&self) -> Option<Responder> {
        match self {
            Self::Module { module, .. } => Some(Responder::Module(module.clone())),
            Self::Controller { .. } => Some(Responder::Controller),
            Self::Host { .. }
            | Self::Builder { .. }
            | Self::Person { .. }
            | Self::Enrolment { .. }
            | Self::Gateway { .. } => None,
        }
    }
}

impl From<&Credential> for Principal {
    fn from(credential: &Credential) -> Self {
        credential.principal().clone()
    }
}

impl From<&EnrolmentToken> for Principal {
    fn from(token: &EnrolmentToken) -> Self {
        Self::Enrolment { token: token.id().clone() }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module { node, module } => write!(f, "module {module} on {node}"),
            Self::Host { node } => write!(f, "host {node}"),
            Self::Builder { node } => write!(f, "builder {node}"),
            Self::Person { name } => write!(f, "person {name}"),
            Self::Controller { name } => write!(f, "controller {name}"),
            Self::Enrolment { token } => write!(f, "enrolment {token}"),
            Self::Gateway { name } => write!(f, "gateway {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_its_own_inbox() {
        let tokens = |principal: Principal| {
            let (what, which) = principal.inbox_tokens();
            (format!("{what}.{which}"), principal.responder().is_some())
        };
        let node = || NodeName::new("n1").unwrap();
        let instance = || InstanceName::new("c1").unwrap();
        let module = ModuleName::new("mail").unwrap();
        let person = PersonName::new("alice").unwrap();
        let token = TokenId::new("t0k3n").unwrap();
        for (principal, expected) in [
            (Principal::Module { node: node(), module }, ("mail.n1", true)),
            (Principal::Host { node: node() }, ("host.n1", false)),
            (Principal::Builder { node: node() }, ("builder.n1", false)),
            (Principal::Person { name: person }, ("person.alice", false)),
            (Principal::Controller { name: instance() }, ("controller.c1", true)),
            (Principal::Enrolment { token }, ("enrol.t0k3n", false)),
            (Principal::Gateway { name: instance() }, ("gateway.c1", false)),
        ] {
            assert_eq!(tokens(principal.clone()), (expected.0.to_owned(), expected.1));
            let (kind, name) = principal.inbox_tokens();
            assert_eq!(Principal::from_inbox_tokens(kind, name), Some(principal.clone()));
            if !matches!(principal, Principal::Gateway { .. }) {
                assert_eq!(Principal::from_amqp_user(&principal.amqp_user()), Some(principal));
            }
        }
    }
}
