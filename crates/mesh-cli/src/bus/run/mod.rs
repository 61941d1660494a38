//! `mesh bus run`.

mod signals;
mod told;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use clap::Args;
use mesh_clock::SystemClock;
use mesh_control::folder::BusFolder;
use mesh_control::supervisor::{
    Ended, Event, Program, ProgramError, Settings, StartError, Supervisor,
};
use tokio::sync::mpsc;

use crate::federation::Span;
use crate::runtime;
use crate::shell::{Exit, Failure, Shell};
use signals::Signals;
use told::Running;

const AFTER_HELP: &str = "\
The server reads running.conf, a copy of the composed file that was checked. What became of the composed
file is said on stdout and in reload.json; the server's own log goes to stderr.

Signals:
  HUP        look at the file now, and have the server read its file and its certificates again
  TERM, INT  end: as a lame duck first, if --lame-duck says so; a second one ends that time
  USR2       take no new clients, and end when the last has left

Exit codes:
  0    it was told to end (SIGTERM)
  1    the composed file is bad, and none ran before; or the server had to be killed at the end
  2    it could not be started
  130  Ctrl-C
  else the server has ended by itself: its own code, or 128 and the number of the signal that ended it";

/// Run a nats-server from a bus's folder, and reload it whenever its composed file changes.
///
/// A file that is bad, or that only a restart could put in force, is named and never reaches the server. The
/// server is not restarted: whoever runs this program does that.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Run {
    /// The bus's folder: `nats-server.conf` is composed into it.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The nats-server to start, instead of the first in PATH that is new enough.
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
    /// The shortest time between two reloads, and the longest time that a change is not seen.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    interval: Span,
    /// How long calls under way may go on at the end, without new clients.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    lame_duck: Span,
}

pub(super) fn run(asked: &Run, shell: &mut Shell) -> Result<Exit, Failure> {
    if asked.interval.0.is_zero() {
        let hint = "give it some time, such as 2s: a reload goes through all who are connected";
        return Err(Failure::new("--interval 0: the server would do nothing else", hint));
    }
    let program = Program::find(asked.server.as_deref()).map_err(|error| no_program(&error))?;
    let mut settings = Settings::new(BusFolder::at(&asked.dir), program);
    settings.interval = asked.interval.0;
    settings.lame_duck = asked.lame_duck.0;
    runtime::new()?.block_on(supervise(settings, shell))
}

async fn supervise(settings: Settings, shell: &mut Shell) -> Result<Exit, Failure> {
    // Before the server starts, so that whoever sees it may signal.
    let mut signals = Signals::new()?;
    let mut failed = None;
    let tell = |event| {
        // A server is not ended because nobody reads of it any more.
        if let Err(failure) = shell.answer(&Running::of(event)) {
            failed = Some(failure);
        }
    };
    let served = serve(settings, &mut signals, tell).await;
    if let Some(failure) = failed {
        shell.tell(&failure);
    }
    let (ended, exit) = match served {
        Ok(Served::Ended(ended, exit)) => (ended, exit),
        Ok(Served::Never(exit)) => return Ok(exit),
        Err(StartError::Refused(error)) => {
            shell.answer(&Running::Refused { error })?;
            return Ok(Exit::Fault);
        }
        Err(error) => return Err(not_started(&error)),
    };
    shell.answer(&Running::ended(&ended))?;
    Ok(match ended {
        Ended { asked: false, how, .. } => Exit::As(how.code()),
        Ended { killed: true, .. } => Exit::Fault,
        _ => exit,
    })
}

/// How it went.
enum Served {
    /// It was told to end before the server served.
    Never(Exit),
    Ended(Ended, Exit),
}

async fn serve(
    settings: Settings,
    signals: &mut Signals,
    tell: impl FnMut(Event) + Send,
) -> Result<Served, StartError> {
    let clock = Arc::new(SystemClock::new());
    let supervisor = tokio::select! {
        started = Supervisor::start(settings, clock, tell) => started?,
        end = signals.end() => return Ok(Served::Never(end)),
    };
    let (give, orders) = mpsc::channel(8);
    let mut exit = Exit::Good;
    let mut run = pin!(supervisor.run(orders));
    loop {
        tokio::select! {
            ended = &mut run => return Ok(Served::Ended(ended, exit)),
            signal = signals.next() => {
                exit = signal.exit.unwrap_or(exit);
                // It is full only of signals that are not yet obeyed.
                let _ = give.try_send(signal.order);
            }
        }
    }
}

fn no_program(error: &ProgramError) -> Failure {
    let hint = "name one with --server (2.11.15 or later; of 2.12, 2.12.6): \
                https://github.com/nats-io/nats-server/releases has them";
    Failure::new(error.to_string(), hint)
}

fn not_started(error: &StartError) -> Failure {
    let hint = match error {
        StartError::Missing(_) => "compose it first: mesh perm compose",
        StartError::Supervised(_) => {
            "end the other one first, or give this one a folder of its own"
        }
        StartError::Occupied { pid: Some(pid), .. } => {
            let hint = format!(
                "end it first: it may be process {pid}, whose supervisor was killed, and two servers destroy the \
                 streams of one folder; if it is another bus, give this one a `monitor` of its own"
            );
            return Failure::new(error.to_string(), hint);
        }
        StartError::Occupied { .. } => {
            "end it first; or give this bus a `monitor` of its own under `[bus]`, and compose"
        }
        StartError::Folder(_) => "let this user read and write the folder",
        _ => {
            "see what the server says above; nats-server -c running.conf in the folder says it again"
        }
    };
    Failure::new(error.to_string(), hint)
}
