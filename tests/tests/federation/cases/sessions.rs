//! The directory: under which realms a principal is present, and what is told to all of them.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::Profile;
use mesh_federation::session::{SessionDirectory, SessionLimits, SessionsFacade};
use mesh_federation::{ComponentHost, HostOptions, OsRandom};
use mesh_testkit::clock::ManualClock;
use serde_json::{Value, json};

use crate::ground::{Field, Ground, RealmPlan};
use crate::home::{Home, path, until};
use crate::peer::{Content, Peer, Said};

const ADA: &str = r#"{"iss":"https://id","sub":"ada"}"#;
const KEY: &str = "https%3A%2F%2Fid|ada";

struct Bed {
    clock: ManualClock,
    field: Field,
}

/// `acme.com` with its directory, and two tabs: one reads the legacy wire, one the new.
const TABS: [(usize, Profile); 2] = [(1, Profile::MxEnv1), (2, Profile::Legacy)];

impl Bed {
    async fn raise(ground: Ground) -> Self {
        let clock = ManualClock::new();
        let plans = vec![
            RealmPlan::new("acme.com").guarded(),
            RealmPlan::new("acme.tab-01"),
            RealmPlan::new("acme.tab-02"),
        ];
        let field = ground.raise(plans, Arc::new(clock.clone())).await;
        Self { clock, field }
    }

    async fn serve(&self) -> (Home, SessionsFacade) {
        let realm = self.field.realm(0);
        let home = Home::start(realm).await;
        let host = HostOptions::default();
        let host = ComponentHost::new(realm.name.clone(), realm.gateway.clone(), host);
        let clock = Arc::clone(realm.gateway.clock());
        let directory = SessionDirectory::open(clock, SessionLimits::default(), None).await;
        let directory = Arc::new(directory.unwrap());
        let random = Arc::new(OsRandom::new());
        let between = realm.between.clone();
        let facade = SessionsFacade::start(&host, between, directory, None, random).await;
        (home, facade.unwrap())
    }

    /// What a tab asks of the directory, for a principal.
    fn asks(&self, peer: &Peer<'_>, verb: &str, id: &str, principal: &str, body: &str) -> Said {
        let path = format!("sessions.accepts.{verb}");
        let mut said = peer.command(&self.field.realm(0).name, &path, id, body);
        said.principal = Some(principal.to_owned());
        said
    }
}

fn tabs(answer: Result<String, String>) -> Vec<String> {
    let answer: Value = serde_json::from_str(&answer.unwrap()).unwrap();
    let tabs = answer["tabs"].as_array().unwrap().iter();
    tabs.map(|tab| tab["tabRealm"].as_str().unwrap().to_owned()).collect()
}

/// Registered in two realms, a principal is found in both, sorted; a heartbeat keeps one, and the other is over
/// when its time is.
pub(super) async fn a_principal_is_found_where_it_registered_until_its_time_is_over(
    ground: Ground,
) {
    let bed = Bed::raise(ground).await;
    let (home, facade) = bed.serve().await;
    let mut peers = Vec::new();
    for (number, profile) in TABS {
        let mut peer = Peer::listen(bed.field.realm(number)).await;
        let nobody = bed.asks(&peer, "heartbeat", "h-0", ADA, "null");
        assert_eq!(peer.ask(profile, &nobody).await, Err("MX.DIR.NOT_FOUND".to_owned()));
        let register = bed.asks(&peer, "register", "r-1", ADA, "null");
        let noted: Value =
            serde_json::from_str(&peer.ask(profile, &register).await.unwrap()).unwrap();
        assert_eq!(noted["tabRealm"], bed.field.realm(number).name.as_str());
        peers.push((peer, profile));
    }
    let (first, profile) = &mut peers[0];
    let lookup = |id| bed.asks(first, "lookup", id, ADA, "null");
    let (one, two, three, four) = (lookup("l-1"), lookup("l-2"), lookup("l-3"), lookup("l-4"));
    assert_eq!(tabs(first.ask(*profile, &one).await), ["acme.tab-01", "acme.tab-02"]);
    bed.clock.advance(Duration::from_secs(20)).await;
    let heartbeat = bed.asks(first, "heartbeat", "h-1", ADA, "null");
    first.ask(*profile, &heartbeat).await.unwrap();
    assert_eq!(tabs(first.ask(*profile, &two).await), ["acme.tab-01", "acme.tab-02"]);
    bed.clock.advance(Duration::from_millis(10_001)).await;
    assert_eq!(tabs(first.ask(*profile, &three).await), ["acme.tab-01"]);
    bed.clock.advance(Duration::from_secs(20)).await;
    assert_eq!(tabs(first.ask(*profile, &four).await), <[String; 0]>::default());
    until("what is over is gone", || async { facade.directory().status().sessions == 0 }).await;
    let late = bed.asks(first, "heartbeat", "h-2", ADA, "null");
    assert_eq!(first.ask(*profile, &late).await, Err("MX.DIR.NOT_FOUND".to_owned()));
    drop((peers, facade));
    home.close().await;
}

/// What a body says of realm and principal is not looked at: they are the gateway's to say.
pub(super) async fn a_tab_speaks_for_its_own_realm_and_principal_alone(ground: Ground) {
    let bed = Bed::raise(ground).await;
    let (home, facade) = bed.serve().await;
    let mut honest = Peer::listen(bed.field.realm(1)).await;
    let mut liar = Peer::listen(bed.field.realm(2)).await;
    let register = bed.asks(&honest, "register", "r-1", ADA, "null");
    honest.ask(Profile::MxEnv1, &register).await.unwrap();
    let spoof = json!({
        "tabRealm": "acme.tab-01", "principalKey": KEY, "fromRealm": "acme.tab-01",
        "_mx": { "fromRealm": "acme.tab-01", "principalKey": KEY },
    });
    for (number, profile) in [Profile::Legacy, Profile::MxEnv1].into_iter().enumerate() {
        let id = format!("r-{number}");
        let register = bed.asks(&liar, "register", &id, r#""eve""#, &spoof.to_string());
        let noted: Value =
            serde_json::from_str(&liar.ask(profile, &register).await.unwrap()).unwrap();
        assert_eq!(noted["tabRealm"], "acme.tab-02");
        // Another's tabs are not told, and another's session is not kept alive.
        let id = format!("l-{number}");
        let lookup = bed.asks(&liar, "lookup", &id, r#""eve""#, &spoof.to_string());
        assert_eq!(liar.ask(profile, &lookup).await, Err("MX.EDGE.POLICY_DENIED".to_owned()));
    }
    let directory = facade.directory();
    let found = |key| -> Vec<String> {
        directory.lookup(key).iter().map(|tab| tab.tab_realm.to_string()).collect()
    };
    assert_eq!(
        (found(KEY), found("eve")),
        (vec!["acme.tab-01".into()], vec!["acme.tab-02".into()])
    );
    drop((honest, liar, facade));
    home.close().await;
}

/// What is told to a principal comes to every realm that it is present in, unasked, each in its own profile.
pub(super) async fn a_push_reaches_every_tab_in_its_own_profile(ground: Ground) {
    let bed = Bed::raise(ground).await;
    let (home, facade) = bed.serve().await;
    let mut peers = Vec::new();
    for (number, profile) in TABS {
        let mut peer = Peer::listen(bed.field.realm(number)).await;
        let register = bed.asks(&peer, "register", "r-1", ADA, "null");
        peer.ask(profile, &register).await.unwrap();
        peers.push((peer, profile));
    }
    let body = RawJson::new(r#"{"n": 1.50}"#).unwrap();
    let pushed = facade.push(KEY, &path("root.push.emits.message"), &body).await;
    assert_eq!(pushed.len(), 2);
    assert!(pushed.iter().all(|tab| tab.outcome.is_ok()), "{pushed:?}");
    for (peer, profile) in &mut peers {
        let heard = peer.hear().await;
        let content = Content::Event {
            path: "root.push.emits.message".to_owned(),
            body: body.as_str().to_owned(),
        };
        assert_eq!((heard.profile, heard.content), (*profile, content));
    }
    assert!(facade.push("nobody", &path("root.push.emits.message"), &body).await.is_empty());
    drop((peers, facade));
    home.close().await;
}
