use std::error::Error;
use std::fmt;

use mesh_core::json::RawJson;
use mesh_core::mx::{Decoded, Envelope, decode};
use mesh_core::time::Timestamp;

/// What proves this realm to others: it makes the `auth` of an MXENV/1 envelope (MXSEC/1, protocol §8).
/// The legacy profile has no place for it.
pub trait Sign: Send + Sync + fmt::Debug {
    /// The proof for `envelope`, which is otherwise ready to be sent.
    ///
    /// # Errors
    /// [`SignError`]: the envelope is then not sent.
    fn sign(&self, envelope: &Envelope<'_>, now: Timestamp) -> Result<RawJson<'static>, SignError>;

    /// The same MXENV/1 envelope, which is written already, with its proof: an answer, say.
    ///
    /// # Errors
    /// [`SignError`], also for what is not MXENV/1.
    fn sign_encoded(&self, envelope: &[u8], now: Timestamp) -> Result<Vec<u8>, SignError> {
        match decode(envelope, usize::MAX).map_err(SignError::new)? {
            Decoded::MxEnv(mut envelope) => {
                envelope.auth = Some(self.sign(&envelope, now)?);
                envelope.encode().map_err(SignError::new)
            }
            _ => Err(SignError::new("only MXENV/1 has a place for a proof")),
        }
    }
}

/// Why an envelope could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("the message can't be signed")]
pub struct SignError(#[source] Box<dyn Error + Send + Sync>);

impl SignError {
    /// An error with this cause. Never a secret.
    #[must_use]
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}
