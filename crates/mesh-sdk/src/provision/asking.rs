use std::time::Duration;

use mesh_core::json::JsonText;
use mesh_core::name::{ModuleName, ToolName};
use mesh_core::provision::{GRANT_TOOL, GrantRequest, Granted, WITHDRAW_TOOL, WithdrawRequest};

use super::AskError;
use crate::broker::Broker;
use crate::error::RequestError;
use crate::request::ToolRequest;
use crate::scope::{Asking, Has};

/// The controller's end of provisioning: asks providers. To anybody else the broker says that it is
/// denied.
///
/// On a nats-server of two accounts the connection is that of the controller's user beside the modules,
/// `controller-edge`.
#[derive(Debug, Clone)]
pub struct Provisioning {
    broker: Broker<Asking>,
    timeout: Duration,
}

impl Provisioning {
    /// Asks by this broker, and waits 30 s for an answer.
    #[must_use]
    pub fn over<S: Has<Asking>>(broker: &Broker<S>) -> Self {
        Self { broker: broker.only(), timeout: Duration::from_secs(30) }
    }

    /// How long to wait for an answer.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Asks `provider` for a consumer's instance; a repeat gives the same. `promised` are the fields that
    /// the provider's manifest promises.
    ///
    /// # Errors
    /// [`AskError`]. After `TimedOut` it may have been granted: ask again.
    pub async fn grant<P: AsRef<str> + Sync>(
        &self,
        provider: &ModuleName,
        request: &GrantRequest,
        promised: &[P],
    ) -> Result<Granted, AskError> {
        let answer = self.ask(provider, GRANT_TOOL, request.encode()).await?;
        Granted::decode(answer.as_bytes(), promised).map_err(AskError::Answer)
    }

    /// Has `provider` take a consumer's instance away; a repeat does nothing.
    ///
    /// # Errors
    /// [`AskError::Request`]. After `TimedOut` it may have been withdrawn: ask again.
    pub async fn withdraw(
        &self,
        provider: &ModuleName,
        request: &WithdrawRequest,
    ) -> Result<(), AskError> {
        self.ask(provider, WITHDRAW_TOOL, request.encode()).await?;
        Ok(())
    }

    async fn ask(
        &self,
        provider: &ModuleName,
        tool: &str,
        request: JsonText,
    ) -> Result<JsonText, RequestError> {
        let tool = ToolRequest::new(provider.clone(), ToolName::new(tool)?).timeout(self.timeout);
        self.broker.ask(tool, request).await
    }
}
