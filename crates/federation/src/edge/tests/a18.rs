//! Nothing is left behind by a time-out: 10,000 requests to a component that is silent.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use mesh_clock::SystemClock;
use mesh_core::message::Message;
use mesh_core::mx::MailboxKind;
use mesh_core::port::{Connection, PublishOptions, SubscribeOptions};
use mesh_transport_mem::InMemoryFilterBroker;

use super::super::*;
use super::support::*;
use super::world::{next, options, publish, reply_to, someone};

const MANY: u32 = 10_000;
/// Whose askers go away meanwhile: their mailboxes are not read any more.
const GONE: u32 = 100;

fn config_for_many() -> EdgeConfig {
    let mut config = config();
    config.timeout = Duration::from_millis(5);
    config.limits.pending = MANY as usize;
    config.limits.pending_per_realm = MANY as usize;
    config.rules.rate = unlimited();
    config.replay.per_realm = 2 * MANY as usize;
    config
}

fn unlimited() -> mesh_core::guard::RateLimits {
    let mut rate = mesh_core::guard::RateLimits::default();
    rate.per_realm = mesh_core::guard::Quota::new(1_000_000, 1_000_000).unwrap();
    rate.total = None;
    rate
}

fn command(realm: &str, id: u32) -> Vec<u8> {
    format!(
        r#"{{"fromRealm":"{realm}","toPath":"stock.accepts.count","correlationId":"c-{id}","body":{id}}}"#
    )
    .into_bytes()
}

async fn mailbox(
    connection: &Connection,
    subject: mesh_core::subject::Subject,
) -> mesh_core::port::Subscription {
    let buffer = NonZeroUsize::new(2 * MANY as usize).unwrap();
    let options = SubscribeOptions { buffer, ..SubscribeOptions::default() };
    connection.transport().subscribe(subject.into(), options).await.unwrap()
}

/// One result for each request, and none after that; the late answers are discarded and counted.
async fn nothing_is_left() {
    let clock = Arc::new(SystemClock::new());
    let backbone = InMemoryFilterBroker::new(clock.clone());
    let local = InMemoryFilterBroker::new(clock);
    let buffer = NonZeroUsize::new(2 * MANY as usize).unwrap();
    let how = GatewayOptions { buffer, ..options() };
    let (outer, inner) = (backbone.connect(someone()), local.connect(someone()));
    let gateway = EdgeGateway::start(config_for_many(), outer, inner, how).await.unwrap();

    let component = local.connect(someone());
    let path = mesh_core::subject::Subject::new("mx/1/acme.com/stock.accepts.count").unwrap();
    let mut calls = mailbox(&component, path).await;
    let peer = backbone.connect(someone());
    let mut answers = mailbox(&peer, MailboxKind::Legacy.subject(&realm("shop"))).await;
    let gone = mailbox(&peer, MailboxKind::Legacy.subject(&realm("gone"))).await;

    let to = MailboxKind::Legacy.subject(&realm("acme.com"));
    let mut gone = Some(gone);
    for id in 0..MANY {
        let from = if id < GONE { "gone" } else { "shop" };
        let message = Message::new(to.clone(), command(from, id));
        peer.transport().publish(message, PublishOptions::default()).await.unwrap();
        if id == MANY / 2 {
            gone = None;
        }
    }
    assert!(gone.is_none());
    let mut seen = HashSet::new();
    for _ in GONE..MANY {
        let answer = next(&mut answers).await;
        let text = String::from_utf8(answer.payload().to_vec()).unwrap();
        assert_eq!(read(answer.payload()).1, "MX.EDGE.TIMEOUT");
        let id = text.split('"').nth(3).unwrap().to_owned();
        assert!(seen.insert(id), "a second result");
    }
    super::world::until(|| gateway.status().under_way == 0).await;
    // The component answers the last of them after all, twice.
    let mut last = None;
    for _ in 0..MANY {
        last = Some(next(&mut calls).await);
    }
    for _ in 0..2 {
        publish(&component, &reply_to(&last.clone().unwrap()), b"[2]").await;
    }
    super::world::until(|| gateway.status().counters.late_replies == 2).await;

    let status = gateway.status();
    assert_eq!((status.pending, status.under_way, status.realms), (0, 0, 0));
    assert_eq!(status.counters.timed_out, u64::from(MANY));
    assert_eq!(status.counters.sent, u64::from(MANY));
    assert!(futures_util::FutureExt::now_or_never(answers.next()).is_none(), "a late result");
    drop((gateway, calls, answers));
    super::world::until(|| local.statistics().subscriptions == 0).await;
    super::world::until(|| backbone.statistics().subscriptions == 0).await;
}

#[tokio::test]
async fn nothing_is_left_behind_by_time_outs_on_one_thread() {
    nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_behind_by_time_outs_on_several_threads() {
    nothing_is_left().await;
}
