//! Where RabbitMQ is, and which versions will do. The task that brings it reads this file too.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Names the folder of another installation's scripts, to use instead of the one that is found.
pub(crate) const VARIABLE: &str = "MESH_RABBITMQ_SBIN";

/// The oldest that the definitions and settings of these tests fit.
const MINIMUM: Version = Version(3, 10, 0);

/// Where Debian's package puts it: below, in `rabbitmq_server-<version>`.
const DEBIAN: &str = "/usr/lib/rabbitmq/lib";

/// A version, as the folder of the plugin `rabbit` carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32, u32);

impl Version {
    /// Numbers with dots; what comes after the third is not looked at.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(['.', '-', '+']).map(|part| part.parse().ok());
        Some(Self(parts.next()??, parts.next()??, parts.next()??))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(major, minor, patch) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// An installation: the folder that holds `sbin` and `plugins`, and the Erlang that runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Home {
    /// Holds `sbin` and `plugins`.
    pub(crate) folder: PathBuf,
    /// Erlang's port mapper.
    pub(crate) epmd: PathBuf,
    /// Of the server.
    pub(crate) version: Version,
}

/// What a search depends on.
pub(crate) struct Search {
    named: Option<OsString>,
    /// Folders that may hold `rabbitmq_server-<version>`.
    systems: Vec<PathBuf>,
    path: Vec<PathBuf>,
}

impl Search {
    /// As this process's environment says.
    pub(crate) fn of_this_process() -> Self {
        Self {
            named: env::var_os(VARIABLE).filter(|name| !name.is_empty()),
            systems: vec![PathBuf::from(DEBIAN)],
            path: env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect(),
        }
    }

    /// The named installation, else the newest of the system's, else the one on the `PATH`; or why
    /// none will do.
    pub(crate) fn find(&self) -> Result<Home, String> {
        if let Some(named) = &self.named {
            let sbin = PathBuf::from(named);
            let judged = self.judge(&sbin);
            return judged.map_err(|told| format!("{VARIABLE} names {}: {told}", sbin.display()));
        }
        let mut refused = String::new();
        let mut best: Option<Home> = None;
        for sbin in self.candidates() {
            match self.judge(&sbin) {
                Ok(home) if best.as_ref().is_none_or(|best| best.version < home.version) => {
                    best = Some(home);
                }
                Ok(_) => {}
                Err(told) => refused.push_str(&format!("\n  {}: {told}", sbin.display())),
            }
        }
        best.ok_or_else(|| {
            format!(
                "no RabbitMQ {MINIMUM} or newer to test with. `cargo xtask test` installs it where the \
                 system has apt-get; {VARIABLE} can name the folder of another's scripts.{refused}"
            )
        })
    }

    fn candidates(&self) -> Vec<PathBuf> {
        let systems = self.systems.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        let systems = systems.filter_map(|entry| Some(entry.ok()?.path().join("sbin")));
        // A link leads to the installation; a wrapper has no plugins beside it and is passed over.
        let linked = self.path.iter().filter_map(|folder| {
            let script = fs::canonicalize(folder.join("rabbitmq-server")).ok()?;
            let sbin = script.parent()?;
            sbin.join("../plugins").is_dir().then(|| sbin.to_owned())
        });
        let mut all: Vec<_> =
            systems.chain(linked).filter(|sbin| sbin.join("rabbitmq-server").is_file()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// What is installed there, or why it will not do.
    fn judge(&self, sbin: &Path) -> Result<Home, String> {
        if !sbin.join("rabbitmq-server").is_file() {
            return Err("it holds no rabbitmq-server".to_owned());
        }
        let folder = fs::canonicalize(sbin.join(".."))
            .map_err(|error| format!("it is in no folder that can be read: {error}"))?;
        let version = version_of(&folder.join("plugins"))
            .ok_or_else(|| "no plugins beside it say which version it is".to_owned())?;
        if version < MINIMUM {
            return Err(format!("{version} is too old: it must be at least {MINIMUM}"));
        }
        let on_path = |name| self.path.iter().map(|folder| folder.join(name)).find(|p| p.is_file());
        match (on_path("erl"), on_path("epmd")) {
            (Some(_), Some(epmd)) => Ok(Home { folder, epmd, version }),
            _ => Err("Erlang's erl and epmd are not on the PATH".to_owned()),
        }
    }
}

/// The version of the plugin `rabbit` in this folder.
fn version_of(plugins: &Path) -> Option<Version> {
    let entries = fs::read_dir(plugins).ok()?;
    let versions = entries.filter_map(|entry| {
        let name = entry.ok()?.file_name();
        Version::parse(name.to_string_lossy().strip_prefix("rabbit-")?)
    });
    versions.max()
}

// The path is said, since the task reads this file from elsewhere.
#[cfg(test)]
#[path = "home/tests.rs"]
mod tests;
