use std::fmt;
use std::io;

use thiserror::Error;

/// Why a server did not do as a test asked. Its `Debug` reads like its `Display`, with line breaks:
/// that is what a failed `unwrap` shows.
#[derive(Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The machine has no program that will do. Says how to get it.
    #[error("{0}")]
    NoProgram(String),

    /// The server's own check, its reload or this crate refuses a configuration. What ran before still
    /// runs.
    #[error("the server refuses the configuration: {0}")]
    Refused(String),

    /// The server answers `-ERR`: the reason.
    #[error("the server answers: {0}")]
    Answer(String),

    /// A question over HTTP was answered with a status that says no.
    #[error("{asked}: {status}: {told}")]
    Status {
        /// Method and path.
        asked: String,
        /// The status.
        status: u16,
        /// The answer's body.
        told: String,
    },

    /// The server is in a state in which this can't be asked: stopped, or running already.
    #[error("{0}")]
    State(&'static str),

    /// The server ended, or did not do it in time.
    #[error("{what}; its log:\n{log}")]
    Failed {
        /// What was waited for, and what came instead.
        what: String,
        /// All that the server has logged.
        log: String,
    },

    /// The machine refuses something.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// Why it failed.
        source: io::Error,
    },

    /// No certificate could be made of what was asked for.
    #[error("no certificate: {0}")]
    Certificate(String),

    /// There is no such layout, or nothing of the kind in it.
    #[error("the layout: {0}")]
    Layout(String),
}

impl ServerError {
    /// For `map_err`.
    pub(crate) fn layout(problem: impl fmt::Display) -> Self {
        Self::Layout(problem.to_string())
    }

    /// For `map_err`: names what was tried.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
