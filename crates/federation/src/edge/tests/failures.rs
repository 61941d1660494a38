use std::time::Duration;

use mesh_core::guard::{Inbound, Policy, Ruling};
use mesh_core::mx::{MsgType, Party};
use mesh_core::port::{ErrorKind, Operation, ReceiveError, TransportError};

use super::super::*;
use super::faulty::Faulty;
use super::support::*;
use super::world::*;

const COUNT: &str = "stock.accepts.count";
const MAILBOX: &str = "mx/in/1/acme.com/00";

/// A gateway whose backbone, or whose own bus, fails on request.
async fn faulty(world: &World) -> (EdgeGateway, Faulty, Faulty) {
    let (backbone, outer) = Faulty::on(&world.backbone.connect());
    let (local, inner) = Faulty::on(&world.local.connect());
    let gateway = EdgeGateway::start(config(), outer, inner, options()).await.unwrap();
    (gateway, backbone, local)
}

#[tokio::test]
async fn an_answer_is_sent_again_while_that_may_help() {
    let world = World::new();
    let (gateway, backbone, _) = faulty(&world).await;
    world.component(COUNT, "[2]").await;
    let mut peer = world.peer("shop", MX).await;
    backbone.fail_publishes([ErrorKind::Disconnected, ErrorKind::TimedOut]);
    peer.send(MX, &cmd("1")).await;
    settle().await;
    assert_eq!(gateway.status().under_way, 1, "it holds its place meanwhile");
    world.clock.advance(Duration::from_secs(2)).await;
    assert_eq!(peer.hear().await, "mxenv1 [2]");
    assert!(peer.hears_nothing().await);
    // A repeat is the same message: whoever got it twice knows it.
    let sent = backbone.published();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|message| message == &sent[0]));
    let status = gateway.status();
    assert_eq!((status.under_way, status.counters.sent), (0, 1));
}

#[tokio::test]
async fn an_answer_that_is_denied_is_given_up_at_once_and_counted() {
    let world = World::new();
    let (gateway, backbone, _) = faulty(&world).await;
    world.component(COUNT, "[2]").await;
    let mut peer = world.peer("shop", MX).await;
    backbone.fail_publishes([ErrorKind::Denied]);
    peer.send(MX, &cmd("1")).await;
    assert!(peer.hears_nothing().await);
    let status = gateway.status();
    assert_eq!((status.under_way, status.counters.unsent_answers), (0, 1));
}

#[tokio::test]
async fn an_answer_is_given_up_when_the_patience_is_over() {
    let world = World::new();
    let (gateway, backbone, _) = faulty(&world).await;
    world.component(COUNT, "[2]").await;
    let peer = world.peer("shop", MX).await;
    backbone.fail_publishes([ErrorKind::Disconnected; 1_000]);
    peer.send(MX, &cmd("1")).await;
    settle().await;
    world.clock.advance(Duration::from_secs(5)).await;
    let status = gateway.status();
    assert_eq!((status.under_way, status.counters.unsent_answers), (0, 1));
    assert!(backbone.published().len() > 3);
}

#[tokio::test]
async fn a_realm_whose_mailbox_is_full_holds_up_nobody_else() {
    let world = World::new();
    let (gateway, backbone, _) = faulty(&world).await;
    world.component(COUNT, "[2]").await;
    let mut peer = world.peer("shop", MX).await;
    backbone.fail_each("mx/in/1/evil/00", ErrorKind::Full);
    // Paths that nobody serves, until it sends too fast: each is refused at once.
    let evil = realm("evil");
    for id in 0..1_000 {
        let mut request = request(MsgType::Cmd, "no.accepts.body", &id.to_string());
        request.from = Party::new(&evil, None);
        request.reply_to = Some(Party::new(&evil, Some(path("desk.accepts.answer"))));
        peer.send(MX, &request.encode().unwrap()).await;
        if id % 100 == 0 {
            settle().await;
        }
    }
    peer.send(MX, &cmd("1")).await;
    assert_eq!(peer.hear().await, "mxenv1 [2]");
    settle().await;
    let status = gateway.status();
    assert_eq!(status.counters.dropped, 0, "{status:?}");
    assert!(status.counters.unsent_answers > 900, "{status:?}");
    world.clock.advance(Duration::from_secs(5)).await;
    settle().await;
    let status = gateway.status();
    assert_eq!((status.under_way, status.counters.unsent_answers), (0, 1_000));
}

#[tokio::test]
async fn an_answer_too_large_for_the_backbone_becomes_a_refusal() {
    let world = World::new();
    let (gateway, backbone, _) = faulty(&world).await;
    world.component(COUNT, "[2]").await;
    let mut peer = world.peer("shop", MX).await;
    backbone.fail_publishes([ErrorKind::TooLarge]);
    peer.send(MX, &cmd("1")).await;
    assert_eq!(peer.hear().await, "mxenv1 MX.EDGE.HANDLER_ERROR");
    assert_eq!(gateway.status().counters.oversized, 1);
    // Nothing smaller is left to send.
    backbone.fail_publishes([ErrorKind::TooLarge; 2]);
    peer.send(MX, &cmd("2")).await;
    assert!(peer.hears_nothing().await);
    assert_eq!(gateway.status().counters.unsent_answers, 1);
}

#[tokio::test]
async fn a_request_that_the_realms_bus_refuses_is_answered() {
    let world = World::new();
    let (gateway, _, local) = faulty(&world).await;
    world.component(COUNT, "[2]").await;
    let mut peer = world.peer("shop", MX).await;
    for (kind, expected) in [
        (ErrorKind::Denied, "mxenv1 MX.EDGE.HANDLER_ERROR"),
        (ErrorKind::TooLarge, "mxenv1 MX.EDGE.BAD_REQUEST"),
    ] {
        local.fail_publishes([kind]);
        peer.send(MX, &cmd("1")).await;
        assert_eq!(peer.hear().await, expected);
    }
    peer.send(MX, &cmd("1")).await;
    assert_eq!(peer.hear().await, "mxenv1 [2]");
    assert_eq!(gateway.status().counters.unsent, 2);
}

#[tokio::test]
async fn a_request_whose_publish_is_in_doubt_is_waited_for() {
    let world = World::new();
    let (_gateway, _, local) = faulty(&world).await;
    let mut peer = world.peer("shop", MX).await;
    local.fail_publishes([ErrorKind::Disconnected]);
    peer.send(MX, &cmd("1")).await;
    assert!(peer.hears_nothing().await);
    world.clock.advance(Duration::from_secs(5)).await;
    assert_eq!(peer.hear().await, "mxenv1 MX.EDGE.TIMEOUT");
}

#[tokio::test]
async fn a_request_whose_reply_cannot_be_listened_for_is_answered() {
    let world = World::exact();
    let (gateway, _, local) = faulty(&world).await;
    world.component(COUNT, "[2]").await;
    let mut peer = world.peer("shop", MX).await;
    local.fail_subscribes([ErrorKind::Denied]);
    peer.send(MX, &cmd("1")).await;
    assert_eq!(peer.hear().await, "mxenv1 MX.EDGE.HANDLER_ERROR");
    assert_eq!(gateway.status().under_way, 0);
}

#[tokio::test]
async fn an_event_that_the_realms_bus_refuses_is_counted_and_may_come_again() {
    let world = World::new();
    let (gateway, _, local) = faulty(&world).await;
    let mut inside = world.listen("mx/1/acme.com/stock.emits.changed").await;
    let peer = world.peer("shop", MX).await;
    local.fail_publishes([ErrorKind::Denied]);
    peer.send(MX, &event("e", "[7]")).await;
    settle().await;
    assert_eq!(gateway.status().counters.untold, 1);
    peer.send(MX, &event("e", "[7]")).await;
    assert_eq!(&next(&mut inside).await.payload()[..], b"[7]");
}

#[tokio::test]
async fn a_mailbox_that_ends_is_listened_to_again_and_meanwhile_told_of() {
    let world = World::new();
    let (gateway, backbone, _) = faulty(&world).await;
    world.component(COUNT, "[2]").await;
    let mut peer = world.peer("shop", MX).await;
    backbone.fail_subscribes([ErrorKind::Disconnected, ErrorKind::Denied]);
    let why = TransportError::new(ErrorKind::Denied, Operation::Subscribe);
    backbone.tell(MAILBOX, &ReceiveError::Ended(why));
    settle().await;
    let ear = |gateway: &EdgeGateway| {
        let ears = gateway.status().ears;
        ears.into_iter().find(|ear| ear.filter.to_string() == MAILBOX).unwrap()
    };
    assert!(!gateway.status().is_healthy());
    assert_eq!(ear(&gateway).why.unwrap().kind(), ErrorKind::Denied);
    for _ in 0..20 {
        world.clock.advance(Duration::from_secs(1)).await;
    }
    let now = ear(&gateway);
    assert!(now.listening && gateway.status().is_healthy());
    assert_eq!(now.ended, 3);
    peer.send(MX, &cmd("1")).await;
    assert_eq!(peer.hear().await, "mxenv1 [2]");
}

#[tokio::test]
async fn what_a_mailbox_lost_and_missed_is_counted() {
    let world = World::new();
    let (gateway, backbone, _) = faulty(&world).await;
    backbone.tell(MAILBOX, &ReceiveError::Lagged { lost: 7 });
    backbone.tell(MAILBOX, &ReceiveError::Interrupted);
    settle().await;
    let status = gateway.status();
    assert_eq!(status.lost(), 7);
    assert!(status.ears.iter().any(|ear| ear.interrupted == 1));
    assert!(status.is_healthy());
}

#[derive(Debug)]
struct Fragile;

impl Policy for Fragile {
    fn rule(&self, inbound: &Inbound<'_>) -> Ruling {
        assert_ne!(inbound.to_path, Some("bad.accepts.luck"), "on purpose");
        Ruling::Allow
    }
}

#[tokio::test]
async fn what_a_mailbox_lost_is_told_to_who_waits_for_answers() {
    let world = World::new();
    let (backbone, outer) = Faulty::on(&world.backbone.connect());
    let answers = crate::Answers::new(crate::AnswerLimits::default());
    let options = GatewayOptions { answers: Some(answers.clone()), ..options() };
    let inner = world.local.connect();
    let _gateway = EdgeGateway::start(config(), outer, inner, options).await.unwrap();
    let mut gaps = answers.gaps();
    backbone.tell(MAILBOX, &ReceiveError::Lagged { lost: 3 });
    tokio::time::timeout(Duration::from_secs(20), gaps.changed()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_policy_that_panics_costs_one_message_and_is_counted() {
    let world = World::new();
    let mut config = config();
    config.rules = EdgeRules::default().policy(Fragile);
    let gateway = world.gateway(config, options()).await;
    world.component(COUNT, "[2]").await;
    let mut peer = world.peer("shop", MX).await;
    let bad = request(MsgType::Cmd, "bad.accepts.luck", "1").encode().unwrap();
    peer.send(MX, &bad).await;
    peer.send(MX, &cmd("2")).await;
    assert_eq!(peer.hear().await, "mxenv1 [2]");
    assert!(peer.hears_nothing().await);
    assert_eq!(gateway.status().counters.panicked, 1);
}

#[tokio::test]
async fn guards_forget_without_new_traffic() {
    let world = World::new();
    let gateway = world.started().await;
    let peer = world.peer("shop", MX).await;
    peer.send(MX, &cmd("1")).await;
    settle().await;
    let marks = |gateway: &EdgeGateway| {
        let guards = gateway.guards();
        guards.of("replay").unwrap().figures.iter().find(|(name, _)| *name == "marks").unwrap().1
    };
    // Nobody serves it, so only an event's mark stays.
    peer.send(MX, &event("2", "1")).await;
    settle().await;
    assert_eq!(marks(&gateway), 1);
    world.clock.advance(Duration::from_secs(306)).await;
    assert_eq!(marks(&gateway), 0);
}
