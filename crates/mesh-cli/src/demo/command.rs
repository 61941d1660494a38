//! The command: its arguments, and how it ends.

use std::io;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{DemoError, FlowName, Kind, Place, Teller};
use crate::shell::{Exit, Failure, Shell};

const AFTER_HELP: &str = "\
Exit codes:
  0    every flow came out as computed from the files (or whoever read the output left)
  1    a flow came out otherwise; the last line names it
  2    the arguments, the files or the credentials have mistakes, there is no server to run on, nothing
       was tried, there was nothing to break, or the output can't be written; stderr says which
  130  Ctrl-C; a server that was started has ended, too

Environment:
  MESH_LOG  what to log to stderr: a level (`debug`) or levels of parts (`mesh_sdk=trace,warn`);
            nothing is logged unless it is set
  MESH_NATS_SERVER  the nats-server to start, by its whole path; else the one that `cargo xtask test`
            brings, else one on the PATH
  MESH_RABBITMQ_SBIN  the `sbin` of the RabbitMQ to start; else the system's";

/// Raise a mesh with its modules in this process, and watch its flows.
///
/// Reads a mesh file and its manifests (or the example's), computes from them what must
/// happen, makes it happen and compares.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Demo {
    /// The mesh file; its manifests are found relative to it. The built-in example if not given.
    #[arg(long, value_name = "FILE")]
    mesh: Option<PathBuf>,
    /// Break this flow on purpose, to see that the demo notices (and exits 1).
    #[arg(long = "break", value_name = "FLOW", value_enum)]
    broken: Option<FlowName>,
    /// What carries it.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Transport::Memory)]
    transport: Transport,
    /// With `--transport nats` or `amqp`: run on the broker that the credentials in this folder lead
    /// to, and start none. One document for the controller (`controller.json`), for each module on
    /// each of its nodes (`<node>.<module>.json`) and for each person (`person.<name>.json`).
    #[arg(long, value_name = "FOLDER")]
    credentials: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// A broker in this process.
    Memory,
    /// A nats-server: one that is started for it, with a user for everybody.
    Nats,
    /// RabbitMQ: one that is started for it, with a user for everybody.
    Amqp,
}

pub(crate) fn run(asked: &Demo, shell: &mut Shell) -> Result<Exit, Failure> {
    let place = place(asked)?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| {
        Failure::new(format!("can't start: {error}"), "end some programs: the machine is full")
    })?;
    let json = shell.is_json();
    let mut teller = Teller::new(shell.out(), json);
    let run = runtime.block_on(async {
        tokio::select! {
            run = super::run(asked.mesh.as_deref(), &place, asked.broken, &mut teller) => Some(run),
            // What was begun ends as its values are dropped.
            Ok(()) = tokio::signal::ctrl_c() => None,
        }
    });
    match run {
        None => Ok(Exit::Interrupted),
        Some(Ok(true)) => Ok(Exit::Good),
        Some(Ok(false)) => Ok(Exit::Fault),
        // Whoever read it has what they wanted.
        Some(Err(DemoError::Write(error))) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(Exit::Good)
        }
        Some(Err(error)) => Err(error.into()),
    }
}

fn place(asked: &Demo) -> Result<Place, Failure> {
    let kind = match asked.transport {
        Transport::Memory if asked.credentials.is_some() => {
            return Err(Failure::new(
                "--credentials leads to a broker, and memory is none",
                "add `--transport nats` or `--transport amqp`, or leave --credentials out",
            ));
        }
        Transport::Memory => return Ok(Place::Memory),
        Transport::Nats => Kind::Nats,
        Transport::Amqp => Kind::Amqp,
    };
    Ok(match &asked.credentials {
        None => Place::Own(kind),
        Some(folder) => Place::Of(kind, folder.clone()),
    })
}
