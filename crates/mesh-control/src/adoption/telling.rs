//! The server's own words on its monitoring port.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::survey::{Connected, ConsumerFacts, ServerFacts, StreamFacts};

#[derive(Deserialize)]
pub(super) struct Varz {
    server_id: String,
    server_name: String,
    version: String,
    start: String,
    config_digest: Option<String>,
    #[serde(default)]
    auth_required: bool,
    #[serde(default)]
    tls_required: bool,
    #[serde(default)]
    trusted_operators_jwt: Vec<String>,
    #[serde(default)]
    trusted_operators_claim: Vec<Value>,
    #[serde(default)]
    cluster: Value,
    max_payload: u64,
    #[serde(default)]
    jetstream: Jetstream,
}

#[derive(Default, Deserialize)]
struct Jetstream {
    config: Option<JetstreamConfig>,
    stats: Option<JetstreamStats>,
}

#[derive(Deserialize)]
struct JetstreamConfig {
    #[serde(default)]
    max_storage: u64,
}

#[derive(Deserialize)]
struct JetstreamStats {
    #[serde(default)]
    storage: u64,
    #[serde(default)]
    reserved_storage: u64,
}

impl From<Varz> for ServerFacts {
    fn from(varz: Varz) -> Self {
        let stats = varz.jetstream.stats;
        Self {
            id: varz.server_id,
            name: varz.server_name,
            version: varz.version,
            start: varz.start,
            config_digest: varz.config_digest,
            auth_required: varz.auth_required,
            tls_required: varz.tls_required,
            by_operators: !varz.trusted_operators_jwt.is_empty()
                || !varz.trusted_operators_claim.is_empty(),
            clustered: varz.cluster.as_object().is_some_and(|cluster| !cluster.is_empty()),
            max_payload: varz.max_payload,
            storage: varz.jetstream.config.map(|config| config.max_storage),
            taken: stats.map_or(0, |stats| stats.storage.max(stats.reserved_storage)),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Accountz {
    pub(super) accounts: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Jsz {
    #[serde(default)]
    account_details: Vec<AccountDetail>,
}

#[derive(Deserialize)]
struct AccountDetail {
    name: String,
    #[serde(default)]
    stream_detail: Vec<StreamDetail>,
}

#[derive(Deserialize)]
struct StreamDetail {
    name: String,
    created: String,
    #[serde(default)]
    config: Value,
    state: StreamState,
    #[serde(default)]
    consumer_detail: Vec<ConsumerDetail>,
}

#[derive(Deserialize)]
struct StreamState {
    messages: u64,
    last_seq: u64,
}

#[derive(Deserialize)]
struct ConsumerDetail {
    name: String,
    created: String,
    delivered: Position,
    ack_floor: Position,
}

#[derive(Deserialize)]
struct Position {
    consumer_seq: u64,
}

impl Jsz {
    pub(super) fn streams(self) -> BTreeMap<String, BTreeMap<String, StreamFacts>> {
        let accounts = self.account_details.into_iter().filter_map(|account| {
            let streams: BTreeMap<String, StreamFacts> = account
                .stream_detail
                .into_iter()
                .map(|stream| (stream.name.clone(), stream.into()))
                .collect();
            (!streams.is_empty()).then_some((account.name, streams))
        });
        accounts.collect()
    }
}

impl From<StreamDetail> for StreamFacts {
    fn from(stream: StreamDetail) -> Self {
        let consumers = stream.consumer_detail.into_iter().map(|consumer| {
            let facts = ConsumerFacts {
                created: consumer.created,
                delivered: consumer.delivered.consumer_seq,
                settled: consumer.ack_floor.consumer_seq,
            };
            (consumer.name, facts)
        });
        Self {
            created: stream.created,
            config: stream.config,
            messages: stream.state.messages,
            last: stream.state.last_seq,
            consumers: consumers.collect(),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Connz {
    pub(super) connections: Vec<Connection>,
}

#[derive(Deserialize)]
pub(super) struct Connection {
    pub(super) cid: u64,
    start: String,
    #[serde(default)]
    authorized_user: String,
    #[serde(default)]
    account: String,
    #[serde(default)]
    subscriptions_list: Vec<String>,
    /// Why it has ended.
    #[serde(default)]
    pub(super) reason: String,
}

impl From<Connection> for Connected {
    fn from(one: Connection) -> Self {
        Self {
            start: one.start,
            user: one.authorized_user,
            account: one.account,
            subscriptions: one.subscriptions_list.into_iter().collect(),
        }
    }
}
