use std::sync::{Arc, Mutex, PoisonError};

use mesh_core::credential::{Fingerprint, Fingerprints};

/// Why a server was refused. Fingerprints are public; there is nothing else in it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It presented another certificate.
    #[error("the server's certificate is {presented}, pinned {}", list(pinned))]
    Fingerprint {
        /// The sha256 of what it presented.
        presented: Fingerprint,
        /// What it should have been: one of these.
        pinned: Fingerprints,
    },
    /// It presented the pinned certificate, but didn't prove that it holds the key.
    #[error(
        "the server presented the pinned certificate {presented} without holding its key: {reason}"
    )]
    Signature {
        /// The sha256 of what it presented.
        presented: Fingerprint,
        /// What rustls found.
        reason: rustls::Error,
    },
}

fn list(pinned: &Fingerprints) -> String {
    let verb = if pinned.iter().len() == 1 { "is" } else { "are" };
    let texts: Vec<_> = pinned.iter().map(ToString::to_string).collect();
    format!("{verb} {}", texts.join(" and "))
}

/// What became of the last handshake under one configuration. Clones look at the same place.
///
/// Handshakes that run at the same time overwrite each other's: whoever wants to know about one makes
/// a configuration for it.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    presented: Option<Fingerprint>,
    refusal: Option<Refusal>,
}

impl Refusals {
    /// Why the server of the last handshake was refused; `None` if it wasn't, or there was none.
    #[must_use]
    pub fn last(&self) -> Option<Refusal> {
        self.with(|state| state.refusal.clone())
    }

    /// The certificate that the server of the last handshake presented, whether or not it was
    /// accepted; `None` if no handshake came that far.
    #[must_use]
    pub fn presented(&self) -> Option<Fingerprint> {
        self.with(|state| state.presented)
    }

    /// A handshake begins with this certificate.
    pub(crate) fn present(&self, presented: Fingerprint) {
        self.with(|state| *state = State { presented: Some(presented), refusal: None });
    }

    pub(crate) fn refuse(&self, refusal: Refusal) {
        self.with(|state| state.refusal = Some(refusal));
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        // A panic can't leave it half-written: each write is one assignment.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
