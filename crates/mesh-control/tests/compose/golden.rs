//! The whole file of a small mesh, to be read by people.

use std::collections::BTreeMap;

use mesh_control::compose::{ComposeError, Danger, Gateway, More, Place, Verifier};
use mesh_core::mx::MailboxKind;

use super::*;

#[test]
fn the_split_layout() {
    let composed = compose(MESH, &manifests());
    let text = composed.nats(&hashes(&composed), &Place::default()).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn one_account_with_keys_and_budgets_in_a_place_of_its_own() {
    let mesh = format!(
        "{MESH}
[bus]
name = 'post'
account_prefix = 'POST_'
isolation = 'one-account'
accept_one_account = '{}'
answers = 'allow_responses'
responses = {{ max = 1, expires = '1m' }}
secrets = 'nkey'
",
        mesh_core::manifest::ONE_ACCOUNT_SENTENCE
    );
    let more = More {
        enrolments: ["n3-0f0f".parse().unwrap()].into(),
        revoked: ["person.bob".to_owned()].into(),
        gateways: vec![Gateway {
            name: "gw1".parse().unwrap(),
            realm: "acme.com".parse().unwrap(),
            kinds: vec![MailboxKind::default()],
            peers: vec![("peer.org".parse().unwrap(), MailboxKind::default())],
            group: None,
        }],
    };
    let composed = compose_with(&mesh, &manifests(), &more);
    assert!(composed.user("person.bob").is_none());
    // One key for all: no server would take that, and it is the text that is looked at.
    let keys: BTreeMap<_, _> = composed
        .users()
        .iter()
        .map(|user| (user.name().to_owned(), Verifier::nkey(KEY).unwrap()))
        .collect();
    let place = Place {
        folder: Some("/srv/bus/".to_owned()),
        listen: Some("10.0.0.1:4222".parse().unwrap()),
        tls: Some(("/etc/a \"b\".pem".to_owned(), "/etc/key.pem".to_owned())),
        server: Some((2, 15, 1)),
        ..Place::default()
    };
    insta::assert_snapshot!(composed.nats(&keys, &place).unwrap());
}

#[test]
fn a_user_without_a_verifier_is_named() {
    let composed = compose(MESH, &manifests());
    let mut verifiers = hashes(&composed);
    verifiers.remove("mail.n2");
    verifiers.remove("host.n1");
    let missing = composed.nats(&verifiers, &Place::default()).unwrap_err();
    assert_eq!(missing, ComposeError::NoVerifier(vec!["host.n1".into(), "mail.n2".into()]));
}

#[test]
fn a_user_that_there_is_twice_is_named() {
    let mesh = "nodes = [{ name = 'g1' }]\nassignments = [{ module = 'gateway', manifest = 'g.toml', nodes = ['g1'] }]";
    let manifest = Source { file: "g.toml", text: "name = 'gateway'\nversion = '1'" };
    let gateway = Gateway {
        name: "g1".parse().unwrap(),
        realm: "acme.com".parse().unwrap(),
        kinds: Vec::new(),
        peers: Vec::new(),
        group: None,
    };
    let more = More { gateways: vec![gateway], ..More::default() };
    let composed = compose_with(mesh, &[manifest], &more);
    let twice = composed.nats(&hashes(&composed), &Place::default()).unwrap_err();
    assert_eq!(twice, ComposeError::UserTwice("gateway.g1".into()));
}

#[test]
fn a_path_that_no_server_could_read_is_refused_with_its_field() {
    let composed = compose(MESH, &manifests());
    let place = Place { store_dir: Some("a\u{7}b".to_owned()), ..Place::default() };
    let refused = composed.nats(&hashes(&composed), &place).unwrap_err();
    let ComposeError::Value { field, .. } = refused else { panic!("{refused}") };
    assert_eq!(field, "bus.store_dir");
    let place = Place { monitor: Some("10.0.0.1:8222".parse().unwrap()), ..Place::default() };
    let refused = composed.nats(&hashes(&composed), &place).unwrap_err();
    assert!(matches!(refused, ComposeError::Dangerous(Danger::Monitoring(_))), "{refused}");
}

#[test]
fn a_file_without_users_is_never_composed() {
    let names = compose(MESH, &manifests());
    let revoked = names.users().iter().map(|user| user.name().to_owned()).collect();
    let nobody = compose_with(MESH, &manifests(), &More { revoked, ..More::default() });
    let refused = nobody.nats(&hashes(&nobody), &Place::default()).unwrap_err();
    assert_eq!(refused, ComposeError::Dangerous(Danger::NoUsers));
}
