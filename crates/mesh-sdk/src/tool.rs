use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::json::JsonText;
use mesh_core::tool::{ToolFailure, codes};
use serde::de::DeserializeOwned;

/// A call in the hands of a tool's handler.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolCall {
    /// What is asked.
    pub input: JsonText,
    /// Who asks, where the broker proves it. Never what the call itself claims.
    pub caller: Option<Principal>,
    /// How long the caller still waits as the handler begins, where it said how long it would: what
    /// has passed since the call arrived is taken off. Never zero: a call whose time is over reaches no
    /// handler.
    pub timeout: Option<Duration>,
}

impl ToolCall {
    /// The input as a `T`.
    ///
    /// # Errors
    /// A [`ToolFailure`] of the code [`codes::BAD_REQUEST`] that says where the input is wrong.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, ToolFailure> {
        self.input
            .decode()
            .map_err(|error| ToolFailure::new(codes::BAD_REQUEST, format!("input: {error}")))
    }
}
