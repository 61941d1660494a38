//! What the server answers to an append.

use mesh_core::topology::StreamName;
use serde::Deserialize;

use crate::api_error::{ApiError, Malformed};

/// The server has the message: `{"stream": "EVENTS", "seq": 7, "duplicate": true}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PubAck {
    /// The stream that keeps it.
    pub(crate) stream: StreamName,
    /// Its number there, from 1.
    pub(crate) seq: u64,
    /// A message of this id was there already, and has this number.
    pub(crate) duplicate: bool,
}

/// Why there is no [`PubAck`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAck {
    /// The server refuses the message, and stores nothing.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// Something else answered, or the message is in a stream that is none of the mesh's.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// The same of any stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ack {
    /// The stream that keeps it.
    pub(crate) stream: String,
    /// Its number there, from 1.
    pub(crate) seq: u64,
    /// A message of this id was there already, and has this number.
    pub(crate) duplicate: bool,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    stream: String,
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    duplicate: bool,
    error: Option<ApiError>,
}

/// Reads the answer to an append.
///
/// # Errors
/// [`NoAck`].
pub(crate) fn pub_ack(bytes: &[u8]) -> Result<PubAck, NoAck> {
    let Ack { stream, seq, duplicate } = ack(bytes)?;
    let stream = StreamName::from_name(&stream)
        .ok_or(Malformed::Content("it names no stream of the mesh"))?;
    Ok(PubAck { stream, seq, duplicate })
}

/// The same of any stream.
///
/// # Errors
/// [`NoAck`].
pub(crate) fn ack(bytes: &[u8]) -> Result<Ack, NoAck> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(Malformed::from)?;
    if let Some(refused) = answer.error {
        return Err(refused.into());
    }
    let Answer { stream, seq, duplicate, .. } = answer;
    if seq == 0 {
        return Err(Malformed::Content("it gives no sequence").into());
    }
    Ok(Ack { stream, seq, duplicate })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_has_stream_sequence_and_whether_it_is_a_repeat() {
        let ack =
            pub_ack(br#"{"stream":"EVENTS","seq":7,"domain":"hub","batch":"of a server to come"}"#);
        assert_eq!(ack.unwrap(), PubAck { stream: StreamName::Events, seq: 7, duplicate: false });
        let ack = pub_ack(br#"{"stream":"EVENTS","seq":7,"duplicate":true}"#);
        assert!(ack.unwrap().duplicate);
    }

    #[test]
    fn a_refusal_is_told_by_its_error_whatever_else_stands_there() {
        let answer = br#"{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 2"},"stream":"NODES","seq":3}"#;
        let refused = pub_ack(answer).unwrap_err();
        assert!(matches!(&refused, NoAck::Refused(error) if error.err_code == 10071), "{refused}");
    }

    #[test]
    fn anything_else_is_malformed() {
        let depth = "[".repeat(100_000);
        for answer in [
            "",
            "{",
            "null",
            "+ACK",
            "[]",
            "{}",
            r#"{"stream":"EVENTS"}"#,
            r#"{"stream":"EVENTS","seq":0}"#,
            r#"{"stream":"EVENTS","seq":-1}"#,
            r#"{"stream":"EVENTS","seq":1e30}"#,
            r#"{"stream":"OTHERS","seq":1}"#,
            r#"{"stream":7,"seq":1}"#,
            r#"{"error":"no"}"#,
            &depth,
        ] {
            let refused = pub_ack(answer.as_bytes()).unwrap_err();
            assert!(matches!(refused, NoAck::Malformed(_)), "{answer}: {refused:?}");
        }
    }
}
