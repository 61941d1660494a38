use std::convert::Infallible;
use std::io;
use std::path::PathBuf;

use mesh_core::identity::Principal;
use mesh_core::name::{NameError, ProvisionName};
use mesh_core::provision::{MAX_HANDOVER_BYTES, ProvisionError, ProvisionKey};

use super::ShapeError;
use crate::error::{HandleError, RequestError};

/// Why nothing is provided.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProvideError {
    /// The broker knows of nothing that its module provides.
    #[error("the manifest provides nothing, or the broker was built without it")]
    NothingProvided,
    /// The tools are not served.
    #[error(transparent)]
    Handle(#[from] HandleError),
}

/// Why a provider granted or withdrew nothing, as far as is known. Never holds a credential.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// As with any tool: denied, unavailable, timed out, too large, or the provider's own failure,
    /// [`RequestError::Tool`], whose code may be
    /// [`NOT_PROVIDED`](mesh_core::tool::codes::NOT_PROVIDED),
    /// [`BAD_CREDENTIAL`](mesh_core::tool::codes::BAD_CREDENTIAL),
    /// [`GRANTS_AWAY`](mesh_core::tool::codes::GRANTS_AWAY),
    /// [`PANICKED`](mesh_core::tool::codes::PANICKED) or one of the provisioner's.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The answer is no credential, or not one with the promised fields.
    #[error("the provider's answer: {0}")]
    Answer(#[source] ProvisionError),
}

/// Why there is nowhere to read what a module was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoProvisions {
    /// The variable is not set.
    #[error(
        "{} is not set: it names the folder with what this module was given",
        super::PROVISIONS_VARIABLE
    )]
    NoFolder,
    /// Only a module is given something.
    #[error("{principal} is not a module, and only a module is given something")]
    NotAModule {
        /// Who connects.
        principal: Principal,
    },
}

/// Why a module has not what it requires. Never holds a value of a credential.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequiredError {
    /// The provision's name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The manifest does not require it.
    #[error("{provision} is not among what the manifest requires")]
    NotRequired {
        /// What was asked for.
        provision: ProvisionName,
    },
    /// It is not there: not granted yet, or withdrawn.
    #[error("{provision} was not given to this module, or was withdrawn: there is no {}", file.display())]
    NotGranted {
        /// What was asked for.
        provision: ProvisionName,
        /// Where it would be.
        file: PathBuf,
    },
    /// The file can't be read.
    #[error("can't read {}: {error}", file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The file is longer than [`MAX_HANDOVER_BYTES`].
    #[error("{} is longer than {MAX_HANDOVER_BYTES} bytes", file.display())]
    TooLarge {
        /// Which.
        file: PathBuf,
    },
    /// The file is no handover.
    #[error("{}: {error}", file.display())]
    Document {
        /// Which.
        file: PathBuf,
        /// What is wrong with it.
        #[source]
        error: ProvisionError,
    },
    /// The file is about something else, or somebody else.
    #[error("{} is {key}", file.display())]
    Another {
        /// Which.
        file: PathBuf,
        /// What it is about.
        key: ProvisionKey,
    },
    /// The credential is not of the type that it is read as.
    #[error("the credential of {provision}: {error}")]
    Shape {
        /// Whose credential.
        provision: ProvisionName,
        /// What is wrong with it.
        #[source]
        error: ShapeError,
    },
}

impl From<Infallible> for RequiredError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
