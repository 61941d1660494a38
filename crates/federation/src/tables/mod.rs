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

/// A moment of the wall clock on the monotonic one, `longest` from now at most: clocks differ, and jump.
pub(crate) fn moment(millis_since_1970: i64, longest: Duration, now: Now) -> u64 {
    let passed = millis(now.monotonic);
    let away = millis_since_1970.saturating_sub(now.wall.as_millis());
    match u64::try_from(away) {
        Ok(away) => passed.saturating_add(away.min(millis(longest))),
        Err(_) => passed.saturating_sub(away.unsigned_abs()),
    }
}

#[cfg(test)]
mod tests;
