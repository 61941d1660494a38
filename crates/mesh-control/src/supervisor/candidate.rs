//! A file on its way to the server.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;

use super::children::Children;
use super::judge::{Fault, judge};
use super::place::Place;
use super::program::Program;
use crate::conf::Conf;
use crate::folder::Digest;

/// A file that was checked, and may be given to the server.
pub(super) struct Candidate {
    pub(super) bytes: Vec<u8>,
    /// Of the bytes.
    pub(super) file: Digest,
    pub(super) conf: Conf,
    /// Of what it says: the server's `config_digest`.
    pub(super) digest: Digest,
    pub(super) monitor: SocketAddr,
    pub(super) warnings: Vec<String>,
}

impl Candidate {
    /// Checks a file: reads it as the server would, looks for what must not stand there, and asks the
    /// server's own program. What is checked is a copy, so nobody can change it meanwhile.
    ///
    /// # Errors
    /// What is wrong with it, for people; each line begins with the composed file's name.
    pub(super) async fn examine(
        bytes: Vec<u8>,
        place: &Place,
        program: &Program,
        children: &Children,
    ) -> Result<Self, String> {
        let name = place.bus().composed_file();
        let name = name.display();
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            format!("{name}: it is no UTF-8 from byte {} on", error.valid_up_to())
        })?;
        let conf = Conf::read(text).map_err(|error| format!("{name}: {error}"))?;
        let judged = judge(&conf);
        let Some(monitor) = judged.monitor.filter(|_| judged.faults.is_empty()) else {
            return Err(lines(&name.to_string(), &judged.faults).join("\n"));
        };
        let copy = place.candidate_file();
        place.write(&copy, &bytes).map_err(|error| error.to_string())?;
        let checked = program.check(&copy, place.path(), children).await;
        let removed = fs::remove_file(&copy);
        let told =
            checked.map_err(|told| told.replace(&copy.display().to_string(), &name.to_string()))?;
        removed.map_err(|error| format!("removing {}: {error}", copy.display()))?;
        let digest = conf.digest();
        if digest != told {
            return Err(format!(
                "{name}: nats-server {} reads it otherwise than this program ({told}, not {digest}); \
                 write it plainly",
                program.version()
            ));
        }
        let mut warnings = lines(&name.to_string(), &judged.warnings);
        let mode = fs::metadata(place.bus().composed_file()).map(|file| file.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o004 != 0) {
            warnings.push(format!("{name}: everybody on this machine may read it; chmod o-r"));
        }
        Ok(Self { file: Digest::of(&bytes), bytes, conf, digest, monitor, warnings })
    }
}

fn lines(name: &str, faults: &[Fault]) -> Vec<String> {
    faults.iter().map(|fault| format!("{name}: {fault}")).collect()
}
