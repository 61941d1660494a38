//! A configuration is checked by the server's own program before it is its file, and a reload counts
//! when the server says that it runs with it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::Signal;
use serde_json::Value;

use super::server::{PATIENCE, pause};
use super::{NatsConfig, NatsServer};
use crate::servers::ServerError;

/// How the log tells that a reload was refused.
const REFUSED: &str = "Failed to reload server configuration: ";

impl NatsServer {
    /// Makes `config` the running server's, without a restart, and returns when the server runs with
    /// it: its `config_digest` is the one that its own check gives for the file.
    ///
    /// # Errors
    /// [`ServerError::Refused`], if its check or the reload says no, and [`ServerError::Failed`] if
    /// nothing comes in time; in both cases the file before stays or is put back.
    pub async fn reload(&self, config: NatsConfig) -> Result<(), ServerError> {
        let before = loaded(&self.varz().await?);
        let old =
            fs::read(self.config_file()).map_err(ServerError::io("reading the file before"))?;
        let digest = self.write(&config)?;
        let known = self.log().len();
        let refused = match self.signal(Signal::HUP) {
            Ok(()) => self.reloaded(&before, &digest, known).await,
            Err(error) => Err(error),
        };
        match refused {
            Ok(()) => self.set_config(config),
            Err(_) => fs::write(self.config_file(), old)
                .map_err(ServerError::io("putting the file before back"))?,
        }
        refused
    }

    async fn reloaded(
        &self,
        before: &Value,
        digest: &str,
        known: usize,
    ) -> Result<(), ServerError> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let varz = self.varz().await?;
            if varz["config_digest"] == digest && loaded(&varz) != *before {
                return Ok(());
            }
            let log = self.log();
            let news = log.get(known..).unwrap_or_default();
            if let Some((_, reason)) = news.split_once(REFUSED) {
                return Err(ServerError::Refused(reason.lines().next().unwrap_or("").to_owned()));
            }
            pause().await;
        }
        Err(self.failed(format!("not reloaded in {PATIENCE:?}")))
    }

    /// Makes `config` the one of the next [`start`](Self::start), and answers its digest.
    ///
    /// # Errors
    /// [`ServerError::Refused`], if the server's check says no; the file before stays.
    pub fn configure(&self, config: NatsConfig) -> Result<String, ServerError> {
        let digest = self.write(&config)?;
        self.set_config(config);
        Ok(digest)
    }

    /// Writes the file beside the old one, has it checked, and puts it in its place.
    pub(super) fn write(&self, config: &NatsConfig) -> Result<String, ServerError> {
        let place = self.site().place(config.certificate())?;
        let next = self.site().folder().join("next.conf");
        fs::write(&next, config.text(&place))
            .map_err(ServerError::io("writing the configuration"))?;
        let digest = check(self.program(), &next)?;
        fs::rename(&next, self.config_file())
            .map_err(ServerError::io("renaming the configuration"))?;
        Ok(digest)
    }
}

/// When the running configuration was loaded.
fn loaded(varz: &Value) -> Value {
    varz["config_load_time"].clone()
}

/// The digest that `nats-server -t` gives for this file.
fn check(program: &Path, file: &Path) -> Result<String, ServerError> {
    let output = Command::new(program)
        .args(["-t", "-c"])
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .map_err(ServerError::io("checking the configuration"))?;
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    let digest = told.split_once(" is valid (").and_then(|(_, rest)| rest.split_once(')'));
    match digest {
        Some((digest, _)) if output.status.success() => Ok(digest.to_owned()),
        _ => Err(ServerError::Refused(told.trim().to_owned())),
    }
}
