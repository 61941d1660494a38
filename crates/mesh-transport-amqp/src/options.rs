//! How a connection to RabbitMQ behaves.

use std::num::NonZeroUsize;
use std::time::Duration;

/// How a connection to RabbitMQ behaves. Each field has a default that suits a module on a broker nearby.
///
/// None of them turns TLS off or widens what is trusted: both follow from the credential alone.
///
/// ```
/// use std::time::Duration;
/// use mesh_transport_amqp::AmqpOptions;
///
/// let options = AmqpOptions { heartbeat: Duration::from_secs(5), ..AmqpOptions::default() };
/// assert!(options.check().is_ok());
/// let never = AmqpOptions { heartbeat: Duration::ZERO, ..AmqpOptions::default() };
/// assert_eq!(never.check().unwrap_err().field(), "heartbeat");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct AmqpOptions {
    /// How long one attempt to connect may take, from looking the name up to the broker's consent. 10 s
    /// unless told.
    pub connect_timeout: Duration,
    /// How often the two sides must hear from each other; a broker that was silent for twice as long is
    /// lost. Whole seconds, at most 65535; the broker may ask for less. 10 s unless told.
    pub heartbeat: Duration,
    /// The longest wait before the first new attempt after a connection is lost; it doubles with each
    /// attempt, and is jittered. 100 ms unless told.
    pub reconnect_min: Duration,
    /// The longest wait between two attempts. 10 s unless told.
    pub reconnect_max: Duration,
    /// How many messages may wait for the broker's confirmation at a time. 256 unless told.
    pub publish_window: NonZeroUsize,
    /// What the broker's own `consumer_timeout` is set to: how long a delivery may stay unsettled before it
    /// closes the channel. A `nak` with a delay that would take longer is refused. 30 min unless told, as on
    /// the broker.
    pub consumer_timeout: Duration,
}

const fn nonzero(value: usize) -> NonZeroUsize {
    match NonZeroUsize::new(value) {
        Some(value) => value,
        None => NonZeroUsize::MIN,
    }
}

impl Default for AmqpOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            heartbeat: Duration::from_secs(10),
            reconnect_min: Duration::from_millis(100),
            reconnect_max: Duration::from_secs(10),
            publish_window: nonzero(256),
            consumer_timeout: Duration::from_secs(30 * 60),
        }
    }
}

/// Which option makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// A span of no time, or of more than [`AmqpOptions::MAX_SPAN`].
    #[error(
        "{field} is {found:?}, wanted is more than nothing and at most {:?}",
        AmqpOptions::MAX_SPAN
    )]
    Span {
        /// The option.
        field: &'static str,
        /// What it was.
        found: Duration,
    },
    /// Not whole seconds from 1 to 65535, which is what AMQP can say.
    #[error("heartbeat is {found:?}, wanted are whole seconds from 1 to 65535")]
    Heartbeat {
        /// What it was.
        found: Duration,
    },
    /// A number above [`AmqpOptions::MAX_WINDOW`].
    #[error("{field} is {found}, at most {} is allowed", AmqpOptions::MAX_WINDOW)]
    Window {
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
            Self::Span { field, .. } | Self::Window { field, .. } => field,
            Self::Heartbeat { .. } => "heartbeat",
            Self::Order { .. } => "reconnect_min",
        }
    }
}

impl AmqpOptions {
    /// The longest span of time that an option may be: one day.
    pub const MAX_SPAN: Duration = Duration::from_secs(24 * 60 * 60);
    /// The most that may wait for confirmation: 65 536.
    pub const MAX_WINDOW: usize = 1 << 16;

    /// Whether the options make sense; connecting asks this first.
    ///
    /// # Errors
    /// [`OptionsError`] for the first that doesn't.
    pub fn check(&self) -> Result<(), OptionsError> {
        for (field, found) in [
            ("connect_timeout", self.connect_timeout),
            ("reconnect_min", self.reconnect_min),
            ("reconnect_max", self.reconnect_max),
            ("consumer_timeout", self.consumer_timeout),
        ] {
            if found.is_zero() || found > Self::MAX_SPAN {
                return Err(OptionsError::Span { field, found });
            }
        }
        if self.heartbeat_seconds().is_none() {
            return Err(OptionsError::Heartbeat { found: self.heartbeat });
        }
        let found = self.publish_window.get();
        if found > Self::MAX_WINDOW {
            return Err(OptionsError::Window { field: "publish_window", found });
        }
        if self.reconnect_min > self.reconnect_max {
            let (min, max) = (self.reconnect_min, self.reconnect_max);
            return Err(OptionsError::Order { min, max });
        }
        Ok(())
    }

    /// The heartbeat as AMQP says it.
    pub(crate) fn heartbeat_seconds(&self) -> Option<u16> {
        let whole = self.heartbeat.subsec_nanos() == 0 && !self.heartbeat.is_zero();
        u16::try_from(self.heartbeat.as_secs()).ok().filter(|_| whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_make_sense() {
        assert_eq!(AmqpOptions::default().check(), Ok(()));
    }

    #[test]
    fn an_option_without_sense_is_named() {
        let with = |change: fn(&mut AmqpOptions)| {
            let mut options = AmqpOptions::default();
            change(&mut options);
            options.check().unwrap_err()
        };
        for (change, field) in [
            ((|o| o.connect_timeout = Duration::ZERO) as fn(&mut AmqpOptions), "connect_timeout"),
            (|o| o.heartbeat = Duration::from_millis(1500), "heartbeat"),
            (|o| o.heartbeat = Duration::from_secs(65_536), "heartbeat"),
            (|o| o.reconnect_min = Duration::ZERO, "reconnect_min"),
            (|o| o.reconnect_max = Duration::MAX, "reconnect_max"),
            (|o| o.consumer_timeout = Duration::ZERO, "consumer_timeout"),
            (|o| o.publish_window = NonZeroUsize::MAX, "publish_window"),
            (|o| o.reconnect_max = Duration::from_millis(1), "reconnect_min"),
        ] {
            let error = with(change);
            assert_eq!(error.field(), field);
            assert!(error.to_string().starts_with(field), "{error}");
        }
    }
}
