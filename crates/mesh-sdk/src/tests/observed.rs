//! What spans and metrics say, and what they never do.

use mesh_core::event::TraceContext;
use mesh_core::manifest::ModuleManifest;
use mesh_core::tool::ToolFailure;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

use super::log::{Fields, Log};
use super::*;
use crate::{Emission, HandlerError, ReceivedEvent, Subscription, ToolCall, ToolRequest};

/// In every body, every failure, every input and output, and the baggage.
const SECRET: &str = "hunter2";
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// One line for each span, without what is drawn at random.
fn spans(log: &Log) -> Vec<String> {
    let drawn = ["messaging.message.id", "span_id", "otel.name", "messaging.system"];
    let line = |fields: &Fields| {
        let kept = fields.0.iter().filter(|(name, _)| !drawn.contains(name));
        kept.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    log.spans.iter().map(line).collect()
}

/// One line for each metric: name, unit, value and attributes; a histogram's value is its count and sum.
fn lines(snapshotter: &Snapshotter) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, unit, description, value) in snapshotter.snapshot().into_vec() {
        assert!(description.is_some(), "{} is not described", key.key().name());
        let unit = unit.map_or("?", |unit| unit.as_str());
        let labels: Vec<_> =
            key.key().labels().map(|l| format!("{}={}", l.key(), l.value())).collect();
        let value = match value {
            DebugValue::Counter(count) => count.to_string(),
            DebugValue::Gauge(level) => level.to_string(),
            DebugValue::Histogram(spans) => {
                let sum: f64 = spans.iter().map(|span| span.0).sum();
                format!("{} in {sum}", spans.len())
            }
        };
        lines.push(format!("{} {unit} {value} {}", key.key().name(), labels.join(" ")));
    }
    lines.sort();
    lines
}

fn manifest(text: &str) -> ModuleManifest {
    ModuleManifest::parse("module.toml", text).unwrap()
}

/// One of everything, on a clock that is moved by hand.
async fn script() -> Bed {
    let bed = Bed::new().await;
    let mail = manifest("name = 'mail'\nversion = '1'\nemits = ['sent', 'lost']");
    let grants = ModuleGrants {
        emits: vec![event_name("sent"), event_name("lost")],
        tools: vec![tool_name("send")],
        ..ModuleGrants::default()
    };
    let mail = bed.module("mail", &grants).manifest(&mail).concurrency(1).build().unwrap();
    let audit =
        manifest("name = 'audit'\nversion = '1'\nconsumes = ['mail.>']\ncalls = ['mail.send']");
    let audit = bed.audit().manifest(&audit).build().unwrap();

    // Of two handlers one fails once, so the other is passed over; an event that is rejected.
    let by_data = Subscription::new(filter("mail.sent")).ordered_by(|_| "all");
    let clock = bed.clock.clone();
    audit
        .subscribe(by_data, move |event: ReceivedEvent| {
            let clock = clock.clone();
            async move {
                clock.sleep(Duration::from_millis(250)).await;
                match event.decode::<(u32, String)>()?.0 {
                    0 => Ok(()),
                    _ => Err(HandlerError::reject(SECRET)),
                }
            }
        })
        .await
        .unwrap();
    audit
        .subscribe("mail.*", |event: ReceivedEvent| async move {
            match event.attempt {
                1 => Err(HandlerError::retry(SECRET)),
                _ => Ok(()),
            }
        })
        .await
        .unwrap();
    let mut trace = TraceContext::read([("traceparent", TRACE)]);
    trace.baggage = Some(format!("password={SECRET}"));
    let sent = Emission::new(event_name("sent")).traced(trace);
    mail.publish(sent.clone(), &(0, SECRET)).await.unwrap();
    mail.publish(sent, &(1, SECRET)).await.unwrap();
    bed.clock.advance(5 * SECOND).await;
    assert!(mail.publish("other", SECRET).await.is_err(), "it may not emit that");
    bed.append(bed.written_by("ledger", "forged")).await;
    bed.clock.advance(SECOND).await;

    // Calls that are answered, that fail, that come too late and that go nowhere.
    let clock = bed.clock.clone();
    mail.handle("send", move |call: ToolCall| {
        let clock = clock.clone();
        async move {
            clock.sleep(SECOND).await;
            match call.decode::<(u32, String)>()?.0 {
                0 => Ok(SECRET),
                1 => Err(ToolFailure::new(SECRET, SECRET)),
                _ => panic!("{SECRET}"),
            }
        }
    })
    .await
    .unwrap();
    let mut asked = Vec::new();
    for (number, seconds) in [(0, 30), (1, 30), (2, 30), (0, 2)] {
        let audit = audit.clone();
        let tool = ToolRequest::new(module_name("mail"), tool_name("send"));
        asked.push(tokio::spawn(async move {
            let tool = tool.timeout(seconds * SECOND);
            audit.request::<_, _, String>(tool, &(number, SECRET)).await.is_ok()
        }));
        bed.clock.advance(Duration::ZERO).await;
    }
    bed.clock.advance(10 * SECOND).await;
    let answers = futures_util::future::join_all(asked).await;
    assert_eq!(
        answers.into_iter().map(Result::unwrap).collect::<Vec<_>>(),
        [true, false, false, false]
    );
    assert!(audit.request::<_, _, String>((SECRET, SECRET), SECRET).await.is_err());
    audit.close(SECOND).await;
    mail.close(SECOND).await;
    bed.clock.advance(SECOND).await;
    bed
}

#[tokio::test]
async fn metrics_of_a_run_are_these_and_no_others() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _local = ::metrics::set_default_local_recorder(&recorder);
    let _bed = script().await;
    let lines = lines(&snapshotter).join("\n");
    assert_eq!(lines.trim(), include_str!("metrics.txt").trim(), "\n{lines}\n");
    assert!(!lines.contains(SECRET));
    let documented = include_str!("../../../../docs/observability.md");
    for line in lines.lines() {
        let name = line.split(' ').next().unwrap();
        assert!(documented.contains(&format!("| `{name}` |")), "{name} is not documented");
    }
}

#[tokio::test]
async fn spans_of_a_run_say_what_is_done_and_nothing_of_what_is_said() {
    Log::begin();
    let _bed = script().await;
    let log = Log::read();
    let lines = spans(&log).join("\n");
    assert_eq!(lines.trim(), include_str!("spans.txt").trim(), "\n{lines}\n");
    let all = format!("{:?}", log.spans).replace(&format!("mesh.tools.{SECRET}.{SECRET}"), "");
    assert!(!all.contains(SECRET), "{all}");
    assert!(all.contains("messaging.system\", \"mesh_memory"), "{all}");
}

#[tokio::test]
async fn a_recorder_that_comes_later_hears_what_is_then() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let (seen, go) = (notes.clone(), Arc::new(Notify::new()));
    let wait = Arc::clone(&go);
    audit
        .subscribe("mail.sent", move |_| {
            seen.write("begun");
            let wait = Arc::clone(&wait);
            async move {
                wait.notified().await;
                Ok(())
            }
        })
        .await
        .unwrap();
    for _ in 0..3 {
        mail.publish("sent", &()).await.unwrap();
    }
    notes.wait(3).await;
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _local = ::metrics::set_default_local_recorder(&recorder);
    crate::describe_metrics();
    go.notify_one();
    bed.clock.advance(Duration::ZERO).await;
    let lines = lines(&snapshotter);
    let in_flight = "mesh.events.in_flight count 2 messaging.system=mesh_memory \
        messaging.consumer.group.name=n1_audit";
    assert!(lines.iter().any(|line| line == in_flight), "{lines:?}");
}
