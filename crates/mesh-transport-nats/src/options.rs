//! How a connection to NATS behaves.

use std::num::{NonZeroU16, NonZeroUsize};
use std::time::Duration;

use crate::StreamSettings;

/// How a connection to NATS behaves. Each field has a default that suits a module on a server nearby.
///
/// None of them turns TLS off or widens what is trusted: both follow from the credential alone.
///
/// ```
/// use std::time::Duration;
/// use mesh_transport_nats::NatsOptions;
///
/// let options = NatsOptions { tls_first: true, ..NatsOptions::default() };
/// assert!(options.check().is_ok());
/// let never = NatsOptions { ping_interval: Duration::ZERO, ..NatsOptions::default() };
/// assert_eq!(never.check().unwrap_err().field(), "ping_interval");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct NatsOptions {
    /// Begin with TLS before the server's greeting: for a server with `handshake_first`. Such a server
    /// says nothing to a client that waits for the greeting, and a client that doesn't is refused by
    /// any other, so both sides have to agree. `false` unless told.
    pub tls_first: bool,
    /// How long one attempt to connect may take, from looking the name up to the server's consent; a
    /// name's addresses share it evenly. 10 s unless told: after a server's restart all its clients
    /// log in at once, and it checks their passwords one after another.
    pub connect_timeout: Duration,
    /// How long the server may be silent before it is asked whether it is there. The connection
    /// counts as lost after two questions without an answer, and also where it answers these and has said
    /// nothing for twice as long to what was sent. 10 s unless told.
    pub ping_interval: Duration,
    /// The wait before the first new attempt after a connection is lost; it doubles with each attempt,
    /// and is jittered. 100 ms unless told.
    pub reconnect_min: Duration,
    /// The longest wait between two attempts. 10 s unless told.
    pub reconnect_max: Duration,
    /// How many commands (publishes and the like) may wait to be written; whoever comes then waits.
    /// 2048 unless told.
    pub client_capacity: NonZeroUsize,
    /// How many messages may wait between the connection and a subscription's own buffer. It is to be
    /// more than one turn of the client can bring, about 8 MiB: what does not fit is thrown away, and its
    /// reader is told that something is missing, and not how much. 524288 unless told; what is not used
    /// takes no memory.
    pub subscription_capacity: NonZeroUsize,
    /// How many bytes of the socket's read buffer are allocated from the start. 65535 unless told.
    pub read_buffer_capacity: NonZeroU16,
    /// How many appends may wait for the server's confirmation at a time. 256 unless told.
    pub append_window: NonZeroUsize,
    /// How streams are kept that this connection asserts, if it is a controller's.
    pub streams: StreamSettings,
}

const fn nonzero(value: usize) -> NonZeroUsize {
    match NonZeroUsize::new(value) {
        Some(value) => value,
        None => NonZeroUsize::MIN,
    }
}

impl Default for NatsOptions {
    fn default() -> Self {
        Self {
            tls_first: false,
            connect_timeout: Duration::from_secs(10),
            ping_interval: Duration::from_secs(10),
            reconnect_min: Duration::from_millis(100),
            reconnect_max: Duration::from_secs(10),
            client_capacity: nonzero(2048),
            subscription_capacity: nonzero(1 << 19),
            read_buffer_capacity: NonZeroU16::MAX,
            append_window: nonzero(256),
            streams: StreamSettings::default(),
        }
    }
}

/// Which option makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// A span of no time, or of more than [`NatsOptions::MAX_SPAN`].
    #[error(
        "{field} is {found:?}, wanted is more than nothing and at most {:?}",
        NatsOptions::MAX_SPAN
    )]
    Span {
        /// The option.
        field: &'static str,
        /// What it was.
        found: Duration,
    },
    /// A number above [`NatsOptions::MAX_CAPACITY`].
    #[error("{field} is {found}, at most {} is allowed", NatsOptions::MAX_CAPACITY)]
    Capacity {
        /// The option.
        field: &'static str,
        /// What it was.
        found: usize,
    },
    /// The shortest wait is longer than the longest.
    #[error("reconnect_min is {min:?}, and reconnect_max only {max:?}")]
    Order {
        /// `reconnect_min`.
        min: Duration,
        /// `reconnect_max`.
        max: Duration,
    },
}

impl OptionsError {
    /// The option's name.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Span { field, .. } | Self::Capacity { field, .. } => field,
            Self::Order { .. } => "reconnect_min",
        }
    }
}

impl NatsOptions {
    /// The longest span of time that an option may be: one day.
    pub const MAX_SPAN: Duration = Duration::from_secs(24 * 60 * 60);
    /// The most that may wait anywhere: 16 777 216.
    pub const MAX_CAPACITY: usize = 1 << 24;

    /// Whether the options make sense; connecting asks this first.
    ///
    /// # Errors
    /// [`OptionsError`] for the first that doesn't.
    pub fn check(&self) -> Result<(), OptionsError> {
        for (field, found) in [
            ("connect_timeout", self.connect_timeout),
            ("ping_interval", self.ping_interval),
            ("reconnect_min", self.reconnect_min),
            ("reconnect_max", self.reconnect_max),
        ] {
            if found.is_zero() || found > Self::MAX_SPAN {
                return Err(OptionsError::Span { field, found });
            }
        }
        for (field, found) in [
            ("client_capacity", self.client_capacity),
            ("subscription_capacity", self.subscription_capacity),
            ("append_window", self.append_window),
        ] {
            let found = found.get();
            if found > Self::MAX_CAPACITY {
                return Err(OptionsError::Capacity { field, found });
            }
        }
        if self.reconnect_min > self.reconnect_max {
            let (min, max) = (self.reconnect_min, self.reconnect_max);
            return Err(OptionsError::Order { min, max });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_make_sense() {
        assert_eq!(NatsOptions::default().check(), Ok(()));
    }

    #[test]
    fn an_option_without_sense_is_named() {
        let with = |change: fn(&mut NatsOptions)| {
            let mut options = NatsOptions::default();
            change(&mut options);
            options.check().unwrap_err().to_string()
        };
        for (change, field) in [
            ((|o| o.connect_timeout = Duration::ZERO) as fn(&mut NatsOptions), "connect_timeout"),
            (|o| o.ping_interval = Duration::MAX, "ping_interval"),
            (|o| o.reconnect_min = Duration::ZERO, "reconnect_min"),
            (|o| o.reconnect_max = Duration::MAX, "reconnect_max"),
            (|o| o.client_capacity = NonZeroUsize::MAX, "client_capacity"),
            (|o| o.subscription_capacity = NonZeroUsize::MAX, "subscription_capacity"),
            (|o| o.append_window = NonZeroUsize::MAX, "append_window"),
            (|o| o.reconnect_max = Duration::from_millis(1), "reconnect_min"),
        ] {
            assert!(with(change).starts_with(field), "{}", with(change));
        }
    }
}
