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
        &["doc", "--workspace", "--all-features", "--no-deps", "--locked"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )
}

pub(crate) fn deny(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    if !workspace.has_verb("deny") {
        return Err(Failure::new(how_to_install_cargo_deny()));
    }
    let arguments = ["deny", "--locked", "check", "--hide-inclusion-graph"];
    workspace.cargo(&[&arguments[..], &["bans", "licenses", "sources"]].concat())
}

fn how_to_install_cargo_deny() -> String {
    let version = cargo_deny_version().map_or(String::new(), |text| format!(" --version {text}"));
    format!(
        "cargo-deny is missing. Install it, some minutes once a machine:\n  \
         cargo install --locked cargo-deny{version}\n.ci/run does the same."
    )
}

/// The version is stated once, where CI installs it.
fn cargo_deny_version() -> Option<&'static str> {
    let script = include_str!("../../../.ci/run");
    script.lines().find_map(|line| line.strip_prefix("cargo_deny_version="))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_no_cargo_deny_is_told_the_version_that_ci_installs() {
        let version = cargo_deny_version().unwrap();
        assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{version}");
        let text = how_to_install_cargo_deny();
        assert!(text.contains(&format!("cargo-deny --version {version}\n")), "{text}");
    }
}
