//! What needs no broker: files, keys, captures.

use super::super::{Folder, mesh, text};

const LEAST: &str = "realm = 'acme.com'\nbackbone = 'memory'\nlocal = 'memory'\n";

#[test]
fn a_file_with_mistakes_is_told_in_its_place_and_exits_1() {
    let folder = Folder::new("federation-mistakes");
    let file = folder.write("gateway.toml", format!("{LEAST}[policy]\ndeny = ['a b']\n"));
    for more in [&[][..], &["--check"]] {
        let run = mesh(&[&["federation", "serve", &file], more].concat());
        assert_eq!(run.status.code(), Some(1));
        let told = text(&run.stdout);
        assert!(told.starts_with("error[bad-path]: no path begins with \"a b\""), "{told}");
        assert!(told.contains("gateway.toml:5:9") && told.contains("= hint: "), "{told}");
    }
    let run = mesh(&["--json", "federation", "serve", &file]);
    let told: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(told["schema"], "mesh.federation.config/1");
    assert_eq!(
        (&told["problems"][0]["line"], &told["problems"][0]["column"]),
        (&5.into(), &9.into())
    );
    let run = mesh(&["federation", "serve", "no-such-file.toml"]);
    assert_eq!(run.status.code(), Some(2));
    let good = folder.write("good.toml", LEAST);
    let run = mesh(&["federation", "serve", &good, "--check"]);
    assert_eq!(
        (run.status.code(), text(&run.stdout).as_str()),
        (Some(0), "good: a gateway of acme.com\n")
    );
}

#[test]
fn a_bus_in_a_gateways_memory_is_reached_by_nobody_else() {
    let folder = Folder::new("federation-memory");
    let file = folder.write("gateway.toml", LEAST);
    for verb in [&["guards"][..], &["leases"], &["sessions"], &["call", "matrix://b/c.accepts.d"]] {
        let run = mesh(&[&["federation"], verb, &["--config", &file]].concat());
        assert_eq!(run.status.code(), Some(2));
        let told = text(&run.stderr);
        assert!(told.contains("memory") && told.contains("hint: "), "{told}");
    }
    let run = mesh(&["federation", "guards"]);
    assert_eq!(run.status.code(), Some(2));
}

#[test]
fn what_is_served_in_memory_ends_in_order() {
    use rustix::process::Signal;

    let folder = Folder::new("federation-served");
    let file = folder.write("gateway.toml", LEAST);
    let (gateway, listening) = super::Process::serve(&file);
    assert_eq!(
        (&listening["backbone"], &listening["state"]),
        (&"memory".into(), &"in memory".into())
    );
    assert!(listening["topics"].as_array().unwrap().contains(&"mx/in/1/acme.com/00".into()));
    gateway.signal(Signal::TERM);
    let (status, last) = gateway.end();
    assert_eq!((status.code(), &last.unwrap()["kind"]), (Some(0), &"closed".into()));
}

#[test]
fn a_key_is_written_for_its_owner_alone_and_never_over_another() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new("federation-key");
    for algorithm in ["EdDSA", "ES256"] {
        let path = folder.0.join(format!("{algorithm}.pem"));
        let file = path.display().to_string();
        let run = mesh(&["--json", "federation", "keygen", &file, "--algorithm", algorithm]);
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        let told: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        assert_eq!(told["jwks"]["keys"][0]["kid"], told["kid"]);
        assert_eq!(told["jwks"]["keys"][0]["alg"], algorithm);
        assert!(told["jwks"]["keys"][0].get("d").is_none());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let pem = std::fs::read_to_string(&path).unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----"));
        let run = mesh(&["federation", "keygen", &file]);
        assert_eq!(run.status.code(), Some(2));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), pem);
        // The gateway that is given it starts.
        let kid = told["kid"].as_str().unwrap();
        let with = format!(
            "{LEAST}[security]\nrequired = 'none'\nkey = '{algorithm}.pem'\nkid = '{kid}'\nalgorithm = '{algorithm}'\n"
        );
        let (gateway, _) = super::Process::serve(&folder.write("gateway.toml", with));
        drop(gateway);
    }
}

#[test]
fn a_capture_is_explained_by_the_guards_of_a_file() {
    let folder = Folder::new("federation-explain");
    let file = folder.write(
        "gateway.toml",
        format!("{LEAST}[policy]\ndeny = ['admin']\n[peers.shop]\nallow = ['stock']\n"),
    );
    let message = |path: &str, from: &str| {
        format!(
            r#"{{"kind":"mx","mxVersion":"1","msgType":"Cmd","msgId":"{path}{from}","correlationId":"c","from":{{"realm":"{from}"}},"to":{{"realm":"acme.com","path":"{path}"}},"replyTo":{{"realm":"{from}","path":"a.accepts.b"}},"body":1}}"#
        )
    };
    for (path, from, guard) in [
        ("stock.accepts.count", "shop", None),
        ("mail.accepts.send", "shop", Some("policy")),
        ("mail.accepts.send", "other", None),
        ("admin.accepts.stop", "other", Some("policy")),
        ("_operator.accepts.guards", "other", Some("closed")),
    ] {
        let capture = folder.write("capture.json", message(path, from));
        let run = mesh(&["--json", "federation", "explain", &capture, "--config", &file]);
        let told: serde_json::Value =
            serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("{}", text(&run.stderr)));
        assert_eq!(told["schema"], "mesh.envelope/1");
        assert_eq!(told["guards"]["guard"].as_str(), guard, "{path} {from}: {told}");
        assert_eq!(run.status.code(), Some(i32::from(guard.is_some())));
    }
    let run = mesh(&[
        "federation",
        "explain",
        &folder.write("capture.json", message("a.accepts.b", "x")),
        "--realm",
        "acme.com",
    ]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stdout));
}
