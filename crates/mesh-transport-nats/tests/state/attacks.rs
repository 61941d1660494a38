//! What hostile gateways can do to a bucket: those of another realm nothing, one of the same realm what it may
//! write anyway.

use futures_util::StreamExt as _;
use mesh_core::identity::Principal;
use mesh_core::mx::{MailboxKind, Shard};
use mesh_core::name::RealmName;
use mesh_core::permissions::Permissions;
use mesh_core::store::{Change, Expected, KeyValue as _, StoreKey, Written};
use mesh_testkit::servers::nats::{Account, RawNats, User};
use mesh_transport_nats::{BucketSettings, NatsBucket};
use std::time::Duration;

use crate::bed::{Server, bucket};

const HOUR: Duration = Duration::from_secs(3600);

fn key(name: &str) -> StoreKey {
    StoreKey::new(name).unwrap()
}

/// What the server's API can do to the victim's stream.
const VERBS: [&str; 12] = [
    "STREAM.DELETE.KV_one",
    "STREAM.PURGE.KV_one",
    "STREAM.UPDATE.KV_one",
    "STREAM.CREATE.KV_one",
    "STREAM.MSG.DELETE.KV_one",
    "STREAM.SNAPSHOT.KV_one",
    "STREAM.RESTORE.KV_one",
    "STREAM.LEADER.STEPDOWN.KV_one",
    "CONSUMER.CREATE.KV_one",
    "CONSUMER.CREATE.KV_one.c.$KV.one.>",
    "CONSUMER.DURABLE.CREATE.KV_one.c",
    "DIRECT.GET.KV_one.$KV.one.a",
];

/// Whether all is as the victim has left it.
async fn unharmed(victim: &NatsBucket) {
    let entry = victim.read(&key("a")).await.unwrap().unwrap();
    assert_eq!(entry.value, "the victim's");
    let mut changes = victim.watch().await.unwrap();
    let mut present = Vec::new();
    loop {
        match changes.next().await.unwrap().unwrap() {
            Change::Caught => break,
            Change::Written(key, _) => present.push(key.to_string()),
            Change::Removed(_) => {}
        }
    }
    present.sort_unstable();
    assert_eq!(present, ["a", "b"]);
}

async fn victim(server: &Server) -> NatsBucket {
    let victim = server.bucket("state.1.gw1", "one").await.unwrap();
    for name in ["a", "b"] {
        let name = key(name);
        let written = victim.write(&name, "the victim's".into(), HOUR, Expected::Absent);
        assert!(matches!(written.await.unwrap(), Written::Done(_)));
    }
    victim
}

/// Publishes, and tells whether the server refused it.
async fn refused(attacker: &mut RawNats, subject: &str, reply: Option<&str>) -> bool {
    attacker.publish(subject, reply, &[], b"").await.unwrap();
    let errors = attacker.settle().await.unwrap().errors;
    assert!(errors.iter().all(|error| error.contains("Permissions Violation")), "{errors:?}");
    !errors.is_empty()
}

#[tokio::test]
async fn a_gateway_of_another_realm_reaches_no_bucket_of_this_one() {
    let server = Server::start().await.unwrap();
    let victim = victim(&server).await;
    // Its own bucket has the same name, and is another.
    let administrator = server.connect("state.2.administrator").await.unwrap();
    administrator.create(&bucket("one"), BucketSettings::default()).await.unwrap();
    let own = server.bucket("state.2.gw1", "one").await.unwrap();
    assert_eq!(own.read(&key("a")).await.unwrap(), None);
    let mut attacker = server.raw("state.2.gw1").await;
    // What it may publish, with the server's word sent where it may not.
    let sources = ["$KV.one.x", "$JS.API.STREAM.INFO.KV_one", "$JS.API.STREAM.MSG.GET.KV_one"];
    for verb in VERBS {
        let target = format!("$JS.API.{verb}");
        assert!(refused(&mut attacker, &target, None).await, "{target}");
        for source in sources {
            assert!(!refused(&mut attacker, source, Some(&target)).await, "{source} to {target}");
        }
    }
    for source in sources {
        for target in ["$KV.one.a", "mesh.state.one.a", "_INBOX.gateway.gw1.ack.0"] {
            assert!(!refused(&mut attacker, source, Some(target)).await);
        }
    }
    for other in ["$KV.small.a", "mesh.state.one.a", "$JS.ACK.KV_one.c.1.1.1.1.1"] {
        assert!(refused(&mut attacker, other, None).await, "{other}");
    }
    unharmed(&victim).await;
}

#[tokio::test]
async fn a_gateways_user_on_the_backbone_has_no_state_at_all() {
    let plain = Server::start().await.unwrap();
    let kind = MailboxKind::Mx(Shard::default());
    let (name, realm) = ("gw1".parse().unwrap(), RealmName::new("evil.org").unwrap());
    let peer = RealmName::new("acme.com").unwrap();
    let rights = Permissions::of_gateway(&name, &realm, &[kind], &[(peer, kind)]);
    let user = User::new(Account::Backbone, Principal::Gateway { name }, rights).unwrap();
    let server = Server::of(plain.layout.clone().with_user(user)).await.unwrap();
    let victim = victim(&server).await;
    let mut attacker = server.raw("gateway.gw1").await;
    for verb in VERBS {
        let target = format!("$JS.API.{verb}");
        assert!(refused(&mut attacker, &target, None).await, "{target}");
        // Its mailbox hears it; the server's API is not in that account.
        assert!(!refused(&mut attacker, "mx/in/1/acme.com/00", Some(&target)).await);
    }
    for other in ["$KV.one.a", "mesh.state.one.a"] {
        assert!(refused(&mut attacker, other, None).await, "{other}");
        attacker.subscribe(other, None).await.unwrap();
        assert_eq!(attacker.settle().await.unwrap().errors.len(), 1, "{other}");
    }
    unharmed(&victim).await;
}

#[tokio::test]
async fn a_gateway_of_the_same_realm_may_write_all_of_a_bucket_and_can_not_take_it_away() {
    let server = Server::start().await.unwrap();
    let victim = victim(&server).await;
    let mut attacker = server.raw("state.1.gw2").await;
    let sources = ["$KV.two.x", "$JS.API.STREAM.INFO.KV_two", "$JS.API.STREAM.MSG.GET.KV_two"];
    for verb in VERBS {
        let target = format!("$JS.API.{verb}");
        assert!(refused(&mut attacker, &target, None).await, "{target}");
        for source in sources {
            assert!(!refused(&mut attacker, source, Some(&target)).await, "{source} to {target}");
        }
    }
    assert!(refused(&mut attacker, "mesh.state.one.a", None).await);
    unharmed(&victim).await;

    // What remains, since it may write there anyway: an entry that nobody meant, the server's word in place
    // of a value, and everything gone at once.
    let mut changes = victim.watch().await.unwrap();
    while changes.next().await.unwrap().unwrap() != Change::Caught {}
    attacker.publish("$KV.two.x", Some("$KV.one.forged"), &[], b"").await.unwrap();
    let Change::Written(name, entry) = changes.next().await.unwrap().unwrap() else { panic!() };
    assert_eq!(name, key("forged"));
    assert!(entry.value.starts_with(br#"{"stream":"KV_two""#), "{entry:?}");
    // What is no key of ours is passed over, by readers and by watchers.
    attacker.publish("$KV.one.no/key", None, &[], b"").await.unwrap();
    attacker.publish("$KV.one.a", None, &[("Nats-Rollup", "all")], b"1").await.unwrap();
    let Change::Written(name, _) = changes.next().await.unwrap().unwrap() else { panic!() };
    assert_eq!(name, key("a"));
    assert_eq!(victim.read(&key("b")).await.unwrap(), None);
}
