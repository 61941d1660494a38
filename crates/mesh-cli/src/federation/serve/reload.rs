//! Rules that change while the gateway works.

use std::path::PathBuf;

use mesh_core::manifest::MAX_FILE_BYTES;

use super::gateway::Running;
use super::told::Serving;
use crate::federation::config::{self, Config, GatewayFile};
use crate::shell::{Failure, Shell, input};

/// The gateway's file, as it is in force and as it was last seen.
pub(super) struct Reload {
    path: PathBuf,
    started: GatewayFile,
    seen: Vec<u8>,
}

impl Reload {
    pub(super) fn new(path: PathBuf, started: GatewayFile) -> Self {
        let seen = started.bytes.clone();
        Self { path, started, seen }
    }

    /// Reads the file, if it has changed or one was asked to, and puts its rules in force. What is wrong
    /// with it is told, and changes nothing.
    ///
    /// # Errors
    /// The output can't be written.
    pub(super) fn now(
        &mut self,
        asked: bool,
        running: &Running,
        shell: &mut Shell,
    ) -> Result<(), Failure> {
        let bytes = input::upto(&self.path, MAX_FILE_BYTES);
        match &bytes {
            // Whoever writes it may have taken it away for a moment.
            Err(_) if !asked => return Ok(()),
            Ok(bytes) if !asked && *bytes == self.seen => return Ok(()),
            _ => {}
        }
        let file = match config::read(&self.path) {
            Ok(Ok(file)) => file,
            Ok(Err(mistakes)) => {
                self.seen = bytes.unwrap_or_default();
                shell.answer(&mistakes)?;
                return shell.answer(&Serving::Kept { why: "the file has mistakes".to_owned() });
            }
            Err(failure) => {
                self.seen = bytes.unwrap_or_default();
                shell.tell(&failure);
                return shell.answer(&Serving::Kept { why: "the file can't be read".to_owned() });
            }
        };
        self.seen.clone_from(&file.bytes);
        if let Err(failure) = running.reload(&file.config) {
            shell.tell(&failure);
            return shell.answer(&Serving::Kept { why: "the gateway refuses them".to_owned() });
        }
        let restart = restart(&self.started.config, &file.config);
        shell.answer(&Serving::Reloaded { restart })
    }
}

/// What differs from how the gateway was started, and takes no effect.
fn restart(was: &Config, is: &Config) -> Vec<&'static str> {
    let peers = |config: &Config| -> Vec<_> {
        let peers = config.peers.iter();
        let fixed = peers.map(|(realm, peer)| {
            let document = peer.document.as_ref().map(|url| url.get_ref().clone());
            (realm.clone(), peer.profile, peer.jwks.clone(), document)
        });
        fixed
            .filter(|(_, profile, jwks, document)| {
                profile.is_some() || jwks.is_some() || document.is_some()
            })
            .collect()
    };
    let changed = [
        ("realm", was.realm != is.realm),
        ("gateway", was.gateway != is.gateway),
        ("mailboxes", was.mailboxes.get_ref() != is.mailboxes.get_ref()),
        ("backbone", was.backbone != is.backbone),
        ("local", was.local != is.local),
        ("state", was.state != is.state),
        ("profile", was.profile != is.profile),
        ("limits", was.limits != is.limits),
        ("leases", was.leases != is.leases),
        ("sessions", was.sessions != is.sessions),
        ("router", was.router != is.router),
        ("security", was.security != is.security),
        ("discovery", was.discovery != is.discovery),
        ("peers", peers(was) != peers(is)),
    ];
    changed.into_iter().filter(|(_, changed)| *changed).map(|(key, _)| key).collect()
}
