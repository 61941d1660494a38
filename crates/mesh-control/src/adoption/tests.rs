use std::collections::BTreeMap;

use mesh_core::manifest::{Bus, MeshFile};
use serde_json::json;

use super::telling::{Accountz, Connz, Jsz, Varz};
use super::*;

fn bus(text: &str) -> Bus {
    MeshFile::parse("mesh.toml", &format!("nodes = []\n[bus]\n{text}")).unwrap().bus
}

/// Somebody's server: an account with a stream, a consumer and a client, in the server's own words.
fn theirs() -> Survey {
    let varz: Varz = serde_json::from_value(json!({
        "server_id": "NA", "server_name": "theirs", "version": "2.15.1", "start": "2026-11-30T10:00:00Z",
        "config_digest": "sha256:00", "auth_required": true, "tls_required": true, "max_payload": 1_048_576,
        "cluster": {}, "jetstream": {
            "config": { "max_storage": 100_000_000_000_u64 },
            "stats": { "storage": 10, "reserved_storage": 0 },
        },
    }))
    .unwrap();
    let accounts: Accountz =
        serde_json::from_value(json!({ "accounts": ["SHOP", "$SYS", "$G"] })).unwrap();
    let jsz: Jsz = serde_json::from_value(json!({ "account_details": [{ "name": "SHOP", "stream_detail": [{
        "name": "ORDERS", "created": "2026-11-01T00:00:00Z", "config": { "name": "ORDERS" },
        "state": { "messages": 7, "last_seq": 9 },
        "consumer_detail": [{
            "name": "till", "created": "2026-11-02T00:00:00Z",
            "delivered": { "consumer_seq": 5, "stream_seq": 5 }, "ack_floor": { "consumer_seq": 4, "stream_seq": 4 },
        }],
    }] }, { "name": "EMPTY" }] }))
    .unwrap();
    let connz: Connz = serde_json::from_value(json!({ "connections": [{
        "cid": 4, "start": "2026-11-30T10:00:01Z", "authorized_user": "shop", "account": "SHOP",
        "subscriptions_list": ["orders.>"],
    }] }))
    .unwrap();
    let connections = connz.connections.into_iter().map(|one| (one.cid, one.into()));
    Survey {
        server: varz.into(),
        accounts: accounts.accounts.into_iter().collect(),
        streams: jsz.streams(),
        connections: connections.collect(),
        ended: BTreeMap::new(),
    }
}

fn wanted() -> Wanted {
    let ours = Ours::of(&bus("account_prefix = 'M_'"));
    Wanted { ours, max_payload: 1_048_576, storage: 1_000_000_000 }
}

fn codes(survey: &Survey) -> Vec<&'static str> {
    into(survey, &wanted()).iter().map(Unfit::code).collect()
}

#[test]
fn a_server_with_other_peoples_named_account_can_take_a_mesh() {
    assert_eq!(codes(&theirs()), [""; 0]);
    let ours = wanted().ours;
    assert_eq!(Vec::from_iter(&ours.accounts), ["M_BUS", "M_EDGE"]);
    assert_eq!(ours.streams, "M_BUS");
}

#[test]
fn data_in_no_named_account_is_refused_with_the_reason() {
    let mut survey = theirs();
    let streams = survey.streams.remove("SHOP").unwrap();
    survey.streams.insert("$G".to_owned(), streams);
    let [refused] = into(&survey, &wanted()).try_into().unwrap();
    assert_eq!(refused.to_string(), "1 streams with 7 messages are in no named account, but in $G");
    assert!(refused.hint().contains("loses its streams at the next restart"), "{}", refused.hint());
}

#[test]
fn each_other_reason_is_found_alone() {
    type Change = fn(&mut Survey);
    let changes: [(&str, Change); 10] = [
        ("version", |survey| survey.server.version = "2.10.26".into()),
        ("version", |survey| survey.server.version = "?".into()),
        ("anonymous", |survey| survey.server.auth_required = false),
        ("plain", |survey| survey.server.tls_required = false),
        ("operators", |survey| survey.server.by_operators = true),
        ("clustered", |survey| survey.server.clustered = true),
        ("no-streams", |survey| survey.server.storage = None),
        ("no-room", |survey| survey.server.taken = 99_999_999_999),
        ("payload", |survey| survey.server.max_payload = 1024),
        ("account-taken", |survey| assert!(survey.accounts.insert("M_EDGE".into()))),
    ];
    for (code, change) in changes {
        let mut survey = theirs();
        change(&mut survey);
        assert_eq!(codes(&survey), [code]);
    }
    let mut survey = theirs();
    survey.connections.get_mut(&4).unwrap().account = "$G".into();
    assert_eq!(codes(&survey), ["global-clients"]);
}

#[test]
fn a_seat_that_is_taken_on_the_server_is_told_with_who_has_it() {
    let mut survey = theirs();
    let stream = StreamFacts {
        config: json!({ "description": "nats on n1 of the mesh other" }),
        ..StreamFacts::default()
    };
    survey.streams.insert("OTHER_BUS".into(), [("SEAT_mesh-broker".into(), stream)].into());
    let [refused] = into(&survey, &wanted()).try_into().unwrap();
    let told = refused.to_string();
    assert!(
        told.contains("taken in the account OTHER_BUS: nats on n1 of the mesh other"),
        "{told}"
    );
}

#[test]
fn others_may_go_on_and_nothing_of_theirs_may_be_changed() {
    let (before, ours) = (theirs(), wanted().ours);
    // Their work goes on, and our accounts are there.
    let mut after = theirs();
    after.accounts.extend(["M_BUS".to_owned(), "M_EDGE".to_owned()]);
    after.server.config_digest = Some("sha256:01".into());
    let stream = after.streams.get_mut("SHOP").unwrap().get_mut("ORDERS").unwrap();
    (stream.messages, stream.last) = (3, 12);
    let till = stream.consumers.get_mut("till").unwrap();
    (till.delivered, till.settled) = (9, 9);
    after.connections.clear();
    after.ended.insert(4, "Client Closed".into());
    assert_eq!(touched(&before, &after, &ours), []);

    type Change = fn(&mut Survey);
    fn orders(survey: &mut Survey) -> &mut StreamFacts {
        survey.streams.get_mut("SHOP").unwrap().get_mut("ORDERS").unwrap()
    }
    let changes: [(&str, Change); 9] = [
        ("the server was started again", |survey| survey.server.id = "NB".into()),
        ("the account SHOP is gone", |survey| assert!(survey.accounts.remove("SHOP"))),
        ("the stream SHOP/ORDERS is gone", |survey| survey.streams.clear()),
        ("the stream SHOP/ORDERS is gone", |survey| orders(survey).created = "later".into()),
        ("the stream SHOP/ORDERS is configured otherwise", |survey| {
            orders(survey).config = json!({});
        }),
        ("the stream SHOP/ORDERS stands further back", |survey| orders(survey).last = 8),
        ("the consumer SHOP/ORDERS/till is gone", |survey| orders(survey).consumers.clear()),
        ("the connection 4 of \"shop\" has ended: Credentials Revoked", |survey| {
            survey.connections.clear();
            survey.ended.insert(4, "Credentials Revoked".into());
        }),
        ("the connection 4 of \"shop\" has ended: the server doesn't remember", |survey| {
            survey.connections.clear();
        }),
    ];
    for (told, change) in changes {
        let mut after = theirs();
        change(&mut after);
        let found = touched(&before, &after, &ours);
        assert!(found.len() == 1 && found[0].to_string().starts_with(told), "{told}: {found:?}");
    }
}

#[test]
fn a_bus_is_quiet_while_the_controller_alone_is_on_it_and_nothing_was_ever_stored() {
    let ours = wanted().ours;
    let mut survey = theirs();
    assert_eq!(
        routed(&survey, &ours),
        [Routed::NoAccount("M_BUS".into()), Routed::NoAccount("M_EDGE".into())]
    );
    survey.accounts.extend(["M_BUS".to_owned(), "M_EDGE".to_owned()]);
    let consumer = ("controller".to_owned(), ConsumerFacts::default());
    let control = StreamFacts { consumers: [consumer].into(), ..StreamFacts::default() };
    let seat = StreamFacts::default();
    let streams = [("CONTROL".to_owned(), control), ("SEAT_mesh-broker".to_owned(), seat)];
    survey.streams.insert("M_BUS".into(), streams.into());
    let client = |user: &str, account: &str| Connected {
        user: user.into(),
        account: account.into(),
        subscriptions: ["a".to_owned()].into(),
        ..Connected::default()
    };
    survey.connections.insert(5, client("controller", "M_BUS"));
    survey.connections.insert(6, client("controller-edge", "M_EDGE"));
    survey.connections.insert(7, client("UKEY", "M_BUS"));
    assert_eq!(routed(&survey, &ours.clone().with_controller("UKEY")), []);
    assert_eq!(routed(&survey, &ours).len(), 1);
    survey.connections.remove(&7);

    // Somebody of the mesh has come.
    survey.connections.insert(8, client("mail.n1", "M_EDGE"));
    let told: Vec<String> = routed(&survey, &ours).iter().map(ToString::to_string).collect();
    assert_eq!(told, ["mail.n1 is connected to M_EDGE (connection 8, 1 subscriptions)"]);
    survey.connections.remove(&8);
    // Something was stored, and is gone again.
    let control = survey.streams.get_mut("M_BUS").unwrap().get_mut("CONTROL").unwrap();
    control.last = 1;
    control.consumers.get_mut("controller").unwrap().delivered = 1;
    let told: Vec<String> = routed(&survey, &ours).iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["M_BUS/CONTROL/controller has delivered 1 messages", "M_BUS/CONTROL was given 1 messages"]
    );
}

#[test]
fn what_a_server_was_is_remembered_beside_the_accounts() {
    let place = tempfile::tempdir().unwrap();
    let folder = AdoptionFolder::at(place.path());
    assert_eq!(folder.remembered().unwrap(), None);
    folder.remember(&theirs()).unwrap();
    assert_eq!(folder.remembered().unwrap(), Some(theirs()));
    std::fs::write(folder.survey_file(), "{").unwrap();
    assert!(folder.remembered().unwrap_err().to_string().contains("before-adoption.json"));
    folder.write("M_BUS {}\n").unwrap();
    assert_eq!(std::fs::read_to_string(folder.accounts_file()).unwrap(), "M_BUS {}\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.accounts_file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_port_in_use_and_a_store_with_something_in_it_are_in_the_way() {
    let place = tempfile::tempdir().unwrap();
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    std::fs::create_dir(place.path().join("tls")).unwrap();
    for name in ["cert.pem", "key.pem"] {
        std::fs::write(place.path().join("tls").join(name), "").unwrap();
    }
    let taken = held.local_addr().unwrap();
    let of = |listen: std::net::SocketAddr| {
        bus(&format!("listen = '{listen}'\nmonitor = '{free}'\nstore_dir = 'js'"))
    };
    let told = |bus: &Bus| -> Vec<String> {
        beside(bus, place.path()).iter().map(ToString::to_string).collect()
    };
    assert_eq!(told(&of(taken)), [format!("bus.listen: somebody listens on {taken} already")]);
    drop(held);
    assert_eq!(told(&of(taken)), [""; 0]);
    std::fs::create_dir_all(place.path().join("js/jetstream")).unwrap();
    let found = told(&of(taken));
    assert!(found.len() == 1 && found[0].contains("js is not empty"), "{found:?}");
    std::fs::remove_dir_all(place.path().join("js")).unwrap();
    std::fs::remove_file(place.path().join("tls/key.pem")).unwrap();
    let found = told(&of(taken));
    assert!(found.len() == 1 && found[0].contains("bus.tls.key"), "{found:?}");
}

#[test]
fn a_claim_is_read_as_it_was_kept() {
    let holder = mesh_core::identity::Instance {
        node: "n1".parse().unwrap(),
        module: "nats".parse().unwrap(),
    };
    let claim = Claim::of_broker("bus", &holder, "2026-11-30T10:00:00.000Z".parse().unwrap());
    assert_eq!(Claim::read(&claim.text().unwrap()).unwrap(), claim);
    assert_eq!(claim.to_string(), "nats on n1 of the mesh bus, since 2026-11-30T10:00:00.000Z");
    assert!(Claim::read("nats").is_err());
}
