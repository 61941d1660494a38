//! Where the program is. A test never goes on without it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use mesh_control::Version;

use crate::servers::ServerError;

/// Names a program to use instead of the one that is brought.
const VARIABLE: &str = "MESH_NATS_SERVER";

/// Where anybody can get one.
const RELEASES: &str = "https://github.com/nats-io/nats-server/releases";

/// The nats-server that tests start: the one that `MESH_NATS_SERVER` names, or that `cargo xtask test` has
/// brought, or that is installed. Looked for once.
///
/// # Errors
/// [`ServerError::NoProgram`], which says how to get one.
pub fn find() -> Result<PathBuf, ServerError> {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Ok(found.clone());
    }
    let found = Search::of_this_process().find().map_err(ServerError::NoProgram)?;
    Ok(FOUND.get_or_init(|| found).clone())
}

/// What a search depends on.
struct Search {
    named: Option<OsString>,
    /// Folders that may hold `tools/nats-server/<version>/nats-server`, best first.
    targets: Vec<PathBuf>,
    path: Vec<PathBuf>,
}

impl Search {
    fn of_this_process() -> Self {
        let program = env::current_exe().unwrap_or_default();
        let folder = env::current_dir().unwrap_or_default();
        let path = env::var_os("PATH").unwrap_or_default();
        Self {
            named: env::var_os(VARIABLE).filter(|name| !name.is_empty()),
            // A test's program lies somewhere below the folder that the tools are in; one of the
            // documentation does not, but runs in the crate's folder.
            targets: program
                .ancestors()
                .skip(1)
                .map(Path::to_owned)
                .chain(folder.ancestors().map(|folder| folder.join("target")))
                .collect(),
            path: env::split_paths(&path).collect(),
        }
    }

    /// The first that will do, or why none does.
    fn find(&self) -> Result<PathBuf, String> {
        if let Some(named) = &self.named {
            let path = PathBuf::from(named);
            return match judge(&path) {
                Ok(()) => Ok(path),
                Err(reason) => Err(format!("{VARIABLE} names {}: {reason}", path.display())),
            };
        }
        let brought = self.targets.iter().flat_map(|folder| brought_to(folder));
        let installed = self.path.iter().map(|folder| folder.join("nats-server"));
        let mut refused = String::new();
        for path in brought.chain(installed).filter(|path| path.is_file()) {
            match judge(&path) {
                Ok(()) => return Ok(path),
                Err(reason) => refused.push_str(&format!("\n  {}: {reason}", path.display())),
            }
        }
        Err(format!(
            "no nats-server: `cargo xtask test` brings one to target/tools, {RELEASES} has them, and \
             {VARIABLE} can name one{refused}"
        ))
    }
}

/// The programs below `target`, newest first.
fn brought_to(target: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(target.join("tools/nats-server")) else {
        return Vec::new();
    };
    let mut versions: Vec<_> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version = Version::parse(&entry.file_name().to_string_lossy())?;
            Some((version, entry.path().join("nats-server")))
        })
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, path)| path).collect()
}

/// Asks the program for its version.
fn judge(path: &Path) -> Result<(), String> {
    let output = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("it can't be run: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let first = printed.lines().next().unwrap_or_default();
    let version = Version::parse(&printed)
        .ok_or_else(|| format!("it does not say which nats-server it is, but {first:?}"))?;
    version.refusal().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
    }

    fn search(named: Option<&str>, targets: &[&str], path: &[&str]) -> Search {
        Search {
            named: named.map(|name| fixture(name).into_os_string()),
            targets: targets.iter().map(|name| fixture(name)).collect(),
            path: path.iter().map(|name| fixture(name)).collect(),
        }
    }

    #[test]
    fn nothing_found_is_an_error_that_says_what_brings_it() {
        let told = search(None, &["nowhere"], &["nowhere"]).find().unwrap_err();
        assert!(told.contains("cargo xtask test") && told.contains(VARIABLE), "{told}");
    }

    #[test]
    fn one_that_is_too_old_is_refused_with_the_reason() {
        let told = search(None, &[], &["old"]).find().unwrap_err();
        assert!(told.contains("2.9.10 is too old"), "{told}");
        let told = search(Some("old/nats-server"), &[], &["new"]).find().unwrap_err();
        assert!(told.contains("2.9.10 is too old") && told.contains(VARIABLE), "{told}");
    }

    #[test]
    fn a_named_one_that_is_not_there_is_not_replaced_by_another() {
        let told = search(Some("nowhere/nats-server"), &[], &["new"]).find().unwrap_err();
        assert!(told.contains("can't be run"), "{told}");
    }

    #[test]
    fn the_order_is_named_brought_installed_and_an_old_one_is_passed_over() {
        let new = fixture("new/nats-server");
        let brought = fixture("brought/tools/nats-server/2.15.1/nats-server");
        assert_eq!(search(None, &[], &["old", "new"]).find(), Ok(new.clone()));
        assert_eq!(search(None, &["brought"], &["new"]).find(), Ok(brought));
        assert_eq!(search(Some("new/nats-server"), &["brought"], &[]).find(), Ok(new));
    }
}
