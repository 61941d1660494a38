//! Answers to the realm's own questions.

use std::time::Duration;

use mesh_core::mx::{MsgType, Profile};

use super::super::*;
use super::support::*;
use super::world::*;
use crate::{AnswerLimits, Answers};

fn asking() -> (Answers, GatewayOptions) {
    let answers = Answers::new(AnswerLimits::default());
    let options = GatewayOptions { answers: Some(answers.clone()), ..options() };
    (answers, options)
}

fn result(correlation: &str, id: &str) -> Vec<u8> {
    let mut answer = request(MsgType::Result, "desk.accepts.answer", id);
    answer.correlation_id = Some(correlation.to_owned().into());
    answer.reply_to = None;
    answer.encode().unwrap()
}

#[tokio::test]
async fn an_answer_finds_its_question() {
    let world = World::new();
    let (answers, options) = asking();
    let gateway = world.gateway(config(), options).await;
    let peer = world.peer("shop", MX).await;
    let waiting = answers.register(&realm("shop"), "c-1", Profile::MxEnv1).unwrap();
    peer.send(MX, &result("c-1", "r-1")).await;
    assert_eq!(waiting.await.unwrap().unwrap().as_str(), "[1]");
    let waiting = answers.register(&realm("shop"), "c-2", Profile::Legacy).unwrap();
    peer.send(LEGACY, br#"{"correlationId":"c-2","ok":true,"result":7}"#).await;
    assert_eq!(waiting.await.unwrap().unwrap().as_str(), "7");
    assert_eq!(gateway.status().answers.unwrap().matched, 2);
}

#[tokio::test]
async fn an_answer_that_comes_to_another_gateway_is_handed_to_the_one_that_asked() {
    let world = World::grouped();
    let (first, asks) = asking();
    let (second, asks_too) = asking();
    let gateways = [world.gateway(config(), asks).await, world.gateway(config(), asks_too).await];
    let mut peer = world.peer("shop", MX).await;
    for n in 0..20 {
        let asked = if n < 10 { &first } else { &second };
        let id = format!("c-{n}");
        let waiting = asked.register(&realm("shop"), &id, Profile::MxEnv1).unwrap();
        peer.send(MX, &result(&id, &format!("r-{n}"))).await;
        assert!(waiting.await.unwrap().is_ok());
    }
    settle().await;
    let counters = gateways.map(|gateway| gateway.status().counters);
    let sum = |of: fn(&EdgeCounters) -> u64| counters.iter().map(of).sum::<u64>();
    assert_eq!(sum(|c| c.answers), 20);
    assert!(sum(|c| c.handed_over) > 0);
    assert_eq!(sum(|c| c.taken_over), sum(|c| c.handed_over));
    assert_eq!(sum(|c| c.unknown_answers), 0);
    assert!(peer.hears_nothing().await);
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_is_handed_over_once_and_forgotten() {
    let world = World::grouped();
    let (_, asks) = asking();
    let (_, asks_too) = asking();
    let gateways = [world.gateway(config(), asks).await, world.gateway(config(), asks_too).await];
    let mut handed = world.listen("mx/1/acme.com/_edge.emits.answer").await;
    let peer = world.peer("shop", MX).await;
    peer.send(MX, &result("c-1", "r-1")).await;
    settle().await;
    let _ = next(&mut handed).await;
    assert!(futures_util::FutureExt::now_or_never(handed.next()).is_none(), "once");
    let counters = gateways.map(|gateway| gateway.status().counters);
    assert_eq!(counters.iter().map(|c| c.handed_over).sum::<u64>(), 1);
    assert_eq!(counters.iter().map(|c| c.unknown_answers).sum::<u64>(), 1);
}

#[tokio::test]
async fn a_gateway_that_hands_nothing_over_counts_what_nobody_waits_for() {
    let world = World::new();
    let (_, asks) = asking();
    let gateway = world.gateway(config(), GatewayOptions { hand_over: false, ..asks }).await;
    let peer = world.peer("shop", MX).await;
    peer.send(MX, &result("c-1", "r-1")).await;
    settle().await;
    assert_eq!(gateway.status().counters.unknown_answers, 1);
    assert_eq!(world.local.subscriptions(), 1);
    assert_eq!(gateway.close(Duration::from_secs(1)).await.abandoned, 0);
}

#[tokio::test]
async fn what_is_handed_over_and_is_no_answer_is_counted() {
    let world = World::new();
    let (_, asks) = asking();
    let gateway = world.gateway(config(), asks).await;
    let inside = world.local.connect();
    publish(&inside, "mx/1/acme.com/_edge.emits.answer", b"{}").await;
    publish(&inside, "mx/1/acme.com/_edge.emits.answer", &cmd("1")).await;
    settle().await;
    let counters = gateway.status().counters;
    assert_eq!((counters.unknown_answers, counters.asked), (2, 0));
}
