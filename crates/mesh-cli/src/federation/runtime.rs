//! What every verb needs that waits: a runtime, and the words of an error.

use std::error::Error;
use std::future::Future;

use tokio::runtime::Runtime;

use crate::shell::{Exit, Failure};

/// Runs a verb until it is done, or Ctrl-C.
pub(super) fn until_interrupted<F>(verb: F) -> Result<Exit, Failure>
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
pub(super) fn words(error: &(dyn Error + 'static)) -> String {
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
