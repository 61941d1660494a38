//! The demo on a server that runs already, reached by a folder of credentials.

use std::fs;
use std::path::Path;

use mesh_core::identity::Principal;
use mesh_core::manifest::{Mesh, MeshFile, ModuleManifest};
use mesh_testkit::servers::nats::{Layout, MeshServer};

use super::{Folder, mesh, text};

/// The example's files, which the program has built in.
pub(crate) fn example() -> Mesh {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("example");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let file = MeshFile::parse("mesh.toml", &read("mesh.toml")).unwrap();
    let manifests = file.assignments.iter().map(|assignment| {
        ModuleManifest::parse(&assignment.manifest, &read(&assignment.manifest)).unwrap()
    });
    Mesh::resolve(&file, &manifests.collect::<Vec<_>>()).unwrap()
}

/// A server for the example, and a folder with everybody's credentials.
async fn given(name: &str) -> (MeshServer, Folder) {
    let server = MeshServer::launch(Layout::split(&example()).unwrap()).await.unwrap();
    let folder = Folder::new(name);
    for user in server.layout().users() {
        let document = server.credential(user.name()).unwrap().to_document().unwrap();
        folder.write(&file_of(user.name(), &user.principal), document.expose());
    }
    (server, folder)
}

fn file_of(user: &str, principal: &Principal) -> String {
    match principal {
        Principal::Module { node, module } => format!("{node}.{module}.json"),
        _ => format!("{user}.json"),
    }
}

fn demo(folder: &Folder, more: &[&str]) -> std::process::Output {
    let path = folder.0.display().to_string();
    mesh(&[&["demo", "--transport", "nats", "--credentials", &path], more].concat())
}

#[tokio::test]
async fn the_demo_runs_on_a_server_that_is_given_and_says_what_it_leaves() {
    let (server, folder) = given("given").await;
    // The second time everything is there already.
    for _ in 0..2 {
        let run = demo(&folder, &[]);
        let story = text(&run.stdout);
        assert_eq!(run.status.code(), Some(0), "{story}{}", text(&run.stderr));
        assert_eq!(text(&run.stderr), "");
        assert!(story.lines().next().unwrap().contains(&server.server().url()), "{story}");
        assert!(story.contains("12 as computed from the files, 0 otherwise"), "{story}");
        let left = "On the server are left: the streams CONTROL, NODES, BUILDS, EVENTS, EVENTS_DEAD, ADVISORIES; 9";
        assert!(story.contains(left), "{story}");
    }
    let held = server.server().jsz().await.unwrap();
    assert_eq!((&held["streams"], &held["consumers"]), (&6.into(), &9.into()));
}

#[tokio::test]
async fn no_password_is_logged_whatever_is_asked_for() {
    let (server, folder) = given("given-logged").await;
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_mesh"))
        .args(["demo", "--transport", "nats", "--credentials"])
        .arg(&folder.0)
        .env("MESH_LOG", "trace,async_nats=trace,async_nats::connection=trace")
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(0));
    let logged = text(&run.stderr);
    assert!(logged.contains("TRACE async_nats"), "{logged}");
    for user in server.layout().users() {
        assert!(!logged.contains(user.password().expose()), "{}", user.name());
    }
}

#[tokio::test]
async fn a_flow_can_be_broken_on_a_server_whose_rights_are_not_the_programs_to_give() {
    let (_server, folder) = given("given-broken").await;
    for flow in ["refused", "calls"] {
        let run = demo(&folder, &["--break", flow]);
        assert_eq!(run.status.code(), Some(1), "{}{}", text(&run.stdout), text(&run.stderr));
        assert!(text(&run.stdout).ends_with(&format!("Came out otherwise: {flow}.\n")));
    }
}

#[tokio::test]
async fn every_mistake_in_the_credentials_is_told_at_once_and_exits_2() {
    let (server, folder) = given("given-mistakes").await;
    let path = |name: &str| folder.0.join(name);
    fs::remove_file(path("controller.json")).unwrap();
    fs::remove_file(path("south.mail.json")).unwrap();
    fs::copy(path("person.alice.json"), path("person.bob.json")).unwrap();
    folder.write("person.carol.json", "{\"url\": 5}");
    folder.write("north.audit.json", vec![b' '; 100_000]);
    // Whom the demo has no use for may be missing.
    fs::remove_file(path("host.north.json")).unwrap();
    let run = demo(&folder, &[]);
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(text(&run.stdout), "");
    let told = text(&run.stderr);
    for line in [
        "controller.json: it is missing",
        "south.mail.json: it is missing",
        "person.bob.json: it is the credential of person alice",
        "person.carol.json: credential: url: expected a string at offset 8",
        "north.audit.json: it is longer than 65536 bytes",
    ] {
        assert!(told.contains(&format!("\n  {line}")), "{line} in\n{told}");
    }
    assert_eq!(told.lines().count(), 7, "with a hint: {told}");
    for user in server.layout().users() {
        assert!(!told.contains(user.password().expose()), "{told}");
    }
}

#[tokio::test]
async fn a_server_that_holds_something_else_is_left_as_it_is_and_it_exits_2() {
    let (server, folder) = given("given-drift").await;
    let mut controller = server.raw("controller").await.unwrap();
    let inbox = "_INBOX.controller.c1.ack.1";
    let stream = br#"{"name":"EVENTS_DEAD","subjects":["mesh.events.dead"],"storage":"file","max_bytes":1000000}"#;
    let subject = "$JS.API.STREAM.CREATE.EVENTS_DEAD";
    controller.request(subject, inbox, &[], stream).await.unwrap();
    let run = demo(&folder, &[]);
    assert_eq!(run.status.code(), Some(2), "{}", text(&run.stdout));
    assert_eq!(text(&run.stdout), "");
    let told = text(&run.stderr);
    assert!(told.contains("\n  EVENTS_DEAD: max_bytes should be "), "{told}");
    let info =
        controller.request("$JS.API.STREAM.INFO.EVENTS_DEAD", inbox, &[], b"").await.unwrap();
    assert!(String::from_utf8_lossy(&info.body).contains(r#""max_bytes":1000000"#), "{info:?}");
}

#[tokio::test]
async fn a_server_that_is_down_is_named_without_the_password_and_it_exits_2() {
    let (server, folder) = given("given-down").await;
    server.server().kill().unwrap();
    let run = demo(&folder, &[]);
    assert_eq!(run.status.code(), Some(2));
    let told = text(&run.stderr);
    assert!(told.contains(&server.server().address().to_string()), "{told}");
    let controller = server.layout().user("controller").unwrap();
    assert!(!told.contains(controller.password().expose()), "{told}");
}

#[tokio::test]
async fn a_credential_that_is_refused_is_named_and_it_exits_2() {
    let (_server, folder) = given("given-pin").await;
    let file = folder.0.join("north.mail.json");
    let mut document: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    document["fingerprint"] = "ab".repeat(32).into();
    folder.write("north.mail.json", document.to_string());
    let run = demo(&folder, &[]);
    assert_eq!(run.status.code(), Some(2), "{}", text(&run.stdout));
    let told = text(&run.stderr);
    assert!(told.starts_with("error: as north.mail: connect tls://"), "{told}");
    assert!(told.contains("pinned is abab"), "{told}");
}

#[test]
fn credentials_go_with_a_broker_that_runs_only() {
    for arguments in [
        &["demo", "--credentials", "x"][..],
        &["demo", "--transport", "memory", "--credentials", "x"],
    ] {
        let run = mesh(arguments);
        assert_eq!(run.status.code(), Some(2));
        let told = text(&run.stderr);
        assert!(
            told.starts_with("error: --credentials ") && told.contains("--transport nats"),
            "{told}"
        );
    }
    assert_eq!(mesh(&["demo", "--transport", "carrier-pigeon"]).status.code(), Some(2));
}
