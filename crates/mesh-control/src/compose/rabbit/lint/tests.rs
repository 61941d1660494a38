use mesh_core::identity::Principal;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::name::ModuleName;
use serde_json::json;

use super::*;
use crate::compose::rabbit::{Host, Member};

const HASH: &str = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR";

fn sound() -> Value {
    let mail = "name = 'mail'\nversion = '1'\nemits = ['sent']\nconsumes = ['crm.>']";
    let mail = ModuleManifest::parse("mail.toml", mail).unwrap();
    let mesh = Mesh::on_one_node(&"n1".parse().unwrap(), [mail]).unwrap();
    let module: ModuleName = "mail".parse().unwrap();
    let mail = Principal::Module { node: "n1".parse().unwrap(), module };
    let rights = mesh.permissions(&mail).unwrap();
    let hash = || PasswordHash::new(HASH).unwrap();
    let controller = Principal::Controller { name: "c1".parse().unwrap() };
    let host = Host::new("mesh").unwrap();
    let host = host.member(Member::controller(controller, hash())).unwrap();
    let host = host.member(Member::new(mail, rights, hash())).unwrap();
    host.topology(&mesh.topology().unwrap()).unwrap().definitions().to_json()
}

fn told(json: &Value) -> Vec<String> {
    let definitions = Definitions::parse(&json.to_string()).unwrap();
    definitions.findings().iter().map(ToString::to_string).collect()
}

fn of<'j>(json: &'j mut Value, section: &str, user: &str) -> &'j mut Value {
    let rows = json[section].as_array_mut().unwrap();
    rows.iter_mut().find(|row| row["user"] == user || row["name"] == user).unwrap()
}

#[test]
fn composed_definitions_have_no_finding() {
    assert_eq!(told(&sound()), [""; 0]);
}

#[test]
fn a_missing_topic_row_is_found_since_it_would_allow_every_key() {
    let mut json = sound();
    let rows = json["topic_permissions"].as_array_mut().unwrap();
    rows.retain(|row| row["user"] != "n1.mail" || row["exchange"] != "mesh.rpc");
    assert_eq!(
        told(&json),
        ["n1.mail has no row for the topic exchange mesh.rpc: all keys are allowed"]
    );
}

#[test]
fn what_is_wider_than_it_looks_is_found() {
    let change = |section: &str, user: &str, field: &str, value: Value| {
        let mut json = sound();
        of(&mut json, section, user)[field] = value;
        told(&json)
    };
    let anchored = r"is neither empty nor within ^(?:…)\z";
    for (section, field, value, wanted) in [
        (
            "permissions",
            "write",
            json!("mesh.events"),
            format!(r#"permissions "n1.mail" "mesh": write {anchored}"#),
        ),
        (
            "permissions",
            "read",
            json!("^(?:a)$"),
            format!(r#"permissions "n1.mail" "mesh": read {anchored}"#),
        ),
        (
            "permissions",
            "configure",
            json!("^(?:n1)\\z"),
            "n1.mail may declare queues, and so exchanges, and forge through them".into(),
        ),
        (
            "topic_permissions",
            "write",
            json!(".*"),
            format!(r#"topic_permissions "n1.mail" "mesh" "mesh.alive": write {anchored}"#),
        ),
        (
            "users",
            "password_hash",
            json!("secret"),
            "n1.mail has no salted hash of a password".into(),
        ),
        (
            "users",
            "hashing_algorithm",
            json!("rabbit_password_hashing_md5"),
            "n1.mail has no salted hash of a password".into(),
        ),
        ("users", "tags", json!("administrator"), "n1.mail has the tag administrator".into()),
        ("users", "tags", json!(["monitoring"]), "n1.mail has the tag monitoring".into()),
    ] {
        assert_eq!(change(section, "n1.mail", field, value), [wanted]);
    }
    let told = change("exchanges", "mesh.rpc", "type", json!("direct"));
    assert_eq!(told, ["mesh.rpc is no topic exchange: it checks no keys"]);
    let told = change("queues", "n1.mail.events", "arguments", json!({}));
    assert_eq!(told, ["n1.mail.events is no quorum queue: it does not count tries"]);
    let mut json = sound();
    let row = of(&mut json, "permissions", "n1.mail");
    for side in ["configure", "write", "read"] {
        row[side] = ".*".into();
    }
    let found = told_of(&json);
    assert!(
        found.contains(&"substrate may do everything, beside another".to_owned())
            || found.contains(&"n1.mail may do everything, beside another".to_owned()),
        "{found:?}"
    );
}

fn told_of(json: &Value) -> Vec<String> {
    told(json)
}

#[test]
fn what_an_import_would_stop_at_is_found() {
    let mut json = sound();
    json["users"].as_array_mut().unwrap().retain(|row| row["name"] != "n1.mail");
    let found = told(&json);
    assert!(
        found.contains(&r#"permissions "n1.mail" "mesh": there is no user n1.mail"#.to_owned()),
        "{found:?}"
    );
    let mut json = sound();
    json["queues"] = json!([]);
    let found = told(&json);
    assert!(
        found.iter().any(|told| told.ends_with("there is no queue n1.mail.events")),
        "{found:?}"
    );
    let mut json = sound();
    let again = json["users"][0].clone();
    json["users"].as_array_mut().unwrap().push(again);
    assert_eq!(told(&json), [r#"users "n1.mail": it is there twice"#]);
    let mut json = sound();
    json["queues"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "name": "q".repeat(256), "vhost": "mesh" }));
    assert!(told(&json)[0].ends_with("over 255 bytes"), "{:?}", told(&json));
    let mut json = sound();
    let mut guest = json["users"][0].clone();
    guest["name"] = "guest".into();
    json["users"].as_array_mut().unwrap().push(guest);
    assert_eq!(told(&json), ["guest is there, whose password everybody knows"]);
}
