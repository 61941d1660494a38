//! Which nats-server is started, and what it says of a file.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf, absolute};
use std::process::{Command, Stdio};
use std::time::Duration;

use thiserror::Error;

use super::children::Children;
use crate::Version;
use crate::folder::Digest;

/// How long the server's own check of a file may take.
const CHECK: Duration = Duration::from_secs(60);

/// A nats-server that is new enough for a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    version: Version,
}

/// Why there is no nats-server to start.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The one that was named will not do.
    #[error("{}: {reason}", path.display())]
    Named {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        reason: String,
    },

    /// None is installed that will do.
    #[error("no nats-server is installed that will do{}", reasons(.refused))]
    Missing {
        /// Those that were found, with what is wrong with them.
        refused: Vec<String>,
    },
}

fn reasons(refused: &[String]) -> String {
    refused.iter().map(|reason| format!("\n  {reason}")).collect()
}

impl Program {
    /// The one that is named; or the first in the folders of `PATH` that is new enough.
    ///
    /// # Errors
    /// [`ProgramError::Named`]: one that is named is not replaced by another. [`ProgramError::Missing`].
    pub fn find(named: Option<&Path>) -> Result<Self, ProgramError> {
        Self::find_in(named, &env::var_os("PATH").unwrap_or_default())
    }

    fn find_in(named: Option<&Path>, path: &OsStr) -> Result<Self, ProgramError> {
        if let Some(path) = named {
            let judged = judge(path);
            return judged
                .map(|version| Self { path: from_anywhere(path), version })
                .map_err(|reason| ProgramError::Named { path: path.to_owned(), reason });
        }
        let mut refused = Vec::new();
        let found = env::split_paths(path).map(|folder| folder.join("nats-server"));
        for path in found.filter(|path| path.is_file()) {
            match judge(&path) {
                Ok(version) => return Ok(Self { path: from_anywhere(&path), version }),
                Err(reason) => refused.push(format!("{}: {reason}", path.display())),
            }
        }
        Err(ProgramError::Missing { refused })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which it is.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The digest that its own check gives for this file, or what it says against it. Paths in the file
    /// are those of `folder`.
    pub(super) async fn check(
        &self,
        file: &Path,
        folder: &Path,
        children: &Children,
    ) -> io::Result<Result<Digest, String>> {
        let mut command = Command::new(&self.path);
        command.args(["-t", "-c"]).arg(file).current_dir(folder);
        let (code, told) = children.output(command, CHECK).await?;
        let told = told.trim();
        let digest = told.split_once(" is valid (").and_then(|(_, rest)| rest.split_once(')'));
        Ok(match (code, digest.and_then(|(digest, _)| digest.parse().ok())) {
            (Some(0), Some(digest)) => Ok(digest),
            (None, _) => return Err(io::Error::other("its check was killed")),
            _ => Err(told.strip_prefix("nats-server: ").unwrap_or(told).to_owned()),
        })
    }
}

/// The same program for one that is started in another folder. A bare name is looked for in `PATH`, wherever that is.
fn from_anywhere(path: &Path) -> PathBuf {
    let is_bare = path.components().eq([Component::Normal(path.as_os_str())]);
    if is_bare { path.to_owned() } else { absolute(path).unwrap_or_else(|_| path.to_owned()) }
}

/// Asks a program which nats-server it is.
fn judge(path: &Path) -> Result<Version, String> {
    let output = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("it can't be run: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let first = printed.lines().next().unwrap_or_default();
    let version = Version::parse(&printed)
        .ok_or_else(|| format!("it does not say which nats-server it is, but {first:?}"))?;
    version.refusal().map_or(Ok(version), Err)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A program that only says its version.
    fn saying(folder: &Path, version: &str) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let path = folder.join("nats-server");
        fs::write(&path, format!("#!/bin/sh\necho 'nats-server: v{version}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn an_old_one_is_passed_over_and_named_with_the_reason_if_there_is_no_other() {
        let place = tempfile::tempdir().unwrap();
        let (old, new) = (place.path().join("old"), place.path().join("new"));
        let old_one = saying(&old, "2.9.10");
        let path = |folders: &[&PathBuf]| env::join_paths(folders).unwrap();
        let told = Program::find_in(None, &path(&[&old])).unwrap_err().to_string();
        assert!(told.contains("2.9.10 is too old") && told.contains("old/nats-server"), "{told}");

        let new_one = saying(&new, "2.15.1");
        let found = Program::find_in(None, &path(&[&old, &new])).unwrap();
        assert_eq!(found.path(), new_one);
        let told = Program::find_in(Some(&old_one), &path(&[&new])).unwrap_err().to_string();
        assert!(told.contains("2.9.10 is too old"), "{told}");
    }

    /// It was asked its version here, and then looked for in the bus's folder.
    #[test]
    fn one_that_is_named_from_here_is_the_same_in_the_buss_folder() {
        let place = tempfile::tempdir().unwrap();
        let new_one = saying(place.path(), "2.15.1");
        let here = env::current_dir().unwrap();
        let mut from_here: PathBuf = here.components().skip(1).map(|_| "..").collect();
        from_here.extend(new_one.components().skip(1));
        let found = Program::find(Some(&from_here)).unwrap();
        assert!(from_here.is_relative() && found.path().is_absolute(), "{:?}", found.path());
        assert_eq!(from_anywhere(Path::new("nats-server")), Path::new("nats-server"));
    }

    #[test]
    fn one_that_is_named_and_not_there_is_not_replaced() {
        let nowhere = Path::new("/nowhere/nats-server");
        let told = Program::find(Some(nowhere)).unwrap_err().to_string();
        assert!(told.contains("/nowhere/nats-server: it can't be run"), "{told}");
    }
}
