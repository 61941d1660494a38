//! Every suite that cargo knows of. Not `--all-targets`: that leaves out the tests in the
//! documentation and runs the benchmarks.

use crate::run::{Failure, Workspace};

pub(super) fn run_all(workspace: &Workspace) -> Result<(), Failure> {
    workspace.cargo(&["test", "--workspace", "--locked", "--no-fail-fast"])
}
