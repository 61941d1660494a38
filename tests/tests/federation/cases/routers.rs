//! Routers in a tree: messages go up until somebody has the realm below, and down from there.

use std::sync::Arc;

use mesh_core::message::Message;
use mesh_core::mx::{Address, Envelope, MsgType, Party, Profile, Shard, Topic};
use mesh_core::name::RealmName;
use mesh_core::port::PublishOptions;
use mesh_federation::router::{DropReason, RouterBridge, RouterOptions, Routes};
use mesh_testkit::clock::ManualClock;

use crate::ground::{Field, Ground, RealmPlan};
use crate::home::{Home, path, realm, until};
use crate::peer::{Content, Peer};

/// `acme` with `acme.eu` and `acme.us` below, and `acme.eu.berlin` below the first; each beside its parent and
/// children alone.
const TREE: [(&str, Option<&str>, &[&str]); 4] = [
    ("acme", None, &["acme.eu", "acme.us"]),
    ("acme.eu", Some("acme"), &["acme.eu.berlin"]),
    ("acme.us", Some("acme"), &[]),
    ("acme.eu.berlin", Some("acme.eu"), &[]),
];
const US: usize = 2;
const BERLIN: usize = 3;
const GREET: &str = "desk.accepts.greet";

struct Tree {
    field: Field,
    routers: Vec<RouterBridge>,
}

impl Tree {
    async fn grow(ground: Ground) -> Self {
        let mut plans = Vec::new();
        for (number, (name, parent, children)) in TREE.into_iter().enumerate() {
            let beside: Vec<&str> = parent.into_iter().chain(children.iter().copied()).collect();
            let plan = RealmPlan::new(name).beside(&beside).accepts(GREET);
            plans.push(if number == US { plan.guarded() } else { plan });
        }
        let field = ground.raise(plans, Arc::new(ManualClock::new())).await;
        let mut routers = Vec::new();
        for (place, (name, parent, children)) in field.realms.iter().zip(TREE) {
            let mut routes = Routes::new(realm(name));
            if let Some(parent) = parent {
                routes = routes.with_parent(realm(parent)).unwrap();
            }
            for child in children {
                assert!(routes.add_child(realm(child)).unwrap());
            }
            let options = RouterOptions::default();
            let router = RouterBridge::start(place.between.clone(), routes, options).await;
            routers.push(router.unwrap());
        }
        Self { field, routers }
    }

    /// Sends a command from `acme.eu.berlin`, through its own router.
    async fn send(&self, to: &RealmName, id: &str, ttl: Option<u64>, body: &str) {
        let berlin = self.field.realm(BERLIN);
        let mut envelope = Envelope::new(
            MsgType::Cmd,
            Party::new(&berlin.name, None),
            Address::new(to, path(GREET)),
        );
        envelope.msg_id = Some(id.into());
        envelope.correlation_id = Some(id.into());
        envelope.reply_to = Some(Party::new(&berlin.name, Some(path("desk.accepts.answer"))));
        envelope.ttl = ttl;
        envelope.body = Some(mesh_core::json::RawJson::new(body).unwrap());
        let inbox = Topic::route_inbox(&berlin.name, Shard::default());
        let message = Message::new(inbox, envelope.encode().unwrap());
        let options = PublishOptions::default();
        berlin.between.transport().publish(message, options).await.unwrap();
    }

    /// Returns once the router of that realm has dropped so many for that reason.
    async fn has_dropped(&self, name: &str, reason: DropReason, count: u64) {
        let number = TREE.iter().position(|(realm, ..)| *realm == name).unwrap();
        let dropped = || self.routers[number].status().counters.dropped(reason);
        until("a message is dropped", || async { dropped() >= count }).await;
        assert_eq!(dropped(), count, "{name}");
    }
}

/// From leaf to leaf over the root, through the guards of the realm where it arrives; the body as it was.
pub(super) async fn a_message_finds_its_realm_through_the_tree(ground: Ground) {
    let tree = Tree::grow(ground).await;
    let mut home = Home::start(tree.field.realm(US)).await;
    home.echoes(GREET).await;
    let mut peer = Peer::listen(tree.field.realm(BERLIN)).await;
    let body = r#"{"n": 1.50, "big": 12345678901234567890, "a": 1, "a": 2}"#;
    // Three routers pass it on, and the last delivers it: three hops are enough.
    for (id, ttl) in [("m-1", None), ("m-2", Some(64)), ("m-3", Some(4))] {
        tree.send(&realm("acme.us"), id, ttl, body).await;
        let heard = peer.hear().await;
        let content = Content::Answer { id: id.to_owned(), outcome: Ok(body.to_owned()) };
        assert_eq!((heard.profile, heard.content), (Profile::MxEnv1, content));
    }
    // What comes again comes to the guards again.
    tree.send(&realm("acme.us"), "m-1", None, body).await;
    home.has_refused("replay", 1).await;
    drop(peer);
    home.close().await;
}

/// A message whose hops are spent is dropped by the router that would have passed it on.
pub(super) async fn a_message_without_a_hop_left_is_dropped(ground: Ground) {
    let tree = Tree::grow(ground).await;
    let home = Home::start(tree.field.realm(US)).await;
    let to = realm("acme.us");
    for (id, ttl, at) in [
        ("m-0", 0, "acme.eu.berlin"),
        ("m-1", 1, "acme.eu.berlin"),
        ("m-2", 2, "acme.eu"),
        ("m-3", 3, "acme"),
    ] {
        tree.send(&to, id, Some(ttl), "1").await;
        let count = if id == "m-1" { 2 } else { 1 };
        tree.has_dropped(at, DropReason::TtlSpent, count).await;
    }
    assert_eq!(home.gateway.status().counters.received, 0);
    home.close().await;
}

/// A realm that is in nobody's table is dropped: below one's own realm at once, elsewhere at the root.
pub(super) async fn a_realm_that_nobody_knows_is_dropped(ground: Ground) {
    let tree = Tree::grow(ground).await;
    tree.send(&realm("acme.eu.paris"), "m-1", None, "1").await;
    tree.has_dropped("acme.eu", DropReason::NoChild, 1).await;
    tree.send(&realm("other.example"), "m-2", None, "1").await;
    tree.has_dropped("acme", DropReason::NoParent, 1).await;
    for (place, router) in tree.field.realms.iter().zip(&tree.routers) {
        let dropped = router.status().counters.dropped_in_all();
        let expected = u64::from(matches!(place.name.as_str(), "acme" | "acme.eu"));
        assert_eq!(dropped, expected, "{}", place.name);
    }
}
