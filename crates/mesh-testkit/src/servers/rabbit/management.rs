use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::servers::ServerError;
use crate::servers::http::{self, Request};

/// How long one question may take: an import that makes quorum queues on a busy machine does.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a test may be held up by what is dropped.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// A node's HTTP API, as its administrator. A path is given as its segments, which are encoded:
/// `["queues", "a/b", "q 1"]` is `/api/queues/a%2Fb/q%201`.
///
/// What it tells of rates and of counts in queues may be a second old.
#[derive(Clone)]
pub struct Management {
    address: SocketAddr,
    authorization: Arc<str>,
}

impl Management {
    pub(super) fn new(address: SocketAddr, user: &str, password: &str) -> Self {
        let encoded = STANDARD.encode(format!("{user}:{password}"));
        Self { address, authorization: format!("Basic {encoded}").into() }
    }

    /// What is there.
    ///
    /// # Errors
    /// [`ServerError::Status`] for any status but 2xx; [`ServerError::Io`], if the node is down or
    /// gives no answer in 30 s, or one that is no JSON.
    pub async fn get(&self, path: &[&str]) -> Result<Value, ServerError> {
        self.ask("GET", path, None).await
    }

    /// The same, or nothing if it is not there: status 404.
    ///
    /// # Errors
    /// As [`get`](Self::get), but for that.
    pub async fn find(&self, path: &[&str]) -> Result<Option<Value>, ServerError> {
        match self.get(path).await {
            Err(ServerError::Status { status: 404, .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Makes it so, and answers what the node answers: mostly null.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn put(&self, path: &[&str], body: &Value) -> Result<Value, ServerError> {
        self.ask("PUT", path, Some(body)).await
    }

    /// Asks for something to be done, and answers what the node answers.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn post(&self, path: &[&str], body: &Value) -> Result<Value, ServerError> {
        self.ask("POST", path, Some(body)).await
    }

    /// Removes it.
    ///
    /// # Errors
    /// As [`get`](Self::get): with status 404 if it is not there.
    pub async fn delete(&self, path: &[&str]) -> Result<(), ServerError> {
        self.ask("DELETE", path, None).await.map(drop)
    }

    /// Removes it without a runtime.
    pub(super) fn delete_blocking(&self, path: &[&str]) -> Result<(), ServerError> {
        let path = encoded(path);
        let request = self.request("DELETE", &path, None, LAST_PATIENCE);
        let answer = http::ask_blocking(self.address, request);
        read("DELETE", &path, answer).map(drop)
    }

    async fn ask(
        &self,
        method: &'static str,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<Value, ServerError> {
        let path = encoded(path);
        let body = body.map(Value::to_string);
        let body = body.as_ref().map(String::as_bytes);
        let answer = http::ask(self.address, self.request(method, &path, body, PATIENCE)).await;
        read(method, &path, answer)
    }

    fn request<'a>(
        &'a self,
        method: &'a str,
        path: &'a str,
        body: Option<&'a [u8]>,
        patience: Duration,
    ) -> Request<'a> {
        Request { method, path, authorization: Some(&self.authorization), body, patience }
    }
}

/// Its administrator's password is not shown.
impl fmt::Debug for Management {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Management").field("address", &self.address).finish_non_exhaustive()
    }
}

fn encoded(segments: &[&str]) -> String {
    let mut path = "/api".to_owned();
    for segment in segments {
        path.push('/');
        path.extend(utf8_percent_encode(segment, NON_ALPHANUMERIC));
    }
    path
}

fn read(
    method: &str,
    path: &str,
    answer: std::io::Result<(u16, Vec<u8>)>,
) -> Result<Value, ServerError> {
    let asked = || format!("{method} {path}");
    let (status, body) = answer.map_err(ServerError::io(asked()))?;
    if !(200..300).contains(&status) {
        let told = String::from_utf8_lossy(&body).into_owned();
        return Err(ServerError::Status { asked: asked(), status, told });
    }
    if body.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&body).map_err(|error| ServerError::io(asked())(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_encoded_each() {
        assert_eq!(encoded(&["queues", "a/b", "q 1.é"]), "/api/queues/a%2Fb/q%201%2E%C3%A9");
    }

    #[test]
    fn a_refusal_is_an_error_with_status_and_reason_and_nothing_is_null() {
        let refused =
            read("PUT", "/api/x", Ok((400, b"{\"reason\":\"no\"}".to_vec()))).unwrap_err();
        assert_eq!(refused.to_string(), "PUT /api/x: 400: {\"reason\":\"no\"}");
        assert_eq!(read("PUT", "/api/x", Ok((204, Vec::new()))).unwrap(), Value::Null);
        assert!(matches!(read("GET", "/", Ok((200, b"<".to_vec()))), Err(ServerError::Io { .. })));
    }

    #[test]
    fn the_password_is_not_shown() {
        let management = Management::new(([127, 0, 0, 1], 1).into(), "a", "secret");
        assert!(!format!("{management:?}").contains(&*management.authorization));
    }
}
