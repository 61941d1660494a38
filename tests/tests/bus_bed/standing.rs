//! The server that a mesh stands on: who sees it, how it takes a change, and what is told of it.

use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use crate::genesis::{objections, raised};
use crate::ground::{Ground, INTERVAL};

/// An address of this machine that is not loopback, if it has one. Nothing is sent.
fn other_address() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    match socket.local_addr().ok()? {
        SocketAddr::V4(address) if !address.ip().is_loopback() => Some(*address.ip()),
        _ => None,
    }
}

#[tokio::test]
async fn the_monitoring_port_is_there_on_loopback_alone_and_a_file_that_says_otherwise_is_refused()
{
    let ground = raised().await;
    assert!(ground.varz().await.is_some());
    // Another address of loopback is another address: the server listens on one alone.
    let port = ground.monitor.port();
    let patience = Duration::from_secs(5);
    let others = other_address().into_iter().chain([Ipv4Addr::new(127, 0, 0, 2)]);
    for other in others {
        let reached = TcpStream::connect_timeout(&SocketAddr::from((other, port)), patience);
        assert!(reached.is_err(), "{other} answers");
    }
    for everywhere in ["0.0.0.0", "192.0.2.1"] {
        let mesh = ground.file("mesh.toml");
        let open = mesh.replace(
            &format!("monitor = '{}'", ground.monitor),
            &format!("monitor = '{everywhere}:{port}'"),
        );
        assert_ne!(mesh, open);
        ground.write("mesh.toml", &open);
        let before = ground.file("bus/nats-server.conf");
        let refused = ground.mesh(&[
            "perm",
            "compose",
            "--mesh",
            "mesh.toml",
            "--store",
            "store",
            "--out",
            "bus",
        ]);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{told}");
        assert!(told.contains("loopback"), "{told}");
        assert_eq!(ground.file("bus/nats-server.conf"), before);
        ground.write("mesh.toml", &mesh);
    }
}

#[tokio::test]
async fn a_change_of_the_composed_file_is_live_within_an_interval_and_the_server_is_not_started_anew()
 {
    let ground = raised().await;
    let before = ground.varz().await.unwrap();
    let pid = ground.folder().report().unwrap().unwrap().pid;
    let mut staying = ground.login(&ground.credential("n1.shop.json")).await.unwrap();
    let mail = ground.credential("n1.mail.json");
    let mut leaving = ground.login(&mail).await.unwrap();

    // `mail` leaves, `crm` comes.
    ground.write("crm.toml", "name = 'crm'\nversion = '1'\nconsumes = ['shop.closed']\n");
    ground.assign(&["shop", "log", "crm"], "");
    let changed = Instant::now();
    let composed = ground.compose(0);
    // It returns when the server runs with it.
    let took = changed.elapsed();
    assert_eq!(composed["reached"], "live", "{composed}");
    // A reload of a handful of users takes no time; the rest is a busy machine's.
    assert!(took < INTERVAL + Duration::from_secs(15), "{took:?}");
    ground.login(&ground.credential("n1.crm.json")).await.unwrap();
    let ended = leaving.closed().await.unwrap();
    assert!(ground.login(&mail).await.is_err(), "{ended:?}");

    let after = ground.varz().await.unwrap();
    assert_eq!((&after.server_id, &after.start), (&before.server_id, &before.start));
    assert_eq!(ground.folder().report().unwrap().unwrap().pid, pid);
    assert_ne!(after.config_digest, before.config_digest);
    staying.publish("mesh.events.shop.sold", None, &[], b"1").await.unwrap();
    assert_eq!(objections(&mut staying).await, [""; 0]);

    // The new module's consumer is missing until genesis is run; the old one's is told and left.
    let status = ground.status(&["--dir", "bus"], 1);
    assert_eq!(status["alarms"][0]["what"], "EVENTS/n1_crm is missing", "{status}");
    let raised = ground.genesis(&[], 0);
    assert_eq!(raised["made"], serde_json::json!(["EVENTS/n1_crm"]));
    assert_eq!(raised["strangers"][0]["object"], "EVENTS/n1_mail");
    let owed = raised["strangers"][0]["owed"].as_u64().unwrap();
    assert_eq!(owed, 1);
    let kept = ground.genesis(&["--retire", "EVENTS/n1_mail"], 1);
    assert_eq!(kept["retired"][0]["refused"], "EVENTS/n1_mail owes 1");
    let gone = ground.genesis(&["--retire", "EVENTS/n1_mail", "--give-up-owed"], 0);
    assert_eq!(gone["retired"][0]["gave_up"], 1);
    assert_eq!(ground.genesis(&[], 0)["strangers"], serde_json::json!([]));
}

#[tokio::test]
async fn what_one_would_ask_of_a_bus_is_told_from_nothing_to_well() {
    let mut ground = Ground::new();
    ground.compose(0);
    // Nothing runs.
    let output = ground.mesh(&[
        "bus",
        "status",
        "--mesh",
        "mesh.toml",
        "--credential",
        "credentials/controller.json",
        "--dir",
        "bus",
    ]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("mesh bus run"), "{told}");
    ground.run().await;
    let empty = ground.genesis(&["--report-only"], 1);
    assert_eq!(empty["made"], serde_json::json!([]));
    assert_eq!(ground.status(&["--dir", "bus"], 1)["good"], false);
    ground.genesis(&[], 0);
    let well = ground.status(&["--dir", "bus"], 0);
    assert_eq!(well["good"], true);
    assert_eq!(well["server"]["name"], "ground");
    assert_eq!(well["server"]["reload"]["live"], true);
    assert_eq!(well["epoch"], ground.genesis(&[], 0)["epoch"]);

    // A manifest that is wrong: its module has no account and no consumer any more, and is no stranger.
    ground.write("log.toml", "name = 'log'\nversion = '1'\nconsumes = ['shop.**']\n");
    let raised = ground.genesis(&[], 1);
    assert_eq!(raised["refused_manifests"][0]["module"], "log");
    assert_eq!(raised["strangers"][0]["manifest_is_refused"], true);
    let status = ground.status(&["--dir", "bus"], 1);
    assert!(status["alarms"].to_string().contains("the manifest of log is refused"), "{status}");

    // A composed file that the server would refuse is said to be so, in its words.
    let composed = ground.file("bus/nats-server.conf");
    ground.write("bus/nats-server.conf", &format!("{composed}\nnonsense: 1\n"));
    let told = crate::soon(async {
        loop {
            let status = ground.status(&["--dir", "bus"], 1);
            let told = status["alarms"][0]["what"].as_str().unwrap().to_owned();
            if told.contains("refused") {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert!(told.contains("nonsense"), "{told}");
    assert!(!ground.is_there("bus/reload.json.tmp"));
}

#[tokio::test]
async fn a_mesh_in_one_account_is_raised_and_told_why_that_is_dangerous() {
    let mut ground = Ground::new();
    let sentence = mesh_core::manifest::ONE_ACCOUNT_SENTENCE;
    ground.assign(
        &["shop", "mail", "log"],
        &format!("isolation = 'one-account'\naccept_one_account = '{sentence}'\n"),
    );
    ground.compose(0);
    ground.run().await;
    let raised = ground.genesis(&[], 0);
    let danger = raised["dangers"][0].as_str().unwrap();
    assert!(danger.contains("$JS.API.STREAM.DELETE"), "{danger}");
    assert!(ground.genesis(&[], 0)["made"].as_array().unwrap().is_empty());
    assert_eq!(ground.status(&["--dir", "bus"], 0)["dangers"], raised["dangers"]);
}
