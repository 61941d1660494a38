use super::super::{MeshFile, Problem};
use super::*;
use crate::permissions::Responses;

fn bus(lines: &str) -> Result<Bus, Vec<String>> {
    match MeshFile::parse("mesh.toml", &format!("nodes = []\n[bus]\n{lines}")) {
        Ok(file) => Ok(file.bus),
        Err(problems) => Err(problems.iter().map(Problem::to_string).collect()),
    }
}

/// Line, column, field and code of each mistake.
fn found(lines: &str) -> Vec<(usize, usize, String, &'static str)> {
    let problems =
        MeshFile::parse("mesh.toml", &format!("nodes = []\n[bus]\n{lines}")).unwrap_err();
    let found = problems.into_iter();
    found.map(|p| (p.line, p.column, p.field.clone(), p.kind.code())).collect()
}

#[test]
fn without_a_table_everything_is_as_safe_as_it_gets() {
    let plain = MeshFile::parse("mesh.toml", "nodes = []").unwrap().bus;
    assert_eq!(plain, bus("").unwrap());
    assert_eq!((plain.isolation, plain.answers), (Isolation::Split, Answers::Scoped));
    assert!(plain.listen.ip().is_loopback() && plain.monitor.ip().is_loopback());
    let Limits { connections, edge_connections, subscriptions, edge_subscriptions, .. } =
        plain.limits;
    assert!(edge_connections < connections && edge_subscriptions < subscriptions);
}

#[test]
fn everything_can_be_told() {
    let told = bus("
name = 'bus-1'
account_prefix = 'ACME_'
isolation = 'one-account'
accept_one_account = 'any user who may acknowledge a message can delete every stream of this mesh'
answers = 'allow_responses'
responses = { max = 2, expires = '1m 30s' }
secrets = 'nkey'
bcrypt_cost = 11
listen = '[::]:5222'
monitor = '[::1]:5333'
tls = { cert = 'a \"b\"', key = 'c\\d' }
store_dir = '/var/lib/bus'
limits = { connections = 10, edge_connections = 9, subscriptions = 20, edge_subscriptions = 19, max_payload = 2097152, file_store = 4294967296, memory_store = 0 }
authorization_timeout = '2m'
")
    .unwrap();
    assert_eq!(told.isolation, Isolation::OneAccount);
    let expires = Duration::from_secs(90);
    assert_eq!(told.answers, Answers::AllowResponses(Responses { max: 2, expires }));
    assert_eq!((told.secrets, told.bcrypt_cost), (SecretKind::NKey, 11));
    assert_eq!(told.listen.to_string(), "[::]:5222");
    assert_eq!((told.tls.cert.as_str(), told.tls.key.as_str()), ("a \"b\"", "c\\d"));
    assert_eq!((told.limits.connections, told.limits.edge_subscriptions), (10, 19));
    assert_eq!(told.authorization_timeout, Duration::from_secs(120));
    assert_eq!((told.name.as_str(), told.account_prefix.as_str()), ("bus-1", "ACME_"));
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let lines = "name = 'Bus'
account_prefix = '1A'
isolation = 'splitt'
answers = 'scoped'
responses = { max = 0, expires = '1d' }
secrets = 'plain'
bcrypt_cost = 3
listen = 'localhost:4222'
monitor = '10.0.0.1:8222'
tls = { cert = '', key = \"a\\nb\" }
store_dir = \"\\u0000\"
authorization_timeout = '1h'
limits = { connections = 5, edge_connections = 5, max_payload = 1000, file_store = 1, edge_subscriptions = 2000000 }
";
    let expected = [
        (3, 8, "bus.name", "bad-name"),
        (4, 18, "bus.account_prefix", "bad-account-prefix"),
        (5, 13, "bus.isolation", "bad-choice"),
        (7, 13, "bus.responses", "idle"),
        (8, 11, "bus.secrets", "bad-choice"),
        (9, 15, "bus.bcrypt_cost", "bad-number"),
        (10, 10, "bus.listen", "bad-address"),
        (11, 11, "bus.monitor", "not-loopback"),
        (12, 16, "bus.tls.cert", "empty"),
        (12, 26, "bus.tls.key", "not-configurable"),
        (13, 13, "bus.store_dir", "not-configurable"),
        (14, 25, "bus.authorization_timeout", "bad-duration"),
        (15, 48, "bus.limits.edge_connections", "bad-number"),
        (15, 65, "bus.limits.max_payload", "bad-number"),
        (15, 84, "bus.limits.file_store", "bad-number"),
        (15, 108, "bus.limits.edge_subscriptions", "bad-number"),
    ];
    let expected = expected.map(|(line, column, field, code)| (line, column, field.into(), code));
    assert_eq!(found(lines), expected);
    let lines = "answers = 'allow_responses'\nresponses = { max = 0, expires = '2h' }";
    let expected = [(4, 21, "bad-number"), (4, 34, "bad-duration")];
    assert_eq!(found(lines).into_iter().map(|p| (p.0, p.1, p.3)).collect::<Vec<_>>(), expected);
    assert_eq!(found("answers = 'allow_responses'")[0].2, "bus.responses");
    assert_eq!(found("listen = '127.0.0.1:8222'")[0].3, "same-port");
}

#[test]
fn one_account_wants_the_sentence_that_the_error_tells() {
    let told = bus("isolation = 'one-account'").unwrap_err();
    assert_eq!(
        told,
        [
            "mesh.toml:3:13: error: bus.isolation: one account is not safe: any user who may acknowledge a \
          message can delete every stream of this mesh (leave `isolation` out, or write `accept_one_account \
          = \"any user who may acknowledge a message can delete every stream of this mesh\"`)"
        ]
    );
    let line = told[0].split('`').nth(3).unwrap();
    assert!(bus(&format!("isolation = 'one-account'\n{line}")).is_ok(), "{line}");
    let other = bus("isolation = 'one-account'\naccept_one_account = 'yes'").unwrap_err();
    assert!(other[0].starts_with("mesh.toml:4:22: error: bus.accept_one_account"), "{other:?}");
    assert_eq!(found(line)[0].3, "idle");
}

#[test]
fn a_mistake_of_shape_hides_no_other() {
    let lines = "bcrypt_cost = 'four'\nlimits = { connections = true }\nnam = 'x'\nresponses = {}";
    let codes: Vec<_> = found(lines).into_iter().map(|p| (p.2, p.3)).collect();
    let expected = [
        ("bus.bcrypt_cost", "wrong-type"),
        ("bus.limits.connections", "wrong-type"),
        ("bus.nam", "unknown-key"),
        ("bus.responses.max", "missing-key"),
        ("bus.responses.expires", "missing-key"),
        ("bus.responses", "idle"),
    ];
    assert_eq!(codes, expected.map(|(field, code)| (field.to_owned(), code)));
}
