//! `mesh bus genesis` and `mesh bus status`, as far as they are understood and refused.

use mesh_testkit::servers::nats::{Layout, MeshServer};

use super::given::example;
use super::{Folder, mesh, text};

/// A mesh of one module.
fn files(folder: &Folder) -> String {
    folder.write("a.toml", "name = 'a'\nversion = '1'\nemits = ['x']\n");
    folder.write(
        "mesh.toml",
        "nodes = [{ name = 'n1' }]\n[[assignments]]\nmodule = 'a'\nmanifest = 'a.toml'\nnodes = ['n1']\n",
    )
}

#[test]
fn what_can_not_be_meant_is_refused_with_what_could_be() {
    let folder = Folder::new("bus-arguments");
    let file = files(&folder);
    for (more, told) in [
        (&["--retire", "ORDERS/n1_a"][..], "no stream ORDERS: they are CONTROL, NODES"),
        (&["--retire", "n1_a"][..], "not a stream and a consumer, such as EVENTS/n1_mail"),
        (&["--retire", "EVENTS/N1 a"][..], "--retire"),
        (
            &["--mend", "--accept", "EVENTS"][..],
            "not an object and a field, such as EVENTS.discard",
        ),
        (&["--accept", "EVENTS.discard"][..], "--mend"),
        (&["--report-only", "--mend"][..], "--mend"),
        (&["--give-up-owed"][..], "--retire"),
    ] {
        let run = mesh(&[&["bus", "genesis", "--mesh", &file, "--credential", "c"], more].concat());
        assert_eq!(run.status.code(), Some(2), "{more:?}");
        assert!(text(&run.stderr).contains(told), "{more:?}: {}", text(&run.stderr));
    }
}

#[test]
fn without_a_credential_or_a_mesh_file_it_says_which_is_missing() {
    let folder = Folder::new("bus-files");
    let file = files(&folder);
    let absent = folder.0.join("absent.json").display().to_string();
    for verb in ["genesis", "status"] {
        let run = mesh(&["bus", verb, "--mesh", &file]);
        assert_eq!(run.status.code(), Some(2));
        assert!(text(&run.stderr).contains("MESH_CREDENTIAL is not set"), "{}", text(&run.stderr));
        let run = mesh(&["bus", verb, "--mesh", &file, "--credential", &absent]);
        assert_eq!(run.status.code(), Some(2));
        let told = text(&run.stderr);
        assert!(told.contains("absent.json") && told.contains("the path is right"), "{told}");
        assert!(!told.contains("certificate"), "{told}");
        let run = mesh(&["bus", verb, "--mesh", &absent, "--credential", &absent]);
        assert_eq!(run.status.code(), Some(2));
        assert!(text(&run.stderr).contains("can't read it"), "{}", text(&run.stderr));
    }
}

#[tokio::test]
async fn whoever_is_not_the_controller_raises_nothing_and_is_told_why() {
    let server = MeshServer::launch(Layout::split(&example()).unwrap()).await.unwrap();
    let folder = Folder::new("bus-module");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/example/mesh.toml");
    let somebody =
        server.layout().users().iter().find(|user| !user.name().starts_with("controller"));
    let document = server.credential(somebody.unwrap().name()).unwrap().to_document().unwrap();
    let credential = folder.write("somebody.json", document.expose());
    let run = mesh(&["bus", "genesis", "--mesh", file, "--credential", &credential]);
    assert_eq!(run.status.code(), Some(2));
    let told = text(&run.stderr);
    assert!(told.contains("only the controller administers"), "{told}");
    assert!(told.contains("use the controller's credential"), "{told}");
    let jsz = server.server().jsz().await.unwrap();
    assert_eq!(jsz["streams"], 0, "{jsz}");
    for output in [&run.stdout, &run.stderr] {
        let secret = server.layout().user(somebody.unwrap().name()).unwrap().password();
        assert!(!text(output).contains(secret.expose()));
    }
}

#[tokio::test]
async fn the_controller_at_the_edge_has_no_streams_and_is_told_so() {
    let server = MeshServer::launch(Layout::split(&example()).unwrap()).await.unwrap();
    let folder = Folder::new("bus-edge");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/example/mesh.toml");
    let document = server.credential("controller-edge").unwrap().to_document().unwrap();
    let credential = folder.write("edge.json", document.expose());
    for verb in ["genesis", "status"] {
        let run = mesh(&["bus", verb, "--mesh", file, "--credential", &credential]);
        assert_eq!(run.status.code(), Some(2), "{}", text(&run.stdout));
        assert!(text(&run.stderr).contains("controller's credential"), "{}", text(&run.stderr));
    }
}

#[test]
fn a_certificate_is_made_once_and_its_key_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new("bus-certificate");
    let tls = folder.0.join("bus/tls").display().to_string();
    let made = mesh(&["bus", "certificate", &tls, "--name", "bus.example", "--name", "10.0.0.1"]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let read = |name: &str| std::fs::read(folder.0.join("bus/tls").join(name)).unwrap();
    let (cert, key) = (read("cert.pem"), read("key.pem"));
    let expected = mesh_control::secrets::certificate_fingerprint(&cert).unwrap();
    assert_eq!(text(&made.stdout), format!("{expected}\n"));
    let mode = |name: &str| {
        let found = std::fs::metadata(folder.0.join(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    // Who could read in the bus's folder could hold its lock, and no supervisor started.
    assert_eq!(["bus", "bus/tls", "bus/tls/key.pem"].map(mode), [0o700, 0o700, 0o600]);
    assert!(!text(&made.stdout).contains("PRIVATE") && !text(&made.stderr).contains("PRIVATE"));

    let again = mesh(&["bus", "certificate", &tls]);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("key.pem"), "{}", text(&again.stderr));
    assert_eq!((read("cert.pem"), read("key.pem")), (cert, key));
    let odd = mesh(&["bus", "certificate", &format!("{tls}2"), "--name", "b\u{fc}s"]);
    assert_eq!(odd.status.code(), Some(2), "{}", text(&odd.stderr));
    assert!(text(&odd.stderr).contains("--name"), "{}", text(&odd.stderr));
}
