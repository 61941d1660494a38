//! The module that is killed.

use std::fs::{File, OpenOptions};
use std::future::pending;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mesh_clock::SystemClock;
use mesh_sdk::{Broker, Events, ReceivedEvent};
use mesh_store::{Store, StoreOptions};
use serde::{Deserialize, Serialize};

use crate::amqp::Amqp;
use crate::ground::{Ground, audit};
use crate::journal::{Entry, What};
use crate::nats::Nats;

const VARIABLE: &str = "MESH_TEST_KILLED_MODULE";

/// What the child is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) ground: String,
    pub(crate) folder: PathBuf,
    pub(crate) life: u64,
    pub(crate) concurrency: usize,
    /// Whether it remembers in a file.
    pub(crate) durable: bool,
    /// Which run of this life never ends.
    pub(crate) stuck: Option<u64>,
}

impl Told {
    pub(crate) fn from_environment() -> Option<Self> {
        let told = std::env::var(VARIABLE).ok()?;
        Some(serde_json::from_str(&told).unwrap())
    }

    /// For the environment.
    pub(crate) fn variable(&self) -> (&'static str, String) {
        (VARIABLE, serde_json::to_string(self).unwrap())
    }
}

/// Where the module's store is.
pub(crate) fn store(folder: &Path) -> PathBuf {
    folder.join("store")
}

/// Handles events until its input ends, and then closes in an orderly way.
pub(crate) fn run(told: Told) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match told.ground.as_str() {
        Nats::NAME => runtime.block_on(live::<Nats>(told)),
        Amqp::NAME => runtime.block_on(live::<Amqp>(told)),
        other => panic!("no ground {other}"),
    }
}

async fn live<G: Ground>(told: Told) {
    let journal = told.folder.join("journal");
    let journal = Arc::new(OpenOptions::new().append(true).create(true).open(journal).unwrap());
    let connection = G::dial(&told.folder.join("audit")).await;
    let mut builder = Broker::builder(connection).manifest(&audit()).concurrency(told.concurrency);
    let mut store_ = None;
    if told.durable {
        let clock = Arc::new(SystemClock::new());
        let store = Store::open(store(&told.folder), clock, StoreOptions::default()).await.unwrap();
        builder = builder.handled(Arc::new(store.clone()));
        store_ = Some(store);
    }
    let broker = builder.build_only::<Events>().unwrap();
    let (runs, life, stuck) = (Arc::new(AtomicU64::new(0)), told.life, told.stuck);
    let writing = Arc::clone(&journal);
    let handler = move |event: ReceivedEvent| {
        let (journal, run) = (Arc::clone(&writing), runs.fetch_add(1, Ordering::Relaxed) + 1);
        async move {
            let number: u64 = event.decode()?;
            let write = |what| write(&journal, &Entry { life, number, what });
            write(What::Run { interrupted: event.interrupted });
            if stuck == Some(run) {
                write(What::Stuck);
                pending::<()>().await;
            }
            // The work.
            tokio::time::sleep(Duration::from_millis(1)).await;
            write(What::Done);
            Ok(())
        }
    };
    broker.subscribe("mail.*", handler).await.unwrap();
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()))
        .await
        .unwrap()
        .unwrap();
    broker.close(Duration::from_secs(10)).await;
    if let Some(store) = store_ {
        store.close().await;
    }
    let interrupted = broker.health().interrupted_events;
    write(&journal, &Entry { life, number: interrupted, what: What::Closed });
}

/// In one piece: it is there or not, whenever the process is killed.
fn write(mut journal: &File, entry: &Entry) {
    journal.write_all(entry.line().as_bytes()).unwrap();
}
