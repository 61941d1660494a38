use std::sync::Arc;
use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::mx::{MailboxKind, Shard, Topic};
use mesh_core::port::{Connection, ErrorKind, PublishOptions, SubscribeOptions, Subscription};
use mesh_testkit::clock::ManualClock;
use mesh_transport_mem::{InMemoryExactBroker, InMemoryFilterBroker};

use super::stubborn::Stubborn;
use super::{realm, routes};
use crate::router::{DropReason, RouterBridge, RouterClosed, RouterOptions, RouterStatus, Routes};

struct Bed {
    clock: ManualClock,
    broker: InMemoryExactBroker,
}

impl Bed {
    fn new() -> Self {
        let clock = ManualClock::new();
        Self { broker: InMemoryExactBroker::new(Arc::new(clock.clone())), clock }
    }

    fn connect(&self, name: &str) -> Connection {
        self.broker.connect(Principal::Gateway { name: name.parse().unwrap() })
    }

    async fn router(&self, routes: Routes) -> RouterBridge {
        RouterBridge::start(self.connect("router"), routes, RouterOptions::default()).await.unwrap()
    }

    async fn listen(&self, topic: mesh_core::subject::Subject) -> Subscription {
        let connection = self.connect("listener");
        connection.transport().subscribe(topic.into(), SubscribeOptions::default()).await.unwrap()
    }

    async fn mailbox(&self, name: &str) -> Subscription {
        self.listen(MailboxKind::default().subject(&realm(name))).await
    }

    async fn post(&self, router: &str, bytes: impl Into<Vec<u8>>) {
        let inbox = Topic::route_inbox(&realm(router), Shard::default());
        let options = PublishOptions { require_receiver: true, ..PublishOptions::default() };
        let transport = Arc::clone(self.connect("sender").transport());
        transport.publish(Message::new(inbox, bytes.into()), options).await.unwrap();
    }
}

fn envelope(from: &str, to: &str, more: &str) -> String {
    format!(
        r#"{{ "msgType":"Cmd","to":{{"realm":"{to}","path":"x.accepts.y"}},"from":{{"realm":"{from}"}},"msgId":"m-1"{more}}}"#
    )
}

/// Waits until the router says so.
async fn until(router: &RouterBridge, what: impl Fn(&RouterStatus) -> bool) -> RouterStatus {
    for _ in 0..10_000 {
        let status = router.status();
        if what(&status) {
            return status;
        }
        tokio::task::yield_now().await;
    }
    panic!("never: {:?}", router.status());
}

async fn text(mailbox: &mut Subscription) -> String {
    let message = mailbox.next().await.unwrap().unwrap();
    String::from_utf8(message.payload().to_vec()).unwrap()
}

#[tokio::test]
async fn a_message_goes_up_and_down_the_tree_and_arrives_with_nothing_but_its_ttl_changed() {
    let bed = Bed::new();
    let mut mailbox = bed.mailbox("acme.eu.shop").await;
    let mut all = Vec::new();
    for tree in [
        routes("root", "-", &["acme", "zeta"]),
        routes("acme", "root", &["acme.eu"]),
        routes("acme.eu", "acme", &["acme.eu.shop"]),
        routes("acme.eu.shop", "acme.eu", &[]),
        routes("zeta", "root", &["zeta.x"]),
        routes("zeta.x", "zeta", &[]),
    ] {
        all.push(bed.router(tree).await);
    }
    let more = r#", "ttl" : 8 , "_x":[1.0,1e400], "body":{"ttl":8,"big":12345678901234567890}"#;
    let sent = envelope("zeta.x.tab", "acme.eu.shop", more);
    bed.post("zeta.x", sent.clone()).await;
    assert_eq!(text(&mut mailbox).await, sent.replacen(": 8 ,", ": 3 ,", 1));
    for (router, (up, down, delivered)) in
        all.iter().zip([(0, 1, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0), (1, 0, 0)])
    {
        let status = until(router, |status| status.waiting == 0).await;
        let counters = status.counters;
        assert_eq!((counters.up, counters.down, counters.delivered), (up, down, delivered));
        assert_eq!((counters.arrived, counters.dropped_in_all()), (1, 0));
    }
    // One exact topic each, and no wildcard: this broker has none.
    assert_eq!(bed.broker.statistics().subscriptions, 7);
    drop((all, mailbox));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bed.broker.statistics().subscriptions, 0);
}

#[tokio::test]
async fn what_is_mine_is_delivered_as_the_bytes_that_came() {
    let bed = Bed::new();
    let mut mailbox = bed.mailbox("a").await;
    let router = bed.router(routes("a", "-", &[])).await;
    for ttl in ["", r#","ttl":0"#, r#","ttl":999999"#] {
        let sent = format!(" {} ", envelope("z", "a", ttl));
        bed.post("a", sent.clone()).await;
        assert_eq!(text(&mut mailbox).await, sent);
    }
    assert_eq!(router.status().counters.arrived, 3);
}

#[tokio::test]
async fn a_spent_ttl_ends_a_message_on_its_way() {
    let bed = Bed::new();
    let top = bed.router(routes("a", "-", &["a.b"])).await;
    let below = bed.router(routes("a.b", "a", &["a.b.c"])).await;
    bed.post("a", envelope("a", "a.b.c", r#","ttl":2"#)).await;
    let status = until(&below, |status| status.counters.dropped_in_all() == 1).await;
    assert_eq!(status.counters.dropped(DropReason::TtlSpent), 1);
    assert_eq!(until(&top, |status| status.waiting == 0).await.counters.down, 1);
}

#[tokio::test]
async fn an_unknown_route_ends_where_it_is_known_to_be_unknown() {
    let bed = Bed::new();
    let top = bed.router(routes("root", "-", &["a"])).await;
    let below = bed.router(routes("a", "root", &[])).await;
    bed.post("a", envelope("a", "nowhere", "")).await;
    bed.post("a", envelope("a", "a.nowhere", "")).await;
    let status = until(&top, |status| status.counters.dropped_in_all() == 1).await;
    assert_eq!(status.counters.dropped(DropReason::NoParent), 1);
    let status = until(&below, |status| status.counters.dropped_in_all() == 1).await;
    assert_eq!(status.counters.dropped(DropReason::NoChild), 1);
}

#[tokio::test]
async fn a_loop_of_parents_is_ended_by_the_ttl() {
    let bed = Bed::new();
    let one = bed.router(routes("a", "b", &[])).await;
    let other = bed.router(routes("b", "a", &[])).await;
    // Of whom both believe that it is theirs there is none: the journey is refused at the second.
    bed.post("a", envelope("a", "z", "")).await;
    let status = until(&other, |status| status.counters.dropped_in_all() == 1).await;
    assert_eq!(status.counters.dropped(DropReason::Transit), 1);
    // A realm that both cover goes round.
    one.change(|routes| routes.add_child(realm("hub"))).unwrap();
    other.change(|routes| routes.add_child(realm("hub"))).unwrap();
    bed.post("a", envelope("hub.x", "z", "")).await;
    let spent = |status: &RouterStatus| status.counters.dropped(DropReason::TtlSpent);
    for _ in 0..10_000 {
        if spent(&one.status()) + spent(&other.status()) == 1 {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(spent(&one.status()) + spent(&other.status()), 1);
    // Seven hops of it, and the one before.
    assert_eq!(one.status().counters.up + other.status().counters.up, 8);
}

#[tokio::test]
async fn strangers_are_not_relayed_and_odd_messages_are_counted() {
    let bed = Bed::new();
    let router = bed.router(routes("a", "root", &["a.b"])).await;
    let legacy = r#"{"fromRealm":"a","toPath":"x.accepts.y","correlationId":"c","toRealm":"z"}"#;
    for (bytes, reason) in [
        (envelope("z", "y", ""), DropReason::Transit),
        (envelope("a", "z", r#","ttl":65"#), DropReason::TtlTooBig),
        (envelope("a", "z", r#","ttl":-1"#), DropReason::Malformed),
        (envelope("a", "z", r#","ttl":8,"ttl":8"#), DropReason::Malformed),
        (envelope("a", "z", r#","to":{"realm":"a","path":"x.accepts.y"}"#), DropReason::Malformed),
        (legacy.to_owned(), DropReason::Malformed),
        ("{".to_owned(), DropReason::Malformed),
        (String::new(), DropReason::Malformed),
    ] {
        let before = router.status().counters;
        bed.post("a", bytes.clone()).await;
        let dropped = before.dropped_in_all() + 1;
        let after = until(&router, |status| status.counters.dropped_in_all() == dropped).await;
        assert_eq!(after.counters.dropped(reason), before.dropped(reason) + 1, "{bytes}");
    }
    let counters = router.status().counters;
    assert_eq!((counters.arrived, counters.up, counters.down, counters.delivered), (8, 0, 0, 0));
}

#[tokio::test]
async fn a_neighbour_that_is_not_there_is_counted_and_shown_until_it_is() {
    let bed = Bed::new();
    let router = bed.router(routes("a", "root", &[])).await;
    for count in 1..=3 {
        bed.post("a", envelope("a", "z", "")).await;
        let status = until(&router, |s| s.counters.dropped(DropReason::Absent) == count).await;
        let status =
            if status.waiting == 0 { status } else { until(&router, |s| s.waiting == 0).await };
        assert_eq!(status.failing.len(), 1);
        assert_eq!(status.failing[0].neighbour, Some(realm("root")));
        assert_eq!(status.failing[0].error, ErrorKind::NoResponders);
        assert_eq!(status.failing[0].failures, count);
    }
    let mut inbox = bed.listen(Topic::route_inbox(&realm("root"), Shard::default())).await;
    bed.post("a", envelope("a", "z", "")).await;
    text(&mut inbox).await;
    let status = until(&router, |status| status.waiting == 0).await;
    assert_eq!((status.failing, status.counters.up), (vec![], 1));
}

#[tokio::test]
async fn a_slow_neighbour_holds_a_bounded_number_and_delays_nobody_else() {
    let bed = Bed::new();
    let stubborn = Stubborn::around(&bed.connect("router"));
    let slow = Topic::route_inbox(&realm("a.slow"), Shard::default());
    stubborn.hold(&slow);
    let options = RouterOptions { waiting_each: 3, ..RouterOptions::default() };
    let tree = routes("a", "-", &["a.slow", "a.quick"]);
    let router = RouterBridge::start(stubborn.connection(), tree, options).await.unwrap();
    let mut quick = bed.listen(Topic::route_inbox(&realm("a.quick"), Shard::default())).await;
    for _ in 0..10 {
        bed.post("a", envelope("a", "a.slow", "")).await;
        bed.post("a", envelope("a", "a.quick", "")).await;
        text(&mut quick).await;
    }
    // Three wait, and one that was taken out before is on its way.
    let status =
        until(&router, |status| status.counters.arrived == 20 && status.counters.down == 10).await;
    assert!((3..=4).contains(&status.waiting), "{status:?}");
    let waiting = u64::try_from(status.waiting).unwrap();
    assert_eq!(status.counters.dropped(DropReason::Busy), 10 - waiting);
    // Time ends each of them, one after the other.
    for _ in 0..waiting {
        bed.clock.sleepers(1).await;
        bed.clock.advance(Duration::from_secs(5)).await;
    }
    let status = until(&router, |status| status.waiting == 0).await;
    assert_eq!(status.waiting_bytes, 0);
    assert_eq!(status.counters.dropped(DropReason::Failed), waiting);
    assert_eq!(status.failing[0].error, ErrorKind::TimedOut);
    assert_eq!(status.failing[0].failures, waiting);
}

#[tokio::test]
async fn what_waits_is_bounded_in_bytes_for_all_neighbours_together() {
    let bed = Bed::new();
    let stubborn = Stubborn::around(&bed.connect("router"));
    let names = ["a.b", "a.c", "a.d"];
    for name in names {
        stubborn.hold(&Topic::route_inbox(&realm(name), Shard::default()));
    }
    let size = envelope("a", "a.b", r#","ttl":8"#).len();
    let options = RouterOptions { waiting_bytes: 2 * size, ..RouterOptions::default() };
    let router = RouterBridge::start(stubborn.connection(), routes("a", "-", &names), options)
        .await
        .unwrap();
    for name in names {
        bed.post("a", envelope("a", name, r#","ttl":8"#)).await;
    }
    let status = until(&router, |status| status.counters.arrived == 3).await;
    assert_eq!((status.waiting, status.waiting_bytes), (2, 2 * size));
    assert_eq!(status.counters.dropped(DropReason::Busy), 1);
}

#[tokio::test]
async fn a_close_sends_what_waits_and_says_what_it_could_not() {
    let bed = Bed::new();
    let stubborn = Stubborn::around(&bed.connect("router"));
    let slow = Topic::route_inbox(&realm("a.b"), Shard::default());
    stubborn.hold(&slow);
    let tree = || routes("a", "-", &["a.b"]);
    let mut inbox = bed.listen(slow.clone()).await;
    for freed in [true, false] {
        let router = RouterBridge::start(stubborn.connection(), tree(), RouterOptions::default())
            .await
            .unwrap();
        for _ in 0..3 {
            bed.post("a", envelope("a", "a.b", "")).await;
        }
        until(&router, |status| status.waiting == 3).await;
        let closing = tokio::spawn(router.close(Duration::from_secs(2)));
        bed.clock.sleepers(2).await;
        if freed {
            stubborn.free();
            assert_eq!(closing.await.unwrap(), RouterClosed { finished: 3, lost: 0 });
            for _ in 0..3 {
                text(&mut inbox).await;
            }
            stubborn.hold(&slow);
        } else {
            bed.clock.advance(Duration::from_secs(2)).await;
            assert_eq!(closing.await.unwrap(), RouterClosed { finished: 0, lost: 3 });
        }
    }
}

#[tokio::test]
async fn an_inbox_that_ended_is_listened_to_again() {
    let bed = Bed::new();
    let stubborn = Stubborn::around(&bed.connect("router"));
    let router =
        RouterBridge::start(stubborn.connection(), routes("a", "-", &[]), RouterOptions::default())
            .await
            .unwrap();
    let mut mailbox = bed.mailbox("a").await;
    stubborn.end_subscriptions(2);
    until(&router, |status| !status.listening).await;
    // It fails once more before it works.
    for pause in [250, 500] {
        bed.clock.sleepers(1).await;
        bed.clock.advance(Duration::from_millis(pause)).await;
    }
    until(&router, |status| status.listening).await;
    bed.post("a", envelope("z", "a", "")).await;
    text(&mut mailbox).await;
    assert_eq!(router.status().counters.interrupted, 1);
}

#[tokio::test]
async fn routers_of_one_realm_share_its_inbox_where_the_transport_has_groups() {
    let clock = Arc::new(ManualClock::new());
    let broker = InMemoryFilterBroker::new(clock);
    let connect = || broker.connect(Principal::Gateway { name: "g".parse().unwrap() });
    let start = || RouterBridge::start(connect(), routes("a", "-", &[]), RouterOptions::default());
    let (one, other) = (start().await.unwrap(), start().await.unwrap());
    let transport = Arc::clone(connect().transport());
    let filter = MailboxKind::default().subject(&realm("a")).into();
    let mut mailbox = transport.subscribe(filter, SubscribeOptions::default()).await.unwrap();
    for _ in 0..20 {
        let inbox = Topic::route_inbox(&realm("a"), Shard::default());
        let message = Message::new(inbox, envelope("z", "a", ""));
        transport.publish(message, PublishOptions::default()).await.unwrap();
        text(&mut mailbox).await;
    }
    let arrived = one.status().counters.arrived + other.status().counters.arrived;
    assert_eq!(arrived, 20);
}
