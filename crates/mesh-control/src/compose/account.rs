use std::fmt::{self, Display};

/// The accounts of a mesh's server (protocol §4), by what they are called on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Account {
    /// Is the server's own: its events and requests. Nothing of the mesh is in it, and nobody logs in to it.
    Sys,
    /// Has the streams, and the controller.
    Bus,
    /// Has everybody else: tools, asks and answers stay in it.
    Edge,
    /// Has everybody and everything, where nothing is split.
    Mesh,
    /// Has gateways of realms, and nothing of the mesh. It is written only where it has users.
    Backbone,
    /// Has what the gateways of one realm share, and nobody else: the realm's number. It is written only
    /// where it has users.
    State(u16),
    /// Is the bus inside a realm, of the realm of this number, and has nothing else. It is written only
    /// where it has users.
    Realm(u8),
}

impl Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sys => f.write_str("SYS"),
            Self::Bus => f.write_str("BUS"),
            Self::Edge => f.write_str("EDGE"),
            Self::Mesh => f.write_str("MESH"),
            Self::Backbone => f.write_str("BACKBONE"),
            Self::State(realm) => write!(f, "STATE_{realm}"),
            Self::Realm(number) => write!(f, "REALM{number}"),
        }
    }
}
