use std::fmt;
use std::net::SocketAddr;

use mesh_core::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Digest;

/// What became of the composed file, as the supervisor says it in `reload.json`.
///
/// It is written when the server has started, after each file that was looked at, and at the end.
///
/// ```json
/// { "schema": "mesh.bus.reload/1", "at": "2026-11-30T19:00:00.000Z", "outcome": "refused",
///   "file": "sha256:…", "digest": "sha256:…", "running": "sha256:…", "pid": 31, "version": "2.15.1",
///   "monitor": "127.0.0.1:8222", "error": "nats-server.conf:7: unknown field \"publsh\"" }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReloadReport {
    /// `mesh.bus.reload/1`. A key may be added to a version.
    pub schema: String,
    /// When this became so.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub at: Timestamp,
    /// What became of the file that was looked at last.
    pub outcome: Outcome,
    /// The [digest of the bytes](Digest::of) of the file that was looked at last; none if there was none.
    pub file: Option<Digest>,
    /// The server's `config_digest`, as it said itself, of what it runs with.
    pub digest: Option<Digest>,
    /// The digest of the bytes of the file that it runs with.
    pub running: Option<Digest>,
    /// The server's process, if it runs.
    pub pid: Option<u32>,
    /// Which nats-server it is.
    pub version: Option<String>,
    /// Where it tells of itself, over plain HTTP on loopback.
    pub monitor: Option<SocketAddr>,
    /// Why the file is not live: for people, in the server's own words where it has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is not good, and no reason to keep the file from the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What became of a composed file.
///
/// Exhaustive: who waits for a file must decide on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The server runs with it, and says so.
    Live,
    /// It is bad. The server runs with the one before.
    Refused,
    /// It changes what only a restart can change. The server runs with the one before, until its operator
    /// restarts it.
    NeedsRestart,
    /// There is none. The server runs with the one before.
    Missing,
    /// The server has it, and did not say in time that it runs with it.
    Unconfirmed,
    /// The server has ended.
    Ended,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Live => "live",
            Self::Refused => "refused",
            Self::NeedsRestart => "needs-restart",
            Self::Missing => "missing",
            Self::Unconfirmed => "unconfirmed",
            Self::Ended => "ended",
        })
    }
}

impl ReloadReport {
    /// What [`schema`](Self::schema) says.
    pub const SCHEMA: &'static str = "mesh.bus.reload/1";

    /// A report of a file, that knows nothing yet of a server.
    #[must_use]
    pub fn new(at: Timestamp, outcome: Outcome, file: Option<Digest>) -> Self {
        Self {
            schema: Self::SCHEMA.to_owned(),
            at,
            outcome,
            file,
            digest: None,
            running: None,
            pid: None,
            version: None,
            monitor: None,
            error: None,
            warnings: Vec::new(),
        }
    }
}

fn as_text<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}
