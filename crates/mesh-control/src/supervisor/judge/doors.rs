//! By which ways a server is reached.

use std::net::SocketAddr;

use super::Judgement;
use crate::conf::{Map, Node, Value};

/// Other listeners than that of clients, each with the keys that it may have.
const OTHERS: [&str; 7] =
    ["websocket", "mqtt", "leafnodes", "leafnode", "leaf", "gateway", "cluster"];

/// Other ways to say where clients or the monitor listen. One way is enough to be compared.
const FORMS: [&str; 9] = [
    "port",
    "host",
    "addr",
    "net",
    "http_port",
    "monitor_port",
    "https",
    "https_port",
    "prof_port",
];

pub(super) fn judge(root: &Map, found: &mut Judgement) {
    clients(root, found);
    monitor(root, found);
    for key in OTHERS {
        let Some(node) = root.field(key) else { continue };
        if !node.value.map().is_some_and(secured) {
            found.fault(node, format!("{key} listens without TLS"), "give it a tls block");
        }
    }
    for key in FORMS {
        if let Some(node) = root.field(key) {
            let instead = "write listen: \"address:port\" and http: \"127.0.0.1:port\"";
            found.fault(
                node,
                format!("{key} says in another way where the server listens"),
                instead,
            );
        }
    }
}

fn clients(root: &Map, found: &mut Judgement) {
    let Some(node) = root.field("listen") else {
        found.missing("it does not say where clients connect", "write listen: \"address:port\"");
        return;
    };
    match address(node) {
        Some(address) if address.port() != 0 => {}
        _ => found.fault(
            node,
            "listen is no address with a port",
            "write it as \"address:port\", with the machine's own address and a port that is not 0",
        ),
    }
    if root.field("tls").is_none_or(|node| node.value.map().is_none()) {
        let problem = "clients connect without TLS: passwords and messages pass in the open";
        found.fault(node, problem, "write a tls block with cert_file and key_file");
    }
    let open = root.field("allow_non_tls").filter(|node| !off(&node.value));
    if let Some(node) = open {
        found.fault(node, "clients may connect without TLS", "take allow_non_tls away");
    }
}

/// A reload is confirmed there, and nobody else is to look.
fn monitor(root: &Map, found: &mut Judgement) {
    let Some(node) = root.field("http") else {
        let instead = "write http: \"127.0.0.1:8222\"";
        found.missing("the server does not tell of itself, so no reload can be confirmed", instead);
        return;
    };
    match address(node) {
        Some(address) if address.ip().is_loopback() && address.port() != 0 => {
            found.monitor = Some(address);
        }
        _ => found.fault(
            node,
            "the server tells everybody of itself who reaches this address",
            "write http: \"127.0.0.1:port\", which only this machine reaches",
        ),
    }
}

fn address(node: &Node) -> Option<SocketAddr> {
    node.value.text()?.parse().ok()
}

fn secured(map: &Map) -> bool {
    let has_tls = map.field("tls").is_some_and(|node| node.value.map().is_some());
    has_tls && map.field("no_tls").is_none_or(|node| off(&node.value))
}

fn off(value: &Value) -> bool {
    matches!(value, Value::Flag(false))
}
