//! What stands between a foreign realm and the inside: each guard, refused as the protocol says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mesh_core::guard::{PrefixDeny, Quota};
use mesh_core::mx::{LegacyRequest, Profile};
use mesh_federation::Call;
use mesh_federation::edge::EdgeRules;
use mesh_testkit::clock::ManualClock;

use crate::ground::{BOTH, Field, Ground, RealmPlan};
use crate::home::{Home, realm};
use crate::peer::{Content, Peer, mailbox_of};

const PATH: &str = "desk.accepts.greet";
const BOTH_PROFILES: [Profile; 2] = [Profile::Legacy, Profile::MxEnv1];

/// `acme.com`, a foreign realm, and a third that wants nothing.
async fn raise(ground: Ground, clock: &ManualClock) -> Field {
    let home = RealmPlan::new("acme.com").guarded().accepts(PATH).accepts("admin.accepts.stop");
    let plans = vec![home, RealmPlan::new("été.example"), RealmPlan::new("matrix-3")];
    ground.raise(plans, Arc::new(clock.clone())).await
}

/// A component that counts how often it ran.
async fn counting(home: &mut Home) -> Arc<AtomicU32> {
    let ran = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&ran);
    let greet = move |call: Call| {
        count.fetch_add(1, Ordering::SeqCst);
        async move { Ok(call.params) }
    };
    home.accepts(PATH, greet).await;
    ran
}

/// Who asks for the answer to be sent to a third realm is dropped: no component runs, nobody hears anything.
pub(super) async fn a_relay_attempt_produces_nothing(ground: Ground) {
    let field = raise(ground, &ManualClock::new()).await;
    let mut home = Home::start(field.realm(0)).await;
    let ran = counting(&mut home).await;
    let (mut peer, mut third) =
        (Peer::listen(field.realm(1)).await, Peer::listen(field.realm(2)).await);
    let acme = &field.realm(0).name;
    for (number, profile) in (1..).zip(BOTH_PROFILES) {
        let mut attempt = peer.command(acme, PATH, &format!("relay-{profile}"), "1");
        attempt.reply = Some(realm("matrix-3"));
        peer.say(profile, &attempt).await;
        home.has_refused("relay", number).await;
    }
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    // The next thing that each of the two hears is the answer to a good command of its own.
    for other in [&mut peer, &mut third] {
        for profile in BOTH_PROFILES {
            let good = other.command(acme, PATH, &format!("good-{profile}"), "2");
            assert_eq!(other.ask(profile, &good).await.as_deref(), Ok("2"));
        }
    }
    assert_eq!(ran.load(Ordering::SeqCst), 4);
    drop((peer, third));
    home.close().await;
}

/// The same id of the same realm is handled once, whichever wire it comes by; another realm's is another id.
pub(super) async fn a_message_that_comes_again_is_handled_once(ground: Ground) {
    let clock = ManualClock::new();
    let field = raise(ground, &clock).await;
    let mut home = Home::start(field.realm(0)).await;
    let ran = counting(&mut home).await;
    let (mut peer, mut third) =
        (Peer::listen(field.realm(1)).await, Peer::listen(field.realm(2)).await);
    let acme = &field.realm(0).name;
    let command = peer.command(acme, PATH, "m-1", "1");
    assert_eq!(peer.ask(Profile::MxEnv1, &command).await.as_deref(), Ok("1"));
    for (number, profile) in (1..).zip(BOTH_PROFILES) {
        peer.say(profile, &command).await;
        home.has_refused("replay", number).await;
    }
    let same = third.command(acme, PATH, "m-1", "3");
    assert_eq!(third.ask(Profile::Legacy, &same).await.as_deref(), Ok("3"));
    assert_eq!(ran.load(Ordering::SeqCst), 2);
    // After its time an id is a new one.
    clock.advance(Duration::from_secs(301)).await;
    assert_eq!(peer.ask(Profile::Legacy, &command).await.as_deref(), Ok("1"));
    assert_eq!(ran.load(Ordering::SeqCst), 3);
    drop((peer, third));
    home.close().await;
}

/// Over its limit a realm is told so, and may come again with the very same message.
pub(super) async fn over_the_limit_is_answered_and_may_come_again(ground: Ground) {
    let clock = ManualClock::new();
    let field = raise(ground, &clock).await;
    let mut rules = EdgeRules::default();
    rules.rate.per_realm = Quota::new(2, 1).unwrap();
    let mut home = Home::ruled(field.realm(0), rules).await;
    let ran = counting(&mut home).await;
    let mut peer = Peer::listen(field.realm(1)).await;
    let acme = &field.realm(0).name;
    for profile in BOTH_PROFILES {
        clock.advance(Duration::from_secs(60)).await;
        for number in 0..2 {
            let good = peer.command(acme, PATH, &format!("good-{number}-{profile}"), "1");
            assert_eq!(peer.ask(profile, &good).await.as_deref(), Ok("1"));
        }
        let over = peer.command(acme, PATH, &format!("over-{profile}"), "1");
        let refused = peer.ask(profile, &over).await;
        assert_eq!(refused, Err("MX.EDGE.RATE_LIMITED".to_owned()));
        clock.advance(Duration::from_secs(1)).await;
        assert_eq!(peer.ask(profile, &over).await.as_deref(), Ok("1"));
    }
    assert_eq!(ran.load(Ordering::SeqCst), 6);
    drop(peer);
    home.close().await;
}

/// What the policy denies is answered so, and once the policy is another the same message is let through.
pub(super) async fn what_the_policy_denies_is_answered_and_may_come_again(ground: Ground) {
    let field = raise(ground, &ManualClock::new()).await;
    let rules = EdgeRules::default().policy(PrefixDeny::new(["admin"]));
    let mut home = Home::ruled(field.realm(0), rules).await;
    home.echoes("admin.accepts.stop").await;
    let mut peer = Peer::listen(field.realm(1)).await;
    let acme = &field.realm(0).name;
    let commands = BOTH_PROFILES
        .map(|profile| (profile, peer.command(acme, "admin.accepts.stop", profile.name(), "1")));
    for (profile, command) in &commands {
        let refused = peer.ask(*profile, command).await;
        assert_eq!(refused, Err("MX.EDGE.POLICY_DENIED".to_owned()));
    }
    home.gateway.reload(EdgeRules::default()).unwrap();
    for (profile, command) in &commands {
        assert_eq!(peer.ask(*profile, command).await.as_deref(), Ok("1"));
    }
    drop(peer);
    home.close().await;
}

/// What is no envelope, is for another realm, or has expired, is dropped without a word, and counted.
pub(super) async fn what_is_misaddressed_expired_or_no_envelope_is_dropped(ground: Ground) {
    let clock = ManualClock::new();
    let field = raise(ground, &clock).await;
    let mut home = Home::start(field.realm(0)).await;
    let ran = counting(&mut home).await;
    let mut peer = Peer::listen(field.realm(1)).await;
    let acme = &field.realm(0).name;
    for (number, mailbox) in (1..).zip(BOTH) {
        for bytes in ["", "[]", "{\"ok\":1}", "\u{feff}{}", "not json"] {
            peer.put(acme, mailbox, bytes.into()).await;
        }
        let undecodable = || async { home.gateway.guards().undecodable == 5 * number };
        crate::home::until("no envelopes", undecodable).await;
    }
    for (number, profile) in (1..).zip(BOTH_PROFILES) {
        let mut elsewhere = peer.command(acme, PATH, &format!("elsewhere-{profile}"), "1");
        elsewhere.to = realm("matrix-3");
        peer.put(acme, mailbox_of(profile), elsewhere.bytes(profile)).await;
        home.has_refused("addressed", number).await;
    }
    let mut expired = LegacyRequest::new(&peer.realm.name, PATH.parse().unwrap(), "old");
    expired.timestamp = Some(1_767_225_600_000 - 5_001);
    expired.ttl_ms = Some(5_000);
    peer.put(acme, BOTH[0], expired.encode()).await;
    home.has_refused("expiry", 1).await;
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    let good = peer.command(acme, PATH, "good", "1");
    assert_eq!(peer.ask(Profile::MxEnv1, &good).await.as_deref(), Ok("1"));
    drop(peer);
    home.close().await;
}

/// What the realm keeps for itself is closed to others, and an answer that nobody waits for is counted, not
/// answered.
pub(super) async fn components_of_the_realm_alone_are_closed(ground: Ground) {
    let field = raise(ground, &ManualClock::new()).await;
    let mut home = Home::start(field.realm(0)).await;
    let ran = counting(&mut home).await;
    let mut peer = Peer::listen(field.realm(1)).await;
    let acme = &field.realm(0).name;
    for path in ["_operator.accepts.leases", "a/_edge.accepts.x", "_reply.accepts.x"] {
        for profile in BOTH_PROFILES {
            let command = peer.command(acme, path, &format!("{path}-{profile}"), "1");
            let refused = peer.ask(profile, &command).await.unwrap_err();
            assert_eq!(refused, "MX.EDGE.POLICY_DENIED", "{path}");
        }
    }
    let answer = r#"{"correlationId":"nobody-asked","ok":true,"fromRealm":"été.example"}"#;
    peer.put(acme, BOTH[0], answer.into()).await;
    let good = peer.command(acme, PATH, "good", "1");
    assert_eq!(peer.ask(Profile::Legacy, &good).await.as_deref(), Ok("1"));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    drop(peer);
    home.close().await;
}

/// A guard in shadow counts and refuses nothing.
pub(super) async fn a_guard_in_shadow_counts_and_lets_through(ground: Ground) {
    use mesh_core::guard::Stage;
    let field = raise(ground, &ManualClock::new()).await;
    let rules = EdgeRules::default().policy(PrefixDeny::new(["desk"])).shadow(Stage::Policy);
    let mut home = Home::ruled(field.realm(0), rules).await;
    let ran = counting(&mut home).await;
    let mut peer = Peer::listen(field.realm(1)).await;
    let command = peer.command(&field.realm(0).name, PATH, "m-1", "1");
    peer.say(Profile::MxEnv1, &command).await;
    let content = Content::Answer { id: "m-1".to_owned(), outcome: Ok("1".to_owned()) };
    assert_eq!(peer.hear().await.content, content);
    let counters = home.gateway.guards();
    assert_eq!(counters.of("policy").map(|policy| policy.shadow_refused), Some(1));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    drop(peer);
    home.close().await;
}
