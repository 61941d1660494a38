//! Requests from other realms, in both profiles.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::{Fault, Profile};
use mesh_federation::Call;
use mesh_testkit::clock::ManualClock;

use crate::ground::{BOTH, Field, Ground, RealmPlan};
use crate::home::Home;
use crate::peer::{Content, Heard, Peer};

/// What a body must keep: each number as it is written, and keys that come twice.
const BODY: &str =
    r#"{"amount": 12.50, "big": 12345678901234567890, "é": [1e3, "\u00e9"], "a": 1, "a": 2}"#;

/// `acme.com` with a component, beside a foreign realm and one that is nobody's business.
async fn raise(ground: Ground, clock: &ManualClock) -> Field {
    let home = RealmPlan::new("acme.com").guarded();
    let home = home.accepts("shop/desk.accepts.greet").accepts("desk.accepts.other");
    let plans = vec![home, RealmPlan::new("été.example"), RealmPlan::new("matrix-3")];
    ground.raise(plans, Arc::new(clock.clone())).await
}

async fn answered(ground: Ground, profile: Profile) {
    let field = raise(ground, &ManualClock::new()).await;
    let mut home = Home::start(field.realm(0)).await;
    let echo = |call: Call| async move {
        let remote = call.remote.unwrap();
        assert_eq!(remote.realm.as_str(), "été.example");
        assert_eq!(remote.principal_key.as_deref(), Some("https%3A%2F%2Fid|ada"));
        Ok(call.params)
    };
    home.accepts("shop/desk.accepts.greet", echo).await;
    let mut peer = Peer::listen(field.realm(1)).await;
    let mut command = peer.command(&field.realm(0).name, "shop/desk.accepts.greet", "m-1", BODY);
    command.principal = Some(r#"{"iss":"https://id","sub":"ada"}"#.to_owned());
    assert_eq!(peer.ask(profile, &command).await.as_deref(), Ok(BODY));
    drop(peer);
    home.close().await;
}

pub(super) async fn a_legacy_command_is_answered_in_legacy(ground: Ground) {
    answered(ground, Profile::Legacy).await;
}

pub(super) async fn a_command_in_mxenv1_is_answered_in_mxenv1(ground: Ground) {
    answered(ground, Profile::MxEnv1).await;
}

/// Which profile it is, is told by the shape and not by the mailbox; both are the answer's.
pub(super) async fn an_answer_comes_by_the_mailbox_that_the_command_came_by(ground: Ground) {
    let field = raise(ground, &ManualClock::new()).await;
    let mut home = Home::start(field.realm(0)).await;
    home.echoes("desk.accepts.other").await;
    let mut peer = Peer::listen(field.realm(1)).await;
    let acme = &field.realm(0).name;
    for (number, mailbox) in BOTH.into_iter().enumerate() {
        for profile in [Profile::Legacy, Profile::MxEnv1] {
            let id = format!("m-{number}-{profile}");
            let command = peer.command(acme, "desk.accepts.other", &id, "[1]");
            peer.put(acme, mailbox, command.bytes(profile)).await;
            let content = Content::Answer { id, outcome: Ok("[1]".to_owned()) };
            assert_eq!(peer.hear().await, Heard { mailbox, profile, content });
        }
    }
    home.close().await;
}

/// While gateways work, the broker holds exactly their mailboxes: no wildcard, nothing for a single request.
pub(super) async fn the_backbone_holds_the_mailboxes_and_nothing_else(ground: Ground) {
    let field = raise(ground, &ManualClock::new()).await;
    let mut home = Home::start(field.realm(0)).await;
    home.echoes("desk.accepts.other").await;
    let mut peer = Peer::listen(field.realm(1)).await;
    let third = Peer::listen(field.realm(2)).await;
    field.listens_to(&field.mailboxes()).await;
    for profile in [Profile::Legacy, Profile::MxEnv1] {
        let command = peer.command(&field.realm(0).name, "desk.accepts.other", profile.name(), "1");
        assert_eq!(peer.ask(profile, &command).await.as_deref(), Ok("1"));
    }
    field.listens_to(&field.mailboxes()).await;
    drop((peer, third));
    home.close().await;
    field.listens_to(&[].into()).await;
}

pub(super) async fn a_component_that_fails_is_told_in_its_own_words(ground: Ground) {
    let field = raise(ground, &ManualClock::new()).await;
    let mut home = Home::start(field.realm(0)).await;
    let fails = |_: Call| async { Err(Fault::new("desk.CLOSED", "come back tomorrow")) };
    home.accepts("desk.accepts.other", fails).await;
    let mut peer = Peer::listen(field.realm(1)).await;
    for profile in [Profile::Legacy, Profile::MxEnv1] {
        let command = peer.command(&field.realm(0).name, "desk.accepts.other", profile.name(), "1");
        assert_eq!(peer.ask(profile, &command).await, Err("desk.CLOSED".to_owned()));
    }
    home.close().await;
}

/// After the gateway's time a silent component is a time-out, told once; nothing is left behind.
pub(super) async fn a_silent_component_is_a_time_out(ground: Ground) {
    let clock = ManualClock::new();
    let field = raise(ground, &clock).await;
    let mut home = Home::start(field.realm(0)).await;
    let silent = |_: Call| async {
        std::future::pending::<()>().await;
        Ok(RawJson::NULL)
    };
    home.accepts("desk.accepts.other", silent).await;
    let mut peer = Peer::listen(field.realm(1)).await;
    for profile in [Profile::Legacy, Profile::MxEnv1] {
        let command = peer.command(&field.realm(0).name, "desk.accepts.other", profile.name(), "1");
        peer.say(profile, &command).await;
        home.pends(1).await;
        clock.advance(Duration::from_secs(5)).await;
        let outcome = Err("MX.EDGE.TIMEOUT".to_owned());
        let content = Content::Answer { id: profile.name().to_owned(), outcome };
        assert_eq!(peer.hear().await.content, content);
        home.pends(0).await;
    }
    home.close().await;
}

/// Nobody serves the path: the bus tells, and who asks does not wait for a time-out.
pub(super) async fn a_command_that_nobody_serves_is_refused_at_once(ground: Ground) {
    let field = raise(ground, &ManualClock::new()).await;
    let home = Home::start(field.realm(0)).await;
    let mut peer = Peer::listen(field.realm(1)).await;
    for profile in [Profile::Legacy, Profile::MxEnv1] {
        let command = peer.command(&field.realm(0).name, "desk.accepts.other", profile.name(), "1");
        let refused = peer.ask(profile, &command).await.unwrap_err();
        assert!(refused.starts_with("MX.EDGE.") && refused != "MX.EDGE.TIMEOUT", "{refused}");
    }
    home.close().await;
}

/// An event is said inside with its bare body, and nobody is answered.
pub(super) async fn an_event_is_said_inside_with_its_bare_body(ground: Ground) {
    let clock = ManualClock::new();
    let plan = RealmPlan::new("acme.com").guarded().hears("desk.emits.told");
    let plans = vec![plan, RealmPlan::new("été.example")];
    let field = ground.raise(plans, Arc::new(clock)).await;
    let home = Home::start(field.realm(0)).await;
    let topic =
        mesh_core::mx::Topic::internal(&field.realm(0).name, &crate::home::path("desk.emits.told"));
    let transport = field.realm(0).app.transport();
    let heard = transport.subscribe(topic.unwrap().into(), Default::default()).await;
    let mut heard = heard.unwrap();
    let peer = Peer::listen(field.realm(1)).await;
    for profile in [Profile::Legacy, Profile::MxEnv1] {
        let event = peer.command(&field.realm(0).name, "desk.emits.told", profile.name(), BODY);
        peer.say(profile, &event.event()).await;
        assert_eq!(heard.next().await.unwrap().unwrap().payload(), BODY.as_bytes());
    }
    drop(peer);
    home.close().await;
}
