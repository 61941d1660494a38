//! Reloads under load: whoever is connected and not revoked notices nothing.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mesh_core::event::EventId;
use mesh_core::port::DriftMode;
use mesh_sdk::{Broker, ReceivedEvent, ToolCall};
use mesh_testkit::fixtures::filter;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::bed::{Bed, PATIENCE};
use crate::people::{layout, mesh, with};

/// How much is tried: `MESH_RELOAD_CONNECTIONS`, `MESH_RELOAD_CHANGES`, and the milliseconds of an interval in
/// `MESH_RELOAD_INTERVAL`.
fn scale(name: &str, usual: u64) -> u64 {
    env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// What has been done while the users changed.
#[derive(Default)]
struct Done {
    stop: AtomicBool,
    calls: AtomicU64,
    failures: Mutex<Vec<String>>,
    published: Mutex<Vec<EventId>>,
    handled: Mutex<HashMap<EventId, u32>>,
}

impl Done {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn failed(&self, what: String) {
        self.failures.lock().push(what);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_while_users_come_and_go() {
    let connections = scale("MESH_RELOAD_CONNECTIONS", 300);
    let changes = scale("MESH_RELOAD_CHANGES", 50);
    let interval = Duration::from_millis(scale("MESH_RELOAD_INTERVAL", 500));
    let mut base = layout();
    let people: Vec<String> = (0..connections).map(|number| format!("p{number}")).collect();
    for name in &people {
        base = with(&base, name);
    }
    let mut bed = Bed::raise(base.clone(), interval).await;
    let controller = bed.connect("controller").await;
    let administration = controller.administration().unwrap();
    administration.assert(&mesh().topology().unwrap(), DriftMode::Report).await.unwrap();

    let mut live = Vec::new();
    for name in &people {
        live.push(bed.admitted(name).await);
    }
    let done = Arc::new(Done::default());
    let (brokers, mut work) = at_work(&bed, &done).await;
    let before = connected(&bed).await;
    let server = bed.varz().await.server_id;

    let mut spans = Vec::new();
    let mut last = None;
    for number in 0..changes {
        let name = format!("new-{number}");
        bed.write(with(&base, &name));
        let began = Instant::now();
        let client = bed.admitted(&name).await;
        spans.push(began.elapsed());
        if let Some(mut revoked) = last.replace(client) {
            revoked.closed().await.unwrap();
        }
    }

    done.stop.store(true, Ordering::Relaxed);
    while let Some(ended) = work.join_next().await {
        ended.unwrap();
    }
    let (published, deadline) = (done.published.lock().len(), Instant::now() + PATIENCE);
    while done.handled.lock().len() < published && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    assert_eq!(*done.failures.lock(), [""; 0]);
    let handled = done.handled.lock().clone();
    for id in done.published.lock().iter() {
        assert_eq!(handled.get(id), Some(&1), "{id}");
    }
    for client in &mut live {
        assert!(client.settle().await.unwrap().errors.is_empty());
    }
    let after = connected(&bed).await;
    let dropped: Vec<_> =
        before.iter().filter(|(number, _)| !after.contains_key(*number)).collect();
    assert!(dropped.is_empty(), "{dropped:?}");
    assert_eq!(bed.varz().await.server_id, server);
    let calls = done.calls.load(Ordering::Relaxed);
    assert!(calls > changes && published as u64 > changes, "{calls} calls, {published} events");
    for broker in brokers {
        assert_eq!(broker.close(Duration::from_secs(10)).await.lost, 0);
    }

    spans.sort();
    let (median, most) = (spans[spans.len() / 2], spans[spans.len() - 1]);
    let told = format!(
        "{connections} connections, {changes} changes, an interval of {interval:?}: a new user is let in after \
         {median:?} (median), {most:?} (most); {calls} calls answered, {published} events handled once, \
         {} reloads\n",
        bed.reloads()
    );
    io::stdout().write_all(told.as_bytes()).unwrap();
}

/// Modules of our own that call, answer, emit and consume without a pause.
async fn at_work(bed: &Bed, done: &Arc<Done>) -> (Vec<Broker>, JoinSet<()>) {
    let module = async |name: &str, consumes: &[&str]| {
        let connection = bed.connect(name).await;
        let consumes = consumes.iter().map(|text| filter(text));
        Broker::builder(connection).consumes(consumes).build().unwrap()
    };
    let tool = module("tool.n1", &[]).await;
    tool.handle("echo", |call: ToolCall| async move { call.decode::<Value>() }).await.unwrap();
    let sink = module("sink.n1", &["source.made"]).await;
    let heard = Arc::clone(done);
    let handler = move |event: ReceivedEvent| {
        *heard.handled.lock().entry(event.event.id().clone()).or_default() += 1;
        async { Ok(()) }
    };
    sink.subscribe("source.made", handler).await.unwrap();
    let caller = module("caller.n1", &[]).await;
    let source = module("source.n1", &[]).await;

    let mut work = JoinSet::new();
    for _ in 0..4 {
        work.spawn(calling(caller.clone(), Arc::clone(done)));
    }
    for _ in 0..2 {
        work.spawn(emitting(source.clone(), Arc::clone(done)));
    }
    (vec![caller, source, sink, tool], work)
}

async fn calling(caller: Broker, done: Arc<Done>) {
    while done.goes_on() {
        let asked = done.calls.fetch_add(1, Ordering::Relaxed);
        match caller.request::<_, _, u64>(("tool", "echo"), &asked).await {
            Ok(answer) if answer == asked => {}
            Ok(answer) => done.failed(format!("{asked} was answered with {answer}")),
            Err(error) => done.failed(format!("call {asked}: {error}")),
        }
    }
}

async fn emitting(source: Broker, done: Arc<Done>) {
    let mut number = 0_u64;
    while done.goes_on() {
        number += 1;
        match source.publish("made", &number).await {
            Ok(published) => done.published.lock().push(published.id),
            Err(error) => done.failed(format!("event {number}: {error}")),
        }
        // As many as can be handled meanwhile: what waits is no test of what is in flight.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The server's numbers of all connections, with who has each.
async fn connected(bed: &Bed) -> BTreeMap<u64, String> {
    let connz: Value = bed.monitor().get("/connz?auth=true&limit=10000").await.unwrap();
    let connections = connz["connections"].as_array().unwrap();
    let pair = |connection: &Value| {
        let user = connection["authorized_user"].as_str().unwrap_or_default();
        (connection["cid"].as_u64().unwrap(), user.to_owned())
    };
    connections.iter().map(pair).filter(|(_, user)| !user.starts_with("new-")).collect()
}
