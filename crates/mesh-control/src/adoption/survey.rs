//! What a nats-server tells of itself, as far as adoption needs it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::telling::{Accountz, Connz, Jsz, Varz};
use crate::supervisor::{Monitor, MonitorError};

/// A nats-server at one moment: who is connected, and what it keeps for whom. It is written down before a change
/// and read again after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Survey {
    /// The server.
    pub server: ServerFacts,
    /// All its accounts, its own and `$G` among them.
    pub accounts: BTreeSet<String>,
    /// What it keeps, by account and stream. An account with nothing in it is not there.
    pub streams: BTreeMap<String, BTreeMap<String, StreamFacts>>,
    /// Who is connected, by the number of the connection.
    pub connections: BTreeMap<u64, Connected>,
    /// Connections that have ended, as far as it remembers, with the reason that it gives.
    #[serde(default)]
    pub ended: BTreeMap<u64, String>,
}

/// The server itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerFacts {
    /// Which it is: another at each start.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Which nats-server.
    pub version: String,
    /// When it started.
    pub start: String,
    /// The digest of what it has read.
    pub config_digest: Option<String>,
    /// Whether clients must log in.
    pub auth_required: bool,
    /// Whether clients must use TLS.
    pub tls_required: bool,
    /// Whether accounts come from tokens that operators sign.
    pub by_operators: bool,
    /// Whether it is one of several.
    pub clustered: bool,
    /// The longest message, in bytes.
    pub max_payload: u64,
    /// What its streams may take on disk, where it keeps any.
    pub storage: Option<u64>,
    /// What of that is taken, or promised.
    pub taken: u64,
}

/// A stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamFacts {
    /// When it was made.
    pub created: String,
    /// How it is configured, as the server says it.
    pub config: Value,
    /// How many messages it keeps.
    pub messages: u64,
    /// The number of the last that it was ever given.
    pub last: u64,
    /// Its consumers, by name.
    pub consumers: BTreeMap<String, ConsumerFacts>,
}

/// A consumer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConsumerFacts {
    /// When it was made.
    pub created: String,
    /// How many deliveries it has made.
    pub delivered: u64,
    /// Up to which delivery all are settled.
    pub settled: u64,
}

/// A connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Connected {
    /// When it began.
    pub start: String,
    /// Whom it is logged in as; empty without a name.
    pub user: String,
    /// In which account.
    pub account: String,
    /// What it listens to.
    pub subscriptions: BTreeSet<String>,
}

/// How many connections are asked for at once.
const PAGE: usize = 4096;

impl Survey {
    /// Asks a server by its monitoring port.
    ///
    /// # Errors
    /// [`MonitorError`]: a server that can't be seen is not adopted.
    pub async fn of(monitor: &Monitor) -> Result<Self, MonitorError> {
        let varz: Varz = monitor.get("/varz").await?;
        let accountz: Accountz = monitor.get("/accountz").await?;
        let jsz: Jsz = monitor
            .get("/jsz?accounts=true&streams=true&consumers=true&config=true&limit=1000000")
            .await?;
        let mut connections = BTreeMap::new();
        let mut offset = 0;
        loop {
            let path = format!("/connz?auth=true&subs=true&limit={PAGE}&offset={offset}");
            let page: Connz = monitor.get(&path).await?;
            let count = page.connections.len();
            connections.extend(page.connections.into_iter().map(|one| (one.cid, one.into())));
            offset += count;
            if count < PAGE {
                break;
            }
        }
        let ended: Connz = monitor.get("/connz?state=closed&limit=100000").await?;
        let ended = ended.connections.into_iter().map(|one| (one.cid, one.reason));
        Ok(Self {
            server: varz.into(),
            accounts: accountz.accounts.into_iter().collect(),
            streams: jsz.streams(),
            connections,
            ended: ended.collect(),
        })
    }

    /// The stream of an account.
    #[must_use]
    pub fn stream(&self, account: &str, name: &str) -> Option<&StreamFacts> {
        self.streams.get(account)?.get(name)
    }
}
