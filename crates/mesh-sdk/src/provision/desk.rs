//! Where grants and withdrawals are answered, one by one for each consumer.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use mesh_core::json::JsonText;
use mesh_core::manifest::Provision;
use mesh_core::port::Clock;
use mesh_core::provision::{
    GrantRequest, Granted, Handover, MAX_HANDOVER_BYTES, ProvisionError, ProvisionKey,
    WithdrawRequest,
};
use mesh_core::tool::{ToolFailure, codes};

use super::{GrantStore, Provisioner, Wanted};
use crate::in_hand::{InHand, Turn};
use crate::limit::limited;
use crate::tool::ToolCall;

pub(super) struct Desk<P> {
    provisioner: P,
    promised: Vec<Provision>,
    grants: Arc<dyn GrantStore>,
    in_hand: InHand<ProvisionKey>,
    clock: Arc<dyn Clock>,
}

impl<P: Provisioner> Desk<P> {
    pub(super) fn new(
        provisioner: P,
        promised: Vec<Provision>,
        grants: Arc<dyn GrantStore>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { provisioner, promised, grants, in_hand: InHand::default(), clock }
    }

    /// What is remembered, or what the provisioner makes, which is remembered before it is answered.
    pub(super) async fn grant(&self, call: ToolCall) -> Result<JsonText, ToolFailure> {
        let request = GrantRequest::decode_legacy(call.input.as_bytes(), None)
            .map_err(|error| bad(&error))?;
        let (key, promised) = (request.key(), self.promised(request.key())?);
        let (_turn, timeout) = self.turn(key, call.timeout).await?;
        if let Some(granted) = self.remembered(key, promised).await? {
            return Ok(granted.encode());
        }
        let contributed = request.contributed().clone();
        let wanted = Wanted { key: key.clone(), contributed, timeout };
        let made = quietly("the provisioner", async move {
            let made = self.provisioner.grant(wanted).await?;
            // What a value's own `Serialize` says may hold the value.
            JsonText::from_value(&made).map_err(|_| wrong("it can't be written as JSON"))
        })
        .await?;
        let granted = Granted::of(&made, promised).map_err(|error| wrong(error.to_string()))?;
        let handover = Handover::new(key.clone(), granted.clone()).encode();
        let (bytes, most) = (handover.as_bytes().len(), MAX_HANDOVER_BYTES);
        if bytes > most {
            return Err(wrong(format!("{bytes} bytes, and at most {most} can be handed over")));
        }
        let granted = self.grants.record(key, granted).await.map_err(away)?;
        granted.check(promised).map_err(|error| wrong(error.to_string()))?;
        tracing::info!(%key, "granted");
        Ok(granted.encode())
    }

    /// Forgets it first: should this end midway, the provisioner is asked before it is granted again.
    pub(super) async fn withdraw(&self, call: ToolCall) -> Result<JsonText, ToolFailure> {
        let request = WithdrawRequest::decode_legacy(call.input.as_bytes(), None)
            .map_err(|error| bad(&error))?;
        let key = request.key();
        self.promised(key)?;
        let _turn = self.turn(key, call.timeout).await?;
        self.grants.forget(key).await.map_err(away)?;
        let withdrawing = async { self.provisioner.withdraw(key.clone()).await };
        quietly("the provisioner", withdrawing).await?;
        tracing::info!(%key, "withdrawn");
        JsonText::new("{}").map_err(|error| ToolFailure::new(codes::FAILED, error.to_string()))
    }

    fn promised(&self, key: &ProvisionKey) -> Result<&[String], ToolFailure> {
        let found = self.promised.iter().find(|provision| provision.name == key.provision);
        found.map(|provision| &*provision.credential).ok_or_else(|| {
            let name = &key.provision;
            ToolFailure::new(codes::NOT_PROVIDED, format!("{name} is not provided here"))
        })
    }

    /// What was granted before. One that the manifest of today does not promise is granted anew.
    async fn remembered(
        &self,
        key: &ProvisionKey,
        promised: &[String],
    ) -> Result<Option<Granted>, ToolFailure> {
        let found = self.grants.look_up(key).await.map_err(away)?;
        match found {
            Some(granted) if granted.check(promised).is_err() => {
                self.grants.forget(key).await.map_err(away)?;
                Ok(None)
            }
            found => Ok(found),
        }
    }

    /// The turn of one consumer, and what is left of the time given. Whoever has left by then asks for
    /// nothing any more.
    async fn turn(
        &self,
        key: &ProvisionKey,
        timeout: Option<Duration>,
    ) -> Result<(Turn<'_, ProvisionKey>, Option<Duration>), ToolFailure> {
        let begun = self.clock.monotonic();
        let taking = self.in_hand.take(key.clone());
        let Some(timeout) = timeout else {
            return Ok((taking.await, None));
        };
        let turn = limited(&*self.clock, timeout, taking).await;
        let left = timeout.saturating_sub(self.clock.monotonic().saturating_sub(begun));
        turn.filter(|_| !left.is_zero()).map(|turn| (turn, Some(left))).ok_or_else(|| {
            let reason = format!("another call about {key} took all of the {timeout:?}");
            ToolFailure::new(codes::TIMED_OUT, reason)
        })
    }
}

/// What the work of `whom` gives. What a panic said may be anything, and goes nowhere.
pub(super) async fn quietly<T>(
    whom: &str,
    work: impl Future<Output = Result<T, ToolFailure>> + Send,
) -> Result<T, ToolFailure> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Err(ToolFailure::new(codes::PANICKED, format!("{whom} panicked"))))
}

fn bad(error: &ProvisionError) -> ToolFailure {
    ToolFailure::new(codes::BAD_REQUEST, error.to_string())
}

fn wrong(why: impl Into<String>) -> ToolFailure {
    ToolFailure::new(codes::BAD_CREDENTIAL, why)
}

fn away(why: String) -> ToolFailure {
    ToolFailure::new(codes::GRANTS_AWAY, why)
}
