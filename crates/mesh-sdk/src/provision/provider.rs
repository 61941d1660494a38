use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use mesh_core::json::JsonText;
use mesh_core::name::ToolName;
use mesh_core::provision::{GRANT_TOOL, ProvisionKey, WITHDRAW_TOOL};
use mesh_core::tool::{ToolFailure, codes};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::desk::{Desk, quietly};
use super::{GrantStore, MemoryGrants, ProvideError};
use crate::broker::Broker;
use crate::counter::Handler;
use crate::error::HandleError;
use crate::scope::{Has, Tools};
use crate::tool::ToolCall;

/// Makes instances of what a module provides, and takes them away. What it must be able to do is told in
/// [`provision`](super).
pub trait Provisioner: Send + Sync + 'static {
    /// What is granted: written as a JSON object, it has exactly the fields that the manifest promises. A
    /// module with several provisions can use an enum, `#[serde(untagged)]`.
    type Credential: Serialize + Send;

    /// Gives the consumer its instance: makes it, or finds the one that is there.
    ///
    /// Its caller may have left when it is done; what it gives is remembered all the same.
    ///
    /// # Errors
    /// A code and words for the controller. They are passed on as they are: put no secret into them.
    fn grant(
        &self,
        wanted: Wanted,
    ) -> impl Future<Output = Result<Self::Credential, ToolFailure>> + Send;

    /// Takes the consumer's instance away, and nobody else's. One that is not there is none to be taken.
    ///
    /// # Errors
    /// As [`grant`](Self::grant). The controller asks again.
    fn withdraw(&self, key: ProvisionKey) -> impl Future<Output = Result<(), ToolFailure>> + Send;
}

/// What a provisioner is asked for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Wanted {
    /// What, and for whom.
    pub key: ProvisionKey,
    /// What the consumer's manifest contributes, a JSON object.
    pub contributed: JsonText,
    /// How long the controller still waits, where it said how long it would.
    pub timeout: Option<Duration>,
}

impl Wanted {
    /// What is contributed as a `T`.
    ///
    /// # Errors
    /// A [`ToolFailure`] of the code [`codes::BAD_REQUEST`] that says where it is wrong.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, ToolFailure> {
        self.contributed
            .decode()
            .map_err(|error| ToolFailure::new(codes::BAD_REQUEST, format!("contributed: {error}")))
    }
}

/// A module's end of provisioning: answers for a [`Provisioner`].
pub struct Provider<P> {
    provisioner: P,
    grants: Arc<dyn GrantStore>,
}

impl<P: Provisioner> Provider<P> {
    /// One that remembers in memory what it grants ([`MemoryGrants`]).
    #[must_use]
    pub fn new(provisioner: P) -> Self {
        Self { provisioner, grants: Arc::new(MemoryGrants::default()) }
    }

    /// Where it is kept what was granted.
    #[must_use]
    pub fn grants(mut self, store: Arc<dyn GrantStore>) -> Self {
        self.grants = store;
        self
    }

    /// Answers `provision_grant` and `provision_withdraw`, until the broker is closed or its last clone is
    /// dropped, as with any tool ([`Broker::handle`]). Both are served, or none.
    ///
    /// # Errors
    /// [`ProvideError::NothingProvided`] where the broker was built without a manifest that provides
    /// something; else as [`Broker::handle`].
    pub async fn serve<S: Has<Tools>>(self, broker: &Broker<S>) -> Result<(), ProvideError> {
        let promised = broker.0.settings.provides.clone();
        if promised.is_empty() {
            return Err(ProvideError::NothingProvided);
        }
        let clock = Arc::clone(broker.0.connection.clock());
        let desk = Arc::new(Desk::new(self.provisioner, promised, self.grants, clock));
        let granting = Arc::clone(&desk);
        // The provisioner's own panics are told apart before; else only the store is another's code.
        let grant = handler(move |call| {
            let desk = Arc::clone(&granting);
            async move { quietly("the store of grants", desk.grant(call)).await }
        });
        let withdraw = handler(move |call| {
            let desk = Arc::clone(&desk);
            async move { quietly("the store of grants", desk.withdraw(call)).await }
        });
        let tool = |name| ToolName::new(name).map_err(HandleError::from);
        let tools = [(tool(GRANT_TOOL)?, grant), (tool(WITHDRAW_TOOL)?, withdraw)];
        Ok(broker.serve_all(tools).await?)
    }
}

fn handler<F, W>(handle: F) -> Arc<Handler>
where
    F: Fn(ToolCall) -> W + Send + Sync + 'static,
    W: Future<Output = Result<JsonText, ToolFailure>> + Send + 'static,
{
    Arc::new(move |call| handle(call).boxed())
}

impl<P> fmt::Debug for Provider<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("grants", &self.grants).finish_non_exhaustive()
    }
}
