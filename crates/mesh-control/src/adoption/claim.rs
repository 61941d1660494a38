use std::fmt;

use mesh_core::identity::Instance;
use mesh_core::name::SeatName;
use mesh_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Who has a seat, as it is kept on the server: which mesh, which module of it on which node, and since when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Claim {
    /// The seat.
    pub seat: SeatName,
    /// The mesh, by its bus's name.
    pub mesh: String,
    /// The module.
    pub module: String,
    /// The node that runs it.
    pub node: String,
    /// Since when, in RFC 3339.
    pub since: String,
}

/// Why a text is no claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no claim of a seat: {0}")]
#[non_exhaustive]
pub struct ClaimError(String);

impl Claim {
    /// The broker's seat, for a mesh's module from now on.
    #[must_use]
    pub fn of_broker(mesh: &str, holder: &Instance, now: Timestamp) -> Self {
        Self {
            seat: SeatName::broker(),
            mesh: mesh.to_owned(),
            module: holder.module.to_string(),
            node: holder.node.to_string(),
            since: now.to_string(),
        }
    }

    /// As it is kept.
    ///
    /// # Errors
    /// [`ClaimError`] never in practice: all of it is text.
    pub fn text(&self) -> Result<String, ClaimError> {
        serde_json::to_string(self).map_err(|error| ClaimError(error.to_string()))
    }

    /// Reads what was kept.
    ///
    /// # Errors
    /// [`ClaimError`] for anything else.
    pub fn read(text: &str) -> Result<Self, ClaimError> {
        serde_json::from_str(text).map_err(|error| ClaimError(error.to_string()))
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mesh, module, node, since, .. } = self;
        write!(f, "{module} on {node} of the mesh {mesh}, since {since}")
    }
}
