//! A person is let in and shut out while the bus runs, without a restart of anything.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use mesh_control::folder::{BusFolder, Outcome};
use mesh_core::credential::Credential;
use mesh_core::port::{Connection, ErrorKind, TransportError};
use mesh_testkit::servers::Certificate;
use mesh_transport_nats::{NatsOptions, Target, connect};
use serde_json::Value;

use super::{Folder, program, text};

/// How long one thing may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// `mesh bus run`, killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        use rustix::process::{Pid, Signal, kill_process};
        // Told first, so that it ends its server.
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn ports() -> [u16; 2] {
    let held = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|port| port.local_addr().unwrap().port())
}

fn good(folder: &Folder, command: &str) -> Value {
    let run = program().current_dir(&folder.0).args(command.split(' ')).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{command}: {}", text(&run.stderr));
    serde_json::from_slice(&run.stdout).unwrap()
}

async fn connected(folder: &Folder, file: &str) -> Result<Connection, TransportError> {
    let credential = Credential::parse(fs::read(folder.0.join(file)).unwrap()).unwrap();
    connect(Target::of(&credential).unwrap(), NatsOptions::default()).await
}

/// A mesh, composed, and its bus, which runs.
fn raised(name: &str, bus: &str) -> (Running, Folder) {
    let folder = Folder::new(name);
    let [listen, monitor] = ports();
    let people = "people = [{ name = 'ada', tools = [] }, { name = 'bob', administrator = true }]";
    let places = format!("listen = '127.0.0.1:{listen}'\nmonitor = '127.0.0.1:{monitor}'");
    folder.write(
        "mesh.toml",
        format!("nodes = [{{ name = 'n1' }}]\n{people}\n[bus]\n{places}\n{bus}\n"),
    );
    let certificate = Certificate::local().unwrap();
    folder.write("bus/tls/cert.pem", certificate.cert_pem());
    folder.write("bus/tls/key.pem", certificate.key_pem());
    std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700)
        .create(folder.0.join("store"))
        .unwrap();
    good(
        &folder,
        "--json perm compose --mesh mesh.toml --store store --out bus --credentials given",
    );
    let server = mesh_testkit::servers::nats::find_program().unwrap();
    let server = server.display().to_string();
    let running = program()
        .current_dir(&folder.0)
        .args(["bus", "run", "--dir", "bus", "--interval", "200ms", "--server", &server])
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.0.join("log")).unwrap())
        .spawn()
        .unwrap();
    let mut running = Running(running);
    let bus = BusFolder::at(folder.0.join("bus"));
    let deadline = Instant::now() + PATIENCE;
    while bus.report().unwrap().is_none_or(|report| report.outcome != Outcome::Live) {
        let log = || fs::read_to_string(folder.0.join("log")).unwrap();
        assert_eq!(running.0.try_wait().unwrap(), None, "it ended: {}", log());
        assert!(Instant::now() < deadline, "{}", log());
        std::thread::sleep(Duration::from_millis(20));
    }
    (running, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_issued_a_credential_is_in_at_once_and_who_is_revoked_is_out() {
    for (name, bus) in [("live-bcrypt", ""), ("live-nkey", "secrets = 'nkey'")] {
        let (_running, folder) = raised(name, bus);
        let places = "--mesh mesh.toml --store store --bus bus";
        let issue = |who: &str, more: &str| {
            let command =
                format!("--json operator issue {who} --plain --out {who}.json {places}{more}");
            good(&folder, &command)
        };
        assert_eq!(issue("bob", "")["reached"], "live");
        let bob = connected(&folder, "bob.json").await.unwrap();
        assert_eq!(issue("ada", "")["reached"], "live");
        // Not a moment later: it was handed over when it counted.
        let ada = connected(&folder, "ada.json").await.unwrap();
        let mut states = ada.transport().states();
        let revoked = good(&folder, &format!("--json operator revoke ada {places}"));
        assert_eq!(revoked["reached"], "live");
        let lost = async {
            while let Some(state) = states.next().await {
                if !state.is_connected() {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, lost).await.expect("ada's connection goes on");
        let refused = connected(&folder, "ada.json").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
        bob.transport().flush(PATIENCE).await.unwrap();
        // Another secret lets ada in again, and the one before doesn't.
        fs::rename(folder.0.join("ada.json"), folder.0.join("old.json")).unwrap();
        assert_eq!(issue("ada", " --rotate")["reached"], "live");
        connected(&folder, "ada.json").await.unwrap();
        let refused = connected(&folder, "old.json").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
        ada.transport().close(Duration::from_secs(1)).await;
    }
}

/// A server that nobody watches any more, killed when dropped.
struct Left(rustix::process::Pid);

impl Left {
    fn end(&self) {
        let _ = rustix::process::kill_process(self.0, rustix::process::Signal::KILL);
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        self.end();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_said_to_be_out_while_a_server_runs_on_whose_supervisor_was_killed() {
    let (mut running, folder) = raised("live-orphan", "");
    let places = "--mesh mesh.toml --store store --bus bus";
    good(&folder, &format!("--json operator issue ada --plain --out ada.json {places}"));
    let bus = BusFolder::at(folder.0.join("bus"));
    let pid = bus.report().unwrap().and_then(|report| report.pid).unwrap();
    let left = Left(i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).unwrap());
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    // What it runs with is what it should.
    let compose = "--json perm compose --mesh mesh.toml --store store --out bus";
    assert_eq!(good(&folder, compose)["reached"], "live");

    let revoke = format!("operator revoke ada {places}");
    let run = program().current_dir(&folder.0).args(revoke.split(' ')).output().unwrap();
    let told = text(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{told}");
    assert!(told.contains("supervisor was killed"), "{told}");
    assert!(
        told.contains(&format!("end process {pid}, then run `mesh bus run --dir bus`")),
        "{told}"
    );
    connected(&folder, "ada.json").await.expect("the server knows of nothing");
    left.end();
    let deadline = Instant::now() + PATIENCE;
    while connected(&folder, "ada.json").await.is_ok() {
        assert!(Instant::now() < deadline, "the server goes on");
    }
    assert_eq!(good(&folder, &format!("--json {revoke}"))["reached"], "no-bus");
}
