//! The Python that the foreign realm runs in. A test never goes on without it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names one to use instead of the one that is brought.
const VARIABLE: &str = "MESH_INTEROP_PYTHON";

/// Runs `tests/interop/foreign.py` with an argument.
pub(crate) fn foreign(verb: &str) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/foreign.py");
    let mut command = Command::new(python());
    // Nothing is written beside the sources, and what it prints is UTF-8 everywhere.
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1").arg(script).arg(verb);
    command
}

fn python() -> PathBuf {
    if let Some(named) = env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
        return named.into();
    }
    // A test's program lies somewhere below the folder that the tools are in.
    let program = env::current_exe().unwrap_or_default();
    let targets = program.ancestors().skip(1).map(|folder| folder.join("tools/interop/bin/python"));
    targets.into_iter().find(|path| path.is_file()).unwrap_or_else(|| {
        panic!(
            "no Python for tests/interop: `cargo xtask test` brings one to target/tools/interop, and \
             {VARIABLE} can name one that has nats-py"
        )
    })
}
