use std::fmt;
use std::sync::Arc;

use super::{NameError, NameProblem, grammar};

/// Module names that would collide with inbox prefixes, dead letters or AMQP names.
const RESERVED_MODULES: &[&str] = &[
    "person",
    "enrol",
    "host",
    "builder",
    "controller",
    "dead",
    "answer",
    "ack",
    "echo",
    "js",
    "replay",
    "events",
];

/// Node names that would collide with control subjects or AMQP users and queues.
const RESERVED_NODES: &[&str] = &[
    "enrol",
    "built",
    "person",
    "host",
    "builder",
    "controller",
    "serve",
    "reply",
    "node",
    "mesh",
    "replay",
];

/// `provision_grant` and `provision_withdraw` are tools that only the controller calls; they are
/// legal names. `events` is not: it would make a module's tool queue look like its event queue.
const RESERVED_TOOLS: &[&str] = &["events"];

fn unless_reserved(text: &str, reserved: &[&str]) -> Result<(), NameProblem> {
    if reserved.contains(&text) { Err(NameProblem::Reserved) } else { Ok(()) }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `text` against the grammar.
            ///
            /// # Errors
            /// [`NameError`] with the kind of name, the character and its byte offset.
            pub fn new(text: impl AsRef<str>) -> Result<Self, NameError> {
                let text = text.as_ref();
                let check: fn(&str) -> Result<(), NameProblem> = $check;
                match check(text) {
                    Ok(()) => Ok(Self(Arc::from(text))),
                    Err(problem) => Err(NameError { kind: $kind, problem }),
                }
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), &*self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = NameError;
            fn try_from(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::new(text).map_err(serde::de::Error::custom)
            }
        }
    };
}

name_type!(
    /// A machine of the mesh: `[a-z0-9][a-z0-9-]{0,62}`, one subject token, not reserved.
    NodeName, "node name", |text| {
        grammar::label(text)?;
        unless_reserved(text, RESERVED_NODES)
    }
);

name_type!(
    /// A service of the mesh: `[a-z0-9][a-z0-9-]{0,62}`, one subject token, not reserved.
    ModuleName, "module name", |text| {
        grammar::label(text)?;
        unless_reserved(text, RESERVED_MODULES)
    }
);

name_type!(
    /// A person who may call tools: `[a-z0-9][a-z0-9-]{0,62}`.
    PersonName, "person name", grammar::label
);

name_type!(
    /// A controller, a gateway or a broker in the process, where there may be several: the
    /// grammar of a node, nothing reserved.
    InstanceName, "instance name", grammar::label
);

name_type!(
    /// Something that a module provides an instance of to others: the grammar of a tool.
    ProvisionName, "provision name", grammar::word
);

name_type!(
    /// A part of a mesh's foundation that exactly one module on one node has, named after what it does and not
    /// after the product: `mesh-broker`. The grammar of a node, nothing reserved.
    SeatName, "seat name", grammar::label
);

name_type!(
    /// A tool of a module: `[A-Za-z0-9][A-Za-z0-9_-]{0,62}`, one subject token.
    ToolName, "tool name", |text| {
        grammar::word(text)?;
        unless_reserved(text, RESERVED_TOOLS)
    }
);

name_type!(
    /// A command that a node asks of the controller; the grammar of a tool.
    CommandName, "command name", grammar::word
);

name_type!(
    /// An event of a module: one or more tokens of the tool grammar joined by `.`, ≤ 200 bytes.
    EventName, "event name", grammar::words
);

name_type!(
    /// The id of an enrolment token: the grammar of a node, one subject token.
    TokenId, "token id", grammar::label
);

name_type!(
    /// A tenant of the federation: UTF-8, verbatim and case-sensitive, labels joined by `.`,
    /// none of `/ * > # %`, white space or control characters, short enough that each of its
    /// topics stays within 255 bytes (protocol §1, §8).
    RealmName, "realm name", grammar::realm
);

impl InstanceName {
    /// What the first of several is called, and the only one where there is one: `c1`.
    #[must_use]
    pub fn first() -> Self {
        Self(Arc::from("c1"))
    }
}

impl RealmName {
    /// For text that this grammar was checked on already.
    pub(crate) fn from_checked(text: &str) -> Self {
        debug_assert_eq!(grammar::realm(text), Ok(()), "{text}");
        Self(Arc::from(text))
    }
}

name_type!(
    /// A durable consumer: `<node>_<module>` for a module, or the name of the one consumer of a
    /// stream (`controller`, `builder`, a node's name). One subject token.
    ConsumerName, "consumer name", |text| one_or_two_labels(text, '_')
);

name_type!(
    /// A user of a broker, as it is composed: `mail.n1`, `person.ada`, `host.n1`, `controller-edge`. One or two
    /// labels with a `.` between them, so it can be a file's name, too.
    UserName, "user name", |text| one_or_two_labels(text, '.')
);

fn one_or_two_labels(text: &str, between: char) -> Result<(), NameProblem> {
    let Some((first, second)) = text.split_once(between) else {
        return grammar::label(text);
    };
    grammar::label(first)?;
    grammar::label(second).map_err(|problem| match problem {
        NameProblem::Character { found, offset } => {
            NameProblem::Character { found, offset: offset + first.len() + 1 }
        }
        NameProblem::Empty { offset } => NameProblem::Empty { offset: offset + first.len() + 1 },
        other => other,
    })
}

impl TokenId {
    /// An id that names `node` and can't be guessed: `<node>-<32 hexadecimal digits>`, the node's name
    /// cut where both together would be too long.
    #[must_use]
    pub fn from_random(node: &NodeName, random: u128) -> Self {
        let most = 63 - 33;
        let node = &node.as_str()[..node.as_str().len().min(most)];
        Self(Arc::from(format!("{node}-{random:032x}")))
    }
}

impl SeatName {
    /// Whoever has it is the bus of the mesh: `mesh-broker`.
    #[must_use]
    pub fn broker() -> Self {
        Self(Arc::from("mesh-broker"))
    }
}

impl ToolName {
    /// For the literals of this crate.
    pub(crate) fn fixed(name: &str) -> Self {
        debug_assert!(Self::new(name).is_ok(), "{name}");
        Self(Arc::from(name))
    }
}

impl ConsumerName {
    /// The consumer of events of `module` on `node`: `<node>_<module>`.
    #[must_use]
    pub fn of_module(node: &NodeName, module: &ModuleName) -> Self {
        Self(Arc::from(format!("{node}_{module}")))
    }

    /// For the literals of this crate.
    pub(crate) fn fixed(name: &str) -> Self {
        debug_assert!(Self::new(name).is_ok(), "{name}");
        Self(Arc::from(name))
    }

    /// The consumer of declarations of `node`.
    #[must_use]
    pub fn of_node(node: &NodeName) -> Self {
        Self(Arc::from(node.as_str()))
    }

    /// The node and module, where this is a module's consumer.
    #[must_use]
    pub fn module(&self) -> Option<(NodeName, ModuleName)> {
        let (node, module) = self.0.split_once('_')?;
        Some((NodeName::new(node).ok()?, ModuleName::new(module).ok()?))
    }
}
