//! Shared state in the file: the port [`KeyValue`], for one gateway.

mod bucket;
mod table;
mod watching;

use std::time::Duration;

pub use bucket::StoreBucket;
pub(crate) use table::{MIGRATION, StateTable};

/// The bounds of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made with `..BucketBounds::default()`")]
pub struct BucketBounds {
    /// How many entries. 1,000,000 unless told.
    pub entries: u64,
    /// How many bytes of keys and values together; beside them an entry takes some 150 bytes of the file.
    /// 64 MiB unless told. [`max_bytes`](crate::StoreOptions::max_bytes) of the file should have room for
    /// all buckets, or handled events are forgotten before their time.
    pub bytes: u64,
    /// How many bytes one value may have. 64 KiB unless told.
    pub value: usize,
    /// How many changes a watcher may be behind; one that is further behind is told so, and its watch
    /// ends. 4,096 unless told.
    pub backlog: usize,
    /// Whether a call waits until what it wrote is on the disk, and so outlives a power cut; else it outlives
    /// a kill of the process. `true` unless told. Calls that wait at the same time wait once.
    pub outlives_power_cuts: bool,
}

impl Default for BucketBounds {
    fn default() -> Self {
        Self {
            entries: 1_000_000,
            bytes: 64 << 20,
            value: 64 << 10,
            backlog: 4096,
            outlives_power_cuts: true,
        }
    }
}

/// A lifetime in whole milliseconds, rounded up; at least one.
fn lasting(lifetime: Duration) -> i64 {
    let whole = lifetime.as_nanos().div_ceil(1_000_000).max(1);
    i64::try_from(whole).unwrap_or(i64::MAX)
}
