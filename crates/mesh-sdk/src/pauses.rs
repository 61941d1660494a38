//! How long to wait before the next try to be bound again.

use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::time::Duration;

/// Before the first try.
const FIRST: Duration = Duration::from_millis(100);
/// The longest; also how long a binding must have held for the pauses to begin anew.
pub(crate) const LONGEST: Duration = Duration::from_secs(10);

/// Pauses that double. Each is between a half and the whole of its span, another for each name, so
/// that all the modules of a mesh don't come back in the same moment.
#[derive(Debug)]
pub(crate) struct Pauses {
    name: u64,
    tries: u32,
}

impl Pauses {
    pub(crate) fn of(name: &str) -> Self {
        Self { name: hash(name), tries: 0 }
    }

    pub(crate) fn begin_anew(&mut self) {
        self.tries = 0;
    }

    pub(crate) fn next(&mut self) -> Duration {
        let span = FIRST.saturating_mul(1 << self.tries.min(16)).min(LONGEST);
        let share = hash((self.name, self.tries)) % 1024;
        self.tries = self.tries.saturating_add(1);
        // At most 1023, so it fits.
        let share = u32::try_from(share).unwrap_or_default();
        span / 2 + span * share / 2048
    }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_longest_and_differ_between_names() {
        let take = |name| {
            let mut pauses = Pauses::of(name);
            (0..40).map(|_| pauses.next()).collect::<Vec<_>>()
        };
        let (audit, mail) = (take("n1_audit"), take("n1_mail"));
        assert!(audit[0] >= FIRST / 2 && audit[0] <= FIRST, "{audit:?}");
        assert!(audit.iter().all(|pause| *pause <= LONGEST), "{audit:?}");
        assert!(audit[10..].iter().all(|pause| *pause >= LONGEST / 2), "{audit:?}");
        assert_ne!(audit, mail);
        assert_eq!(audit, take("n1_audit"));
    }
}
