//! `mesh check`: every mistake in a mesh's files at once.

mod gather;
mod judge;
mod report;

use std::path::PathBuf;

use clap::Args;

use crate::shell::{Exit, Failure, Shell};
use gather::Files;
use report::Report;

const AFTER_HELP: &str = "\
Exit codes:
  0  there is no mistake (warnings may be there, unless they are denied)
  1  there are mistakes
  2  something can't be read; what can be was checked";

/// Check mesh files and manifests, and tell every mistake at once.
///
/// A mesh file is checked with the manifests that it names. Manifests without a mesh file are taken
/// for a whole mesh, but one alone is checked by itself.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Check {
    /// Mesh files, manifests, folders of them, or `-` for stdin.
    ///
    /// In a folder and those in it, the files that end with `.toml` and look like a mesh file or a
    /// manifest are checked; hidden ones are not, and links to other folders are not followed.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Exit with 1 for warnings, too.
    #[arg(long)]
    deny_warnings: bool,
}

pub(crate) fn run(asked: &Check, shell: &mut Shell) -> Result<Exit, Failure> {
    let mut files = Files::gather(&asked.paths);
    let verdict = judge::judge(&mut files);
    if files.files.is_empty() && files.unread.is_empty() {
        let paths: Vec<String> =
            asked.paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::new(
            "no mesh file and no manifest is there",
            "name the file itself, if it is one: `mesh check mesh.toml`",
        )
        .at(paths.join(", ")));
    }
    for failure in &files.unread {
        shell.tell(failure);
    }
    let report = Report::new(&files, verdict, asked.deny_warnings);
    shell.answer(&report)?;
    Ok(match report.good {
        _ if !files.unread.is_empty() => Exit::Refused,
        true => Exit::Good,
        false => Exit::Fault,
    })
}
