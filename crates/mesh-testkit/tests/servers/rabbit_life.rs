use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use mesh_testkit::expect::expect_soon;
use mesh_testkit::servers::rabbit::{Account, Definitions, RabbitConfig, RabbitServer, shared};
use mesh_testkit::servers::{Certificate, ServerError};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::rabbit_amqp::Amqp;

/// The processes whose home is this folder: node, port mapper, and what the node starts.
fn processes(folder: &Path) -> Vec<String> {
    let home = format!("HOME={}", folder.display());
    // Where the system does not tell, nothing is found.
    let all = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| {
        let path = entry.unwrap().path();
        let environment = fs::read(path.join("environ")).ok()?;
        let ours = environment.split(|byte| *byte == 0).any(|line| line == home.as_bytes());
        let name = fs::read_to_string(path.join("comm")).ok()?;
        ours.then(|| format!("{} {}", path.display(), name.trim()))
    });
    all.collect()
}

/// Returns when nothing of a node is left.
async fn nothing_is_left(folder: &Path, addresses: &[SocketAddr]) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while (!processes(folder).is_empty() || folder.exists()) && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(processes(folder), [""; 0]);
    assert!(!folder.exists());
    for address in addresses {
        assert!(TcpStream::connect(address).await.is_err(), "{address}");
    }
}

/// What listens on this machine for one of these processes, as `/proc` has it.
fn listeners(folder: &Path) -> Vec<String> {
    let mut inodes = Vec::new();
    for process in processes(folder) {
        let path = process.split(' ').next().unwrap();
        for link in fs::read_dir(Path::new(path).join("fd")).into_iter().flatten().flatten() {
            let target = fs::read_link(link.path()).unwrap_or_default();
            let target = target.to_string_lossy().into_owned();
            if let Some(inode) = target.strip_prefix("socket:[") {
                inodes.push(inode.trim_end_matches(']').to_owned());
            }
        }
    }
    let mut found = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in fs::read_to_string(table).unwrap_or_default().lines().skip(1) {
            let fields: Vec<_> = line.split_whitespace().collect();
            // 0A is LISTEN.
            if fields[3] == "0A" && inodes.iter().any(|inode| inode == fields[9]) {
                found.push(fields[1].split(':').next().unwrap().to_owned());
            }
        }
    }
    found
}

#[tokio::test]
async fn a_node_whose_definitions_stop_midway_is_no_success_and_leaves_nothing() {
    // RabbitMQ itself starts with this file, without the rows after the bad one.
    let nobody =
        json!({ "vhost": "v", "user": "nobody", "configure": "", "write": "", "read": "" });
    let definitions = Definitions::new()
        .vhost("v")
        .row("permissions", nobody)
        .unwrap()
        .account("v", &Account::new("ann", "secret").all_rights().topic("t", "^k$", ""));
    let failed = RabbitServer::launch(RabbitConfig::new().definitions(definitions)).await;
    let Err(ServerError::Failed { what, log }) = failed else {
        panic!("{failed:?}");
    };
    assert!(what.starts_with("definitions are not there: "), "{what}");
    assert!(what.contains(r#"topic_permissions "ann" "v" "t""#), "{what}");
    assert!(!what.contains("users"), "{what}");
    let (_, name) = log.split_once("/mesh-rabbit-").unwrap();
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap();
    let folder = std::env::temp_dir().join(format!("mesh-rabbit-{}", &name[..end]));
    nothing_is_left(&folder, &[]).await;
}

/// Set for the copy of this program that the next test kills.
const VICTIM: &str = "MESH_TEST_VICTIM";

#[tokio::test]
async fn a_node_crashes_stops_and_comes_back_and_ends_with_its_test() {
    if std::env::var_os(VICTIM).is_some() {
        let server = a_life().await;
        // On its way up when the test is killed.
        let rises = server.start();
        let tells = async {
            while server.pid().is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            println!("\nserver {} {}", server.address(), server.folder().display());
            // If nobody kills it, it ends with who started it.
            tokio::io::stdin().read_to_end(&mut Vec::new()).await.unwrap();
        };
        tokio::join!(rises, tells).0.unwrap();
        return;
    }
    // Two nodes at a time, which share nothing.
    let other = shared().await.unwrap();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("rabbit_life::a_node_crashes_stops_and_comes_back_and_ends_with_its_test")
        .env(VICTIM, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let told = loop {
        let line = lines.next_line().await.unwrap();
        let line = line.expect("what failed in the copy is told above");
        if line.starts_with("server ") {
            break line;
        }
    };
    let mut words = told.split(' ').skip(1);
    let address: SocketAddr = words.next().unwrap().parse().unwrap();
    let folder = PathBuf::from(words.next().unwrap());
    assert_ne!(address, other.address());
    assert!(folder.exists());
    // The port mapper, and the node with what it starts.
    while processes(&folder).len() < 3 && cfg!(target_os = "linux") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    victim.kill().await.unwrap();
    nothing_is_left(&folder, &[address]).await;
    assert!(other.virtual_host().await.is_ok());
}

/// What happens to a node with a queue in it; it is stopped at the end.
async fn a_life() -> RabbitServer {
    let certificate = Certificate::local().unwrap();
    let (ann, bob) = (Account::new("ann", "p@ss"), Account::new("bob", "b"));
    let definitions = Definitions::new()
        .vhost("mesh")
        .account("mesh", &ann.clone().all_rights())
        .account("mesh", &bob.all_rights())
        .queue("mesh", "q", &json!({ "x-queue-type": "quorum" }));
    let config = RabbitConfig::new().tls(certificate.clone()).definitions(definitions);
    // As a task: what others write may need it to be one.
    let server = tokio::spawn(RabbitServer::launch(config)).await.unwrap().unwrap();
    let state = |result| matches!(result, Err(ServerError::State(_)));
    assert_eq!(server.fingerprint(), certificate.fingerprint());
    assert_eq!(server.certificate(), &certificate);
    let url = format!("amqps://ann:p%40ss@{}/mesh", server.address());
    assert_eq!(server.url_of("ann", "p@ss", "mesh"), url);
    assert!(state(server.start().await));
    let overview = server.management().get(&["overview"]).await.unwrap();
    assert_eq!(overview["rabbitmq_version"], server.version());

    // 127.0.0.1 and ::1 alone: the port mapper takes both.
    let open = listeners(server.folder());
    assert!(open.len() >= 4 || cfg!(not(target_os = "linux")), "{open:?}");
    let loopback = ["0100007F", "00000000000000000000000001000000"];
    assert!(open.iter().all(|address| loopback.contains(&address.as_str())), "{open:?}");
    // Without TLS it answers nothing of AMQP.
    let mut plain = TcpStream::connect(server.address()).await.unwrap();
    plain.write_all(b"AMQP\x00\x00\x09\x01").await.unwrap();
    let mut told = Vec::new();
    let end = plain.read_to_end(&mut told);
    let _ = expect_soon("an end", end).await;
    assert!(!told.starts_with(b"\x01") && !told.starts_with(b"AMQP"), "{told:?}");

    let login = || Amqp::login(server.address(), &certificate, ("ann", "p@ss"), "mesh");
    let mut client = login().await.ok().unwrap();
    client.declare("q", true).await.unwrap();
    server.pause().unwrap();
    let early = tokio::time::timeout(Duration::from_millis(200), client.declare("q", true)).await;
    assert!(early.is_err());
    server.resume().unwrap();
    login().await.ok().unwrap().declare("q", true).await.unwrap();
    server.management().delete(&["users", "bob"]).await.unwrap();

    // A crash, while it stands still.
    let pid = server.pid();
    server.pause().unwrap();
    server.kill().unwrap();
    assert_eq!(server.pid(), None);
    assert!(TcpStream::connect(server.address()).await.is_err());
    assert!(state(server.kill()) && state(server.pause()) && state(server.resume()));
    assert!(state(server.stop().await));
    assert!(server.management().get(&["overview"]).await.is_err());
    server.start().await.unwrap();
    assert_ne!(server.pid(), pid);
    assert!(server.url_of("ann", "p@ss", "mesh") == url);
    let mut client = login().await.ok().unwrap();
    client.declare("q", true).await.unwrap();
    // What was removed stays so.
    assert!(server.management().find(&["users", "bob"]).await.unwrap().is_none());

    server.stop().await.unwrap();
    assert_eq!(client.closed().await, 320);
    assert!(TcpStream::connect(server.address()).await.is_err());
    server
}

#[tokio::test]
async fn rabbitmqctl_reaches_its_own_node_or_says_why_not() {
    let server = shared().await.unwrap();
    let told = server.control(&["eval", "node()."]).await.unwrap();
    assert_eq!(told.trim(), "'mesh-test@localhost'");
    let refused = server.control(&["no_such_command"]).await.unwrap_err();
    assert!(matches!(refused, ServerError::Refused(_)), "{refused}");
}
