use super::*;
use crate::compose::rabbit::TopicRights;

const ALL: &[&str] = &["users", "vhosts", "permissions", "topic_permissions", "queues", "bindings"];
const HASH: &str = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR";

fn some() -> Definitions {
    let mut rights = Rights::everything();
    rights.configure.clear();
    rights.topics = vec![TopicRights { exchange: "t", write: "^k$".into(), read: String::new() }];
    Definitions::new()
        .vhost("v")
        .user("ann", &PasswordHash::new(HASH).unwrap(), "")
        .rights("v", "ann", &rights)
        .exchange("v", "t", "topic")
        .queue("v", "q", &json!({ "x-queue-type": "quorum" }))
        .binding("v", "t", "q", "k.#")
        .policy("v", "p", "^q$", &json!({ "delivery-limit": 3 }))
}

#[test]
fn what_is_written_is_read_again() {
    let mut read = Definitions::parse(&some().text()).unwrap();
    assert_eq!(read.text(), some().text());
    assert_eq!(read.to_json(), some().to_json());
    read = read.row("exchanges", json!({ "vhost": "v", "name": "e", "type": "fanout" })).unwrap();
    assert_eq!(read.rows("exchanges").len(), 2);
    assert!(!format!("{read:?}").contains("hash"));
}

#[test]
fn the_text_is_the_same_whatever_the_order_of_the_rows() {
    let one = Definitions::new().vhost("v").exchange("v", "a", "topic").exchange("v", "b", "topic");
    let other =
        Definitions::new().exchange("v", "b", "topic").exchange("v", "a", "topic").vhost("v");
    assert_eq!(one.text(), other.text());
}

#[test]
fn what_no_node_would_import_is_refused() {
    for (json, told) in [
        ("[]", "definitions: "),
        (r#"{"queus": []}"#, ""),
        (r#"{"queus": [{}]}"#, "no section is called queus"),
        (r#"{"queues": {}}"#, "queues is no list"),
        (r#"{"queues": [{"name": "q"}]}"#, "a row of queues has no vhost"),
        (r#"{"users": [1]}"#, "a row of users has no name"),
    ] {
        match Definitions::parse(json) {
            Err(error) => assert!(!told.is_empty() && error.to_string().contains(told), "{error}"),
            Ok(read) => assert!(told.is_empty() && read == Definitions::new(), "{json}"),
        }
    }
    assert!(Definitions::parse(r#"{"rabbit_version": "3.10.8"}"#).is_ok());
}

#[test]
fn a_row_that_the_node_lacks_or_has_otherwise_is_missing() {
    let mut there = some().to_json();
    let ours = some();
    // The node says more than the file, and writes tags in another way.
    there["users"][0]["tags"] = json!([]);
    there["queues"][0]["more"] = json!(1);
    assert!(ours.missing_in(&there, ALL).is_empty());
    there["topic_permissions"] = json!([]);
    there["permissions"][0]["configure"] = json!(".*");
    let missing = ours.missing_in(&there, ALL);
    assert_eq!(missing, [r#"permissions "ann" "v""#, r#"topic_permissions "ann" "v" "t""#]);
    assert!(ours.missing_in(&there, &["queues"]).is_empty());
}

#[test]
fn rows_move_to_another_virtual_host() {
    let moved = some().moved_to("w");
    assert!(moved.rows("vhosts").is_empty());
    assert_eq!(moved.rows("users").len(), 1);
    for section in ["permissions", "topic_permissions", "exchanges", "queues", "policies"] {
        assert_eq!(moved.rows(section)[0]["vhost"], "w", "{section}");
    }
}
