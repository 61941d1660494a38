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

/// Why a file is not given to the server.
pub(super) enum Problem {
    /// It is bad.
    Bad(String),
    /// It could not be checked: the same file may pass the next time.
    Passing(String),
}

impl Problem {
    pub(super) fn told(self) -> String {
        match self {
            Self::Bad(told) | Self::Passing(told) => told,
        }
    }
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
    ) -> Result<Self, Problem> {
        let name = place.bus().composed_file();
        let name = name.display();
        let bad = |told: String| Problem::Bad(format!("{name}: {told}"));
        let text = std::str::from_utf8(&bytes)
            .map_err(|error| bad(format!("it is no UTF-8 from byte {} on", error.valid_up_to())))?;
        let conf = Conf::read(text).map_err(|error| bad(error.to_string()))?;
        let judged = judge(&conf);
        let Some(monitor) = judged.monitor.filter(|_| judged.faults.is_empty()) else {
            return Err(Problem::Bad(lines(&name.to_string(), &judged.faults).join("\n")));
        };
        let copy = place.candidate_file();
        place.write(&copy, &bytes).map_err(|error| Problem::Passing(error.to_string()))?;
        let checked = program.check(&copy, place.path(), children).await;
        // One that stays is written over the next time, and read by nobody.
        let _ = fs::remove_file(&copy);
        let unchecked = |error| format!("{} can't be asked: {error}", program.path().display());
        let told = checked.map_err(|error| Problem::Passing(unchecked(error)))?;
        let in_its_words =
            |told: String| told.replace(&copy.display().to_string(), &name.to_string());
        let told = told.map_err(|told| Problem::Bad(in_its_words(told)))?;
        let digest = conf.digest();
        if digest != told {
            let version = program.version();
            return Err(bad(format!(
                "nats-server {version} reads it otherwise than this program ({told}, not {digest}); write it \
                 plainly"
            )));
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
