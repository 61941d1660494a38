use std::time::Duration;

use mesh_core::guard::PrefixDeny;
use mesh_core::mx::MailboxKind;

use super::super::*;
use super::support::*;
use super::world::*;

const COUNT: &str = "stock.accepts.count";
const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_request_goes_in_and_its_answer_out_in_both_profiles_and_mailboxes() {
    for world in [World::new(), World::exact(), World::grouped()] {
        let gateway = world.started().await;
        world.component(COUNT, "[2]").await;
        let mut old = world.peer("shop", LEGACY).await;
        let mut new = world.peer("shop", MX).await;
        old.send(LEGACY, &legacy("1")).await;
        assert_eq!(old.hear().await, "legacy [2]");
        new.send(MX, &cmd("2")).await;
        assert_eq!(new.hear().await, "mxenv1 [2]");
        old.send(LEGACY, &cmd("3")).await;
        assert_eq!(old.hear().await, "mxenv1 [2]");
        assert!(new.hears_nothing().await);
        let status = gateway.status();
        assert_eq!((status.counters.sent, status.pending, status.under_way), (3, 0, 0));
        assert!(status.is_healthy());
    }
}

#[tokio::test]
async fn only_its_own_exact_mailboxes_are_subscribed_on_the_backbone() {
    let world = World::new();
    let gateway = world.started().await;
    assert_eq!((world.backbone.subscriptions(), world.local.subscriptions()), (2, 1));
    let ears = gateway.status().ears;
    let filters: Vec<_> = ears.iter().map(|ear| (ear.on, ear.filter.to_string())).collect();
    let expected = [
        (On::Backbone, "public.ingress.acme%2Ecom".to_owned()),
        (On::Backbone, "mx/in/1/acme.com/00".to_owned()),
        (On::Local, "mx/1/acme.com/_reply.*".to_owned()),
    ];
    assert_eq!(filters, expected);
    assert!(ears.iter().filter(|ear| ear.on == On::Backbone).all(|ear| !ear.filter.has_wildcard()));
}

#[tokio::test]
async fn the_unescaped_legacy_mailbox_is_listened_to_on_request() {
    let world = World::new();
    let raw = GatewayOptions { legacy_raw_mailbox: true, ..options() };
    let gateway = world.gateway(config(), raw.clone()).await;
    world.component(COUNT, "[2]").await;
    let mut peer = world.peer("a.shop", MailboxKind::LegacyRaw).await;
    let request = br#"{"fromRealm":"a.shop","toPath":"stock.accepts.count","correlationId":"c"}"#;
    peer.send(MailboxKind::LegacyRaw, request).await;
    assert_eq!(peer.hear().await, "legacy [2]");
    drop(gateway);
    // For a realm that needs no escape it is the same topic, and heard once.
    let plain = EdgeConfig::new(realm("acme"));
    settle().await;
    let _gateway = world.gateway(plain, raw).await;
    assert_eq!(world.backbone.subscriptions(), 3, "two mailboxes and the peer's");
}

#[tokio::test]
async fn an_event_reaches_the_realms_own_bus_and_nobody_is_answered() {
    let world = World::new();
    let gateway = world.started().await;
    let mut inside = world.listen("mx/1/acme.com/stock.emits.changed").await;
    let mut peer = world.peer("shop", MX).await;
    for n in ["1", "2", "3"] {
        peer.send(MX, &event(n, "[7]")).await;
        assert_eq!(&next(&mut inside).await.payload()[..], b"[7]");
    }
    assert!(peer.hears_nothing().await);
    assert_eq!(gateway.status().counters.told, 3);
}

#[tokio::test]
async fn events_keep_their_order() {
    let world = World::new();
    let _gateway = world.started().await;
    let mut inside = world.listen("mx/1/acme.com/stock.emits.changed").await;
    let peer = world.peer("shop", MX).await;
    for n in 0..100_u32 {
        let body: &'static str = Box::leak(n.to_string().into_boxed_str());
        peer.send(MX, &event(&format!("e-{n}"), body)).await;
    }
    for n in 0..100_u32 {
        assert_eq!(&next(&mut inside).await.payload()[..], n.to_string().as_bytes());
    }
}

#[tokio::test]
async fn what_nobody_serves_is_answered_at_once() {
    for world in [World::new(), World::exact()] {
        let gateway = world.started().await;
        let mut peer = world.peer("shop", MX).await;
        peer.send(MX, &cmd("1")).await;
        assert_eq!(peer.hear().await, "mxenv1 MX.EDGE.HANDLER_ERROR");
        world.component(COUNT, "[2]").await;
        peer.send(MX, &cmd("1")).await;
        assert_eq!(peer.hear().await, "mxenv1 [2]", "the same message passes once it is served");
        assert_eq!(gateway.status().counters.nobody, 1);
    }
}

#[tokio::test]
async fn without_the_check_what_nobody_serves_times_out() {
    let world = World::new();
    let unchecked = GatewayOptions { check_receiver: false, ..options() };
    let _gateway = world.gateway(config(), unchecked).await;
    let mut peer = world.peer("shop", MX).await;
    peer.send(MX, &cmd("1")).await;
    assert!(peer.hears_nothing().await);
    world.clock.advance(Duration::from_secs(5)).await;
    assert_eq!(peer.hear().await, "mxenv1 MX.EDGE.TIMEOUT");
}

#[tokio::test]
async fn a_time_out_comes_after_five_seconds_and_a_late_reply_is_discarded() {
    for world in [World::new(), World::exact()] {
        let gateway = world.started().await;
        let mut calls = world.listen("mx/1/acme.com/stock.accepts.count").await;
        let mut peer = world.peer("shop", LEGACY).await;
        peer.send(LEGACY, &legacy("1")).await;
        let call = next(&mut calls).await;
        world.clock.advance(Duration::from_millis(4_999)).await;
        assert!(peer.hears_nothing().await);
        world.clock.advance(Duration::from_millis(1)).await;
        assert_eq!(peer.hear().await, "legacy MX.EDGE.TIMEOUT");
        settle().await;
        publish(&world.local.connect(), &reply_to(&call), b"[2]").await;
        assert!(peer.hears_nothing().await);
        let status = gateway.status();
        assert_eq!((status.pending, status.under_way, status.counters.timed_out), (0, 0, 1));
        let heard = u64::from(matches!(world.local, Bus::Filter(_)));
        assert_eq!(status.counters.late_replies, heard, "heard where one subscription hears all");
    }
}

#[tokio::test]
async fn without_wildcards_each_request_has_a_subscription_and_none_is_left() {
    let world = World::exact();
    let gateway = world.started().await;
    assert_eq!(world.local.subscriptions(), 0);
    let mut calls = world.listen("mx/1/acme.com/stock.accepts.count").await;
    let mut peer = world.peer("shop", MX).await;
    for id in ["1", "2", "3"] {
        peer.send(MX, &cmd(id)).await;
    }
    let [one, two, _three] =
        [next(&mut calls).await, next(&mut calls).await, next(&mut calls).await];
    assert_eq!(world.local.subscriptions(), 1 + 3);
    let component = world.local.connect();
    publish(&component, &reply_to(&two), b"2").await;
    assert_eq!(peer.hear().await, "mxenv1 2");
    publish(&component, &reply_to(&one), b"1").await;
    assert_eq!(peer.hear().await, "mxenv1 1");
    world.clock.advance(Duration::from_secs(5)).await;
    assert_eq!(peer.hear().await, "mxenv1 MX.EDGE.TIMEOUT");
    until(|| world.local.subscriptions() == 1).await;
    assert_eq!(gateway.status().under_way, 0);
}

#[tokio::test]
async fn a_policy_is_replaced_without_a_restart() {
    let world = World::new();
    let gateway = world.started().await;
    world.component(COUNT, "[2]").await;
    let mut peer = world.peer("shop", MX).await;
    peer.send(MX, &cmd("1")).await;
    assert_eq!(peer.hear().await, "mxenv1 [2]");
    gateway.reload(EdgeRules::default().policy(PrefixDeny::new(["stock"]))).unwrap();
    peer.send(MX, &cmd("2")).await;
    assert_eq!(peer.hear().await, "mxenv1 MX.EDGE.POLICY_DENIED");
    peer.send(MX, &cmd("1")).await;
    assert!(peer.hears_nothing().await, "a mark outlives the rules");
    assert_eq!(gateway.guards().of("replay").unwrap().refused, 1);
}

#[tokio::test]
async fn of_several_gateways_one_handles_each_message() {
    let world = World::grouped();
    let gateways = [world.started().await, world.started().await, world.started().await];
    world.component(COUNT, "[2]").await;
    let mut peer = world.peer("shop", MX).await;
    for n in 0..30 {
        peer.send(MX, &cmd(&n.to_string())).await;
        assert_eq!(peer.hear().await, "mxenv1 [2]");
    }
    assert!(peer.hears_nothing().await);
    let received: Vec<_> = gateways.iter().map(|g| g.status().counters.received).collect();
    assert_eq!(received.iter().sum::<u64>(), 30);
    assert!(received.iter().all(|received| *received > 0), "{received:?}");
    // Each hears the replies to all, and knows its own.
    let other: u64 = gateways.iter().map(|g| g.status().counters.other_replies).sum();
    let late: u64 = gateways.iter().map(|g| g.status().counters.late_replies).sum();
    assert_eq!((other, late), (60, 0));
}

#[tokio::test]
async fn closing_takes_nothing_more_and_ends_what_was_begun() {
    let world = World::new();
    let gateway = world.started().await;
    let mut calls = world.listen("mx/1/acme.com/stock.accepts.count").await;
    let mut peer = world.peer("shop", MX).await;
    peer.send(MX, &cmd("1")).await;
    let call = next(&mut calls).await;
    let (report, ()) = tokio::join!(gateway.close(SECOND), async {
        until(|| world.backbone.subscriptions() == 1).await;
        peer.send(MX, &cmd("2")).await;
        publish(&world.local.connect(), &reply_to(&call), b"[1]").await;
    });
    assert_eq!((report.finished, report.given_up, report.abandoned), (1, 0, 0));
    assert_eq!(peer.hear().await, "mxenv1 [1]");
    assert!(peer.hears_nothing().await);
    assert_eq!((world.backbone.subscriptions(), world.local.subscriptions()), (1, 1));
    assert_eq!(gateway.close(SECOND).await, EdgeReport::default());
    assert!(!gateway.status().is_healthy());
}

#[tokio::test]
async fn closing_refuses_what_is_not_replied_to_in_time() {
    for world in [World::new(), World::exact()] {
        let gateway = world.started().await;
        let mut calls = world.listen("mx/1/acme.com/stock.accepts.count").await;
        let mut peer = world.peer("shop", MX).await;
        peer.send(MX, &cmd("1")).await;
        peer.send(MX, &cmd("2")).await;
        let (_one, _two) = (next(&mut calls).await, next(&mut calls).await);
        let closing = tokio::spawn(async move { (gateway.close(SECOND).await, gateway) });
        until(|| world.backbone.subscriptions() == 1).await;
        world.clock.advance(SECOND).await;
        let (report, gateway) = closing.await.unwrap();
        assert_eq!((report.finished, report.given_up, report.abandoned), (0, 2, 0));
        assert_eq!(peer.hear().await, "mxenv1 MX.EDGE.TIMEOUT");
        assert_eq!(peer.hear().await, "mxenv1 MX.EDGE.TIMEOUT");
        assert_eq!(gateway.status().under_way, 0);
        until(|| world.local.subscriptions() == 1).await;
    }
}

#[tokio::test]
async fn what_has_arrived_when_it_is_closed_is_not_lost() {
    let world = World::new();
    let mut config = config();
    config.rules.rate.per_realm = mesh_core::guard::Quota::new(1_000, 1_000).unwrap();
    let gateway = world.gateway(config, options()).await;
    world.component(COUNT, "[2]").await;
    let mut peer = world.peer("shop", MX).await;
    // More than a task of tokio's does at a time.
    for n in 0..500 {
        peer.send(MX, &cmd(&n.to_string())).await;
    }
    let report = gateway.close(SECOND).await;
    assert_eq!(report.abandoned, 0);
    for _ in 0..500 {
        assert_eq!(peer.hear().await, "mxenv1 [2]");
    }
}

#[tokio::test]
async fn dropped_it_leaves_nobody() {
    for world in [World::new(), World::exact()] {
        let gateway = world.started().await;
        let calls = world.listen("mx/1/acme.com/stock.accepts.count").await;
        let peer = world.peer("shop", MX).await;
        peer.send(MX, &cmd("1")).await;
        settle().await;
        drop((gateway, calls, peer));
        until(|| world.backbone.subscriptions() == 0).await;
        until(|| world.local.subscriptions() == 0).await;
        until(|| world.clock.asleep() == 0).await;
    }
}

#[tokio::test]
async fn a_gateway_that_cannot_listen_does_not_start_and_leaves_nobody() {
    let world = World::new();
    let group = mesh_core::port::QueueGroup::new("mine").unwrap();
    let options = GatewayOptions { sharing: Sharing::Group(group), ..options() };
    let (backbone, local) = (world.backbone.connect(), world.local.connect());
    let error = EdgeGateway::start(config(), backbone, local, options).await.unwrap_err();
    assert!(matches!(error, GatewayError::Transport(_)), "{error}");
    until(|| world.local.subscriptions() == 0).await;
    assert_eq!(world.backbone.subscriptions(), 0);
}
