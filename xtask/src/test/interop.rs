//! Brings what the foreign realm of `tests/interop` runs in: a Python environment of its own with nats-py,
//! pinned by version and digest, from the package index that this machine's pip uses.

use std::env;
use std::fs;
use std::path::Path;

use super::python::{python, run};
use crate::run::{Failure, Workspace};

/// Names a Python with nats-py to use instead.
const VARIABLE: &str = "MESH_INTEROP_PYTHON";

const REQUIREMENTS: &str = include_str!("../../../tests/interop/requirements.txt");

/// Asks the environment for the version of nats-py that it has.
const ASK: &str = "import sys, importlib.metadata as m; \
                   sys.exit(m.version('nats-py') != sys.argv[1] and 'another version')";

/// What is pinned.
fn pinned() -> Option<&'static str> {
    let line = REQUIREMENTS.lines().find_map(|line| line.strip_prefix("nats-py=="))?;
    line.split_whitespace().next()
}

pub(super) fn bring(workspace: &Workspace) -> Result<(), Failure> {
    if !cfg!(unix) {
        println!("tests on real servers run on Unix only: nothing to bring");
        return Ok(());
    }
    let wanted = pinned().ok_or_else(|| Failure::new("requirements.txt pins no nats-py"))?;
    if let Some(named) = env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
        let path = Path::new(&named);
        run(path, &["-c", ASK, wanted], &[])
            .map_err(|told| Failure::new(format!("{VARIABLE}: {told}")))?;
        println!("{VARIABLE} names {}, with nats-py {wanted}", path.display());
        return Ok(());
    }
    let home = workspace.root().join("target/tools/interop");
    let program = home.join("bin/python");
    if run(&program, &["-c", ASK, wanted], &[]).is_ok() {
        println!("nats-py {wanted} is there");
        return Ok(());
    }
    if home.exists() {
        fs::remove_dir_all(&home)
            .map_err(|error| Failure::new(format!("removing {}: {error}", home.display())))?;
    }
    python(&["-m", "venv"], &[&home]).map_err(|told| Failure::new(needs(&told)))?;
    let requirements = workspace.root().join("tests/interop/requirements.txt");
    let options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--quiet"];
    let arguments = [&["-m", "pip", "install"][..], &options, &["--requirement"]].concat();
    run(&program, &arguments, &[&requirements])
        .and_then(|()| run(&program, &["-c", ASK, wanted], &[]))
        .map_err(|told| Failure::new(not_brought(wanted, &told)))?;
    println!("brought nats-py {wanted} to {}", home.display());
    Ok(())
}

fn needs(told: &str) -> String {
    format!(
        "the foreign realm of tests/interop runs in an environment that Python 3 makes with its venv and \
         pip, and one of them is missing. Install them (Debian: apt install python3-venv python3-pip; \
         Fedora: dnf install python3 python3-pip; macOS: brew install python), or let {VARIABLE} name a \
         Python that has nats-py.\n{told}"
    )
}

fn not_brought(wanted: &str, told: &str) -> String {
    format!(
        "nats-py {wanted} was not brought from the package index that pip uses here. Without one, let \
         {VARIABLE} name a Python that has it.\n{told}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_package_is_pinned_by_version_and_digest() {
        let version = pinned().unwrap();
        assert!(version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'), "{version}");
        let lines = REQUIREMENTS.lines().filter(|line| line.contains("=="));
        assert_eq!(lines.count(), 1);
        let digest = REQUIREMENTS.split_once("--hash=sha256:").unwrap().1.trim();
        assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }

    #[test]
    fn who_lacks_python_is_told_what_to_install() {
        let told = needs("python3 can't be run");
        assert!(told.contains("apt install python3-venv") && told.contains(VARIABLE), "{told}");
    }
}
