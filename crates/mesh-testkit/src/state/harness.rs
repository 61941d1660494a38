use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::store::{BucketName, KeyValue};

use crate::suite::{Hook, StartError};

/// Something that some cases need done to a store, and that not every harness can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateHook {
    /// [`StateBed::open_small`].
    Small,
    /// [`StateBed::backlog`].
    Backlog,
    /// [`StateBed::take_away`].
    TakeAway,
}

impl From<StateHook> for Hook {
    fn from(hook: StateHook) -> Self {
        match hook {
            StateHook::Small => Self::SmallBucket,
            StateHook::Backlog => Self::Backlog,
            StateHook::TakeAway => Self::TakeAway,
        }
    }
}

/// What a store's author writes for the suite: how to get a store.
#[async_trait]
pub trait StateHarness: Send + Sync {
    /// A fresh store. Nothing of one bed is seen in another.
    ///
    /// # Errors
    /// Whatever kept it from starting; the case fails with it.
    async fn start(&self) -> Result<Arc<dyn StateBed>, StartError>;

    /// Whether its beds have this hook. None unless told.
    fn offers(&self, _hook: StateHook) -> bool {
        false
    }

    /// A short lifetime. Where time can be moved it costs nothing; where it can't, choose the shortest
    /// that the store keeps. One second unless told.
    fn lifetime(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// How long a case waits for one event before it fails, in real time.
    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }
}

/// One running store.
#[async_trait]
pub trait StateBed: Send + Sync {
    /// A handle of that bucket, which is made if it is not there: through a connection of its own, where
    /// there are connections.
    ///
    /// # Errors
    /// Whatever kept it from being opened; the case fails with it.
    async fn open(&self, bucket: &BucketName) -> Result<Arc<dyn KeyValue>, StartError>;

    /// A handle of a bucket that takes at least two entries of 256 bytes, and less than a thousand. Only
    /// where the harness [offers](StateHarness::offers) it.
    ///
    /// # Errors
    /// Whatever kept it from being opened; the case fails with it.
    async fn open_small(&self, bucket: &BucketName) -> Result<Arc<dyn KeyValue>, StartError> {
        let _ = bucket;
        Err(Hook::SmallBucket.to_string().into())
    }

    /// Returns when the store's time has grown by `span`: moves its clock, or really waits.
    async fn pass(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }

    /// How many changes, at most, an idle watcher of a bucket may be behind before its watch ends. Only
    /// where the harness [offers](StateHarness::offers) it.
    fn backlog(&self) -> usize {
        0
    }

    /// Takes the store away from all handles, as its end or a lost network would. Only where the harness
    /// [offers](StateHarness::offers) it.
    async fn take_away(&self) {}

    /// Stops it.
    async fn stop(&self) {}
}
