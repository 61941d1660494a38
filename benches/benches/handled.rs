//! What it costs to remember handled events in a file, against remembering them in memory: the store alone,
//! by so many at a time, and a broker's events through the SDK, 16 handlers at a time. The file is on the
//! disk of the target folder.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mesh_benches::{Comparison, Report};
use mesh_clock::SystemClock;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::store::{Handled, HandledKey, HandledStore};
use mesh_sdk::{Broker, MemoryHandled};
use mesh_store::{Store, StoreOptions};
use mesh_transport_mem::InMemoryMesh;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// How many keys are in the stores before.
const BEFORE: u64 = 100_000;

static NEXT: AtomicU64 = AtomicU64::new(0);

fn main() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let clock = Arc::new(SystemClock::new());
    let memory: Arc<dyn HandledStore> = Arc::new(MemoryHandled::with_bounds(
        clock,
        1_000_000,
        StoreOptions::default().handled.window,
    ));
    let file: Arc<dyn HandledStore> = Arc::new(open(&runtime, &folder.path().join("filled")));
    for store in [&memory, &file] {
        runtime.block_on(handle(Arc::clone(store), BEFORE, 256));
    }
    for together in [1, 16, 256] {
        let items = 2000 * if together == 1 { 1 } else { 4 };
        let one = |store: &Arc<dyn HandledStore>| {
            runtime.block_on(handle(Arc::clone(store), items, together));
        };
        let name = format!("begin and record, {together} at a time");
        let items = u32::try_from(items).unwrap();
        show(&Comparison::new(name, items).rounds(7).run(|| one(&memory), || one(&file)));
    }
    events(&runtime, folder.path());
}

fn open(runtime: &Runtime, path: &Path) -> Store {
    let clock = Arc::new(SystemClock::new());
    runtime.block_on(Store::open(path, clock, StoreOptions::default())).unwrap()
}

/// Begins and records so many events, so many at a time.
async fn handle(store: Arc<dyn HandledStore>, events: u64, together: u64) {
    let mut tasks = JoinSet::new();
    for _ in 0..together {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            for _ in 0..events / together {
                let key = key(NEXT.fetch_add(1, Ordering::Relaxed));
                assert_eq!(store.begin(&key).await.unwrap(), Handled::No);
                store.record(key).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
}

fn key(number: u64) -> HandledKey {
    HandledKey {
        consumer: "n1_audit".parse().unwrap(),
        handler: "mail.>".parse().unwrap(),
        module: "mail".parse().unwrap(),
        event: format!("0199-{number}").parse().unwrap(),
    }
}

/// Events that a module publishes and another handles, on the broker in the process.
fn events(runtime: &Runtime, folder: &Path) {
    const EVENTS: u64 = 5000;
    let (memory, file) =
        (bed(runtime, None), bed(runtime, Some(open(runtime, &folder.join("sdk")))));
    let one = |bed: &Bed| runtime.block_on(bed.run(EVENTS));
    let comparison = Comparison::new("events through the SDK, 16 at a time", 5000).rounds(7);
    show(&comparison.run(|| one(&memory), || one(&file)));
}

struct Bed {
    mail: Broker,
    _audit: Broker,
    handled: Arc<(AtomicU64, Notify)>,
}

fn bed(runtime: &Runtime, store: Option<Store>) -> Bed {
    const MAIL: &str = "name = 'mail'\nversion = '1'\nemits = ['sent']";
    const AUDIT: &str = "name = 'audit'\nversion = '1'\nconsumes = ['mail.*']";
    let handled = Arc::new((AtomicU64::new(0), Notify::new()));
    let counting = Arc::clone(&handled);
    let (mail, audit) = runtime.block_on(async move {
        let files = [("mail", MAIL), ("audit", AUDIT)];
        let [mail, audit] = files.map(|(name, text)| ModuleManifest::parse(name, text).unwrap());
        let node = "n1".parse().unwrap();
        let mesh = Mesh::on_one_node(&node, [mail.clone(), audit.clone()]).unwrap();
        let mesh = InMemoryMesh::raise(mesh).await.unwrap();
        let broker = |file: &ModuleManifest| {
            Broker::builder(mesh.module(&node, &file.name).unwrap()).manifest(file)
        };
        let mail = broker(&mail).build().unwrap();
        let mut audit = broker(&audit);
        if let Some(store) = store {
            audit = audit.handled(Arc::new(store));
        }
        let audit = audit.build().unwrap();
        let handler = move |_| {
            counting.0.fetch_add(1, Ordering::Relaxed);
            counting.1.notify_one();
            std::future::ready(Ok(()))
        };
        audit.subscribe("mail.*", handler).await.unwrap();
        (mail, audit)
    });
    Bed { mail, _audit: audit, handled }
}

impl Bed {
    async fn run(&self, events: u64) {
        let before = self.handled.0.load(Ordering::Relaxed);
        let mail = self.mail.clone();
        let publishing = tokio::spawn(async move {
            for number in 0..events {
                mail.publish("sent", &number).await.unwrap();
            }
        });
        while self.handled.0.load(Ordering::Relaxed) < before + events {
            self.handled.1.notified().await;
        }
        publishing.await.unwrap();
    }
}

fn show(report: &Report) {
    let rate = |ns: f64| 1e6 / ns;
    println!("{report}  {:.2} against {:.2} k/s", rate(report.ours_ns), rate(report.baseline_ns));
}
