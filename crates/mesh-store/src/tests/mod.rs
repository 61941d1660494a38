mod bounds;
mod failing;
mod opening;
mod remembering;
mod state;
mod torn;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mesh_core::store::{Handled, HandledKey, HandledStore as _};
use mesh_testkit::clock::ManualClock;
use mesh_testkit::fixtures::{filter, module_name};
use tempfile::TempDir;

use crate::{HandledBounds, Store, StoreOptions};

const SECOND: Duration = Duration::from_secs(1);

/// A folder with a file, and a clock that is moved by hand.
struct Bed {
    folder: TempDir,
    clock: ManualClock,
}

impl Bed {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), clock: ManualClock::new() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    async fn open(&self) -> Store {
        self.open_with(StoreOptions::default()).await
    }

    /// With so much room for handled events.
    async fn bounded(&self, window: Duration, capacity: u64) -> Store {
        let handled = HandledBounds { window, capacity };
        self.open_with(StoreOptions { handled, ..StoreOptions::default() }).await
    }

    async fn open_with(&self, options: StoreOptions) -> Store {
        Store::open(self.path(), Arc::new(self.clock.clone()), options).await.unwrap()
    }
}

fn key(event: impl std::fmt::Display) -> HandledKey {
    HandledKey {
        consumer: "n1_audit".parse().unwrap(),
        handler: filter("mail.>"),
        module: module_name("mail"),
        event: event.to_string().parse().unwrap(),
    }
}

/// Begins and records it.
async fn handle(store: &Store, event: impl std::fmt::Display) {
    let key = key(event);
    assert_ne!(store.begin(&key).await.unwrap(), Handled::Yes);
    store.record(key).await.unwrap();
}

/// What is known of it.
async fn known(store: &Store, event: impl std::fmt::Display) -> Handled {
    let key = key(event);
    let known = store.begin(&key).await.unwrap();
    store.forget(&key).await.unwrap();
    known
}

/// The bytes of a file.
fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}
