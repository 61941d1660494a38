//! What both tables are made of: slots, names that many entries share, and an order of ends.

mod due;
mod names;
mod slots;

pub(crate) use due::Due;
pub(crate) use names::Names;
pub(crate) use slots::Slots;

use std::time::Duration;

use mesh_core::guard::Now;
use mesh_core::time::Timestamp;

/// Time since an arbitrary beginning in whole milliseconds, as the tables keep it.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A moment of the monotonic clock on the wall clock.
pub(crate) fn wall(moment: u64, now: Now) -> Timestamp {
    let passed = millis(now.monotonic);
    let away = Duration::from_millis(moment.abs_diff(passed));
    if moment >= passed { now.wall.saturating_add(away) } else { now.wall.saturating_sub(away) }
}

#[cfg(test)]
mod tests;
