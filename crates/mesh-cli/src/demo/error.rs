use std::path::PathBuf;

use mesh_core::manifest::Problems;

/// Why the demo could not be raised at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    #[error("{}: {source}\nhint: name a mesh file with --mesh, or leave it out for the built-in example", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the files have mistakes:\n{0}")]
    Files(#[from] Problems),
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
    #[error("can't write the story: {0}")]
    Write(#[from] std::io::Error),
}
