//! `mesh bus status`.

mod report;
mod server;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use mesh_control::folder::BusFolder;
use mesh_control::genesis::{Alarm, Status as Bus};
use mesh_core::time::Timestamp;

use self::report::Report;
use self::server::Server;
use super::reach::{Reach, Said, hint};
use crate::runtime::until_interrupted;
use crate::shell::{Exit, Failure, Shell};

const AFTER_HELP: &str = "\
Exit codes:
  0  all is well
  1  something needs somebody: each is told with what to do next
  2  it could not be told; stderr says why";

/// Tell how a mesh's bus is, and what to do about what is not well. Changes nothing.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Status {
    #[command(flatten)]
    reach: Reach,
    /// The bus's folder, on the machine that runs it: tells whether the composed file is live.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Where the server tells of itself, on loopback. Else where the folder's report says, or the mesh file.
    #[arg(long, value_name = "ADDRESS")]
    monitor: Option<SocketAddr>,
    /// Dead letters that were given up before this time, RFC 3339, need nobody.
    #[arg(long, value_name = "TIME")]
    known_until: Option<Timestamp>,
}

pub(super) fn run(asked: &Status, shell: &mut Shell) -> Result<Exit, Failure> {
    let said = asked.reach.read()?;
    until_interrupted(async {
        let folder = asked.dir.as_ref().map(BusFolder::at);
        let server = Server::look(&said, folder.as_ref(), asked.monitor).await?;
        let controller = match asked.reach.connect().await {
            Ok(controller) => controller,
            // Why nobody gets in may be what the server and the folder tell.
            Err(failure) => {
                for Alarm { what, next } in &server.alarms {
                    shell.tell(&Failure::new(what, next));
                }
                return Err(failure);
            }
        };
        let looked = Bus::look(&said.genesis(), &controller, asked.known_until).await;
        let bus = looked.map_err(|error| Failure::new(error.to_string(), hint(&error.0.error)))?;
        let report = Report::new(&said, bus, server);
        shell.answer(&report)?;
        Ok(if report.good { Exit::Good } else { Exit::Fault })
    })
}

/// What is wrong with the mesh's files.
fn of_files(said: &Said) -> impl Iterator<Item = Alarm> + '_ {
    said.refused.iter().map(|refused| {
        let whose = refused.module.as_deref().unwrap_or("a module");
        let why = refused.problems.join("; ");
        let what = format!("the manifest of {whose} is refused, so it has no account: {why}");
        Alarm::new(what, "mend it: `mesh check` shows each mistake in its place")
    })
}
