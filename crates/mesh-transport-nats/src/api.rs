//! The server's own API: one question, one answer, in JSON.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::port::{Operation, TransportError};

/// Who can ask the server's API: a live connection, and in tests a plain client.
#[async_trait]
pub(crate) trait Api: Send + Sync {
    /// Asks `subject` (`$JS.API.…`) with `body`, and gives the answer's bytes, whatever they say.
    async fn call(
        &self,
        operation: Operation,
        subject: &str,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Bytes, TransportError>;
}
