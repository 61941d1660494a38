use std::sync::Arc;

use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::store::{Expected, KeyValue, StoreKey, Written};
use serde_json::json as value;
use tokio::sync::Semaphore;

use super::*;
use crate::lease::tests::ground::{Ground, Stalling, json, legacy, mx, path, settle};
use crate::{InMemoryState, Seeded, StateLimits};

const REGISTER: &str = "sessions.accepts.register";
const HEARTBEAT: &str = "sessions.accepts.heartbeat";
const LOOKUP: &str = "sessions.accepts.lookup";
/// The manual clock's beginning.
const START: i64 = 1_767_225_600_000;

async fn directory(ground: &Ground, store: Option<&InMemoryState>) -> Arc<SessionDirectory> {
    let store = store.map(|store| Arc::new(store.clone()) as Arc<dyn KeyValue>);
    let clock = Arc::new(ground.clock.clone());
    Arc::new(SessionDirectory::open(clock, SessionLimits::default(), store).await.unwrap())
}

async fn facade(ground: &Ground) -> SessionsFacade {
    let sessions = directory(ground, None).await;
    let random = Arc::new(Seeded::new(1));
    SessionsFacade::start(&ground.host("g1"), ground.connect(), sessions, None, random)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_tab_registers_beats_and_is_looked_up() {
    let ground = Ground::new();
    let facade = facade(&ground).await;
    let desk = Some(mx("ada.desk").for_principal("ada"));
    let phone = Some(mx("ada.phone").for_principal("ada"));
    let noted = ground.ask(REGISTER, phone, "{}").await.unwrap();
    assert_eq!(noted, value!({"tabRealm": "ada.phone", "expiresAtMs": START + 30_000}));
    ground.pass(10).await;
    ground.ask(REGISTER, desk, "null").await.unwrap();
    ground.pass(10).await;
    let noted = ground.ask(HEARTBEAT, phone, "{}").await.unwrap();
    assert_eq!(noted["expiresAtMs"], START + 50_000);
    let tabs = value!({"tabs": [
        {"tabRealm": "ada.desk", "expiresAtMs": START + 40_000},
        {"tabRealm": "ada.phone", "expiresAtMs": START + 50_000},
    ]});
    assert_eq!(ground.ask(LOOKUP, desk, "{}").await.unwrap(), tabs);
    // An agent inside the realm says whose.
    assert_eq!(ground.ask(LOOKUP, None, r#"{"principalKey": "ada"}"#).await.unwrap(), tabs);
    ground.pass(20).await;
    assert_eq!(facade.directory().status().sessions, 1);
    let left = ground.ask(LOOKUP, phone, "null").await.unwrap();
    assert_eq!(left["tabs"].as_array().unwrap().len(), 1);
    let late = ground.ask(HEARTBEAT, desk, "{}").await.unwrap_err();
    assert_eq!(late.code, codes::NOT_FOUND);
    ground.pass(10).await;
    assert_eq!(facade.directory().status().sessions, 0);
    assert_eq!(ground.ask(LOOKUP, phone, "{}").await.unwrap(), value!({"tabs": []}));
}

#[tokio::test]
async fn nobody_speaks_for_another_realm_or_principal() {
    let ground = Ground::new();
    let facade = facade(&ground).await;
    let claims = r#"{"tabRealm": "ada.desk", "principalKey": "ada", "principal": "ada",
        "_mx": {"fromRealm": "ada.desk", "incomingProfile": "mxenv1", "principalKey": "ada"}}"#;
    let thief = Some(mx("thief").for_principal("eve"));
    ground.ask(REGISTER, thief, claims).await.unwrap();
    let found = ground.ask(LOOKUP, None, r#"{"principalKey": "ada"}"#).await.unwrap();
    assert_eq!(found, value!({"tabs": []}));
    let found = ground.ask(LOOKUP, None, r#"{"principalKey": "eve"}"#).await.unwrap();
    assert_eq!(found["tabs"][0]["tabRealm"], "thief");
    // Another's tabs are nobody's business.
    ground.ask(REGISTER, Some(mx("ada.desk").for_principal("ada")), "{}").await.unwrap();
    let denied = ground.ask(LOOKUP, thief, r#"{"principalKey": "ada"}"#).await.unwrap_err();
    assert_eq!(denied.code, "MX.EDGE.POLICY_DENIED");
    let beat = ground.ask(HEARTBEAT, Some(mx("thief").for_principal("ada")), claims).await;
    assert_eq!(beat.unwrap_err().code, codes::NOT_FOUND);
    // Without a principal, or without a gateway, there is no tab.
    for (command, from) in [
        (REGISTER, None),
        (HEARTBEAT, None),
        (REGISTER, Some(mx("x"))),
        (HEARTBEAT, Some(mx("x"))),
        (LOOKUP, Some(mx("x"))),
    ] {
        let fault = ground.ask(command, from, claims).await.unwrap_err();
        assert_eq!(fault.code, "MX.EDGE.BAD_REQUEST", "{command}");
    }
    let fault = ground.ask(LOOKUP, None, "[1]").await.unwrap_err();
    assert_eq!(fault.code, "MX.EDGE.BAD_REQUEST");
    let long = "x".repeat(600);
    let fault = ground.ask(REGISTER, Some(mx("x").for_principal(&long)), "{}").await.unwrap_err();
    assert_eq!(fault.code, "MX.EDGE.BAD_REQUEST");
    assert_eq!(facade.directory().status().sessions, 2);
}

#[tokio::test]
async fn a_push_reaches_every_tab_in_its_profile_and_says_how_each_went() {
    let ground = Ground::new();
    let sessions = directory(&ground, None).await;
    let error = TransportError::new(ErrorKind::Denied, Operation::Publish);
    let gate = Arc::new(Semaphore::new(0));
    let backbone = Stalling::connection(ground.connect(), "ada.barred", gate, Some(error));
    let random = Arc::new(Seeded::new(1));
    let facade =
        SessionsFacade::start(&ground.host("g1"), backbone, sessions, None, random).await.unwrap();
    let mut desk = ground.mailbox("ada.desk", Profile::MxEnv1).await;
    let mut old = ground.mailbox("ada.old", Profile::Legacy).await;
    let mut bob = ground.mailbox("bob", Profile::MxEnv1).await;
    for from in [mx("ada.desk"), mx("ada.barred"), legacy("ada.old")] {
        ground.ask(REGISTER, Some(from.for_principal("ada")), "{}").await.unwrap();
    }
    ground.ask(REGISTER, Some(mx("bob").for_principal("bob")), "{}").await.unwrap();
    let body = json(r#"{"n": 1e400}"#);
    let pushed = facade.push("ada", &path("root.push.emits.message"), &body).await;
    let told: Vec<_> =
        pushed.iter().map(|tab| (tab.tab_realm.as_str(), tab.outcome.is_ok())).collect();
    assert_eq!(told, [("ada.barred", false), ("ada.desk", true), ("ada.old", true)]);
    assert!(matches!(pushed[0].outcome, Err(PushError::Backbone(_))));
    for mailbox in [&mut desk, &mut old] {
        let got = mailbox.all().await;
        assert_eq!(got.len(), 1);
        assert_eq!((&*got[0].path, &*got[0].body), ("root.push.emits.message", body.as_str()));
    }
    assert_eq!(bob.all().await, []);
    // A legacy realm reads a message for a command's path as a command.
    let pushed = facade.push("ada", &path("root.accepts.message"), &body).await;
    assert!(matches!(pushed[2].outcome, Err(PushError::Event(_))));
    assert!(old.all().await.is_empty());
    assert!(facade.push("nobody", &path("root.push.emits.message"), &body).await.is_empty());
}

#[tokio::test]
async fn gateways_share_sessions_and_a_restart_forgets_none() {
    let ground = Ground::new();
    let store = InMemoryState::new(Arc::new(ground.clock.clone()), StateLimits::default());
    let (one, two) =
        (directory(&ground, Some(&store)).await, directory(&ground, Some(&store)).await);
    let desk = realm("ada.desk");
    one.register("ada", &desk, Profile::Legacy).await.unwrap();
    // Before it has heard of it: it asks the store.
    ground.clock.advance(Duration::from_secs(5)).await;
    assert_eq!(two.heartbeat("ada", &desk).await.unwrap().profile, Profile::Legacy);
    settle().await;
    let now = Now::of(&ground.clock);
    for directory in [&one, &two] {
        let tabs = directory.lookup("ada");
        assert_eq!(tabs.len(), 1);
        assert_eq!(tabs[0].expires_at(now).as_millis(), START + 35_000);
    }
    drop((one, two));
    ground.pass(10).await;
    assert_eq!(ground.clock.asleep(), 0);
    let three = directory(&ground, Some(&store)).await;
    assert_eq!(three.lookup("ada").len(), 1);
    ground.pass(20).await;
    assert_eq!((three.lookup("ada").len(), three.status().sessions), (0, 0));
    assert!(three.heartbeat("ada", &desk).await.is_err());
}

#[tokio::test]
async fn what_cant_be_read_is_counted_and_passed_over() {
    let ground = Ground::new();
    let store = InMemoryState::new(Arc::new(ground.clock.clone()), StateLimits::default());
    let record = |realm: &str, version: u8, profile: &str| {
        format!(
            r#"{{"v":{version},"principal":"ada","tabRealm":"{realm}","profile":"{profile}",
            "expiresAtMs":9999999999999}}"#
        )
    };
    let key = |name: &str| record::key("ada", &realm(name)).unwrap();
    let other = StoreKey::new("session.0123").unwrap();
    let entries = [
        (key("a"), record("a", 1, "mxenv1")),
        (key("b"), record("b", 2, "mxenv1")),
        (key("c"), record("c", 1, "later")),
        (key("d"), record("not d", 1, "mxenv1")),
        (key("e"), "\u{0}".to_owned()),
        (other, record("a", 1, "mxenv1")),
        (StoreKey::new("lease.1").unwrap(), "{}".to_owned()),
    ];
    for (key, value) in entries {
        let day = Duration::from_secs(86_400);
        let written = store.write(&key, value.into(), day, Expected::Any).await.unwrap();
        assert!(matches!(written, Written::Done(_)));
    }
    let directory = directory(&ground, Some(&store)).await;
    let status = directory.status();
    assert_eq!((status.sessions, status.unreadable), (1, 5));
    // Whatever it says, it lasts 30 s from now at most.
    ground.pass(30).await;
    assert_eq!(directory.lookup("ada"), []);
}
