use std::io;
use std::path::PathBuf;

use mesh_core::manifest::{MAX_FILE_BYTES, Problems};
use mesh_core::port::Drift;

use super::ground::{Mistakes, WayError};
use crate::shell::Failure;

/// Why the demo could not be raised at all, or showed nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    #[error("can't read {}: {why}", path.display())]
    MeshFile { path: PathBuf, why: Unread },
    #[error("the files have mistakes:\n{0}")]
    Files(#[from] Problems),
    #[error("nothing to break: this mesh has no such flow ({flow}: {why})")]
    NothingToBreak { flow: &'static str, why: &'static str },
    #[error("nothing was tried: this mesh has no event and no call that could be")]
    NothingTried,
    #[error("{0}")]
    NoServer(String),
    #[error("the broker: {0}")]
    Server(Box<dyn std::error::Error + Send + Sync>),
    #[error("{0}")]
    Credentials(#[from] Mistakes),
    #[error(transparent)]
    Way(#[from] WayError),
    #[error("as {credential}: {error}")]
    Connect { credential: String, error: mesh_core::port::TransportError },
    #[error("no credential for {0}")]
    NoCredential(String),
    #[error(
        "what {address} holds differs from what follows from the files, and was left as it is:{}",
        listed(drift)
    )]
    Drift { address: String, drift: Vec<Drift> },
    #[error(transparent)]
    Subject(#[from] mesh_core::subject::SubjectError),
    #[error(transparent)]
    Name(#[from] mesh_core::name::NameError),
    #[error(transparent)]
    Transport(#[from] mesh_core::port::TransportError),
    #[error(transparent)]
    Subscribe(#[from] mesh_sdk::SubscribeError),
    #[error(transparent)]
    Handle(#[from] mesh_sdk::HandleError),
    #[error(transparent)]
    Provide(#[from] mesh_sdk::provision::ProvideError),
    #[error(transparent)]
    Build(#[from] mesh_sdk::BuildError),
    #[error("can't write the story: {0}")]
    Write(#[from] io::Error),
}

impl From<DemoError> for Failure {
    fn from(error: DemoError) -> Self {
        let hint = error.hint();
        match error {
            DemoError::Write(error) => Self::unwritten(error),
            DemoError::Files(problems) => {
                Self::new(format!("the files have mistakes:\n{problems}"), hint)
            }
            error => Self::new(error.to_string(), hint),
        }
    }
}

impl DemoError {
    /// What to do next.
    fn hint(&self) -> &'static str {
        match self {
            Self::MeshFile { why, .. } => why.hint(),
            Self::Files(_) => "`mesh check` with the mesh file shows each in its place",
            Self::NothingToBreak { .. } => {
                "break another flow (`mesh demo --help` lists them), or give the mesh what this one needs"
            }
            Self::NothingTried => {
                "let a module consume what another emits, or call a tool of another"
            }
            Self::NoServer(why) if why.starts_with("MESH_") => {
                "name another with that variable, by its whole path, or unset it to have one looked for; or run on a server of your own with --credentials"
            }
            Self::NoServer(_) => {
                "a server of your own does as well: --credentials names the folder that leads to it"
            }
            Self::Credentials(_) | Self::NoCredential(_) => {
                "the folder holds a document for the controller, each module on each of its nodes and each person; `mesh demo --help` says how they are named"
            }
            Self::Way(_) => "the kind of --transport must be the one of the credential's URL",
            Self::Connect { .. } => {
                "see that the server runs at the credential's address, and still takes its user and password"
            }
            Self::Drift { .. } => {
                "run it where nothing else is, or remove what differs, if nobody needs it"
            }
            Self::Subject(_) | Self::Name(_) => "shorten the names in the mesh file",
            Self::Server(_)
            | Self::Transport(_)
            | Self::Subscribe(_)
            | Self::Handle(_)
            | Self::Provide(_)
            | Self::Build(_) => "MESH_LOG=debug tells more of what happened",
            Self::Write(_) => "let somebody read it",
        }
    }
}

/// A line for each difference.
fn listed(drift: &[Drift]) -> String {
    let line = |Drift { object, field, expected, found, .. }: &Drift| {
        format!("\n  {object}: {field} should be {expected}, and is {found}")
    };
    drift.iter().map(line).collect()
}

/// Why a file has no text to be parsed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("not UTF-8 at byte offset {offset}")]
    NotUtf8 { offset: usize },
    #[error("more than {MAX_FILE_BYTES} bytes long")]
    TooLarge,
}

impl Unread {
    /// What to do where it is the mesh file that can't be read.
    fn hint(&self) -> &'static str {
        match self {
            Self::Io(_) => "name a mesh file with --mesh, or leave it out for the built-in example",
            Self::NotUtf8 { .. } => "save it as UTF-8",
            Self::TooLarge => "name the mesh file itself with --mesh",
        }
    }
}
