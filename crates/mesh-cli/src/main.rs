#![doc = include_str!("../README.md")]

mod demo;
mod log;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};

use demo::{DemoError, FlowName, Kind, Place};

const AFTER_HELP: &str = "\
Exit codes:
  0  every flow came out as computed from the files (or whoever read the output left)
  1  a flow came out otherwise; the last line names it
  2  the arguments, the files or the credentials have mistakes, there is no server to run on, nothing
     was tried, there was nothing to break, or the output can't be written; stderr says which
  130  Ctrl-C; a server that was started has ended, too

Environment:
  MESH_LOG  what to log to stderr: a level (`debug`) or levels of parts (`mesh_sdk=trace,warn`);
            nothing is logged unless it is set
  MESH_NATS_SERVER  the nats-server to start, by its whole path; else the one that `cargo xtask test`
            brings, else one on the PATH
  MESH_RABBITMQ_SBIN  the `sbin` of the RabbitMQ to start; else the system's";

/// Raise a mesh from its files and watch it work.
#[derive(Debug, Parser)]
#[command(name = "mesh", version, propagate_version = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Raise a mesh with its modules in this process, and watch its flows.
    ///
    /// Reads a mesh file and its manifests (or the example's), computes from them what must
    /// happen, makes it happen and compares.
    #[command(after_help = AFTER_HELP)]
    Demo {
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
    },
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

#[tokio::main]
async fn main() -> ExitCode {
    let Command::Demo { mesh, broken, transport, credentials } = Cli::parse().command;
    let place = match (transport, credentials) {
        (Transport::Memory, None) => Place::Memory,
        (Transport::Nats, None) => Place::Own(Kind::Nats),
        (Transport::Nats, Some(folder)) => Place::Of(Kind::Nats, folder),
        (Transport::Amqp, None) => Place::Own(Kind::Amqp),
        (Transport::Amqp, Some(folder)) => Place::Of(Kind::Amqp, folder),
        (Transport::Memory, Some(_)) => {
            conflict("--credentials can be given with --transport nats or amqp only").exit()
        }
    };
    if let Err(error) = log::init() {
        return refuse("mesh", &error);
    }
    let mut out = io::stdout();
    let run = tokio::select! {
        run = demo::run(mesh.as_deref(), &place, broken, &mut out) => run,
        // What was begun ends as its values are dropped.
        Ok(()) = tokio::signal::ctrl_c() => return ExitCode::from(130),
    };
    match run.and_then(|good| Ok(out.flush().map(|()| good)?)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        // Whoever read it has what they wanted.
        Err(DemoError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => refuse("mesh demo", &error.to_string()),
    }
}

/// Two arguments that don't go together, as clap tells it.
fn conflict(what: &str) -> clap::Error {
    let mut cli = Cli::command();
    cli.build();
    let demo = cli.find_subcommand_mut("demo").cloned();
    demo.unwrap_or(cli).error(ErrorKind::ArgumentConflict, what)
}

fn refuse(what: &str, error: &str) -> ExitCode {
    // Nothing is left to tell a person whose terminal is gone.
    drop(writeln!(io::stderr(), "{what}: {error}"));
    ExitCode::from(2)
}
