use std::sync::Arc;

use mesh_core::permissions::{Permissions, Rules};
use mesh_core::port::{Connection, ErrorKind, Operation, TransportError};
use mesh_core::subject::Filter;
use tokio::sync::Semaphore;

use super::ground::{From, Ground, Stalling, gateway, json, mx, settle};
use super::*;

const SUBSCRIBE: &str = "_federation.accepts.subscribe";
const STOCK: &str = r#"{"sourcePath": "stock.emits.changed", "sinkPath": "window.emits.stock"}"#;
const SOURCE: &str = "stock.emits.changed";

async fn start(ground: &Ground, backbone: Connection, outbox: OutboxLimits) -> FederationFacade {
    let options = FederationOptions { outbox, ..FederationOptions::default() };
    FederationFacade::start(&ground.host("g1"), backbone, options).await.unwrap()
}

async fn subscribed(ground: &Ground, from: From<'_>) {
    ground.ask(SUBSCRIBE, Some(from), STOCK).await.unwrap();
}

fn kinds(got: &[ground::Got]) -> Vec<NoticeKind> {
    let notices = got.iter().filter(|got| got.path.ends_with("lease-notice"));
    notices.map(|got| Notice::read(&json(&got.body)).unwrap().kind).collect()
}

fn events(got: &[ground::Got]) -> Vec<&str> {
    let events = got.iter().filter(|got| got.path == "window.emits.stock");
    events.map(|got| &*got.body).collect()
}

#[tokio::test]
async fn a_slow_sink_delays_nobody_and_is_told_how_many_it_missed() {
    let ground = Ground::new();
    let gate = Arc::new(Semaphore::new(0));
    let backbone = Stalling::connection(ground.connect(), "slow", Arc::clone(&gate), None);
    let outbox = OutboxLimits { per_realm: 3, ..OutboxLimits::default() };
    let facade = start(&ground, backbone, outbox).await;
    let mut slow = ground.mailbox("slow", Profile::MxEnv1).await;
    let mut fast = ground.mailbox("fast", Profile::MxEnv1).await;
    subscribed(&ground, mx("slow")).await;
    subscribed(&ground, mx("fast")).await;
    for n in 0..10 {
        ground.emit(SOURCE, &n.to_string()).await;
    }
    assert_eq!(fast.bodies().await.len(), 10);
    assert_eq!(slow.bodies().await.len(), 0);
    let status = facade.status();
    assert_eq!((status.waiting, status.waiting_realms, status.counts.queue_full), (4, 1, 7));
    gate.add_permits(100);
    let got = slow.all().await;
    assert_eq!(events(&got), ["0", "1", "2"]);
    assert_eq!(kinds(&got), [NoticeKind::Missed(7)]);
    assert_eq!(got[3].path, "window.emits.lease-notice");
    ground.emit(SOURCE, "10").await;
    assert_eq!(slow.bodies().await, ["10"]);
    let status = facade.status();
    assert_eq!((status.waiting, status.counts.forwarded, status.counts.notices), (0, 15, 1));
}

#[tokio::test]
async fn large_events_for_a_slow_sink_leave_room_for_the_others() {
    let ground = Ground::new();
    let gate = Arc::new(Semaphore::new(0));
    let backbone = Stalling::connection(ground.connect(), "slow", Arc::clone(&gate), None);
    let facade = start(&ground, backbone, OutboxLimits::default()).await;
    let mut fast = ground.mailbox("fast", Profile::MxEnv1).await;
    subscribed(&ground, mx("slow")).await;
    subscribed(&ground, mx("fast")).await;
    let large = format!("\"{}\"", "x".repeat(512 << 10));
    let mut heard = 0;
    for _ in 0..200 {
        ground.emit(SOURCE, &large).await;
        heard += events(&fast.all().await).len();
    }
    assert_eq!(heard, 200);
    assert!(facade.status().counts.queue_full >= 184, "{:?}", facade.status());
}

#[tokio::test]
async fn a_sink_that_the_backbone_refuses_costs_the_others_nothing() {
    let ground = Ground::new();
    let error = TransportError::new(ErrorKind::Denied, Operation::Publish);
    let gate = Arc::new(Semaphore::new(0));
    let backbone = Stalling::connection(ground.connect(), "barred", gate, Some(error));
    let facade = start(&ground, backbone, OutboxLimits::default()).await;
    let mut fast = ground.mailbox("fast", Profile::MxEnv1).await;
    subscribed(&ground, mx("barred")).await;
    subscribed(&ground, mx("fast")).await;
    for n in 0..5 {
        ground.emit(SOURCE, &n.to_string()).await;
    }
    assert_eq!(fast.bodies().await.len(), 5);
    let counts = facade.status().counts;
    assert_eq!((counts.forwarded, counts.undelivered), (5, 5));
    // Each loss was to be told, and could not.
    assert_eq!((counts.notices, counts.notices_lost), (0, 5));
    assert_eq!(facade.status().waiting, 0);
}

#[tokio::test]
async fn a_backbone_that_is_away_is_tried_again_and_then_given_up() {
    let ground = Ground::new();
    let error = TransportError::new(ErrorKind::Disconnected, Operation::Publish);
    let gate = Arc::new(Semaphore::new(0));
    let backbone = Stalling::connection(ground.connect(), "shop", gate, Some(error));
    let facade = start(&ground, backbone, OutboxLimits::default()).await;
    subscribed(&ground, mx("shop")).await;
    ground.emit(SOURCE, "1").await;
    ground.pass(20).await;
    assert_eq!((facade.status().waiting, facade.status().counts.undelivered), (1, 0));
    ground.pass(20).await;
    assert_eq!(facade.status().counts.undelivered, 1);
    // The lease has not ended: its notice waits, and is given up with the facade.
    let report = facade.close(Duration::ZERO).await;
    assert_eq!(report.given_up, 2);
}

#[tokio::test]
async fn events_that_fit_no_envelope_are_counted_and_told() {
    let ground = Ground::new();
    let outbox = OutboxLimits { bytes: 1_000, ..OutboxLimits::default() };
    let facade = start(&ground, ground.connect(), outbox).await;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    subscribed(&ground, mx("shop")).await;
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    for body in ["no json", r#""\ud800""#, &deep, &format!("\"{}\"", "x".repeat(1_000))] {
        ground.emit(SOURCE, body).await;
        let got = shop.all().await;
        assert_eq!((events(&got).len(), kinds(&got)), (0, vec![NoticeKind::Missed(1)]), "{body}");
    }
    let counts = facade.status().counts;
    assert_eq!((counts.unusable, counts.queue_full), (3, 1));
    let room = format!("\"{}\"", "x".repeat(900));
    ground.emit(SOURCE, &room).await;
    ground.emit(SOURCE, &room).await;
    assert_eq!(shop.bodies().await, [room.clone(), room]);
}

#[tokio::test]
async fn a_source_that_may_not_be_heard_any_more_ends_its_leases() {
    let ground = Ground::new();
    let facade = start(&ground, ground.connect(), OutboxLimits::default()).await;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    subscribed(&ground, mx("shop")).await;
    let topic = Filter::new("mx/1/home/stock.emits.changed").unwrap();
    let but =
        Permissions { subscribe: Rules::everything().except([topic]), ..Permissions::everything() };
    ground.bus.set_permissions(&gateway("g1"), &but);
    let got = shop.all().await;
    assert_eq!(kinds(&got), [NoticeKind::Ended(EndReason::SourceGone)]);
    let status = facade.status();
    assert_eq!((status.leases, status.sources), (0, 0));
    // Who asks now is told at once, and nothing is left.
    let fault = ground.ask(SUBSCRIBE, Some(mx("shop")), STOCK).await.unwrap_err();
    assert_eq!(fault.code, codes::UNAVAILABLE);
    settle().await;
    assert_eq!((facade.status().leases, facade.status().sources), (0, 0));
}

#[tokio::test]
async fn a_gap_on_the_local_bus_is_told_to_every_sink() {
    let ground = Ground::new();
    let cut = Arc::<tokio::sync::Notify>::default();
    let local = Stalling::cut(ground.host("g1").local().clone(), Arc::clone(&cut));
    let host = crate::ComponentHost::new(realm("home"), local, crate::HostOptions::default());
    let options = FederationOptions::default();
    let facade = FederationFacade::start(&host, ground.connect(), options).await.unwrap();
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    subscribed(&ground, mx("shop")).await;
    cut.notify_waiters();
    settle().await;
    ground.emit(SOURCE, "0").await;
    ground.pass(1).await;
    let got = shop.all().await;
    assert_eq!(kinds(&got), [NoticeKind::Missed(0)]);
    ground.emit(SOURCE, "1").await;
    assert_eq!(shop.bodies().await, ["1"]);
    assert_eq!(facade.status().counts.gaps, 1);
}

/// More than its buffer holds while nobody reads.
#[tokio::test]
async fn a_facade_that_is_too_slow_says_what_it_lost() {
    let ground = Ground::new();
    let buffer = std::num::NonZeroUsize::new(4).unwrap();
    let options = FederationOptions { buffer, ..FederationOptions::default() };
    let facade =
        FederationFacade::start(&ground.host("g1"), ground.connect(), options).await.unwrap();
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    subscribed(&ground, mx("shop")).await;
    let inside = ground.bus.connect(gateway("quick"), Permissions::everything()).unwrap();
    let topic = mesh_core::mx::Topic::internal(&realm("home"), &path(SOURCE)).unwrap();
    for n in 0..50_u32 {
        let message = mesh_core::message::Message::new(topic.clone(), n.to_string());
        // Not a turn for anybody else, where the broker does not wait.
        futures_util::FutureExt::now_or_never(ground::publish(&inside, message));
    }
    let got = shop.all().await;
    let missed: u64 = kinds(&got)
        .into_iter()
        .map(|kind| match kind {
            NoticeKind::Missed(events) => events,
            other => panic!("{other:?}"),
        })
        .sum();
    assert!(missed > 0);
    assert_eq!(events(&got).len() as u64 + missed, 50);
    assert!(facade.status().counts.gaps > 0);
}
