//! `mesh man`.

use clap::{Args, CommandFactory as _};

use crate::cli::Cli;
use crate::shell::{Exit, Failure, Shell};

/// Print the manual's page of the program or of a command, for `man -l -`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The command, such as `demo`; the program itself if none is given.
    #[arg(value_name = "COMMAND")]
    path: Vec<String>,
}

pub(crate) fn run(asked: &Man, shell: &mut Shell) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    command.build();
    for name in &asked.path {
        let Some(found) = command.find_subcommand(name) else {
            let names = command.get_subcommands().map(|known| format!("`{}`", known.get_name()));
            let hint = match names.collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => format!("leave {name:?} out"),
                names => format!("it is one of {names}"),
            };
            return Err(Failure::new(format!("no command is named {name:?}"), hint));
        };
        command = found.clone();
    }
    let mut page = Vec::new();
    let program = concat!("mesh ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command).source(program).render(&mut page).map_err(Failure::unwritten)?;
    shell.script(&page)
}
