//! `mesh completions SHELL`.

use clap::{Args, CommandFactory as _};

use crate::cli::Cli;
use crate::shell::{Exit, Failure, Shell};

/// Print the completions of a shell, for a file that it reads.
///
/// With bash, for one session: `source <(mesh completions bash)`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell that reads them.
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub(crate) fn run(asked: &Completions, shell: &mut Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(asked.shell, &mut Cli::command(), "mesh", &mut script);
    shell.script(&script)
}
