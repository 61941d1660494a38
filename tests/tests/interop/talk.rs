//! The foreign realm and ours on one nats-server, each with a gateway's user of exact rights: ours behind a real
//! gateway, with its components on a bus in the process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_clock::SystemClock;
use mesh_core::guard::PrefixDeny;
use mesh_core::identity::Principal;
use mesh_core::json::RawJson;
use mesh_core::mx::{Fault, MailboxKind, MxPath, Profile, Shard};
use mesh_core::name::RealmName;
use mesh_core::permissions::Permissions;
use mesh_core::port::Connection;
use mesh_federation::edge::{EdgeConfig, EdgeGateway, EdgeRules, GatewayOptions};
use mesh_federation::lease::{FederationFacade, FederationOptions};
use mesh_federation::{
    AnswerLimits, Answers, Call, ComponentHost, HostOptions, RealmClient, RealmOptions,
    Registration, RemoteError, ResolvedClient,
};
use mesh_testkit::servers::nats::{Account, Layout, MeshServer, User};
use mesh_transport_mem::InMemoryFilterBroker;
use mesh_transport_nats::{NatsOptions, Target, connect};
use serde_json::{Value, json};

use crate::foreign::Foreign;

const KINDS: [MailboxKind; 2] = [MailboxKind::Legacy, MailboxKind::Mx(Shard(0))];
const OURS: &str = "acme.com";
const THEIRS: &str = "été.example";
const THIRD: &str = "matrix-3";
const GREET: &str = "matrix://acme.com/shop/desk.accepts.greet";
const PROFILES: [&str; 2] = ["legacy", "mxenv1"];
const BODY: &str =
    r#"{"amount": 12.50, "big": 12345678901234567890, "é": [1e3, "\u00e9"], "a": 1, "a": 2}"#;

/// A server whose backbone has a gateway for each realm; `gateway.g0` is the first's.
async fn backbone(realms: &[&str]) -> MeshServer {
    let realms: Vec<RealmName> = realms.iter().map(|realm| realm.parse().unwrap()).collect();
    let mut layout = Layout::empty();
    for (number, realm) in realms.iter().enumerate() {
        let name = format!("g{number}").parse().unwrap();
        let peers = realms.iter().filter(|peer| *peer != realm);
        let peers: Vec<_> = peers.flat_map(|peer| KINDS.map(|kind| (peer.clone(), kind))).collect();
        let may = Permissions::of_gateway(&name, realm, &KINDS, &peers);
        let user = User::new(Account::Backbone, Principal::Gateway { name }, may).unwrap();
        layout = layout.with_user(user);
    }
    MeshServer::launch(layout).await.unwrap()
}

/// Our realm at work.
struct Ours {
    gateway: EdgeGateway,
    client: RealmClient,
    facade: FederationFacade,
    _components: [Registration; 2],
}

impl Ours {
    async fn start(server: &MeshServer) -> Self {
        let target = Target::of(&server.credential("gateway.g0").unwrap()).unwrap();
        let between = connect(target, NatsOptions::default()).await.unwrap();
        let bus = InMemoryFilterBroker::new(Arc::new(SystemClock::new()));
        let inside = |name: &str| -> Connection {
            bus.connect(Principal::Gateway { name: name.parse().unwrap() })
        };
        let name: RealmName = OURS.parse().unwrap();
        let answers = Answers::new(AnswerLimits::default());
        let options = GatewayOptions { answers: Some(answers.clone()), ..Default::default() };
        let mut config = EdgeConfig::new(name.clone());
        config.rules = EdgeRules::default().policy(PrefixDeny::new(["admin"]));
        let gateway = EdgeGateway::start(config, between.clone(), inside("g0"), options);
        let gateway = gateway.await.unwrap();
        let host = ComponentHost::new(name.clone(), inside("g0"), HostOptions::default());
        let facade = FederationOptions::default();
        let facade = FederationFacade::start(&host, between.clone(), facade).await.unwrap();
        let outside = ResolvedClient::new(between);
        let options = RealmOptions::default();
        let client = RealmClient::new(name, outside, inside("app"), answers, options);
        let client = client.await.unwrap();
        let greet = |call: Call| async { Ok(call.params) };
        let fail = |_: Call| async { Err(Fault::new("desk.CLOSED", "come back tomorrow")) };
        let components = [
            client.accept(path("shop/desk.accepts.greet"), greet).await.unwrap(),
            client.accept(path("desk.accepts.fail"), fail).await.unwrap(),
        ];
        Self { gateway, client, facade, _components: components }
    }

    /// Returns once a guard has refused so many.
    async fn has_refused(&self, guard: &str, count: u64) {
        let due = Instant::now() + Duration::from_secs(60);
        while self.gateway.guards().of(guard).map_or(0, |guard| guard.refused) < count {
            assert!(Instant::now() < due, "not in time: {guard}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn path(text: &str) -> MxPath<'static> {
    text.parse().unwrap()
}

/// On both wires it is answered on the wire that it asked on, with the body as it was; failures, refusals and
/// what our realm keeps for itself come with their codes.
#[tokio::test]
async fn the_foreign_realm_calls_ours_on_both_wires() {
    let server = backbone(&[OURS, THEIRS]).await;
    let ours = Ours::start(&server).await;
    let mut foreign = Foreign::start(&server, "gateway.g1", THEIRS).await;
    for profile in PROFILES {
        let answer = foreign.ask(profile, GREET, BODY).await;
        for (field, expected) in
            [("profile", profile), ("kind", "Result"), ("fromRealm", OURS), ("body", BODY)]
        {
            assert_eq!(answer[field], expected, "{answer}");
        }
        for (uri, code) in [
            ("matrix://acme.com/-/desk/accepts/fail", "desk.CLOSED"),
            ("matrix://acme.com/admin.accepts.stop", "MX.EDGE.POLICY_DENIED"),
            ("matrix://acme.com/_operator.accepts.leases", "MX.EDGE.POLICY_DENIED"),
        ] {
            let answer = foreign.ask(profile, uri, "null").await;
            assert_eq!(answer["kind"], "Nack", "{answer}");
            assert_eq!(answer["error"]["code"], code, "{answer}");
        }
    }
    assert_eq!(ours.gateway.status().pending, 0);
}

/// What it may not do is not answered: an answer sent to a third realm, the same message again, one that is for
/// another realm, one that has expired.
#[tokio::test]
async fn the_foreign_realm_is_dropped_where_the_document_says_so() {
    let server = backbone(&[OURS, THEIRS, THIRD]).await;
    let ours = Ours::start(&server).await;
    let mut foreign = Foreign::start(&server, "gateway.g1", THEIRS).await;
    let mut third = Foreign::start(&server, "gateway.g2", THIRD).await;
    for (number, profile) in (1..).zip(PROFILES) {
        let mut send = async |say: Value, more: Value| {
            let mut command = json!({ "do": "send", "uri": GREET, "say": say });
            command.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            foreign.has(command).await
        };
        send(
            json!({ "profile": profile, "replyRealm": THIRD, "replyPath": "a.accepts.b" }),
            json!({}),
        )
        .await;
        ours.has_refused("relay", number).await;
        let elsewhere = "matrix://matrix-3/desk.accepts.greet";
        send(json!({ "profile": profile }), json!({ "uri": elsewhere, "mailboxOf": OURS })).await;
        ours.has_refused("addressed", number).await;
        let once = json!({ "profile": profile, "msgId": format!("m-{profile}") });
        let first = send(once.clone(), json!({})).await;
        send(once, json!({})).await;
        ours.has_refused("replay", number).await;
        let answer = json!({ "do": "answer", "correlationId": first["correlationId"] });
        assert_eq!(foreign.has(answer).await["kind"], "Result");
    }
    let old = json!({ "profile": "legacy", "timestamp": 1, "ttlMs": 5000 });
    foreign.has(json!({ "do": "send", "uri": GREET, "say": old })).await;
    ours.has_refused("expiry", 1).await;
    // The answer to a good one is all that each of them has been sent since.
    for realm in [&mut foreign, &mut third] {
        for profile in PROFILES {
            assert_eq!(realm.ask(profile, GREET, "1").await["body"], "1");
        }
        assert_eq!(realm.has(json!({ "do": "answered" })).await, json!({}));
    }
}

/// Ours calls it, in the profile that was chosen for it, live; what it answers, and how it fails, comes through.
#[tokio::test]
async fn ours_calls_the_foreign_realm_on_both_wires() {
    let server = backbone(&[OURS, THEIRS]).await;
    let ours = Ours::start(&server).await;
    let mut foreign = Foreign::start(&server, "gateway.g1", THEIRS).await;
    let fault = json!({ "code": "till.EMPTY", "message": "no change", "details": "{\"n\": 1.50}" });
    for (path, how) in [("till.accepts.pay", json!("echo")), ("till.accepts.change", fault)] {
        foreign.has(json!({ "do": "serve", "path": path, "how": how })).await;
    }
    let body = RawJson::new(BODY).unwrap();
    for profile in [Profile::Legacy, Profile::MxEnv1, Profile::Legacy] {
        ours.client.set_profile(THEIRS.parse().unwrap(), profile);
        let pay = ours.client.call("matrix://été.example/till.accepts.pay", &body).await.unwrap();
        assert_eq!(pay.as_str(), BODY);
        let change = ours.client.call("matrix://été.example/till.accepts.change", &body).await;
        let RemoteError::Refused { code, message, details } = change.unwrap_err() else {
            panic!("not refused")
        };
        assert_eq!((code.as_str(), message.as_str()), ("till.EMPTY", "no change"));
        assert_eq!(details.unwrap().as_str(), r#"{"n": 1.50}"#);
    }
    assert_eq!(ours.client.answers().counts().unknown, 0);
}

/// It takes a lease, hears our events on the wire that it asked on, is told why the lease has ended, and hears
/// no more.
#[tokio::test]
async fn the_foreign_realm_subscribes_and_hears_our_events() {
    let server = backbone(&[OURS, THEIRS]).await;
    let ours = Ours::start(&server).await;
    let mut foreign = Foreign::start(&server, "gateway.g1", THEIRS).await;
    for (profile, kind) in [("legacy", "Cmd"), ("mxenv1", "Sub")] {
        let sink = json!({ "sourcePath": "desk.emits.said", "sinkPath": "window.emits.heard" });
        let say = json!({ "profile": profile, "kind": kind, "body": sink.to_string() });
        let uri = "matrix://acme.com/_federation.accepts.subscribe";
        let sent = foreign.has(json!({ "do": "send", "uri": uri, "say": say })).await;
        let answer = json!({ "do": "answer", "correlationId": sent["correlationId"] });
        let answer = foreign.has(answer).await;
        let lease: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
        let id = lease["id"].as_str().unwrap();

        let said = RawJson::new(BODY).unwrap();
        ours.client.emit(&path("desk.emits.said"), &said).await.unwrap();
        let event = foreign.has(json!({ "do": "inbound" })).await;
        for (field, expected) in [
            ("profile", profile),
            ("kind", "Evt"),
            ("fromRealm", OURS),
            ("toPath", "window.emits.heard"),
            ("body", BODY),
        ] {
            assert_eq!(event[field], expected, "{event}");
        }
        assert!(ours.facade.evict(id.parse().unwrap()).await);
        let notice = foreign.has(json!({ "do": "inbound" })).await;
        assert_eq!(notice["toPath"], "window.emits.lease-notice", "{notice}");
        let body: Value = serde_json::from_str(notice["body"].as_str().unwrap()).unwrap();
        let expected = json!({
            "id": id, "sourcePath": "desk.emits.said", "sinkPath": "window.emits.heard",
            "kind": "ended", "reason": "evicted",
        });
        assert_eq!(body, expected);
        let named = json!({ "id": id }).to_string();
        let refused =
            foreign.ask(profile, "matrix://acme.com/_federation.accepts.refresh", &named).await;
        assert_eq!(refused["error"]["code"], "MX.SUB.NOT_FOUND", "{refused}");
    }
}

/// A foreign gateway's user has exact rights: the server refuses it a wildcard, another's mailbox, a mailbox of
/// nobody's, and the bus inside any realm.
#[tokio::test]
async fn the_foreign_realm_is_refused_what_it_has_no_right_to() {
    let server = backbone(&["acme.com", "été.example"]).await;
    let mut foreign = Foreign::start(&server, "gateway.g1", "été.example").await;
    for topic in ["mx/in/1/acme.com/00", "public.ingress.acme%2Ecom", "public.ingress.*", ">"] {
        let told = foreign.has(json!({ "do": "listen", "topic": topic })).await;
        assert!(told["refused"][0].as_str().unwrap().contains("ermissions"), "{topic}: {told}");
    }
    for topic in ["mx/in/1/nobody/00", "mx/1/acme.com/desk.accepts.greet", "mx/route/1/acme.com/00"]
    {
        let told = foreign.has(json!({ "do": "publish", "topic": topic, "data": "{}" })).await;
        assert!(told["refused"][0].as_str().unwrap().contains("ermissions"), "{topic}: {told}");
    }
    let mailbox = json!({ "do": "publish", "topic": "mx/in/1/acme.com/00", "data": "{}" });
    assert_eq!(foreign.has(mailbox).await, json!({ "refused": [] }));
}
