//! Who publishes, kills, and judges.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use mesh_clock::SystemClock;
use mesh_sdk::{Broker, Events};
use mesh_store::{OpenError, Store, StoreOptions};

use crate::child::{self, Told};
use crate::ground::{Ground, mail, owed};
use crate::journal::{Journal, What, judge};

/// The bound of one step on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) events: u64,
    pub(crate) kills: u64,
    pub(crate) concurrency: usize,
    pub(crate) durable: bool,
}

/// Runs it; everything that was wrong.
pub(crate) fn run<G: Ground>(plan: Plan) -> Vec<String> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(play::<G>(plan))
}

async fn play<G: Ground>(plan: Plan) -> Vec<String> {
    let Plan { events, kills, concurrency, durable } = plan;
    let began = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let ground = G::raise(folder.path()).await;
    let journal = folder.path().join("journal");
    std::fs::write(&journal, "").unwrap();
    let mut journal = Journal::of(std::fs::File::open(journal).unwrap());
    let publishing = tokio::spawn(publish::<G>(folder.path().join("mail"), events));

    let start = |life, stuck| {
        let folder = folder.path().to_owned();
        let ground = G::NAME.to_owned();
        Module::start(&Told { ground, folder, life, concurrency, durable, stuck })
    };
    for life in 1..=kills {
        // Each has its share of the events. Every other is killed when one of its runs waits for it, the
        // others wherever they are by then.
        let before = journal.runs();
        let share = events / (kills + 1) + life * 7 % 13;
        let stuck = (life % 2 == 1).then_some(share);
        let mut module = start(life, stuck);
        until("the share of a life", async || {
            let read = journal.read();
            let waits = read.iter().any(|entry| entry.life == life && entry.what == What::Stuck);
            let enough = (journal.runs() - before) as u64 >= share;
            module.lives();
            if stuck.is_some() { waits } else { enough }
        })
        .await;
        if durable && life == 1 {
            // Its file is its own.
            let clock = Arc::new(SystemClock::new());
            let refused = Store::open(child::store(folder.path()), clock, StoreOptions::default());
            assert!(matches!(refused.await, Err(OpenError::InUse { .. })));
        }
        module.kill();
    }
    publishing.await.unwrap();
    // What is in hand when a module leaves goes back, and what a broker says of that comes late.
    for life in kills + 1.. {
        let mut module = start(life, None);
        until("the end of all events", async || {
            journal.read();
            module.lives();
            journal.done() == events && owed(&ground).await == 0
        })
        .await;
        module.close();
        if soon(Duration::from_secs(10), async || owed(&ground).await == 0).await {
            break;
        }
    }
    let entries = journal.read().to_vec();
    let again =
        entries.iter().filter(|entry| entry.what == What::Run { interrupted: true }).count();
    println!(
        "{} with {concurrency} at a time, durable {durable}: {events} events, {kills} kills, {} runs, of which {again} \
         were told that they are interrupted, in {:.1?}",
        G::NAME,
        journal.runs(),
        began.elapsed()
    );
    judge(&entries, events, kills, concurrency)
}

async fn publish<G: Ground>(credential: std::path::PathBuf, events: u64) {
    let mail = Broker::builder(G::dial(&credential).await).manifest(&mail());
    let mail = mail.publish_timeout(PATIENCE).build_only::<Events>().unwrap();
    futures_util::stream::iter(0..events)
        .map(|number| {
            let mail = mail.clone();
            async move { mail.publish("sent", &number).await.unwrap() }
        })
        .buffer_unordered(32)
        .for_each(|_| async {})
        .await;
    assert_eq!(mail.close(PATIENCE).await.lost, 0);
}

/// A life of the module. Killed when it is dropped.
struct Module(Child);

impl Module {
    fn start(told: &Told) -> Self {
        let (variable, value) = told.variable();
        let program = std::env::current_exe().unwrap();
        let child = Command::new(program).env(variable, value).stdin(Stdio::piped()).spawn();
        Self(child.unwrap())
    }

    /// Fails where it has ended by itself.
    fn lives(&mut self) {
        assert_eq!(self.0.try_wait().unwrap(), None, "it ended");
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn close(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks again and again until it is so, or fails the test.
async fn until(what: &str, is: impl AsyncFnMut() -> bool) {
    assert!(soon(PATIENCE, is).await, "not in time: {what}");
}

/// Whether it comes to be so.
async fn soon(span: Duration, mut is: impl AsyncFnMut() -> bool) -> bool {
    let due = Instant::now() + span;
    while Instant::now() < due {
        if is().await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    false
}
