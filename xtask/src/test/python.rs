//! Runs Python, which brings some of what tests need.

use std::path::Path;
use std::process::Command;

/// Runs the machine's Python; what it wrote to standard error is the error.
pub(super) fn python(arguments: &[&str], paths: &[&Path]) -> Result<(), String> {
    run(Path::new("python3"), arguments, paths)
}

/// The same with another.
pub(super) fn run(program: &Path, arguments: &[&str], paths: &[&Path]) -> Result<(), String> {
    let program_name = program.display();
    let output = Command::new(program)
        .args(arguments)
        .args(paths)
        .output()
        .map_err(|error| format!("{program_name} can't be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program_name} {}: {}\n{}", arguments.join(" "), output.status, told.trim()))
}
