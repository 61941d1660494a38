#![doc = include_str!("../README.md")]

mod demo;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use demo::FlowName;

/// Raise, inspect and explain a mesh.
#[derive(Debug, Parser)]
#[command(name = "mesh", version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Raise a mesh in this process, on memory, and watch its flows.
    ///
    /// Reads a mesh file and its manifests (or the example's), computes from them what must
    /// happen, makes it happen and compares. Exits 0 when every flow came out as computed, 1 when
    /// one did not, 2 when the files can't be read or don't agree.
    Demo {
        /// The mesh file; its manifests are found relative to it. The built-in example if not given.
        #[arg(long, value_name = "FILE")]
        mesh: Option<PathBuf>,
        /// Break this flow on purpose, to see that the demo notices.
        #[arg(long = "break", value_name = "FLOW", value_enum)]
        broken: Option<FlowName>,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_env("MESH_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("off"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .init();
    let Command::Demo { mesh, broken } = Cli::parse().command;
    let mut out = io::stdout();
    let code = match demo::run(mesh.as_deref(), broken, &mut out).await {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(error) => {
            let mut err = io::stderr();
            // Nothing is left to tell a person whose terminal is gone.
            drop(writeln!(err, "mesh demo: {error}"));
            2
        }
    };
    ExitCode::from(code)
}
