//! How a bucket's stream is made, and whether one that is there will do.

use std::time::Duration;

use mesh_core::port::Operation;
use mesh_core::store::{StoreError, StoreErrorKind};
use mesh_core::topology::BucketAddress;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{NatsState, failure};
use crate::api_error::{ApiError, Malformed};
use crate::link::deadline;
use crate::port::ask;

/// What stands beside a value in a stored message: headers, which the server counts with it.
pub(super) const BESIDE: usize = 512;
/// How long a notice of an expiry is kept: it is told at once, and the server takes no less.
const NOTICE: Duration = Duration::from_secs(1);
/// For how long the server knows a writing again that is sent again.
pub(super) const WINDOW: Duration = Duration::from_secs(120);

/// How a bucket is kept. Its entries expire one by one, by the server; when it is full, new keys are
/// refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made with `..BucketSettings::default()`")]
pub struct BucketSettings {
    /// How many bytes of keys, values and headers together. An entry takes some 250 beside its value.
    /// 256 MiB unless told.
    pub max_bytes: u64,
    /// How many bytes one value may have. 64 KiB unless told.
    pub max_value: usize,
    /// Where it is kept. On the disk unless told.
    pub storage: BucketStorage,
    /// By how many servers of a cluster. One unless told.
    pub replicas: u8,
}

/// Where a bucket is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BucketStorage {
    /// On the server's disk.
    File,
    /// In its memory: a restart of all its servers forgets it.
    Memory,
}

impl Default for BucketSettings {
    fn default() -> Self {
        let storage = BucketStorage::File;
        Self { max_bytes: 256 << 20, max_value: 64 << 10, storage, replicas: 1 }
    }
}

/// What the port's contract rests on.
fn rules(bucket: &BucketAddress) -> Value {
    let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    json!({
        "subjects": [bucket.entries().as_str()],
        "retention": "limits",
        // One entry for each key; none is pushed out.
        "max_msgs_per_subject": 1,
        "discard": "new",
        "max_msgs": -1,
        // Each entry has an end of its own, and its end is told.
        "max_age": 0,
        "allow_msg_ttl": true,
        "subject_delete_marker_ttl": nanos(NOTICE),
        "duplicate_window": nanos(WINDOW),
        // Who watches needs no consumer.
        "republish": { "src": bucket.entries().as_str(), "dest": bucket.changes().as_str() },
    })
}

pub(super) async fn create(
    state: &NatsState,
    bucket: &BucketAddress,
    settings: BucketSettings,
) -> Result<(), StoreError> {
    let mut config = rules(bucket);
    let storage = match settings.storage {
        BucketStorage::File => "file",
        BucketStorage::Memory => "memory",
    };
    for (name, value) in [
        ("name", json!(bucket.stream())),
        ("storage", json!(storage)),
        ("num_replicas", json!(settings.replicas)),
        ("max_bytes", json!(settings.max_bytes)),
        ("max_msg_size", json!(settings.max_value.saturating_add(BESIDE))),
        // Nobody has the right to make one, and none is needed.
        ("max_consumers", json!(1)),
        ("deny_delete", json!(true)),
    ] {
        config[name] = value;
    }
    let subject = bucket.create();
    let body = config.to_string().into_bytes();
    let due = deadline(state.timeout);
    let answer = call(state, Operation::Assert, subject.as_str(), body, due).await?;
    match read(&answer)
        .map_err(|error| failure::unclear(Operation::Assert, subject.as_str(), error))?
    {
        Ok(Info { .. }) => Ok(()),
        Err(ApiError { err_code: ApiError::STREAM_EXISTS, .. }) => {
            let found = inspect(state, bucket, due).await?;
            differences(&config, &found.config).map_or(Ok(()), Err)
        }
        Err(refused) => Err(failure::refused(Operation::Assert, subject.as_str(), &refused)),
    }
}

/// What the server says of a bucket's stream.
#[derive(Debug, Deserialize)]
pub(super) struct Info {
    pub(super) config: Value,
    pub(super) state: Numbers,
}

#[derive(Debug, Deserialize)]
pub(super) struct Numbers {
    pub(super) first_seq: u64,
    pub(super) last_seq: u64,
}

pub(super) async fn inspect(
    state: &NatsState,
    bucket: &BucketAddress,
    due: Instant,
) -> Result<Info, StoreError> {
    let subject = bucket.inspect();
    let answer = call(state, Operation::Inspect, subject.as_str(), Vec::new(), due).await?;
    read(&answer)
        .map_err(|error| failure::unclear(Operation::Inspect, subject.as_str(), error))?
        .map_err(|refused| failure::refused(Operation::Inspect, subject.as_str(), &refused))
}

/// How many bytes a value may have in a bucket that keeps the contract.
pub(super) fn largest(bucket: &BucketAddress, info: &Info) -> Result<usize, StoreError> {
    if let Some(wrong) = differences(&rules(bucket), &info.config) {
        return Err(wrong);
    }
    match info.config.get("max_msg_size").and_then(Value::as_u64) {
        Some(bytes) => Ok(usize::try_from(bytes).unwrap_or(usize::MAX).saturating_sub(BESIDE)),
        // Not bounded, but by what the server takes at all.
        None => Ok(usize::MAX),
    }
}

/// The first setting that is another than wanted.
fn differences(wanted: &Value, found: &Value) -> Option<StoreError> {
    let wanted = wanted.as_object()?;
    let (name, value) = wanted.iter().find(|(name, value)| {
        // The server leaves out what is as it is anyway.
        found.get(name.as_str()).unwrap_or(&Value::Null) != *value
            && !is_default(value, found, name)
    })?;
    let has = found.get(name.as_str()).unwrap_or(&Value::Null);
    let detail = format!("the bucket was made otherwise: {name} is {has}, not {value}");
    Some(StoreError::new(StoreErrorKind::Other, detail))
}

fn is_default(wanted: &Value, found: &Value, name: &str) -> bool {
    found.get(name).is_none() && [json!(0), json!(false), json!(-1)].contains(wanted)
}

/// Asks the server's API, again where the connection is lost meanwhile.
pub(crate) async fn call(
    state: &NatsState,
    operation: Operation,
    subject: &str,
    body: Vec<u8>,
    due: Instant,
) -> Result<bytes::Bytes, StoreError> {
    let link = state.owner.link();
    link.line.check_open(operation).map_err(failure::of)?;
    loop {
        let session = link.line.session_for(operation, subject, due).await.map_err(failure::of)?;
        match ask(&session, operation, subject, body.clone(), due).await {
            Err(error) if session.is_lost_by(&error, due).await => {}
            answer => return answer.map_err(failure::of),
        }
    }
}

#[derive(Deserialize)]
struct Outcome {
    error: Option<ApiError>,
}

/// Reads an answer, or the refusal in its place.
pub(crate) fn read<T: serde::de::DeserializeOwned>(
    answer: &[u8],
) -> Result<Result<T, ApiError>, Malformed> {
    let outcome: Outcome = serde_json::from_slice(answer)?;
    match outcome.error {
        Some(refused) => Ok(Err(refused)),
        None => Ok(Ok(serde_json::from_slice(answer)?)),
    }
}
