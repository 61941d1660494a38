//! The bucket in the process keeps the contract of the port, case by case.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::store::{BucketName, KeyValue};
use mesh_federation::{InMemoryState, StateLimits};
use mesh_testkit::clock::ManualClock;
use mesh_testkit::state::{self, StateBed, StateHarness, StateHook};
use mesh_testkit::suite::StartError;
use parking_lot::Mutex;

struct InMemory;

#[derive(Default)]
struct Bed {
    clock: ManualClock,
    buckets: Mutex<HashMap<BucketName, InMemoryState>>,
}

const SMALL: StateLimits = StateLimits { entries: 5, bytes: 4096, value: 1024, backlog: 64 };

#[async_trait]
impl StateHarness for InMemory {
    async fn start(&self) -> Result<Arc<dyn StateBed>, StartError> {
        Ok(Arc::new(Bed::default()))
    }

    fn offers(&self, hook: StateHook) -> bool {
        matches!(hook, StateHook::Small | StateHook::Backlog)
    }

    fn lifetime(&self) -> Duration {
        Duration::from_secs(60)
    }
}

impl Bed {
    fn bucket(&self, name: &BucketName, limits: StateLimits) -> Arc<dyn KeyValue> {
        let mut buckets = self.buckets.lock();
        let made = || InMemoryState::new(Arc::new(self.clock.clone()), limits);
        Arc::new(buckets.entry(name.clone()).or_insert_with(made).clone())
    }
}

#[async_trait]
impl StateBed for Bed {
    async fn open(&self, bucket: &BucketName) -> Result<Arc<dyn KeyValue>, StartError> {
        Ok(self.bucket(bucket, StateLimits { backlog: 64, ..StateLimits::default() }))
    }

    async fn open_small(&self, bucket: &BucketName) -> Result<Arc<dyn KeyValue>, StartError> {
        Ok(self.bucket(bucket, SMALL))
    }

    async fn pass(&self, span: Duration) {
        self.clock.advance(span).await;
    }

    fn backlog(&self) -> usize {
        64
    }
}

#[tokio::test]
async fn the_bucket_in_memory_keeps_the_contract() {
    let report = state::run(&InMemory).await;
    report.assert();
    assert_eq!(report.summary(), "23 passed, 0 refused as undeclared, 2 skipped, 0 failed");
}
