use std::collections::HashMap;
use std::time::Duration;

use metrics::set_default_local_recorder;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

use super::support::*;
use super::world::*;

/// What was recorded: each metric by its name and the last of its labels.
fn recorded(recorder: &DebuggingRecorder) -> HashMap<String, DebugValue> {
    let all = recorder.snapshotter().snapshot().into_vec().into_iter();
    all.map(|(key, _, _, value)| {
        let (_, key) = key.into_parts();
        let labels: Vec<_> = key.labels().map(|label| label.value().to_owned()).collect();
        assert_eq!(&labels[..2], ["mesh_memory", "acme.com"], "the backbone and our own realm");
        let last = labels.get(2).map(|label| format!(" {label}")).unwrap_or_default();
        (format!("{}{last}", key.name()), value)
    })
    .collect()
}

#[tokio::test]
async fn what_is_counted_is_told_to_who_records_metrics() {
    let recorder = DebuggingRecorder::new();
    let _recording = set_default_local_recorder(&recorder);
    let world = World::new();
    let gateway = world.started().await;
    world.component("stock.accepts.count", "[2]").await;
    let mut peer = world.peer("shop", MX).await;
    for id in ["1", "2"] {
        peer.send(MX, &cmd(id)).await;
        assert_eq!(peer.hear().await, "mxenv1 [2]");
    }
    peer.send(MX, &cmd("2")).await;
    settle().await;
    world.clock.advance(Duration::from_secs(5)).await;
    let told = recorded(&recorder);
    let counter = |name: &str| match told.get(name) {
        Some(DebugValue::Counter(total)) => *total,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(counter("mesh.federation.received"), 3);
    assert_eq!(counter("mesh.federation.sent"), 2);
    assert_eq!(counter("mesh.federation.guard.refused replay"), 1);
    assert_eq!(counter("mesh.federation.lost mx/in/1/acme.com/00"), 0);
    let listening = &told["mesh.federation.listening mx/in/1/acme.com/00"];
    assert_eq!(*listening, DebugValue::Gauge(1.0.into()));
    assert_eq!(told["mesh.federation.pending"], DebugValue::Gauge(0.0.into()));
    let DebugValue::Histogram(took) = &told["mesh.federation.request.duration"] else { panic!() };
    assert_eq!(took.len(), 2);
    // Nothing of it is a stranger's.
    assert!(told.keys().all(|name| !name.contains("shop") && !name.contains("stock")));
    drop(gateway);
}
