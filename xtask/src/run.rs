//! Where the workspace is, and how a task runs a command in it.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Why a task failed: one or more lines for a person.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A headline with what was found, a line each.
    pub(crate) fn list(headline: &str, found: &[String]) -> Self {
        Self(format!("{headline}\n  {}", found.join("\n  ")))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The workspace that this program belongs to.
pub(crate) struct Workspace {
    root: PathBuf,
    cargo: OsString,
}

impl Workspace {
    /// Found from the manifest that cargo runs this program from.
    pub(crate) fn find() -> Result<Self, Failure> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .ok_or_else(|| Failure::new("run it as `cargo xtask`"))?;
        let root = Path::new(&manifest)
            .parent()
            .ok_or_else(|| Failure::new("xtask stands outside a workspace"))?;
        Ok(Self {
            root: root.to_owned(),
            cargo: env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Says what it runs, runs it, and fails if it fails.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Result<(), Failure> {
        self.cargo_with(arguments, &[])
    }

    /// The same with environment variables.
    pub(crate) fn cargo_with(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<(), Failure> {
        let mut line = String::from("$ ");
        for (name, value) in variables {
            line.push_str(&format!("{name}={value:?} "));
        }
        line.push_str("cargo ");
        line.push_str(&arguments.join(" "));
        println!("{line}");
        let status = self
            .command(arguments)
            .envs(variables.iter().copied())
            .status()
            .map_err(|error| Failure::new(format!("{line}: {error}")))?;
        if status.success() { Ok(()) } else { Err(Failure::new(format!("{line}: {status}"))) }
    }

    /// Whether cargo, or a program installed beside it, has this verb.
    pub(crate) fn has_verb(&self, verb: &str) -> bool {
        let mut command = self.command(&[verb, "--version"]);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    /// Runs cargo and answers what it wrote to standard output.
    pub(crate) fn cargo_output(&self, arguments: &[&str]) -> Result<Vec<u8>, Failure> {
        let line = format!("cargo {}", arguments.join(" "));
        output_of(self.command(arguments), &line)
    }

    /// Runs a program that cargo built and answers what it wrote to standard output.
    pub(crate) fn program_output(&self, program: &Path) -> Result<Vec<u8>, Failure> {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null());
        output_of(command, &program.display().to_string())
    }

    /// What `cargo metadata` says of the whole dependency tree.
    pub(crate) fn metadata(&self) -> Result<Value, Failure> {
        let json = self.cargo_output(&["metadata", "--format-version", "1", "--locked"])?;
        serde_json::from_slice(&json)
            .map_err(|error| Failure::new(format!("cargo metadata: {error}")))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.cargo);
        command.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        // Set by the cargo that runs this program; they are not for the one that it runs.
        for (name, _) in env::vars_os() {
            let ours = name.to_string_lossy();
            if ours.starts_with("CARGO_PKG_") || ours.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command
    }
}

fn output_of(mut command: Command, line: &str) -> Result<Vec<u8>, Failure> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::new(format!("{line}: {error}")))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(Failure::new(format!("{line}: {}", output.status)))
    }
}
