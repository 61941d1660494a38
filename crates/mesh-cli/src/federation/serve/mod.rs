//! `mesh federation serve`.

mod finding;
mod gateway;
mod proving;
mod reload;
mod signals;
mod state;
mod told;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::config::{self, GatewayFile, Span};
use super::runtime;
use crate::shell::{Exit, Failure, Shell};
use gateway::Running;
use reload::Reload;
use signals::{Signal, Signals};
use told::Serving;

const AFTER_HELP: &str = "\
The file's schema is docs/schema/gateway.schema.json. Policy, rates and shadow can be changed while the
gateway works: the file is looked at every second, and on SIGHUP. One with mistakes changes nothing.

Exit codes:
  0    it was told to end (SIGTERM), or with --check: the file is in order
  1    the file has mistakes
  2    it could not be read, or the gateway could not be started
  130  Ctrl-C; it has ended in order";

/// Serve a realm's gateway from a file, until it is told to end.
///
/// When it is, it takes nothing more, finishes what is under way, and says what became of it.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Serve {
    /// The gateway's file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only check the file.
    #[arg(long)]
    check: bool,
}

/// How long what is under way has at the end.
const CLOSE: Duration = Duration::from_secs(10);

pub(super) fn run(asked: &Serve, shell: &mut Shell) -> Result<Exit, Failure> {
    let file = match config::read(&asked.file)? {
        Ok(file) => file,
        Err(mistakes) => {
            shell.answer(&mistakes)?;
            return Ok(Exit::Fault);
        }
    };
    if asked.check {
        shell.answer(&Serving::Good { realm: file.config.realm.as_str().to_owned() })?;
        return Ok(Exit::Good);
    }
    runtime::new()?.block_on(serve(asked, file, shell))
}

async fn serve(asked: &Serve, file: GatewayFile, shell: &mut Shell) -> Result<Exit, Failure> {
    // Before it says that it listens, so that whoever reads that may signal it.
    let mut signals = Signals::new()?;
    let close = file.config.limits.close.unwrap_or(Span(CLOSE)).0;
    let running = tokio::select! {
        running = Running::start(&file) => running?,
        end = signals.end() => return Ok(end),
    };
    shell.answer(&running.listening())?;
    let mut reload = Reload::new(asked.file.clone(), file);
    let end = loop {
        match signals.next().await {
            Signal::End(end) => break end,
            Signal::Reload => reload.now(true, &running, shell)?,
            Signal::Nothing => reload.now(false, &running, shell)?,
        }
    };
    shell.answer(&running.close(close).await)?;
    Ok(end)
}
