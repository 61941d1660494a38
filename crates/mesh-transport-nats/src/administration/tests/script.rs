//! An API that answers by heart.

use std::collections::VecDeque;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::administration::{Admin, StreamSettings};
use crate::api::Api;

/// Expects questions in order, each by the end of its subject, and answers them. What else is asked, or
/// not asked, fails the test.
pub(super) struct Script {
    lines: Mutex<VecDeque<(&'static str, String)>>,
    /// The bodies of what was asked.
    pub(super) asked: Mutex<Vec<Value>>,
    /// How long each answer was waited for.
    pub(super) waited: Mutex<Vec<Duration>>,
}

/// No answer at all.
pub(super) const SILENCE: &str = "silence";

impl Script {
    pub(super) fn admin<const N: usize>(lines: [(&'static str, Value); N]) -> Admin<Self> {
        Self::verbatim(lines.map(|(subject, answer)| (subject, answer.to_string())))
    }

    /// With answers that need not be JSON.
    pub(super) fn verbatim<const N: usize>(lines: [(&'static str, String); N]) -> Admin<Self> {
        let script = Self {
            lines: Mutex::new(lines.into()),
            asked: Mutex::default(),
            waited: Mutex::default(),
        };
        Admin::new(script, StreamSettings::default())
    }

    /// Everything was asked.
    pub(super) fn is_over(&self) -> bool {
        self.lines.lock().is_empty()
    }
}

#[async_trait]
impl Api for Script {
    async fn call(
        &self,
        operation: Operation,
        subject: &str,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Bytes, TransportError> {
        let line = self.lines.lock().pop_front();
        let (expected, answer) = line.unwrap_or_else(|| panic!("nobody expects {subject}"));
        assert_eq!(subject, format!("$JS.API.{expected}"));
        let body =
            if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
        self.asked.lock().push(body);
        self.waited.lock().push(timeout);
        if answer == SILENCE {
            return Err(TransportError::new(ErrorKind::TimedOut, operation));
        }
        Ok(answer.into())
    }
}

pub(super) fn error(code: u16, err_code: u32, description: &str) -> Value {
    json!({ "error": { "code": code, "err_code": err_code, "description": description } })
}

/// What is said of a stream of this configuration.
pub(super) fn stream_info(config: &Value) -> Value {
    json!({
        "type": "io.nats.jetstream.api.v1.stream_info_response",
        "config": config,
        "state": { "messages": 0, "bytes": 0, "last_seq": 0, "consumer_count": 0 },
    })
}
