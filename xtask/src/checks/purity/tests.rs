use serde_json::{Value, json};

use super::sources::impure_calls;
use super::tree::{Below, Tree};

fn package(name: &str) -> Value {
    json!({"id": name, "name": name, "publish": null})
}

fn node(name: &str, needs: &[(&str, Option<&str>)]) -> Value {
    let deps: Vec<Value> = needs
        .iter()
        .map(|(need, kind)| json!({"pkg": need, "dep_kinds": [{"kind": kind}]}))
        .collect();
    json!({"id": name, "deps": deps})
}

fn tree(members: &[&str], nodes: &[Value]) -> Tree {
    let packages: Vec<Value> =
        nodes.iter().map(|node| package(node["id"].as_str().unwrap())).collect();
    Tree::new(&json!({
        "packages": packages,
        "workspace_members": members,
        "resolve": {"nodes": nodes},
    }))
    .unwrap()
}

#[test]
fn a_runtime_is_found_at_any_depth_with_the_shortest_way_to_it() {
    let below = Below::new(
        "0 mesh-core v0.1.0 (/somewhere)\n\
         1 quota v1.0.0\n\
         2 deep v1.0.0 (proc-macro)\n\
         3 tokio v1.0.0\n\
         1 bytes v1.0.0\n\
         2 tokio v1.0.0 (*)\n",
    )
    .unwrap();
    assert_eq!(below.banned(), ["depends on mesh-core → bytes → tokio"]);
    assert_eq!(below.count(), 4);
}

#[test]
fn what_cannot_be_read_is_a_failure_and_not_a_pass() {
    for printed in ["", "mesh-core v0.1.0", "0 mesh-core v0.1.0\n2 tokio v1.0.0"] {
        assert!(Below::new(printed).is_err(), "{printed}");
    }
    assert!(Tree::new(&json!({"packages": []})).is_err());
}

#[test]
fn arrows_between_crates_point_inwards() {
    let members = ["mesh-core", "mesh-sdk", "mesh-cli", "mesh-transport-a", "mesh-transport-b"];
    let good = [
        node("mesh-core", &[]),
        node("mesh-sdk", &[("mesh-core", None)]),
        node("mesh-cli", &[("mesh-transport-a", None)]),
        node("mesh-transport-a", &[("mesh-core", None)]),
        node("mesh-transport-b", &[("mesh-core", None)]),
    ];
    assert!(tree(&members, &good).outward_arrows().is_empty());

    let bad = [
        node("mesh-core", &[("mesh-sdk", None)]),
        node("mesh-sdk", &[("mesh-transport-a", None)]),
        node("mesh-cli", &[]),
        node("mesh-transport-a", &[("mesh-transport-b", None)]),
        node("mesh-transport-b", &[]),
    ];
    assert_eq!(
        tree(&members, &bad).outward_arrows(),
        [
            "mesh-core may not depend on mesh-sdk",
            "mesh-sdk may not depend on mesh-transport-a",
            "mesh-transport-a may not depend on mesh-transport-b",
        ]
    );
}

#[test]
fn each_impure_call_is_found_on_its_line() {
    for (source, call) in [
        ("let t = std::time::SystemTime::now();", "SystemTime::now"),
        ("let t = Instant::now();", "Instant::now"),
        ("let x = rand::random::<u8>();", "rand::"),
        ("use std::fs;", "std::fs"),
        ("std::net::TcpStream::connect(a)", "TcpStream"),
        ("use std::env::var;", "std::env"),
        ("let id = Uuid::new_v4();", "Uuid::new_v4"),
    ] {
        let text = format!("//! Words.\n\n{source}\n");
        assert_eq!(impure_calls(&text), [(3, call.to_owned())], "{source}");
    }
}

#[test]
fn a_module_in_a_group_of_imports_is_found() {
    assert_eq!(impure_calls("use std::{fmt, fs};\nlet env = 1;"), [(1, "std::fs".to_owned())]);
    assert_eq!(
        impure_calls("use std::{\n    fmt,\n    net::TcpStream,\n};\nlet os = 1;"),
        [(3, "TcpStream".to_owned())]
    );
}

#[test]
fn comments_and_longer_words_are_no_calls() {
    for source in [
        "/// Never Instant::now here.",
        "let my_rand::x = 1;",
        "use std::network;",
        "use std::net::{IpAddr, Ipv4Addr};",
        "use std::fmt;",
    ] {
        assert!(impure_calls(source).is_empty(), "{source}");
    }
}
