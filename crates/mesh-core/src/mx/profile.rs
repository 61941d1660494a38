use std::fmt;

use super::{EncodeError, Envelope, LegacyReply, LegacyRequest, MsgType};

/// The two ways an envelope is written. Which one came in is told by its shape
/// ([`decode`](super::decode)); which one goes out is chosen here (protocol §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
// Exhaustive on purpose: a third profile must be looked at everywhere.
pub enum Profile {
    /// Flat requests, replies and events, as realms of before MXENV/1 speak.
    Legacy,
    /// MXENV/1.
    MxEnv1,
}

impl Profile {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Legacy, Self::MxEnv1];

    /// `legacy` or `mxenv1`: also what `_mx.incomingProfile` says.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::MxEnv1 => "mxenv1",
        }
    }

    /// The profile of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|p| p.name() == name)
    }

    /// Writes `envelope` in this profile.
    ///
    /// # Errors
    /// [`EncodeError`] names the field that is missing, or that the profile has no place for:
    /// nothing is left out in silence.
    pub fn encode(self, envelope: &Envelope<'_>) -> Result<Vec<u8>, EncodeError> {
        match (self, envelope.kind) {
            (Self::MxEnv1, _) => envelope.encode(),
            (Self::Legacy, MsgType::Result | MsgType::Nack) => {
                Ok(LegacyReply::from_envelope(envelope)?.encode())
            }
            (Self::Legacy, _) => Ok(LegacyRequest::from_envelope(envelope)?.encode()),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
