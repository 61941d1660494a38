use std::collections::BTreeSet;
use std::sync::Arc;

use mesh_core::mx::Profile;

use super::*;
use crate::lease::FederationOptions;
use crate::lease::tests::ground::{Ground, mx, realm};
use crate::session::SessionLimits;

struct Desk {
    ground: Ground,
    facade: FederationFacade,
    sessions: Arc<SessionDirectory>,
    _desk: OperatorDesk,
}

async fn desk() -> Desk {
    let ground = Ground::new();
    let host = ground.host("g1");
    let facade = FederationFacade::start(&host, ground.connect(), FederationOptions::default())
        .await
        .unwrap();
    let clock = Arc::new(ground.clock.clone());
    let sessions = SessionDirectory::open(clock, SessionLimits::default(), None).await.unwrap();
    let sessions = Arc::new(sessions);
    let desk = OperatorDesk::start(&host, &facade, &sessions).await.unwrap();
    Desk { ground, facade, sessions, _desk: desk }
}

#[tokio::test]
async fn an_operator_pages_through_leases_and_ends_one() {
    let desk = desk().await;
    let body = r#"{"sourcePath": "stock.emits.changed", "sinkPath": "window.emits.stock"}"#;
    for n in 0..5 {
        let shop = format!("shop{n}");
        desk.ground.ask("_federation.accepts.subscribe", Some(mx(&shop)), body).await.unwrap();
    }
    let mut realms = BTreeSet::new();
    let mut ask = r#"{"most": 2}"#.to_owned();
    let mut pages = 0;
    let last = loop {
        let page = desk.ground.ask("_operator.accepts.leases", None, &ask).await.unwrap();
        assert_eq!(page["total"], 5);
        pages += 1;
        for lease in page["leases"].as_array().unwrap() {
            assert_eq!(lease["sourcePath"], "stock.emits.changed");
            assert_eq!(lease["profile"], "mxenv1");
            realms.insert(lease["sinkRealm"].as_str().unwrap().to_owned());
        }
        match page.get("next") {
            Some(next) => ask = format!(r#"{{"most": 2, "from": {next}}}"#),
            None => break page,
        }
    };
    assert_eq!((pages, realms.len()), (3, 5));
    let id = last["leases"][0]["id"].as_str().unwrap();
    let evict = format!(r#"{{"id": "{id}"}}"#);
    for ended in [true, false] {
        let told = desk.ground.ask("_operator.accepts.evict", None, &evict).await.unwrap();
        assert_eq!(told["ended"], ended);
    }
    assert_eq!(desk.facade.status().leases, 4);
    let none = desk.ground.ask("_operator.accepts.evict", None, r#"{"id": "x"}"#).await.unwrap();
    assert_eq!(none["ended"], false);
}

#[tokio::test]
async fn an_operator_sees_the_sessions() {
    let desk = desk().await;
    for tab in ["ada.desk", "ada.phone"] {
        desk.sessions.register("ada", &realm(tab), Profile::Legacy).await.unwrap();
    }
    let page = desk.ground.ask("_operator.accepts.sessions", None, "null").await.unwrap();
    assert_eq!(page["total"], 2);
    assert!(page.get("next").is_none());
    assert_eq!(page["sessions"][0]["principalKey"], "ada");
    assert_eq!(page["sessions"][0]["profile"], "legacy");
    let few = desk.ground.ask("_operator.accepts.sessions", None, r#"{"most": 0}"#).await.unwrap();
    assert_eq!(few["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn no_other_realm_is_an_operator() {
    let desk = desk().await;
    for command in ["leases", "evict", "sessions"] {
        let path = format!("_operator.accepts.{command}");
        let asked = desk.ground.ask(&path, Some(mx("shop")), r#"{"id": "x"}"#).await;
        assert_eq!(asked.unwrap_err().code, "MX.EDGE.POLICY_DENIED", "{command}");
    }
    for body in ["[]", r#"{"most": -1}"#, r#"{"from": "a"}"#] {
        let asked = desk.ground.ask("_operator.accepts.leases", None, body).await;
        assert_eq!(asked.unwrap_err().code, "MX.EDGE.BAD_REQUEST", "{body}");
    }
}
