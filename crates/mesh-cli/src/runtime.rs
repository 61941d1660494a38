//! What every verb needs that waits or asks a broker: a runtime, a connection, and the words of an error.

use std::error::Error;
use std::future::Future;
use std::path::Path;

use mesh_core::port::{Connection, ErrorKind};
use tokio::runtime::Runtime;

use crate::shell::{Exit, Failure};

/// Runs a verb until it is done, or Ctrl-C.
pub(crate) fn until_interrupted<F>(verb: F) -> Result<Exit, Failure>
where
    F: Future<Output = Result<Exit, Failure>>,
{
    new()?.block_on(async {
        tokio::select! {
            done = verb => done,
            Ok(()) = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
        }
    })
}

pub(crate) fn new() -> Result<Runtime, Failure> {
    Runtime::new().map_err(|error| {
        Failure::new(format!("can't start: {error}"), "end some programs: the machine is full")
    })
}

/// An error with all its causes, each once.
pub(crate) fn words(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = error.source();
    }
    words
}

/// Connects to the broker that a credential leads to.
pub(crate) async fn dial(credential: &Path) -> Result<Connection, Failure> {
    mesh_sdk::connect(credential).await.map_err(|error| {
        let hint = match &error {
            mesh_sdk::ConnectError::Bootstrap { .. } => "name a credential of somebody",
            mesh_sdk::ConnectError::Transport(error) => match error.kind() {
                ErrorKind::Invalid => "see that the path is right, and that this user may read the whole file",
                ErrorKind::Denied => {
                    "of another certificate, ask whoever runs the broker which is right; of a refused log-in, \
                     see that it was not revoked, that no other secret was made since, and that the broker runs \
                     with the file that was composed"
                }
                _ => {
                    "see that the broker runs, and is reached at that address with a certificate of the \
                     credential's fingerprint"
                }
            },
            _ => {
                "see that the file can be read, that the broker runs at its address with a certificate of \
                 its fingerprint, and that it still takes its user and password"
            }
        };
        Failure::new(words(&error), hint).at(credential.display())
    })
}
