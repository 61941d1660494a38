//! The verbs that are one call of cargo with the arguments agreed on.

use crate::run::{Failure, Workspace};

pub(crate) fn fmt(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    workspace.cargo(&["fmt", "--all", "--check"])
}

pub(crate) fn clippy(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--locked"];
    workspace.cargo(&[&arguments[..], &["--", "-D", "warnings"]].concat())
}

pub(crate) fn docs(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    workspace.cargo_with(
        &["doc", "--workspace", "--no-deps", "--locked"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )
}

pub(crate) fn deny(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    let arguments = ["deny", "--locked", "check", "--hide-inclusion-graph"];
    workspace.cargo(&[&arguments[..], &["bans", "licenses", "sources"]].concat())
}

pub(crate) fn bench(workspace: &Workspace, named: &[String]) -> Result<(), Failure> {
    let mut arguments = vec!["bench", "--package", "mesh-benches", "--locked"];
    if named.is_empty() {
        arguments.extend(["--bench", "*"]);
    }
    for name in named {
        arguments.extend(["--bench", name]);
    }
    workspace.cargo(&arguments)
}
