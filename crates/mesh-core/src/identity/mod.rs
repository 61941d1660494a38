//! Who speaks on a connection.

use crate::name::{ModuleName, NodeName, PersonName, TokenId};

/// Whoever has an account on the broker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Principal {
    /// A module on a node.
    Module {
        /// Where it runs.
        node: NodeName,
        /// Which it is.
        module: ModuleName,
    },
    /// The host of a node.
    Host {
        /// The node.
        node: NodeName,
    },
    /// The build machine.
    Builder {
        /// The node it runs on.
        node: NodeName,
    },
    /// A person.
    Person {
        /// Their name.
        name: PersonName,
    },
    /// The controller.
    Controller {
        /// Which of its instances.
        name: PersonName,
    },
    /// Whoever holds an enrolment token.
    Enrolment {
        /// The token's id.
        token: TokenId,
    },
    /// A realm's gateway on a backbone.
    Gateway {
        /// The gateway's name.
        name: PersonName,
    },
}

impl Principal {
    /// The two tokens of its inbox: `_INBOX.<kind or module>.<node or name>` (protocol §4).
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
}
