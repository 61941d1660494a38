//! Two realms as docs/federation.md sets them up: its server's file, its commands, its component.

use std::fs;
use std::process::Command;

use mesh_core::credential::Credential;
use mesh_core::json::RawJson;
use mesh_federation::{Call, ComponentHost, HostOptions};
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer, Place};
use mesh_transport_nats::{NatsOptions, Target, connect};

use super::super::{Folder, program, text};
use super::process::Process;

const PAGE: &str = include_str!("../../../../../docs/federation.md");
const FILE: &str = include_str!("../../../../../docs/federation-server.conf");

/// A server that runs with the file as it stands, but for its port and paths.
async fn documented() -> NatsServer {
    let compose = |place: &Place| {
        let (certificate, key) = place.certificate.clone().unwrap();
        let mut file = FILE.to_owned();
        for (from, to) in [
            ("0.0.0.0:4222", place.client.to_string()),
            ("/etc/nats/cert.pem", certificate.display().to_string()),
            ("/etc/nats/key.pem", key.display().to_string()),
        ] {
            assert_eq!(file.matches(from).count(), 1, "{from}");
            file = file.replace(from, &to);
        }
        // How the testkit sees that a server is there.
        format!("http: \"{}\"\n{file}", place.monitoring)
    };
    let config = NatsConfig::composed(compose).tls(Certificate::local().unwrap());
    NatsServer::launch(config).await.unwrap()
}

/// The page's shell blocks with this word in them, but for what needs a `mesh` on the `PATH`.
fn shell(word: &str) -> String {
    let blocks = PAGE.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    let block = blocks.filter(|block| block.contains(word)).collect::<Vec<_>>();
    assert_eq!(block.len(), 1, "{word}");
    block[0]
        .lines()
        .filter(|line| !line.trim_start().starts_with("mesh "))
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn two_realms_talk_as_the_page_has_them_set_up() {
    let server = documented().await;
    let folder = Folder::new("federation-documented");
    let pin = format!("PIN={}\n", server.fingerprint().unwrap());
    let address = server.address().to_string();
    let credentials = shell("credential()").replace("127.0.0.1:4222", &address);
    let credentials = credentials.lines().filter(|line| !line.trim_start().starts_with("PIN="));
    let script = format!(
        "set -e\n{pin}{}\n{}",
        credentials.collect::<Vec<_>>().join("\n"),
        shell("for realm in")
    );
    let made = Command::new("sh").arg("-c").arg(&script).current_dir(&folder.0).output().unwrap();
    assert!(made.status.success(), "{script}\n{}", text(&made.stderr));
    let file = |name: &str| folder.0.join(name).display().to_string();

    let (_acme, _) = Process::serve(&file("acme/gateway.toml"));
    let (_shop, _) = Process::serve(&file("shop/gateway.toml"));
    let stock = Credential::parse(fs::read_to_string(file("shop/stock.json")).unwrap()).unwrap();
    let bus = connect(Target::of(&stock).unwrap(), NatsOptions::default()).await.unwrap();
    let shop = ComponentHost::new("shop.example".parse().unwrap(), bus, HostOptions::default());
    let count = |_: Call| async { Ok(RawJson::string("7 apples")) };
    let _counting = shop.accept("stock.accepts.count".parse().unwrap(), count).await.unwrap();

    let ask = |command: &str| {
        let run = program()
            .current_dir(&folder.0)
            .env("MESH_CREDENTIAL", "acme/ann.json")
            .args(command.split_whitespace())
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(0), "mesh {command}: {}", text(&run.stderr));
        text(&run.stdout)
    };
    let mut ran = 0;
    for line in PAGE.lines().map(str::trim) {
        let Some(command) = line.strip_prefix("mesh ") else { continue };
        let command = command.split(" #").next().unwrap();
        if command.contains("call") {
            assert_eq!(ask(command), "\"7 apples\"\n");
        } else if command.contains("watch") {
            let credential = file("acme/ann.json");
            let all: Vec<&str> =
                command.split_whitespace().chain(["--credential", &credential]).collect();
            let mut watch = Process::start(&all);
            watch.until("watching");
            shop.emit(&"stock.emits.gone".parse().unwrap(), &RawJson::NULL).await.unwrap();
            watch.until("event");
        } else if !command.contains("serve ") || command.contains("--check") {
            ask(command);
        }
        ran += 1;
    }
    assert!(ran >= 7, "{ran}");
}
