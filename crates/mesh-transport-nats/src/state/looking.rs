//! What is stored under a key, as the stream's leader has it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use mesh_core::port::Operation;
use mesh_core::store::{Entry, Revision, StoreError, StoreErrorKind, StoreKey};
use mesh_core::topology::BucketAddress;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::{NatsState, failure, settings};
use crate::api_error::ApiError;

/// How the server marks what is no entry any more: a removal, and its own notice of an expiry.
pub(super) const OPERATION: &str = "KV-Operation";
pub(super) const MARKER: &str = "Nats-Marker-Reason";
const MESSAGE_ID: &str = "Nats-Msg-Id";

/// What is stored last under a key.
#[derive(Debug)]
pub(super) struct Found {
    /// Nothing, where it is stored under what is no key of ours: somebody else's, and passed over.
    pub(super) key: Option<StoreKey>,
    pub(super) revision: Revision,
    /// Nothing, where that is the notice of an end.
    pub(super) value: Option<Bytes>,
    /// Which writing it was, as its writer named it.
    pub(super) id: Option<String>,
}

impl Found {
    pub(super) fn into_entry(self) -> Option<Entry> {
        let revision = self.revision;
        self.value.map(|value| Entry { value, revision })
    }
}

/// What is stored last under `key`, whatever it is.
pub(super) async fn last(
    state: &NatsState,
    bucket: &BucketAddress,
    key: &StoreKey,
    due: Instant,
) -> Result<Option<Found>, StoreError> {
    let entry = bucket.entry(key);
    let found = look(state, bucket, &json!({ "last_by_subj": entry.as_str() }), due).await?;
    match found {
        Some(found) if found.key.as_ref() != Some(key) => {
            Err(damaged("the server answers with another key"))
        }
        found => Ok(found),
    }
}

/// What is stored first from that number on.
pub(super) async fn next(
    state: &NatsState,
    bucket: &BucketAddress,
    from: u64,
    due: Instant,
) -> Result<Option<Found>, StoreError> {
    let all = bucket.entries();
    look(state, bucket, &json!({ "seq": from, "next_by_subj": all.as_str() }), due).await
}

async fn look(
    state: &NatsState,
    bucket: &BucketAddress,
    question: &serde_json::Value,
    due: Instant,
) -> Result<Option<Found>, StoreError> {
    let subject = bucket.read();
    let body = question.to_string().into_bytes();
    let answer = settings::call(state, Operation::Read, subject.as_str(), body, due).await?;
    let unclear = |problem| failure::unclear(Operation::Read, subject.as_str(), problem);
    match settings::read::<Stored>(&answer).map_err(unclear)? {
        Ok(stored) => read(bucket, stored.message).map(Some),
        Err(ApiError { err_code: ApiError::NO_MESSAGE_FOUND, .. }) => Ok(None),
        Err(refused) => Err(failure::refused(Operation::Read, subject.as_str(), &refused)),
    }
}

#[derive(Deserialize)]
struct Stored {
    message: Message,
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) subject: String,
    pub(super) seq: u64,
    #[serde(default)]
    pub(super) hdrs: String,
    #[serde(default)]
    pub(super) data: String,
}

pub(super) fn read(bucket: &BucketAddress, message: Message) -> Result<Found, StoreError> {
    let Message { subject, seq, hdrs, data } = message;
    let decode = |text: &str| {
        let decoded = BASE64_STANDARD.decode(text);
        decoded.map_err(|error| damaged("a stored message is no Base64").caused_by(error))
    };
    let key = bucket.key_of_entry(&subject);
    let headers = decode(&hdrs)?;
    let over = header(&headers, OPERATION).is_some() || header(&headers, MARKER).is_some();
    let value = if over { None } else { Some(Bytes::from(decode(&data)?)) };
    let id = header(&headers, MESSAGE_ID).map(str::to_owned);
    Ok(Found { key, revision: Revision(seq), value, id })
}

/// The value of a header in a block as the server stores it.
fn header<'a>(block: &'a [u8], name: &str) -> Option<&'a str> {
    let block = std::str::from_utf8(block).ok()?;
    block.split("\r\n").skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

pub(super) fn damaged(detail: &'static str) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, detail)
}
