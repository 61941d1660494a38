use std::time::Duration;

use mesh_core::port::{ErrorKind, Operation, TransportError};

/// How the controller has the server keep the streams, beyond what a topology says.
///
/// ```
/// use mesh_transport_nats::StreamSettings;
///
/// let settings = StreamSettings { replicas: 3, ..StreamSettings::default() };
/// assert_eq!(StreamSettings::default().replicas, 1);
/// # let _ = settings;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct StreamSettings {
    /// On how many members of a cluster each stream is kept, 1 to 5. 1 unless told; with 3 the loss of
    /// one member loses nothing.
    pub replicas: u8,
    /// How long to wait for each answer of the server. 5 s unless told.
    pub timeout: Duration,
}

impl Default for StreamSettings {
    fn default() -> Self {
        Self { replicas: 1, timeout: Duration::from_secs(5) }
    }
}

impl StreamSettings {
    /// A server keeps 1 to 5 replicas, and takes 0 for 1.
    pub(super) fn check(&self) -> Result<(), TransportError> {
        if (1..=5).contains(&self.replicas) {
            return Ok(());
        }
        let error = TransportError::new(ErrorKind::Invalid, Operation::Assert);
        Err(error.detail(format!("{} replicas, 1 to 5 are possible", self.replicas)))
    }
}
