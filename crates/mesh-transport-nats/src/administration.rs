//! Placeholder until the branch `admin` is merged.
use mesh_core::port::{ErrorKind, Operation, TransportError};
use serde::Deserialize;
#[derive(Deserialize)]
pub(crate) struct PubAck {
    pub(crate) stream: String,
    pub(crate) seq: u64,
    #[serde(default)]
    pub(crate) duplicate: bool,
}
pub(crate) fn pub_ack(bytes: &[u8]) -> Result<PubAck, String> {
    serde_json::from_slice(bytes).map_err(|_| String::from_utf8_lossy(bytes).into_owned())
}
pub(crate) fn api_error(operation: Operation, subject: &str, error: String) -> TransportError {
    let kind = if error.contains("10071") {
        ErrorKind::Conflict
    } else if error.contains("10077") {
        ErrorKind::Full
    } else {
        ErrorKind::Broker
    };
    TransportError::new(kind, operation).about(subject).detail(error)
}
