use std::collections::BTreeSet;

use serde_json::Value;

use super::read::{parse, unknown};
use super::*;

const LEAST: &str = "realm = 'acme.com'\nbackbone = 'memory'\nlocal = 'memory'\n";

fn example() -> &'static str {
    include_str!("../../../example/gateway.toml")
}

/// `code at line:column` of each mistake.
fn mistakes(text: &str) -> Vec<String> {
    let problems = parse(text).expect_err("mistakes");
    let told = problems.iter();
    told.map(|problem| format!("{} at {}:{}", problem.code, problem.line, problem.column)).collect()
}

#[test]
fn a_file_says_realm_and_buses_and_the_rest_is_as_the_protocol_says() {
    let config = parse(LEAST).unwrap();
    assert_eq!(config.realm.as_str(), "acme.com");
    assert_eq!((config.backbone, config.local), (Bus::Memory, Bus::Memory));
    assert_eq!(config.state, State::Memory);
    assert_eq!(config.mailboxes.get_ref(), &[Mailbox::Legacy, Mailbox::Mx]);
    assert!(config.security.is_none() && config.router.is_none() && config.discovery.is_none());
}

#[test]
fn the_example_is_in_order_and_says_every_key_of_the_schema() {
    let config = parse(example()).unwrap();
    assert_eq!(config.peers.len(), 2);
    let written: Value = toml::from_str(example()).unwrap();
    let schema: Value =
        serde_json::from_str(include_str!("../../../../../docs/schema/gateway.schema.json"))
            .unwrap();
    for key in schema["properties"].as_object().unwrap().keys() {
        assert!(written.get(key).is_some(), "{key}");
    }
}

#[test]
fn a_mistake_is_told_at_its_line_and_column() {
    for (more, expected) in [
        ("mailbox = ['mx']", "unknown-key at 4:1"),
        ("profile = 'new'", "unknown-key at 4:11"),
        ("state = 5", "wrong-type at 4:9"),
        ("state = 'disk'", "wrong-type at 4:9"),
        ("mailboxes = ['mx']", "mailboxes at 4:13"),
        ("[limits]\npending = 0", "bad-value at 5:11"),
        ("[limits]\ntimeout = '5'", "bad-value at 5:11"),
        ("[policy]\ndeny = ['a', 'b c']", "bad-path at 5:14"),
        ("[router]\nparent = 'acme.com'", "bad-route at 5:10"),
        ("[router]\nchildren = ['acme.com.x', 'acme']", "bad-route at 5:27"),
        ("[security]\nkey = 'k.pem'\nrequired = 'none'", "missing-key at 5:7"),
        ("[security]\nrequired = ['shop']", "no-keys at 5:12"),
        ("[security]\nrequired = 'some'", "wrong-type at 5:12"),
        ("[discovery]\nnetworks = ['10.0.0.0/99']", "bad-network at 5:13"),
        ("[peers.shop]\ndocument = 'https://10.0.0.1/mx'", "bad-url at 5:12"),
        ("[peers.shop]\nallow = 'stock'", "wrong-type at 5:9"),
        ("realm = 'b'", "duplicate at 4:1"),
        ("[limits", "not-toml at 4:8"),
        ("[peers.'a b']", "bad-value at 4:8"),
    ] {
        assert_eq!(mistakes(&format!("{LEAST}{more}\n")), [expected], "{more}");
    }
    assert_eq!(mistakes("realm = 'acme.com'\nlocal = 'memory'\n"), ["missing-key at 1:1"]);
}

#[test]
fn all_that_makes_no_sense_is_told_at_once() {
    let text = format!("{LEAST}mailboxes = []\n[policy]\ndeny = ['a b', 'c d']\n");
    assert_eq!(mistakes(&text), ["mailboxes at 4:13", "bad-path at 6:9", "bad-path at 6:16"]);
}

#[test]
fn who_posts_has_to_prove_who_it_is() {
    let serve = "[discovery.serve]\nlisten = '127.0.0.1:0'\ncertificate = 'c'\nkey = 'k'\nendpoint = 'https://acme.com/mx'\n";
    assert_eq!(mistakes(&format!("{LEAST}{serve}")), ["unproven at 8:12"]);
    let some = "[security]\nrequired = ['shop']\n";
    assert_eq!(mistakes(&format!("{LEAST}{serve}{some}")), ["unproven at 8:12"]);
    parse(&format!("{LEAST}{serve}[security]\n")).unwrap();
}

#[test]
fn an_unknown_key_is_told_the_nearest_that_is_known() {
    let problems = parse(&format!("{LEAST}[policy]\ndenied = []\n")).unwrap_err();
    assert_eq!(problems[0].hint, "did you mean `deny`?");
}

/// The keys of each table in the schema are those that the file may have.
#[test]
fn the_schema_has_the_keys_that_a_file_may_have() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../../docs/schema/gateway.schema.json"))
            .unwrap();
    assert_eq!(keys(&schema), known(""));
    for table in
        ["limits", "rate", "policy", "leases", "sessions", "router", "security", "discovery"]
    {
        assert_eq!(keys(&schema["properties"][table]), known(&format!("[{table}]\n")), "{table}");
    }
    let serve = &schema["properties"]["discovery"]["properties"]["serve"];
    assert_eq!(keys(serve), known("[discovery.serve]\n"));
    let peer = &schema["properties"]["peers"]["additionalProperties"];
    assert_eq!(keys(peer), known("[peers.shop]\n"));
}

fn keys(schema: &Value) -> BTreeSet<String> {
    assert_eq!(schema["additionalProperties"], false);
    schema["properties"].as_object().unwrap().keys().cloned().collect()
}

/// What is known in a table, by what a reader says to something that isn't.
fn known(table: &str) -> BTreeSet<String> {
    let before = if table.is_empty() { "" } else { LEAST };
    let text = format!("{before}{table}no-such-key = 1\n");
    let error = toml::from_str::<Config>(&text).unwrap_err();
    let (_, known) = unknown(error.message()).unwrap_or_else(|| panic!("{table}: {error}"));
    known.into_iter().map(ToOwned::to_owned).collect()
}
