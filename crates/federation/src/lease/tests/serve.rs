use serde_json::Value;

use super::ground::{From, Ground, legacy, mx};
use super::*;
use crate::{OsRandom, Seeded};

const SUBSCRIBE: &str = "_federation.accepts.subscribe";
const REFRESH: &str = "_federation.accepts.refresh";
const UNSUBSCRIBE: &str = "_federation.accepts.unsubscribe";
const STOCK: &str = r#"{"sourcePath": "stock.emits.changed", "sinkPath": "window.emits.stock"}"#;
/// The manual clock's beginning.
const START: i64 = 1_767_225_600_000;

async fn start(ground: &Ground, options: FederationOptions) -> FederationFacade {
    FederationFacade::start(&ground.host("g1"), ground.connect(), options).await.unwrap()
}

async fn facade(ground: &Ground) -> FederationFacade {
    start(ground, FederationOptions::default()).await
}

async fn subscribed(ground: &Ground, from: From<'_>, body: &str) -> String {
    let answer = ground.ask(SUBSCRIBE, Some(from), body).await.unwrap();
    answer["id"].as_str().unwrap().to_owned()
}

fn by_id(id: &str) -> String {
    format!(r#"{{"id": "{id}"}}"#)
}

fn notice(got: &ground::Got) -> NoticeKind {
    assert_eq!(got.path, "window.emits.lease-notice");
    Notice::read(&ground::json(&got.body)).unwrap().kind
}

#[tokio::test]
async fn a_realm_subscribes_refreshes_and_unsubscribes() {
    let ground = Ground::new();
    let facade = facade(&ground).await;
    let idle = ground.bus.statistics().subscriptions;
    let shop = Some(mx("shop"));
    let first = ground.ask(SUBSCRIBE, shop, STOCK).await.unwrap();
    assert_eq!(first["expiresAtMs"], Value::from(START + 60_000));
    ground.pass(10).await;
    let again = ground.ask(SUBSCRIBE, shop, STOCK).await.unwrap();
    assert_eq!((&again["id"], &again["expiresAtMs"]), (&first["id"], &(START + 70_000).into()));
    let id = first["id"].as_str().unwrap();
    let more = format!(r#"{{"id": "{id}", "leaseMs": 120000}}"#);
    let refreshed = ground.ask(REFRESH, shop, &more).await.unwrap();
    assert_eq!(refreshed, serde_json::json!({"id": id, "expiresAtMs": START + 130_000}));
    assert_eq!(ground.bus.statistics().subscriptions, idle + 1);
    let ended = ground.ask(UNSUBSCRIBE, shop, &by_id(id)).await.unwrap();
    assert_eq!(ended, serde_json::json!({"id": id}));
    ground::settle().await;
    assert_eq!(ground.bus.statistics().subscriptions, idle);
    for command in [REFRESH, UNSUBSCRIBE] {
        let fault = ground.ask(command, shop, &by_id(id)).await.unwrap_err();
        assert_eq!(fault.code, codes::NOT_FOUND);
    }
    let counts = facade.status().counts;
    assert_eq!(
        (counts.granted, counts.refreshed, counts.unsubscribed, counts.refused),
        (2, 1, 1, 2)
    );
}

#[tokio::test]
async fn an_event_goes_to_each_sink_in_its_profile_with_its_exact_body() {
    let ground = Ground::new();
    let _facade = facade(&ground).await;
    let mut new = ground.mailbox("shop", Profile::MxEnv1).await;
    let mut old = ground.mailbox("old.example", Profile::Legacy).await;
    subscribed(&ground, mx("shop"), STOCK).await;
    let other =
        r#"{"sourceTopic": "mx/1/home/stock.emits.changed", "sinkPath": "door.emits.stock"}"#;
    subscribed(&ground, mx("shop"), other).await;
    subscribed(&ground, legacy("old.example"), STOCK).await;
    let body = r#"{"n": 1e400, "a" :1.0,"m":12345678901234567890123}"#;
    ground.emit("stock.emits.changed", body).await;
    let mut got = new.all().await;
    got.sort_by(|a, b| a.path.cmp(&b.path));
    let paths: Vec<_> = got.iter().map(|got| &*got.path).collect();
    assert_eq!(paths, ["door.emits.stock", "window.emits.stock"]);
    let ids: Vec<Value> = got
        .iter()
        .map(|got| {
            assert_eq!(got.body, body);
            let whole: Value = serde_json::from_str(&got.whole.replace("1e400", "1")).unwrap();
            assert_eq!(whole["msgType"], "Evt");
            assert_eq!(whole["from"]["path"], "stock.emits.changed");
            assert_eq!(whole["to"]["realm"], "shop");
            assert_eq!(whole["timestamp"], START);
            whole["msgId"].clone()
        })
        .collect();
    assert_ne!(ids[0], ids[1]);
    let got = old.all().await;
    assert_eq!(got.len(), 1);
    assert_eq!((&*got[0].path, &*got[0].body), ("window.emits.stock", body));
    let whole: Value = serde_json::from_str(&got[0].whole.replace("1e400", "1")).unwrap();
    assert_eq!(whole["toPath"], "window.emits.stock");
    assert!(whole.get("msgType").is_none() && whole.get("replyToRealm").is_none());
}

#[tokio::test]
async fn the_order_of_events_is_kept() {
    let ground = Ground::new();
    let _facade = facade(&ground).await;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    subscribed(&ground, mx("shop"), STOCK).await;
    for n in 0..300 {
        ground.emit("stock.emits.changed", &n.to_string()).await;
    }
    let expected: Vec<_> = (0..300).map(|n: u32| n.to_string()).collect();
    assert_eq!(shop.bodies().await, expected);
}

#[tokio::test]
async fn the_trace_of_an_event_goes_along_where_the_profile_has_a_place() {
    let ground = Ground::new();
    let _facade = facade(&ground).await;
    let mut new = ground.mailbox("shop", Profile::MxEnv1).await;
    let mut old = ground.mailbox("old", Profile::Legacy).await;
    subscribed(&ground, mx("shop"), STOCK).await;
    subscribed(&ground, legacy("old"), STOCK).await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    ground.emit_with("stock.emits.changed", "1", ("traceparent", &parent)).await;
    let whole: Value = serde_json::from_str(&new.all().await[0].whole).unwrap();
    assert_eq!(whole["traceId"], trace);
    assert!(!old.all().await[0].whole.contains("trace"));
    ground.emit_with("stock.emits.changed", "1", ("traceparent", "00-\u{e9}-x")).await;
    assert!(!new.all().await[0].whole.contains("trace"));
}

#[tokio::test]
async fn a_lease_that_expires_is_told_and_nothing_is_forwarded_any_more() {
    let ground = Ground::new();
    let facade = facade(&ground).await;
    let idle = ground.bus.statistics().subscriptions;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    let mut old = ground.mailbox("old", Profile::Legacy).await;
    let id = subscribed(&ground, mx("shop"), STOCK).await;
    subscribed(&ground, legacy("old"), STOCK).await;
    ground.pass(30).await;
    ground.ask(REFRESH, Some(mx("shop")), &by_id(&id)).await.unwrap();
    ground.pass(30).await;
    // The legacy realm did not refresh; it is told in its own profile.
    let got = old.all().await;
    assert_eq!((got.len(), notice(&got[0])), (1, NoticeKind::Ended(EndReason::Expired)));
    assert!(got[0].whole.contains(r#""toPath":"window.emits.lease-notice""#));
    ground.emit("stock.emits.changed", "1").await;
    assert_eq!(shop.bodies().await, ["1"]);
    assert_eq!(old.bodies().await, Vec::<String>::new());
    ground.pass(30).await;
    let got = shop.all().await;
    assert_eq!((got.len(), notice(&got[0])), (1, NoticeKind::Ended(EndReason::Expired)));
    assert_eq!(Notice::read(&ground::json(&got[0].body)).unwrap().id.to_string(), id);
    assert_eq!(ground.bus.statistics().subscriptions, idle);
    ground.emit("stock.emits.changed", "2").await;
    assert!(shop.bodies().await.is_empty());
    let status = facade.status();
    assert_eq!((status.leases, status.sources, status.waiting_realms), (0, 0, 0));
    assert_eq!(status.counts.ended, 2);
}

#[tokio::test]
async fn whose_a_lease_is_the_gateway_says_and_never_the_request() {
    let ground = Ground::new();
    let facade = facade(&ground).await;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    let mut thief = ground.mailbox("thief", Profile::MxEnv1).await;
    let claims = r#"{"sourcePath": "stock.emits.changed", "sinkPath": "w.emits.s",
        "sinkRealm": "shop", "_mx": {"fromRealm": "shop"}, "fromRealm": "shop"}"#;
    subscribed(&ground, mx("thief"), claims).await;
    ground.emit("stock.emits.changed", "1").await;
    assert_eq!((shop.bodies().await.len(), thief.bodies().await.len()), (0, 1));
    let id = subscribed(&ground, mx("shop"), STOCK).await;
    for command in [REFRESH, UNSUBSCRIBE] {
        let claims = format!(r#"{{"id": "{id}", "_mx": {{"fromRealm": "shop"}}}}"#);
        let fault = ground.ask(command, Some(mx("thief")), &claims).await.unwrap_err();
        assert_eq!(fault.code, codes::NOT_FOUND);
        // From inside the realm nobody is a sink.
        let fault = ground.ask(command, None, &by_id(&id)).await.unwrap_err();
        assert_eq!(fault.code, "MX.EDGE.BAD_REQUEST");
    }
    let fault = ground.ask(SUBSCRIBE, None, STOCK).await.unwrap_err();
    assert_eq!(fault.code, "MX.EDGE.BAD_REQUEST");
    assert_eq!(facade.status().leases, 2);
}

#[tokio::test]
async fn who_says_that_it_is_this_realm_gets_no_lease_that_would_feed_itself() {
    let ground = Ground::new();
    let facade = facade(&ground).await;
    let loops = r#"{"sourcePath": "stock.emits.changed", "sinkPath": "stock.emits.changed"}"#;
    for from in [mx("home"), legacy("home")] {
        let fault = ground.ask(SUBSCRIBE, Some(from), loops).await.unwrap_err();
        assert_eq!(fault.code, "MX.EDGE.BAD_REQUEST");
    }
    assert_eq!((facade.status().leases, facade.status().sources), (0, 0));
}

#[tokio::test]
async fn what_is_no_open_event_of_this_realm_is_a_bad_source() {
    let ground = Ground::new();
    let facade = facade(&ground).await;
    let idle = ground.bus.statistics().subscriptions;
    let bad = [
        r#""sourcePath": "stock.accepts.count""#,
        r#""sourcePath": "_federation.emits.lease-notice""#,
        r#""sourcePath": "stock._inner.emits.changed""#,
        r#""sourcePath": "_m/stock.emits.changed""#,
        r#""sourcePath": "stock.emits.>""#,
        r#""sourcePath": "*.emits.changed""#,
        r#""sourcePath": """#,
        r#""sourceTopic": "mx/1/other/stock.emits.changed""#,
        r#""sourceTopic": "mx/1/home/_reply.00000000000000000000000000000000""#,
        r#""sourceTopic": "mx/1/home/>""#,
        r#""sourceTopic": "mx/in/1/home/00""#,
        r#""sourceTopic": "public.ingress.home""#,
        r#""sourceTopic": "stock.emits.changed""#,
        r#""sourceTopic": "mx/1/home/a.emits.b", "sourcePath": "a.emits.c""#,
        r#""x": 1"#,
    ];
    for source in bad {
        let body = format!(r#"{{{source}, "sinkPath": "w.emits.s"}}"#);
        let fault = ground.ask(SUBSCRIBE, Some(mx("shop")), &body).await.unwrap_err();
        assert_eq!(fault.code, codes::BAD_SOURCE, "{source}: {}", fault.message);
    }
    let long = "s".repeat(230);
    let requests = [
        r#"{"sourcePath": "a.emits.b"}"#.to_owned(),
        r#"{"sourcePath": "a.emits.b", "sinkPath": 1}"#.to_owned(),
        r#"{"sourcePath": "a.emits.b", "sinkPath": "w.accepts.s"}"#.to_owned(),
        r#"{"sourcePath": "a.emits.b", "sinkPath": "w.emits.*"}"#.to_owned(),
        format!(r#"{{"sourcePath": "a.emits.b", "sinkPath": "{long}.emits.s"}}"#),
        r#"{"sourcePath": "a.emits.b", "sinkPath": "w.emits.s", "leaseMs": 0}"#.to_owned(),
        r#"{"sourcePath": "a.emits.b", "sinkPath": "w.emits.s", "leaseMs": "1"}"#.to_owned(),
        r#"{"sourcePath": "a.emits.b", "sourcePath": "a.emits.c", "sinkPath": "w.emits.s"}"#
            .to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
    ];
    for body in requests {
        let fault = ground.ask(SUBSCRIBE, Some(mx("shop")), &body).await.unwrap_err();
        assert_eq!(fault.code, "MX.EDGE.BAD_REQUEST", "{body}: {}", fault.message);
    }
    assert_eq!(facade.status().leases, 0);
    assert_eq!(ground.bus.statistics().subscriptions, idle);
}

#[tokio::test]
async fn a_realm_beyond_its_share_is_refused_and_leaves_nothing() {
    let ground = Ground::new();
    let limits = LeaseLimits { per_realm: 1, total: 2, ..LeaseLimits::default() };
    let facade = start(&ground, FederationOptions { limits, ..Default::default() }).await;
    let other = r#"{"sourcePath": "stock.emits.sold", "sinkPath": "window.emits.stock"}"#;
    subscribed(&ground, mx("shop"), STOCK).await;
    let fault = ground.ask(SUBSCRIBE, Some(mx("shop")), other).await.unwrap_err();
    assert_eq!(fault.code, codes::LIMIT);
    subscribed(&ground, mx("shop"), STOCK).await;
    subscribed(&ground, mx("desk"), STOCK).await;
    let fault = ground.ask(SUBSCRIBE, Some(mx("third")), STOCK).await.unwrap_err();
    assert_eq!(fault.code, codes::LIMIT);
    assert_eq!((facade.status().leases, facade.status().sources), (2, 1));
}

#[tokio::test]
async fn many_at_once_share_one_subscription_to_a_source() {
    let ground = Ground::new();
    let facade = facade(&ground).await;
    let idle = ground.bus.statistics().subscriptions;
    let names: Vec<_> = (0..50).map(|n| format!("shop{n}")).collect();
    let asking = names.iter().map(|name| subscribed(&ground, mx(name), STOCK));
    let ids = futures_util::future::join_all(asking).await;
    assert_eq!(ground.bus.statistics().subscriptions, idle + 1);
    let ending = names.iter().zip(&ids).map(|(name, id)| async {
        ground.ask(UNSUBSCRIBE, Some(mx(name)), &by_id(id)).await.unwrap();
    });
    futures_util::future::join_all(ending).await;
    ground::settle().await;
    assert_eq!(ground.bus.statistics().subscriptions, idle);
    assert_eq!(facade.status().leases, 0);
}

#[tokio::test]
async fn an_operator_ends_a_lease_and_its_sink_is_told() {
    let ground = Ground::new();
    let facade = facade(&ground).await;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    let id: LeaseId = subscribed(&ground, mx("shop"), STOCK).await.parse().unwrap();
    assert!(facade.lease(id).is_some());
    assert!(facade.evict(id).await);
    assert!(!facade.evict(id).await);
    let got = shop.all().await;
    assert_eq!((got.len(), notice(&got[0])), (1, NoticeKind::Ended(EndReason::Evicted)));
    assert_eq!(facade.status().leases, 0);
}

#[tokio::test]
async fn a_facade_that_closes_tells_every_sink_and_one_that_is_dropped_leaves_nothing() {
    let ground = Ground::new();
    let first = facade(&ground).await;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    subscribed(&ground, mx("shop"), STOCK).await;
    let report = first.close(Duration::from_secs(5)).await;
    assert_eq!(report.given_up, 0);
    let got = shop.all().await;
    assert_eq!((got.len(), notice(&got[0])), (1, NoticeKind::Ended(EndReason::ShuttingDown)));
    assert_eq!(ground.bus.statistics().subscriptions, 0);

    let second = facade(&ground).await;
    subscribed(&ground, mx("shop"), STOCK).await;
    drop(second);
    ground::settle().await;
    assert_eq!(ground.bus.statistics().subscriptions, 0);
    assert_eq!(ground.clock.asleep(), 0);
}

#[test]
fn ids_of_messages_are_random_unless_a_seed_is_given() {
    use crate::Random as _;
    assert_ne!(OsRandom::new().id(), OsRandom::new().id());
    assert_eq!(Seeded::new(1).id(), Seeded::new(1).id());
}

/// Denies what begins with this, from now on or until it is changed.
#[derive(Debug, Default)]
struct Changing(parking_lot::Mutex<Option<mesh_core::guard::PrefixDeny>>);

impl mesh_core::guard::Policy for Changing {
    fn rule(&self, inbound: &mesh_core::guard::Inbound<'_>) -> mesh_core::guard::Ruling {
        assert_eq!(inbound.from_realm, Some("shop"));
        let denied = self.0.lock().clone();
        denied.map_or(mesh_core::guard::Ruling::Allow, |denied| denied.rule(inbound))
    }
}

#[tokio::test]
async fn what_the_policy_denies_is_not_heard_either() {
    let ground = Ground::new();
    let policy = std::sync::Arc::new(Changing::default());
    let options = FederationOptions { policy: Some(policy.clone()), ..Default::default() };
    let facade = start(&ground, options).await;
    let shop = Some(mx("shop"));
    let id = subscribed(&ground, mx("shop"), STOCK).await;
    *policy.0.lock() = Some(mesh_core::guard::PrefixDeny::new(["stock"]));
    for (command, body) in [(SUBSCRIBE, STOCK), (REFRESH, &by_id(&id))] {
        let fault = ground.ask(command, shop, body).await.unwrap_err();
        assert_eq!(fault.code, "MX.EDGE.POLICY_DENIED", "{command}");
    }
    // What it has it may give back.
    ground.ask(UNSUBSCRIBE, shop, &by_id(&id)).await.unwrap();
    assert_eq!(facade.status().counts.refused, 2);
}
