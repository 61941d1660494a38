//! `[bus]` of a mesh file: the server that carries the mesh, and how its accounts are made.

mod read;
mod text;

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::permissions::Answers;

pub(super) use read::{RawBus, bus};
#[cfg(test)]
pub(super) use read::{RawLimits, RawResponses, RawTls};
pub use text::ConfigText;

/// What `accept_one_account` must say, word for word, where `isolation` is `one-account`.
pub const ONE_ACCOUNT_SENTENCE: &str =
    "any user who may acknowledge a message can delete every stream of this mesh";

/// The server that carries the mesh, and how its accounts are made (protocol §4). Everything has a
/// default: a mesh file without `[bus]` means [`Bus::default`].
///
/// ```
/// use mesh_core::manifest::{Isolation, MeshFile};
///
/// let file = MeshFile::parse("mesh.toml", "nodes = []\n[bus]\nlisten = '10.0.0.1:4222'")?;
/// assert_eq!(file.bus.isolation, Isolation::Split);
/// assert_eq!(file.bus.listen.port(), 4222);
/// # Ok::<(), mesh_core::manifest::Problems>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bus {
    /// The server's name, `bus` unless told: small letters, digits and `-`.
    pub name: ConfigText,
    /// What the names of its accounts begin with, nothing unless told: capital letters, digits and `_`.
    /// A server that has other people's accounts too may need one.
    pub account_prefix: ConfigText,
    /// How far who does not need the streams is kept from them.
    pub isolation: Isolation,
    /// How who serves may answer. An answer's budget lasts at least as long as `expires`, and as long as
    /// the module's slowest tool may take.
    pub answers: Answers,
    /// What proves who somebody is.
    pub secrets: SecretKind,
    /// The cost of a password's hash, 4 unless told: each connection and each reload pays for it, and a
    /// password of 128 random bits needs no more.
    pub bcrypt_cost: u8,
    /// Where clients reach the server, `127.0.0.1:4222` unless told. There is TLS alone.
    pub listen: SocketAddr,
    /// Where the server tells of itself in plain HTTP: always on loopback, `127.0.0.1:8222` unless told.
    pub monitor: SocketAddr,
    /// Its certificate.
    pub tls: Tls,
    /// Where its streams are kept, `jetstream` unless told. A relative path begins at the bus's folder.
    pub store_dir: ConfigText,
    /// What nobody may exceed.
    pub limits: Limits,
    /// How long who connects has for logging in, 30 s unless told. When all come back at once, the last
    /// of them waits for everybody else's hash.
    pub authorization_timeout: Duration,
}

/// How far who does not need the streams is kept from them (protocol §4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "two layouts, of which accounts are composed")]
pub enum Isolation {
    /// The streams and the controller are in the account BUS, everybody else in EDGE.
    #[default]
    Split,
    /// Everybody is in one account, MESH: who may acknowledge can delete any stream.
    OneAccount,
}

/// What proves who a user is (protocol §4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "what the server's file may hold of a user")]
pub enum SecretKind {
    /// A password, of which the file holds a bcrypt hash.
    #[default]
    Bcrypt,
    /// A signature, of which the file holds the public key.
    NKey,
}

/// The server's certificate. Relative paths begin at the bus's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tls {
    /// The certificate and what signed it, PEM; `tls/cert.pem` unless told.
    pub cert: ConfigText,
    /// Its key, PEM; `tls/key.pem` unless told.
    pub key: ConfigText,
}

/// What nobody may exceed. Each is a number of things, or of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Connections that the server takes, 65 536 unless told.
    pub connections: u32,
    /// Connections in EDGE, 60 000 unless told: always fewer than the server's, so that the controller
    /// gets in. Only in the split layout.
    pub edge_connections: u32,
    /// Subscriptions of each connection, 2 000 000 unless told.
    pub subscriptions: u32,
    /// Subscriptions of each connection in EDGE, 1 000 000 unless told: fewer than the server's.
    pub edge_subscriptions: u32,
    /// Bytes of a message with its headers, 1 MiB unless told, and at least that.
    pub max_payload: u32,
    /// Bytes of the streams on disk, 8 GiB unless told.
    pub file_store: u64,
    /// Bytes of streams in memory, 64 MiB unless told: the mesh has none.
    pub memory_store: u64,
}

impl Default for Bus {
    fn default() -> Self {
        let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self {
            name: ConfigText::fixed("bus"),
            account_prefix: ConfigText::fixed(""),
            isolation: Isolation::default(),
            answers: Answers::default(),
            secrets: SecretKind::default(),
            bcrypt_cost: 4,
            listen: local(4222),
            monitor: local(8222),
            tls: Tls::default(),
            store_dir: ConfigText::fixed("jetstream"),
            limits: Limits::default(),
            authorization_timeout: Duration::from_secs(30),
        }
    }
}

impl Default for Tls {
    fn default() -> Self {
        Self { cert: ConfigText::fixed("tls/cert.pem"), key: ConfigText::fixed("tls/key.pem") }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 65_536,
            edge_connections: 60_000,
            subscriptions: 2_000_000,
            edge_subscriptions: 1_000_000,
            max_payload: 1024 * 1024,
            file_store: 8 * 1024 * 1024 * 1024,
            memory_store: 64 * 1024 * 1024,
        }
    }
}
