#![doc = include_str!("README.md")]

mod candidate;
mod changes;
mod children;
mod judge;
mod look;
mod monitor;
mod place;
mod program;
mod run;
mod server;
mod start;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

pub use children::Ending;
pub use judge::{Fault, Judgement, judge};
pub use monitor::{Monitor, MonitorError, Varz};
pub use program::{Program, ProgramError};
pub use run::Supervisor;
pub use server::LogSink;

use crate::folder::{BusFolder, FolderError, ReloadReport};

/// How a server is supervised.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Where the file is composed.
    pub folder: BusFolder,
    /// What is started.
    pub program: Program,
    /// The shortest time from one look at a changed file to the next, and the longest time that a change
    /// is not seen; 2 s unless told. A reload goes through every user that is connected, so changes that
    /// come faster go together.
    pub interval: Duration,
    /// How long a reload may take until it counts as unconfirmed; 60 s unless told. It is still looked for
    /// after that.
    pub patience: Duration,
    /// How long the server stays when it is to end, without taking new clients; not at all unless told.
    /// The server stops its streams at once, so this is for calls under way.
    pub lame_duck: Duration,
    /// Whether orphans are waited for, whoever they are of: so where this is the first process of a
    /// container, unless told. Then no other part of this process can wait for its children.
    pub reap_orphans: bool,
    /// Where the server's log goes; to stderr unless told.
    pub log: LogSink,
}

impl Settings {
    /// The usual ones.
    #[must_use]
    pub fn new(folder: BusFolder, program: Program) -> Self {
        Self {
            folder,
            program,
            interval: Duration::from_secs(2),
            patience: Duration::from_secs(60),
            lame_duck: Duration::ZERO,
            reap_orphans: std::process::id() == 1,
            log: LogSink::stderr(),
        }
    }
}

/// What a supervisor is told.
///
/// Exhaustive: each is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Look at the file now, and have the server read its file again even if nothing has changed: it then
    /// reads its certificates again, too.
    Check,
    /// Stop taking new clients, and end when the last has left.
    LameDuck,
    /// End: as a lame duck first, if [so set](Settings::lame_duck). A second one ends that time.
    End,
}

/// What a supervisor says while it works.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// What became of the composed file, or of the server. It stands in `reload.json` by now.
    Report {
        /// The report.
        report: Box<ReloadReport>,
        /// How long it took from the look at the file.
        took: Duration,
    },
    /// The report could not be written.
    Untold(FolderError),
    /// The server takes no new clients any more.
    LameDuck,
}

/// How it all ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// How the server ended.
    pub how: Ending,
    /// Whether it was told to.
    pub asked: bool,
    /// Whether it had to be killed.
    pub killed: bool,
}

/// Why nothing was started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The folder or a file in it can't be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),

    /// There is no composed file, and none that ran before.
    #[error("{}: there is no composed file", .0.display())]
    Missing(PathBuf),

    /// The composed file is bad, and none ran before that could take its place. In the server's own words
    /// where it has some.
    #[error("{0}")]
    Refused(String),

    /// Another supervisor has this folder.
    #[error("{}: another supervisor watches this folder", .0.display())]
    Supervised(PathBuf),

    /// A server answers already where this one would.
    #[error("a nats-server named {name:?} answers at http://{monitor} already")]
    Occupied {
        /// Its name.
        name: String,
        /// Where it tells of itself.
        monitor: std::net::SocketAddr,
        /// Its process, if a supervisor of this folder started it.
        pid: Option<u32>,
    },

    /// It could not be started, or did not come to serve.
    #[error("nats-server does not start: {0}")]
    Server(String),
}
