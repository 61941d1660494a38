//! What the server tells of itself on its monitoring port.

use serde_json::Value;

use super::NatsServer;
use crate::servers::{ServerError, http};

impl NatsServer {
    /// `GET path` on the monitoring port, with a query if one is wanted: `/jsz?consumers=true`.
    ///
    /// # Errors
    /// [`ServerError::Io`], if the server is down, or what it answers is no JSON with status 200.
    pub async fn monitor(&self, path: &str) -> Result<Value, ServerError> {
        let failed = || ServerError::io(format!("asking nats-server for {path}"));
        let (status, body) = http::get(self.site().monitoring(), path).await.map_err(failed())?;
        if status != 200 {
            let told = String::from_utf8_lossy(&body);
            return Err(failed()(std::io::Error::other(format!("{status}: {told}"))));
        }
        serde_json::from_slice(&body).map_err(|error| failed()(error.into()))
    }

    /// The server's variables: version, limits, counters, `config_digest`.
    ///
    /// # Errors
    /// As [`monitor`](Self::monitor).
    pub async fn varz(&self) -> Result<Value, ServerError> {
        self.monitor("/varz").await
    }

    /// JetStream: every account with its streams, their configuration and their consumers.
    ///
    /// # Errors
    /// As [`monitor`](Self::monitor).
    pub async fn jsz(&self) -> Result<Value, ServerError> {
        self.monitor("/jsz?accounts=true&streams=true&consumers=true&config=true").await
    }

    /// Each open connection, with its user and its subscriptions.
    ///
    /// # Errors
    /// As [`monitor`](Self::monitor).
    pub async fn connz(&self) -> Result<Value, ServerError> {
        self.monitor("/connz?auth=true&subs=detail").await
    }

    /// Each subscription.
    ///
    /// # Errors
    /// As [`monitor`](Self::monitor).
    pub async fn subsz(&self) -> Result<Value, ServerError> {
        self.monitor("/subsz?subs=true").await
    }

    /// Whether the server says that it is well: it takes clients, and its JetStream is ready.
    pub async fn healthy(&self) -> bool {
        let answer = http::get(self.site().monitoring(), "/healthz").await;
        matches!(answer, Ok((200, _)))
    }
}
