use std::sync::Arc;

use mesh_core::store::{Expected, KeyValue, StoreKey, Written};

use super::ground::{From, Ground, json, legacy, mx, settle};
use super::reached::Reached;
use super::*;
use crate::{InMemoryState, StateLimits};

pub(super) const SUBSCRIBE: &str = "_federation.accepts.subscribe";
pub(super) const REFRESH: &str = "_federation.accepts.refresh";
pub(super) const UNSUBSCRIBE: &str = "_federation.accepts.unsubscribe";
pub(super) const STOCK: &str =
    r#"{"sourcePath": "stock.emits.changed", "sinkPath": "window.emits.stock"}"#;
pub(super) const SOURCE: &str = "stock.emits.changed";

pub(super) fn state(ground: &Ground) -> InMemoryState {
    InMemoryState::new(Arc::new(ground.clock.clone()), StateLimits::default())
}

pub(super) async fn begin(ground: &Ground, name: &str, store: &Reached) -> FederationFacade {
    let shared = SharedOptions { gateway: Some(name.to_owned()), ..SharedOptions::default() };
    let store: Arc<dyn KeyValue> = Arc::new(store.clone());
    let options = FederationOptions { store: Some(store), shared, ..FederationOptions::default() };
    let backbone = ground.connect();
    let facade = FederationFacade::start(&ground.host(name), backbone, options).await.unwrap();
    settle().await;
    facade
}

pub(super) async fn subscribed(ground: &Ground, from: From<'_>) -> String {
    let answer = ground.ask(SUBSCRIBE, Some(from), STOCK).await.unwrap();
    settle().await;
    answer["id"].as_str().unwrap().to_owned()
}

/// Through this very gateway, whoever's turn it is.
pub(super) async fn subscribed_at(facade: &FederationFacade, name: &str) -> String {
    let mut call = crate::Call::new(path(SUBSCRIBE), json(STOCK));
    call.remote = Some(crate::Remote::new(realm(name), Profile::MxEnv1));
    let answer = facade.desk().0.subscribe(call).await.unwrap();
    settle().await;
    answer.to::<serde_json::Value>().unwrap()["id"].as_str().unwrap().to_owned()
}

pub(super) fn by_id(id: &str) -> String {
    format!(r#"{{"id": "{id}"}}"#)
}

pub(super) fn kinds(got: &[ground::Got]) -> Vec<NoticeKind> {
    let notices = got.iter().filter(|got| got.path.ends_with("lease-notice"));
    notices.map(|got| Notice::read(&json(&got.body)).unwrap().kind).collect()
}

pub(super) fn kept(facades: &[&FederationFacade]) -> usize {
    facades.iter().map(|facade| facade.status().sources).sum()
}

#[tokio::test]
async fn leases_outlive_a_gateway_that_is_killed_and_started_again() {
    let ground = Ground::new();
    let store = Reached::new(&state(&ground));
    let first = begin(&ground, "g1", &store).await;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    let mut old = ground.mailbox("old", Profile::Legacy).await;
    let id = subscribed(&ground, mx("shop")).await;
    subscribed(&ground, legacy("old")).await;
    drop(first);
    settle().await;
    ground.emit(SOURCE, "\"lost\"").await;
    // Under its own name it goes on at once, and says that something may be missing.
    let second = begin(&ground, "g1", &store).await;
    assert_eq!(kinds(&shop.all().await), [NoticeKind::Missed(0)]);
    assert_eq!(kinds(&old.all().await), [NoticeKind::Missed(0)]);
    ground.emit(SOURCE, "1").await;
    assert_eq!((shop.bodies().await, old.bodies().await), (vec!["1".into()], vec!["1".into()]));
    ground.pass(30).await;
    let answer = ground.ask(REFRESH, Some(mx("shop")), &by_id(&id)).await.unwrap();
    assert_eq!(answer["expiresAtMs"], 1_767_225_600_000_i64 + 90_000);
    ground.pass(30).await;
    assert_eq!(kinds(&old.all().await), [NoticeKind::Ended(EndReason::Expired)]);
    assert_eq!(second.status().leases, 1);
    assert_eq!(second.status().counts.adopted, 2);
}

#[tokio::test]
async fn a_lease_that_ends_while_no_gateway_is_there_is_told_by_the_next() {
    let ground = Ground::new();
    let store = Reached::new(&state(&ground));
    let first = begin(&ground, "g1", &store).await;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    subscribed(&ground, mx("shop")).await;
    first.close(Duration::from_secs(1)).await;
    assert_eq!(shop.all().await, []);
    ground.pass(600).await;
    let second = begin(&ground, "g2", &store).await;
    assert_eq!(kinds(&shop.all().await), [NoticeKind::Ended(EndReason::Expired)]);
    assert_eq!(second.status().leases, 0);
    assert_eq!(store.inner.usage().entries, 1);
}

#[tokio::test]
async fn each_event_is_forwarded_by_exactly_one_of_two_gateways() {
    let ground = Ground::new();
    let store = Reached::new(&state(&ground));
    let (one, two) = (begin(&ground, "g1", &store).await, begin(&ground, "g2", &store).await);
    let mut boxes = Vec::new();
    let names: Vec<_> = (0..8).map(|n| format!("shop{n}")).collect();
    let mut ids = Vec::new();
    for (n, name) in names.iter().enumerate() {
        boxes.push(ground.mailbox(name, Profile::MxEnv1).await);
        ids.push(subscribed_at(if n % 2 == 0 { &one } else { &two }, name).await);
    }
    // Each keeps its own, and knows all.
    assert_eq!((one.status().leases, two.status().leases), (8, 8));
    assert_eq!((one.status().sources, two.status().sources), (1, 1));
    for round in 0..4 {
        for n in 0..5 {
            ground.emit(SOURCE, &n.to_string()).await;
        }
        for mailbox in &mut boxes {
            assert_eq!(mailbox.bodies().await, ["0", "1", "2", "3", "4"], "{round}");
        }
        // Refreshed and subscribed anew through either, they stay where they are.
        for (name, id) in names.iter().zip(&ids) {
            ground.ask(REFRESH, Some(mx(name)), &by_id(id)).await.unwrap();
            assert_eq!(subscribed_at(&one, name).await, *id);
            assert_eq!(subscribed_at(&two, name).await, *id);
        }
    }
    let forwarded = [&one, &two].map(|facade| facade.status().counts.forwarded);
    assert_eq!(forwarded, [80, 80]);
    for (name, id) in names.iter().zip(&ids) {
        ground.ask(UNSUBSCRIBE, Some(mx(name)), &by_id(id)).await.unwrap();
    }
    settle().await;
    assert_eq!((one.status().leases, two.status().leases, kept(&[&one, &two])), (0, 0, 0));
    for mailbox in &mut boxes {
        assert_eq!(mailbox.all().await, []);
    }
}

#[tokio::test]
async fn when_a_gateway_is_killed_another_takes_over_and_says_so() {
    let ground = Ground::new();
    let store = Reached::new(&state(&ground));
    let one = begin(&ground, "g1", &store).await;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    subscribed(&ground, mx("shop")).await;
    let two = begin(&ground, "g2", &store).await;
    let three = begin(&ground, "g3", &store).await;
    ground.emit(SOURCE, "1").await;
    assert_eq!(shop.bodies().await, ["1"]);
    drop(one);
    settle().await;
    ground.emit(SOURCE, "2").await;
    assert_eq!(shop.bodies().await, Vec::<String>::new());
    for _ in 0..4 {
        ground.pass(5).await;
    }
    assert_eq!(kinds(&shop.all().await), [NoticeKind::Missed(0)]);
    ground.emit(SOURCE, "3").await;
    assert_eq!(shop.bodies().await, ["3"]);
    assert_eq!(kept(&[&two, &three]), 1);
    let adopted = [&two, &three].map(|facade| facade.status().counts.adopted);
    assert_eq!(adopted[0] + adopted[1], 1);
}

#[tokio::test]
async fn a_gateway_that_closes_hands_over_at_once() {
    let ground = Ground::new();
    let store = Reached::new(&state(&ground));
    let one = begin(&ground, "g1", &store).await;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    subscribed(&ground, mx("shop")).await;
    let two = begin(&ground, "g2", &store).await;
    one.close(Duration::from_secs(1)).await;
    settle().await;
    ground.emit(SOURCE, "1").await;
    let got = shop.all().await;
    assert_eq!(kinds(&got), [NoticeKind::Missed(0)]);
    assert_eq!(got.last().unwrap().body, "1");
    assert_eq!(two.status().sources, 1);
}

#[tokio::test]
async fn one_that_is_asked_for_through_two_gateways_at_once_is_one_lease() {
    let ground = Ground::new();
    let store = Reached::new(&state(&ground));
    let (one, two) = (begin(&ground, "g1", &store).await, begin(&ground, "g2", &store).await);
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    let asking = (0..20).map(|n| subscribed_at(if n % 2 == 0 { &one } else { &two }, "shop"));
    let mut ids = futures_util::future::join_all(asking).await;
    ids.dedup();
    assert_eq!(ids.len(), 1);
    settle().await;
    assert_eq!(kept(&[&one, &two]), 1);
    ground.emit(SOURCE, "1").await;
    assert_eq!(shop.bodies().await, ["1"]);
}

#[tokio::test]
async fn what_cant_be_read_is_counted_and_passed_over() {
    let ground = Ground::new();
    let store = Reached::new(&state(&ground));
    let good = ask(SOURCE, "shop", "window.emits.stock").id();
    let record = |source: &str, sink: &str, version: u8| {
        format!(
            r#"{{"v":{version},"sourcePath":"{source}","sinkRealm":"shop","sinkPath":"{sink}",
            "profile":"mxenv1","expiresAtMs":9999999999999,"keeper":"gone.x"}}"#
        )
    };
    let id = |source: &str| ask(source, "shop", "window.emits.stock").id().to_string();
    let hidden = "_inner.emits.secret";
    let command = "stock.accepts.count";
    let entries = [
        (good.to_string(), record(SOURCE, "window.emits.stock", 1)),
        (id("a.emits.b"), "no json".to_owned()),
        (id("a.emits.c"), record("a.emits.c", "window.emits.stock", 2)),
        (id(hidden), record(hidden, "window.emits.stock", 1)),
        (id(command), record(command, "window.emits.stock", 1)),
        (id("a.emits.d"), record(SOURCE, "window.emits.stock", 1)),
        (id("a.emits.e"), record("a.emits.e", "window.accepts.stock", 1)),
        ("elsewhere".to_owned(), "{}".to_owned()),
    ];
    for (id, value) in entries {
        let key = StoreKey::new(format!("lease.{id}")).unwrap();
        let day = Duration::from_secs(86_400);
        let written = store.write(&key, value.into(), day, Expected::Any).await.unwrap();
        assert!(matches!(written, Written::Done(_)));
    }
    let facade = begin(&ground, "g1", &store).await;
    let status = facade.status();
    assert_eq!((status.leases, status.sources, status.counts.unreadable), (1, 1, 6));
    // Whatever it says, it lasts an hour from now at most.
    let now = Now::of(&ground.clock);
    assert_eq!(
        facade.lease(good).unwrap().expires_at(now).as_millis(),
        1_767_225_600_000 + 3_600_000
    );
    // Who asks for one that can't be read gets it.
    let body = r#"{"sourcePath": "a.emits.b", "sinkPath": "window.emits.stock"}"#;
    ground.ask(SUBSCRIBE, Some(mx("shop")), body).await.unwrap();
    assert_eq!(facade.status().leases, 2);
}

#[tokio::test]
async fn gateways_without_names_are_different_ones() {
    let ground = Ground::new();
    let store: Arc<dyn KeyValue> = Arc::new(state(&ground));
    let options = || FederationOptions { store: Some(Arc::clone(&store)), ..Default::default() };
    let start = |name| {
        let host = ground.host(name);
        let backbone = ground.connect();
        async move { FederationFacade::start(&host, backbone, options()).await.unwrap() }
    };
    let (one, two) = (start("g1").await, start("g2").await);
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    for _ in 0..10 {
        subscribed(&ground, mx("shop")).await;
        ground.pass(20).await;
    }
    ground.emit(SOURCE, "1").await;
    assert_eq!(shop.bodies().await, ["1"]);
    assert_eq!(kept(&[&one, &two]), 1);
    let bad = SharedOptions { gateway: Some("a.b".to_owned()), ..SharedOptions::default() };
    let options = FederationOptions { shared: bad, ..options() };
    let refused = FederationFacade::start(&ground.host("g3"), ground.connect(), options).await;
    assert!(matches!(refused, Err(FederationError::Name(_))));
}

#[tokio::test]
async fn a_facade_that_is_dropped_leaves_no_task() {
    let ground = Ground::new();
    let store = Reached::new(&state(&ground));
    let one = begin(&ground, "g1", &store).await;
    subscribed(&ground, mx("shop")).await;
    drop(one);
    settle().await;
    assert_eq!((ground.bus.statistics().subscriptions, ground.clock.asleep()), (0, 0));
}
