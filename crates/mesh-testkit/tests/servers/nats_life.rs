use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mesh_testkit::servers::ServerError;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use rustix::process::{Pid, test_kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn runs(pid: u32) -> bool {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    test_kill_process(pid).is_ok()
}

fn folder_of(server: &NatsServer) -> PathBuf {
    server.config_file().parent().unwrap().to_owned()
}

/// A connection that has been answered.
async fn connected(server: &NatsServer) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(b"CONNECT {\"verbose\":false}\r\nPING\r\n").await.unwrap();
    pong(&mut stream).await;
    stream
}

async fn pong(stream: &mut TcpStream) {
    let mut all = Vec::new();
    while !all.ends_with(b"PONG\r\n") {
        assert_ne!(stream.read_buf(&mut all).await.unwrap(), 0, "closed after {all:?}");
    }
}

#[tokio::test]
async fn a_dropped_server_is_gone_with_its_folder() {
    let server = NatsServer::launch(NatsConfig::new().jetstream()).await.unwrap();
    let (pid, folder) = (server.pid().unwrap(), folder_of(&server));
    assert!(runs(pid) && folder.exists());
    drop(server);
    assert!(!runs(pid) && !folder.exists());
}

#[tokio::test]
async fn a_paused_server_is_gone_after_a_panic_too() {
    let (tell, told) = std::sync::mpsc::channel();
    let panicked = tokio::spawn(async move {
        let server = NatsServer::launch(NatsConfig::new()).await.unwrap();
        server.pause().unwrap();
        tell.send(server.pid().unwrap()).unwrap();
        panic!("as a test does that fails");
    });
    assert!(panicked.await.unwrap_err().is_panic());
    assert!(!runs(told.recv().unwrap()));
}

#[tokio::test]
async fn it_comes_back_where_it_was_with_what_it_stored() {
    let config = NatsConfig::new().jetstream();
    let server = NatsServer::launch(config).await.unwrap();
    let (address, pid) = (server.address(), server.pid());
    let stored = folder_of(&server).join("store/jetstream");
    server.restart().await.unwrap();
    assert_eq!(server.address(), address);
    assert_ne!(server.pid(), pid);
    assert!(stored.exists());
    server.kill().unwrap();
    assert_eq!(server.pid(), None);
    assert!(TcpStream::connect(address).await.is_err());
    server.start().await.unwrap();
    drop(connected(&server).await);
    assert_eq!(server.address(), address);
}

#[tokio::test]
async fn what_is_asked_of_a_stopped_server_is_an_error() {
    let server = NatsServer::launch(NatsConfig::new()).await.unwrap();
    let state = |result| matches!(result, Err(ServerError::State(_)));
    assert!(state(server.start().await));
    server.stop().await.unwrap();
    assert!(server.log().contains("Server Exiting"));
    assert!(state(server.stop().await));
    assert!(state(server.kill()));
    assert!(state(server.pause()));
    assert!(state(server.resume()));
    assert!(server.reload(NatsConfig::new()).await.is_err());
    assert!(server.varz().await.is_err());
}

#[tokio::test]
async fn another_configuration_can_be_given_for_the_next_start() {
    let server = NatsServer::launch(NatsConfig::new()).await.unwrap();
    server.stop().await.unwrap();
    let digest = server.configure(NatsConfig::new().max_payload(3000)).unwrap();
    server.start().await.unwrap();
    let varz = server.varz().await.unwrap();
    assert_eq!((&varz["max_payload"], &varz["config_digest"]), (&3000.into(), &digest.into()));
}

#[tokio::test]
async fn a_paused_server_answers_when_it_goes_on() {
    // As a task: what others write may need it to be one.
    let launched = tokio::spawn(NatsServer::launch(NatsConfig::new())).await.unwrap();
    let server = launched.unwrap();
    let mut stream = connected(&server).await;
    server.pause().unwrap();
    stream.write_all(b"PING\r\n").await.unwrap();
    let mut byte = [0];
    let early = tokio::time::timeout(Duration::from_millis(200), stream.read(&mut byte)).await;
    assert!(early.is_err(), "{early:?}");
    server.resume().unwrap();
    pong(&mut stream).await;
    server.pause().unwrap();
    server.stop().await.unwrap();
}

#[tokio::test]
async fn many_at_a_time_share_nothing() {
    let launches = (0..6).map(|_| NatsServer::launch(NatsConfig::new().jetstream()));
    let servers = futures_util::future::join_all(launches).await;
    let mut addresses: Vec<_> =
        servers.iter().map(|server| server.as_ref().unwrap().address()).collect();
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 6);
}

/// Set for the copy of this program that the next test kills.
const VICTIM: &str = "MESH_TEST_VICTIM";

#[tokio::test]
async fn a_killed_test_leaves_no_server() {
    if std::env::var_os(VICTIM).is_some() {
        let server = NatsServer::launch(NatsConfig::new()).await.unwrap();
        println!("\nserver {} {}", server.pid().unwrap(), folder_of(&server).display());
        std::future::pending::<()>().await;
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nats_life::a_killed_test_leaves_no_server", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let told = lines.map_while(Result::ok).find(|line| line.starts_with("server ")).unwrap();
    let mut words = told.split(' ').skip(1);
    let pid = words.next().unwrap().parse().unwrap();
    let folder = PathBuf::from(words.next().unwrap());
    assert!(runs(pid) && folder.exists());
    victim.kill().unwrap();
    victim.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while (runs(pid) || folder.exists()) && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!runs(pid) && !folder.exists());
}
