//! What a server would take, and must not be given.

use mesh_control::compose::{Danger, Place};

use super::*;

fn whole() -> String {
    let composed = compose(MESH, &manifests());
    composed.nats(&hashes(&composed), &Place::default()).unwrap()
}

/// The file with this in place of that, which it has.
fn with(from: &str, to: &str) -> Result<(), Danger> {
    let text = whole();
    assert!(text.contains(from), "{from}");
    Danger::check(&text.replace(from, to))
}

#[test]
fn a_composed_file_is_not_dangerous() {
    assert_eq!(Danger::check(&whole()), Ok(()));
}

#[test]
fn what_would_let_somebody_in_is_named() {
    let more = |line: &str| Danger::check(&format!("{}{line}\n", whole()));
    assert_eq!(more("no_auth_user: x"), Err(Danger::Anonymous));
    assert_eq!(more("No_Auth_User = x"), Err(Danger::Anonymous));
    assert_eq!(more("allow_non_tls: true"), Err(Danger::Plain));
    assert_eq!(more("users: [{ user: a, password: b }]"), Err(Danger::Global("users")));
    assert_eq!(more("authorization { token: x }"), Err(Danger::Global("authorization")));
    assert_eq!(more("mqtt { port: 1883 }"), Err(Danger::Listener("mqtt".into())));
    assert_eq!(more("websocket { port: 80 }"), Err(Danger::Listener("websocket".into())));
    assert_eq!(more("leafnodes { port: 7422 }"), Err(Danger::Listener("leafnodes".into())));
    assert_eq!(more("https_port: 443"), Err(Danger::Listener("https_port".into())));
    assert_eq!(more("operator: a.jwt"), Err(Danger::Elsewhere("operator".into())));
    assert_eq!(more("http: \"0.0.0.0:8222\""), Err(Danger::Monitoring));
    assert_eq!(more("http_port: 8222"), Err(Danger::Monitoring));
    assert!(matches!(more("include 'other.conf'"), Err(Danger::Unread { .. })));
    assert_eq!(with("tls { cert_file", "tlz { cert_file"), Err(Danger::Plain));
    assert_eq!(with("system_account: \"SYS\"\n", ""), Err(Danger::NoSystemAccount));
    assert_eq!(with(HASH, "secret"), Err(Danger::Password("BUS".into())));
    let everything = |side| Err(Danger::Unlimited { account: "BUS".into(), side });
    assert_eq!(with("publish: {", "publishes: {"), everything("publish"));
    assert_eq!(with("publish: { allow: [", "publish: { allow: [], deny: ["), everything("publish"));
    assert_eq!(with("subscribe: { allow: [", "subscribe: { deny: ["), everything("subscribe"));
    assert_eq!(with("permissions: {", "permission_s: {"), everything("publish"));
}

#[test]
fn what_would_let_nobody_in_is_named() {
    let text = whole();
    let accounts = text.find("accounts {").unwrap();
    let nobody = format!("{}accounts {{ SYS {{}} }}", &text[..accounts]);
    assert_eq!(Danger::check(&nobody), Err(Danger::NoUsers));
    assert_eq!(Danger::check(&text[..accounts]), Err(Danger::NoUsers));
    let empty = format!("{}accounts {{ SYS {{}}, BUS {{ users = [] }} }}", &text[..accounts]);
    assert_eq!(Danger::check(&empty), Err(Danger::EmptyUsers("BUS".into())));
}

#[test]
fn a_file_that_was_cut_off_is_refused_wherever() {
    let text = whole();
    let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    // The last line is the end of `accounts`.
    for end in lines.iter().rev().skip(1) {
        assert!(Danger::check(&text[..*end]).is_err(), "{}", &text[..*end]);
    }
}
