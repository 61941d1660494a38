//! What `issue` and `revoke` are told alike.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::shell::Failure;

/// Where things are.
#[derive(Debug, Args)]
pub(super) struct Places {
    /// The mesh file; its manifests are found relative to it.
    #[arg(long, value_name = "FILE")]
    pub(super) mesh: PathBuf,
    /// The store of what proves the secrets: a folder of mode 700.
    #[arg(long, value_name = "DIR")]
    pub(super) store: PathBuf,
    /// The bus's folder: the server's file is composed into it.
    #[arg(long, value_name = "DIR")]
    pub(super) bus: PathBuf,
    /// Compose even if the manifests of some modules are refused: these modules lose their accounts.
    #[arg(long)]
    pub(super) leave_out_refused: bool,
    /// Don't wait until the server runs with it.
    #[arg(long)]
    pub(super) no_wait: bool,
    /// How long to wait for that, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, conflicts_with = "no_wait")]
    wait: u32,
}

impl Places {
    /// That the bus's folder is there. One that is not is a slip of the pen: what was composed into it would be
    /// read by nobody, and who is revoked would stay.
    pub(super) fn bus_is_there(&self) -> Result<(), Failure> {
        if self.bus.is_dir() {
            return Ok(());
        }
        let hint = "see that --bus is the bus's folder; `mesh perm compose --out` makes a new one";
        Err(Failure::new("there is no such folder", hint).at(self.bus.display()))
    }

    /// How long to wait; not at all for nothing.
    pub(super) fn patience(&self) -> Option<Duration> {
        (!self.no_wait).then(|| Duration::from_secs(self.wait.into()))
    }
}
