//! What stands in a nats-server's file, as the server itself reads it.
//!
//! Whoever judges a file must read it as the server does: a setting that one of them sees and the other
//! does not is a hole. So the reader knows the part of the language in which files are composed, refuses
//! everything else (variables, other files, words that want quotes, one key twice), and gives the
//! [digest](Conf::digest) that the server would give: equal digests say that both have read the same.

mod error;
mod go_json;
mod read;
mod scan;
#[cfg(test)]
mod tests;

use std::fmt;

pub use error::ConfError;

use crate::folder::Digest;

/// A file that was read.
///
/// ```
/// use mesh_control::conf::{Conf, Value};
///
/// # fn main() -> Result<(), mesh_control::conf::ConfError> {
/// let conf = Conf::read("# a comment\nlisten: \"127.0.0.1:4222\", max_payload: 1MB\n")?;
/// let most = conf.root().field("max_payload").map(|node| (node.line, &node.value));
/// assert!(matches!(most, Some((2, Value::Integer(1_048_576)))));
/// // Comments and layout don't count.
/// assert_eq!(conf.digest(), Conf::read("max_payload = 1048576; listen: '127.0.0.1:4222'")?.digest());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq)]
pub struct Conf {
    root: Map,
}

impl Conf {
    /// Reads a whole file.
    ///
    /// # Errors
    /// Where the server would refuse it, and where it uses a part of the language that composed files
    /// don't.
    pub fn read(text: &str) -> Result<Self, ConfError> {
        read::file(text).map(|root| Self { root })
    }

    /// What stands at the top.
    #[must_use]
    pub fn root(&self) -> &Map {
        &self.root
    }

    /// The server's `config_digest` for this file.
    #[must_use]
    pub fn digest(&self) -> Digest {
        go_json::digest(&self.root)
    }
}

/// Keys with what they say, in the file's order. No two keys differ in case alone.
#[derive(Clone, Default, PartialEq)]
pub struct Map(Vec<(String, Node)>);

impl Map {
    /// What this key says, whatever its case: so the server reads the names of settings.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&Node> {
        self.iter().find(|(other, _)| other.eq_ignore_ascii_case(key)).map(|(_, node)| node)
    }

    /// Every key, in the file's order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(key, node)| (key.as_str(), node))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A value with the line on which it, or its key, begins, from 1.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Node {
    /// The line.
    pub line: u32,
    /// The value.
    pub value: Value,
}

/// What a key or an element of a list says.
///
/// Exhaustive: the language has no more.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// A text, quoted or not.
    Text(String),
    /// `true`, `yes`, `on`, and their opposites.
    Flag(bool),
    /// A whole number, with its suffix multiplied in.
    Integer(i64),
    /// A number with a point.
    Real(f64),
    /// `[…]`.
    List(Vec<Node>),
    /// `{…}`.
    Map(Map),
}

impl Value {
    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The keys, if it is a map.
    #[must_use]
    pub fn map(&self) -> Option<&Map> {
        if let Self::Map(map) = self { Some(map) } else { None }
    }

    /// Whether both say the same, on whichever lines and with their keys in whichever order.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(ours), Self::List(theirs)) => {
                let pairs = || ours.iter().zip(theirs);
                ours.len() == theirs.len()
                    && pairs().all(|(one, other)| one.value.says_the_same(&other.value))
            }
            (Self::Map(ours), Self::Map(theirs)) => {
                let same = |(key, node): (&str, &Node)| {
                    theirs.field(key).is_some_and(|other| node.value.says_the_same(&other.value))
                };
                ours.len() == theirs.len() && ours.iter().all(same)
            }
            _ => self == other,
        }
    }

    /// The elements, if it is a list.
    #[must_use]
    pub fn list(&self) -> Option<&[Node]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }
}

/// A file holds what proves users: none of it is shown.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "a text",
            Self::Flag(_) => "a flag",
            Self::Integer(_) | Self::Real(_) => "a number",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        })
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on line {}", self.value, self.line)
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl fmt::Debug for Conf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Conf").field(&self.root).finish()
    }
}
