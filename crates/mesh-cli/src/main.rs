#![doc = include_str!("../README.md")]

mod demo;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use demo::{DemoError, FlowName};

const AFTER_HELP: &str = "\
Exit codes:
  0  every flow came out as computed from the files (or whoever read the output left)
  1  a flow came out otherwise; the last line names it
  2  the arguments or the files have mistakes, nothing was tried, there was nothing to break,
     or the output can't be written; stderr says which

Environment:
  MESH_LOG  what to log to stderr: a level (`debug`) or levels of parts (`mesh_sdk=trace,warn`);
            nothing is logged unless it is set";

/// Raise a mesh from its files and watch it work.
#[derive(Debug, Parser)]
#[command(name = "mesh", version, propagate_version = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Raise a mesh in this process, on memory, and watch its flows.
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
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let Command::Demo { mesh, broken } = Cli::parse().command;
    if let Err(error) = log() {
        return refuse("mesh", &error);
    }
    let mut out = io::stdout();
    let run = demo::run(mesh.as_deref(), broken, &mut out).await;
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

fn refuse(what: &str, error: &str) -> ExitCode {
    // Nothing is left to tell a person whose terminal is gone.
    drop(writeln!(io::stderr(), "{what}: {error}"));
    ExitCode::from(2)
}

/// Logs to stderr what `MESH_LOG` asks for, in plain text.
fn log() -> Result<(), String> {
    let Some(asked) = std::env::var_os("MESH_LOG").filter(|asked| !asked.is_empty()) else {
        return Ok(());
    };
    let filter = match asked.to_str() {
        None => Err("not UTF-8".to_owned()),
        Some(asked) => EnvFilter::builder().parse(asked).map_err(|error| error.to_string()),
    };
    let filter = filter.map_err(|error| {
        format!(
            "MESH_LOG={asked:?}: {error}\nhint: write a level, such as `debug`, or levels of parts, such as `mesh_sdk=trace,warn`"
        )
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    Ok(())
}
