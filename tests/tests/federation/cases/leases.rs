//! The life of a subscription: another realm's lease on an event of ours.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::{MsgType, Profile};
use mesh_federation::lease::{FederationFacade, FederationOptions, Notice};
use mesh_federation::{ComponentHost, HostOptions, Seen};
use mesh_testkit::clock::ManualClock;
use serde_json::Value;

use crate::ground::{Field, Ground, Realm, RealmPlan};
use crate::home::{Home, path, until};
use crate::peer::{Content, PATIENCE, Peer, Said};

const SOURCE: &str = "desk.emits.said";
const SINK: &str = "window.emits.heard";
const NOTICES: &str = "window.emits.lease-notice";
const PROFILES: [Profile; 2] = [Profile::Legacy, Profile::MxEnv1];

/// `acme.com`, whose desk says something, and two realms that want to hear it.
async fn raise(ground: Ground, clock: &ManualClock) -> Field {
    let plans = vec![
        RealmPlan::new("acme.com").guarded().emits(SOURCE),
        RealmPlan::new("été.example"),
        RealmPlan::new("matrix-3"),
    ];
    ground.raise(plans, Arc::new(clock.clone())).await
}

async fn facade(realm: &Realm) -> FederationFacade {
    let host = HostOptions::default();
    let host = ComponentHost::new(realm.name.clone(), realm.gateway.clone(), host);
    let options = FederationOptions::default();
    FederationFacade::start(&host, realm.between.clone(), options).await.unwrap()
}

/// What a peer asks of the leases of `acme.com`.
fn asks(peer: &Peer<'_>, field: &Field, verb: &str, id: &str, body: &str) -> Said {
    let path = format!("_federation.accepts.{verb}");
    let mut said = peer.command(&field.realm(0).name, &path, id, body);
    said.kind = match verb {
        "subscribe" => MsgType::Sub,
        "unsubscribe" => MsgType::Unsub,
        _ => MsgType::Cmd,
    };
    said
}

fn subscription(sink: &str) -> String {
    format!(r#"{{"sourcePath": "{SOURCE}", "sinkPath": "{sink}", "leaseMs": 60000}}"#)
}

/// The lease of an answer: its id, and when it ends.
fn lease(answer: Result<String, String>) -> (String, i64) {
    let answer: Value = serde_json::from_str(&answer.unwrap()).unwrap();
    (answer["id"].as_str().unwrap().to_owned(), answer["expiresAtMs"].as_i64().unwrap())
}

async fn says(home: &Home, body: &str) {
    home.client.emit(&path(SOURCE), &RawJson::new(body).unwrap()).await.unwrap();
}

/// Subscribed, an event comes over the backbone with its body as it was said, in the subscriber's profile. The
/// same again is the same lease; a refresh makes it longer; ended, nothing more comes.
pub(super) async fn a_subscription_is_served_refreshed_and_ended(ground: Ground) {
    let clock = ManualClock::new();
    let field = raise(ground, &clock).await;
    let home = Home::start(field.realm(0)).await;
    let facade = facade(field.realm(0)).await;
    for (number, profile) in [1, 2].into_iter().zip(PROFILES) {
        let mut peer = Peer::listen(field.realm(number)).await;
        let heard = |body: &str| Content::Event { path: SINK.to_owned(), body: body.to_owned() };
        let body = subscription(SINK);
        let (id, ends) =
            lease(peer.ask(profile, &asks(&peer, &field, "subscribe", "s-1", &body)).await);
        clock.advance(Duration::from_secs(10)).await;
        let (same, later) =
            lease(peer.ask(profile, &asks(&peer, &field, "subscribe", "s-2", &body)).await);
        assert_eq!((same, later), (id.clone(), ends + 10_000));

        let said = r#"{"n": 1.50, "big": 12345678901234567890, "a": 1, "a": 2}"#;
        says(&home, said).await;
        let event = peer.hear().await;
        assert_eq!((event.profile, event.content), (profile, heard(said)));

        clock.advance(Duration::from_secs(50)).await;
        let named = format!(r#"{{"id": "{id}"}}"#);
        let (same, later) =
            lease(peer.ask(profile, &asks(&peer, &field, "refresh", "r-1", &named)).await);
        assert_eq!((same, later), (id.clone(), ends + 60_000));
        clock.advance(Duration::from_secs(59)).await;
        says(&home, "2").await;
        assert_eq!(peer.hear().await.content, heard("2"));

        peer.ask(profile, &asks(&peer, &field, "unsubscribe", "u-1", &named)).await.unwrap();
        assert_eq!(facade.status().leases, 0);
        says(&home, "3").await;
        // Of what is said next, it hears what it has subscribed anew.
        let (again, _) =
            lease(peer.ask(profile, &asks(&peer, &field, "subscribe", "s-3", &body)).await);
        assert_eq!(again, id);
        says(&home, "4").await;
        assert_eq!(peer.hear().await.content, heard("4"));
        peer.ask(profile, &asks(&peer, &field, "unsubscribe", "u-2", &named)).await.unwrap();
    }
    assert_eq!(facade.close(PATIENCE).await.given_up, 0);
    home.close().await;
}

/// Without a refresh a lease ends by the clock; its sink is told why, and hears nothing more.
pub(super) async fn a_lease_ends_by_the_clock_and_its_sink_is_told(ground: Ground) {
    let clock = ManualClock::new();
    let field = raise(ground, &clock).await;
    let home = Home::start(field.realm(0)).await;
    let facade = facade(field.realm(0)).await;
    for (number, profile) in [1, 2].into_iter().zip(PROFILES) {
        let mut peer = Peer::listen(field.realm(number)).await;
        let body = subscription(SINK);
        let (id, _) =
            lease(peer.ask(profile, &asks(&peer, &field, "subscribe", "s-1", &body)).await);
        until("a timer", || async { clock.asleep() > 0 }).await;
        clock.advance(Duration::from_millis(60_001)).await;
        let told = peer.hear().await;
        assert_eq!(told.profile, profile);
        let Content::Event { path, body } = told.content else { panic!("{told:?}") };
        assert_eq!(path, NOTICES);
        let notice = Notice::read(&RawJson::new(body.as_str()).unwrap()).unwrap();
        assert_eq!(notice.id.to_string(), id);
        assert!(body.contains(r#""reason":"expired""#), "{body}");
        assert_eq!(facade.status().leases, 0);
        says(&home, r#""late""#).await;
        let named = format!(r#"{{"id": "{id}"}}"#);
        let refused = peer.ask(profile, &asks(&peer, &field, "refresh", "r-1", &named)).await;
        assert_eq!(refused, Err("MX.SUB.NOT_FOUND".to_owned()));
    }
    assert_eq!(facade.close(PATIENCE).await.given_up, 0);
    home.close().await;
}

/// Another realm can neither refresh nor end a lease, and is not told that there is one.
pub(super) async fn only_its_owner_refreshes_or_ends_a_lease(ground: Ground) {
    let field = raise(ground, &ManualClock::new()).await;
    let home = Home::start(field.realm(0)).await;
    let facade = facade(field.realm(0)).await;
    let mut owner = Peer::listen(field.realm(1)).await;
    let mut other = Peer::listen(field.realm(2)).await;
    let ask = asks(&owner, &field, "subscribe", "s-1", &subscription(SINK));
    let (id, _) = lease(owner.ask(Profile::MxEnv1, &ask).await);
    let named = format!(r#"{{"id": "{id}"}}"#);
    for profile in PROFILES {
        for verb in ["refresh", "unsubscribe"] {
            let ask = asks(&other, &field, verb, &format!("{verb}-{profile}"), &named);
            let refused = other.ask(profile, &ask).await;
            assert_eq!(refused, Err("MX.SUB.NOT_FOUND".to_owned()));
        }
    }
    says(&home, "1").await;
    let heard = Content::Event { path: SINK.to_owned(), body: "1".to_owned() };
    assert_eq!(owner.hear().await.content, heard);
    let ask = asks(&owner, &field, "unsubscribe", "u-1", &named);
    owner.ask(Profile::Legacy, &ask).await.unwrap();
    drop((owner, other));
    assert_eq!(facade.close(PATIENCE).await.given_up, 0);
    home.close().await;
}

/// A source is an event of this realm that it does not keep for itself.
pub(super) async fn what_is_no_event_of_the_realm_is_no_source(ground: Ground) {
    let field = raise(ground, &ManualClock::new()).await;
    let home = Home::start(field.realm(0)).await;
    let facade = facade(field.realm(0)).await;
    let mut peer = Peer::listen(field.realm(1)).await;
    for (number, source) in [
        r#""sourcePath": "desk.accepts.greet""#,
        r#""sourcePath": "_edge.emits.answer""#,
        r#""sourcePath": "desk.emits.*""#,
        r#""sourceTopic": "mx/1/matrix-3/desk.emits.said""#,
        r#""sourceTopic": "mx/in/1/acme.com/00""#,
        r#""sourceTopic": "public.ingress.matrix-3""#,
        r#""sourceTopic": ">""#,
    ]
    .iter()
    .enumerate()
    {
        let body = format!(r#"{{{source}, "sinkPath": "{SINK}"}}"#);
        for profile in PROFILES {
            let ask = asks(&peer, &field, "subscribe", &format!("s-{number}-{profile}"), &body);
            let refused = peer.ask(profile, &ask).await;
            assert_eq!(refused, Err("MX.SUB.BAD_SOURCE".to_owned()), "{source}");
        }
    }
    drop(peer);
    assert_eq!(facade.close(PATIENCE).await.given_up, 0);
    home.close().await;
}

/// From the bus of one realm, over the backbone, to the bus of another, where a client watches; that keeps the
/// lease alive, and ends it.
pub(super) async fn a_watched_event_goes_from_bus_to_bus(ground: Ground) {
    let clock = ManualClock::new();
    let plans = vec![
        RealmPlan::new("acme.com").guarded().emits(SOURCE),
        RealmPlan::new("été.example").guarded(),
    ];
    let field = ground.raise(plans, Arc::new(clock.clone())).await;
    let home = Home::start(field.realm(0)).await;
    let facade = facade(field.realm(0)).await;
    let sink = Home::start(field.realm(1)).await;
    for profile in PROFILES {
        sink.client.set_profile(field.realm(0).name.clone(), profile);
        let mut watch = sink.client.watch(&format!("matrix://acme.com/{SOURCE}")).await.unwrap();
        for turn in 0..2 {
            // More than a life of the lease, with the refreshes that keep it.
            for _ in 0..4 {
                let before = facade.status().counts.refreshed;
                clock.advance(Duration::from_secs(20)).await;
                until("a refresh", || async { facade.status().counts.refreshed > before }).await;
                // Once its answer has come, the next one is due a third of a life later.
                until("its answer", || async { sink.client.answers().counts().pending == 0 }).await;
            }
            says(&home, &format!("[{turn}]")).await;
            match watch.next().await {
                Seen::Event(body) => assert_eq!(body.as_str(), format!("[{turn}]")),
                other => panic!("no event but {other:?}"),
            }
        }
        watch.stop().await;
        until("no lease", || async { facade.status().leases == 0 }).await;
    }
    assert_eq!(facade.close(PATIENCE).await.given_up, 0);
    sink.close().await;
    home.close().await;
}
