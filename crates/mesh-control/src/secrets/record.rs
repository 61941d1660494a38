//! A user's file.

use mesh_core::name::UserName;
use mesh_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Kept, Recipient};

/// What the files' names end with.
pub(super) const ENDING: &str = ".json";
/// The largest that is read, in bytes.
pub(super) const MOST: usize = 64 * 1024;
const FORMAT: u32 = 1;

/// What a store knows of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// What a broker checks a log-in against.
    pub kept: Kept,
    /// When the secret was minted.
    pub made: Timestamp,
    /// Whom its credential was sealed to; nobody, where it was written plainly or not yet handed over.
    pub sealed_to: Vec<Recipient>,
    /// Whether it counts.
    pub state: State,
}

/// Whether a user's secret counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum State {
    /// It was minted, and nobody is known to have got it: a process that ended in between lost it. Minting
    /// again takes nothing from anybody.
    Minted,
    /// Somebody got it.
    Live,
    /// It counts no more.
    Revoked,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    format: u32,
    user: UserName,
    kind: String,
    verifier: String,
    made: String,
    sealed_to: Vec<String>,
    state: State,
}

impl Record {
    pub(super) fn written(&self, user: &UserName) -> serde_json::Result<Vec<u8>> {
        let written = Written {
            format: FORMAT,
            user: user.clone(),
            kind: self.kept.kind().to_owned(),
            verifier: self.kept.as_str().to_owned(),
            made: self.made.to_string(),
            sealed_to: self.sealed_to.iter().map(ToString::to_string).collect(),
            state: self.state,
        };
        let mut text = serde_json::to_vec(&written)?;
        text.push(b'\n');
        Ok(text)
    }

    /// Reads the file of `user`.
    ///
    /// # Errors
    /// What is wrong with it, in words that repeat nothing of it.
    pub(super) fn read(user: &UserName, text: &[u8]) -> Result<Self, String> {
        if text.len() > MOST {
            return Err(format!("more than {MOST} bytes long"));
        }
        if !text.ends_with(b"\n") {
            return Err("cut off: it does not end with a line's end".to_owned());
        }
        let written: Written = serde_json::from_slice(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("not a file of this store, by line {line}, column {column}")
        })?;
        if written.format != FORMAT {
            return Err(format!("format {}; this program reads {FORMAT}", written.format));
        }
        if written.user != *user {
            return Err(format!("the file of {}, under another name", written.user));
        }
        let kept = Kept::read(&written.kind, &written.verifier);
        let sealed_to = written.sealed_to.iter().map(|text| text.parse().map_err(|_| "sealedTo"));
        Ok(Self {
            kept: kept.ok_or("kind and verifier don't belong together")?,
            made: written.made.parse().map_err(|_| "made is no time")?,
            sealed_to: sealed_to
                .collect::<Result<_, _>>()
                .map_err(|field| format!("{field} holds something other than an age recipient"))?,
            state: written.state,
        })
    }
}
