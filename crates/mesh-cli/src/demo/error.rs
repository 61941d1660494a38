use std::fmt;
use std::path::PathBuf;

use mesh_core::manifest::Problem;

/// Why the demo could not be raised at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    #[error("{}: {source}\nhint: name a mesh file with --mesh, or leave it out for the built-in example", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the files have mistakes:\n{}", Lines(.0))]
    Files(Vec<Problem>),
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

struct Lines<'a>(&'a [Problem]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}
