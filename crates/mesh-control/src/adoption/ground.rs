use std::fmt;
use std::net::SocketAddr;

use mesh_core::name::SeatName;
use mesh_core::topology::SeatAddress;

use super::{Ours, Survey};
use crate::Version;

/// Why a bus can't be raised here, or a mesh's accounts not come into this server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unfit {
    /// A port that somebody listens on.
    PortTaken {
        /// What it was meant for: `bus.listen`.
        field: &'static str,
        /// Where.
        address: SocketAddr,
    },
    /// A folder for streams with something in it.
    StoreTaken {
        /// The folder.
        folder: String,
        /// What is there.
        found: String,
    },
    /// Something that can't be looked at.
    Unseen {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
    /// A server that is too old; why.
    Version(String),
    /// Data outside of all named accounts.
    Global {
        /// How many streams.
        streams: usize,
        /// How many messages.
        messages: u64,
    },
    /// Clients outside of all named accounts.
    GlobalClients(usize),
    /// Clients log in without a name.
    Anonymous,
    /// Clients connect without TLS.
    Plain,
    /// Accounts come from tokens that operators sign.
    Operators,
    /// It is one of several servers.
    Clustered,
    /// It keeps no streams.
    NoStreams,
    /// It has not the room that the mesh's streams are promised.
    NoRoom {
        /// What they may take, in bytes.
        wanted: u64,
        /// What is left.
        left: u64,
    },
    /// Its longest message is shorter than the mesh's.
    Payload {
        /// The mesh's, in bytes.
        wanted: u64,
        /// The server's.
        found: u64,
    },
    /// An account of the mesh's name that is there already.
    AccountTaken(String),
    /// The seat is somebody's on this server.
    SeatTaken {
        /// In which account.
        account: String,
        /// What is kept of the claim.
        by: String,
    },
}

impl Unfit {
    /// Its name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::PortTaken { .. } => "port-taken",
            Self::StoreTaken { .. } => "store-taken",
            Self::Unseen { .. } => "unseen",
            Self::Version(_) => "version",
            Self::Global { .. } => "global-data",
            Self::GlobalClients(_) => "global-clients",
            Self::Anonymous => "anonymous",
            Self::Plain => "plain",
            Self::Operators => "operators",
            Self::Clustered => "clustered",
            Self::NoStreams => "no-streams",
            Self::NoRoom { .. } => "no-room",
            Self::Payload { .. } => "payload",
            Self::AccountTaken(_) => "account-taken",
            Self::SeatTaken { .. } => "seat-taken",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::PortTaken { .. } => {
                "give the bus a port of its own under `[bus]`; if it is this bus that runs already, nothing is left \
                 to prepare"
            }
            Self::StoreTaken { .. } => {
                "give `bus.store_dir` a folder of its own: two servers that share one destroy it"
            }
            Self::Unseen { .. } => "see that it is there, and that this user may look at it",
            Self::Version(_) => "upgrade the server first",
            Self::Global { .. } => {
                "its owner moves it into a named account first: data in $G loses its streams at the next \
                 restart once accounts with users are there"
            }
            Self::GlobalClients(_) => "give them users in a named account first",
            Self::Anonymous => {
                "give its clients users in a named account first: once there are users, nobody without a name \
                 gets in"
            }
            Self::Plain => "its owner sets up TLS first: a password would travel as it is",
            Self::Operators => "raise a server of the mesh's own beside it",
            Self::Clustered => {
                "raise a server of the mesh's own: all servers of a cluster must agree on accounts"
            }
            Self::NoStreams => "its owner enables JetStream first",
            Self::NoRoom { .. } => "its owner gives JetStream more room first",
            Self::Payload { .. } => "its owner raises max_payload first",
            Self::AccountTaken(_) => "choose another `account_prefix` under `[bus]`",
            Self::SeatTaken { .. } => "a seat has one holder: raise a server of this mesh's own",
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortTaken { field, address } => {
                write!(f, "{field}: somebody listens on {address} already")
            }
            Self::StoreTaken { folder, found } => {
                write!(f, "bus.store_dir: {folder} is not empty: {found} is there")
            }
            Self::Unseen { what, why } => write!(f, "{what} can't be looked at: {why}"),
            Self::Version(why) => f.write_str(why),
            Self::Global { streams, messages } => write!(
                f,
                "{streams} streams with {messages} messages are in no named account, but in $G"
            ),
            Self::GlobalClients(count) => {
                write!(f, "{count} clients are in no named account, but in $G")
            }
            Self::Anonymous => f.write_str("its clients need not log in"),
            Self::Plain => f.write_str("its clients need not use TLS"),
            Self::Operators => f.write_str("its accounts come from tokens that operators sign"),
            Self::Clustered => f.write_str("it is one server of a cluster"),
            Self::NoStreams => f.write_str("it keeps no streams"),
            Self::NoRoom { wanted, left } => {
                write!(f, "the mesh's streams may take {wanted} bytes on disk, and {left} are left")
            }
            Self::Payload { wanted, found } => write!(
                f,
                "it takes messages of at most {found} bytes, and the mesh's may have {wanted}"
            ),
            Self::AccountTaken(name) => write!(f, "it has an account {name} already"),
            Self::SeatTaken { account, by } => {
                write!(f, "the seat {} is taken in the account {account}: {by}", SeatName::broker())
            }
        }
    }
}

/// What a mesh needs of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what is asked for, and no more")]
pub struct Wanted {
    /// Its accounts.
    pub ours: Ours,
    /// The bytes of its longest message.
    pub max_payload: u64,
    /// The bytes that its streams may take on disk.
    pub storage: u64,
}

/// Why a mesh's accounts can't come into this server; nothing, where they can. It must be seen before they are
/// there.
#[must_use]
pub fn into(survey: &Survey, wanted: &Wanted) -> Vec<Unfit> {
    let server = &survey.server;
    let mut found = Vec::new();
    match Version::parse(&server.version) {
        Some(version) => found.extend(version.refusal().map(Unfit::Version)),
        None => found.push(Unfit::Version(format!("{:?} is no version", server.version))),
    }
    if let Some(streams) = survey.streams.get("$G") {
        let messages = streams.values().map(|stream| stream.messages).sum();
        found.push(Unfit::Global { streams: streams.len(), messages });
    }
    let in_global = |account: &str| matches!(account, "$G" | "");
    let clients = survey.connections.values().filter(|one| in_global(&one.account)).count();
    if clients > 0 {
        found.push(Unfit::GlobalClients(clients));
    }
    if !server.auth_required {
        found.push(Unfit::Anonymous);
    }
    if !server.tls_required {
        found.push(Unfit::Plain);
    }
    if server.by_operators {
        found.push(Unfit::Operators);
    }
    if server.clustered {
        found.push(Unfit::Clustered);
    }
    match server.storage {
        None => found.push(Unfit::NoStreams),
        Some(all) => {
            let left = all.saturating_sub(server.taken);
            if left < wanted.storage {
                found.push(Unfit::NoRoom { wanted: wanted.storage, left });
            }
        }
    }
    if server.max_payload < wanted.max_payload {
        let (wanted, found_there) = (wanted.max_payload, server.max_payload);
        found.push(Unfit::Payload { wanted, found: found_there });
    }
    let taken = wanted.ours.accounts.iter().filter(|name| survey.accounts.contains(*name));
    found.extend(taken.cloned().map(Unfit::AccountTaken));
    found.extend(seated(survey).into_iter().map(|(account, by)| Unfit::SeatTaken { account, by }));
    found
}

/// Who has the broker's seat on this server: the account, and what is kept of the claim there. Several only where
/// several meshes were let in by hand.
#[must_use]
pub fn seated(survey: &Survey) -> Vec<(String, String)> {
    let seat = SeatAddress::of(SeatName::broker()).stream();
    let held = survey.streams.iter().filter_map(|(account, streams)| {
        let stream = streams.get(&seat)?;
        let by = stream.config["description"].as_str().unwrap_or("nothing is said of it");
        Some((account.clone(), by.to_owned()))
    });
    held.collect()
}
