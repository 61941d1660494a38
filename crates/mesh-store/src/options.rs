use std::time::Duration;

/// The bounds of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made with `..StoreOptions::default()`")]
pub struct StoreOptions {
    /// How many bytes of the file may be in use; beside it there is a log of some 4 MB. Beyond it the
    /// oldest of what is remembered goes. 256 MiB unless told.
    pub max_bytes: u64,
    /// What is remembered of handled events.
    pub handled: HandledBounds,
}

/// How much is remembered of handled events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made with `..HandledBounds::default()`")]
pub struct HandledBounds {
    /// How long. 7 days unless told, as long as the stream of events keeps one, and so as long as one can
    /// come again: a machine may be away for more than the tries of an event take.
    pub window: Duration,
    /// How many keys, one for each handler of each event. Beyond it the oldest goes, before its time: an
    /// event that then came again would be handled again. That is counted and logged. 1,000,000 unless
    /// told, which take some 70 MB.
    pub capacity: u64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { max_bytes: 256 << 20, handled: HandledBounds::default() }
    }
}

impl Default for HandledBounds {
    fn default() -> Self {
        Self { window: Duration::from_secs(7 * 24 * 60 * 60), capacity: 1_000_000 }
    }
}
