use serde_json::{Value, json};

use super::sources::impure_calls;
use super::tree::{Below, Tree};

/// A package of the workspace with what it needs: the name, the kind, and whether a feature has to ask.
fn package(name: &str, needs: &[(&str, Option<&str>, bool)]) -> Value {
    let needs: Vec<Value> = needs
        .iter()
        .map(|(need, kind, optional)| json!({"name": need, "kind": kind, "optional": optional}))
        .collect();
    json!({"id": name, "name": name, "publish": null, "dependencies": needs})
}

fn arrows(packages: &[Value]) -> Vec<String> {
    let members: Vec<&Value> = packages.iter().map(|package| &package["id"]).collect();
    let tree = Tree::new(&json!({"packages": packages, "workspace_members": members}));
    tree.unwrap().outward_arrows()
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
    assert_eq!(below.impure(), ["depends on mesh-core → bytes → tokio"]);
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
fn an_adapter_below_the_sdk_is_found_and_a_runtime_is_not() {
    let printed = "0 mesh-sdk v0.1.0 (/somewhere)\n1 tokio v1.0.0\n1 mesh-session v0.1.0 (/else)\n";
    let below = Below::new(printed).unwrap();
    assert_eq!(below.clients(), ["depends on mesh-sdk → mesh-session"]);
}

#[test]
fn arrows_between_crates_point_inwards() {
    let (core, dev) = (("mesh-core", None, false), Some("dev"));
    let transport = |optional| ("mesh-transport-a", None, optional);
    let good = [
        package("mesh-core", &[("serde", None, false)]),
        package("mesh-sdk", &[core, transport(true), ("mesh-transport-b", dev, false)]),
        package("mesh-cli", &[transport(false)]),
        package("mesh-transport-a", &[core]),
        package("mesh-transport-b", &[core]),
    ];
    assert_eq!(arrows(&good), <[&str; 0]>::default());

    let bad = [
        package("mesh-core", &[("mesh-sdk", None, true)]),
        package("mesh-sdk", &[transport(false)]),
        package("mesh-cli", &[]),
        package("mesh-transport-a", &[("mesh-transport-b", None, true)]),
        package("mesh-transport-b", &[]),
    ];
    assert_eq!(
        arrows(&bad),
        [
            "mesh-core may not depend on mesh-sdk",
            "mesh-sdk may not depend on mesh-transport-a",
            "mesh-transport-a may not depend on mesh-transport-b",
        ]
    );
}

#[test]
fn a_member_that_is_not_described_is_a_failure() {
    let metadata = json!({"packages": [], "workspace_members": ["mesh-core"]});
    assert!(Tree::new(&metadata).is_err());
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
