//! The supervisor as a process: its exit codes, the signals that it obeys and passes on, and its life as the
//! first process of a container.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use mesh_control::folder::BusFolder;
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::find_program;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Folder, program, text};

const PATIENCE: Duration = Duration::from_secs(60);

/// A bus's folder with a good file in it.
struct Bus {
    folder: Folder,
    client: SocketAddr,
    monitor: SocketAddr,
}

impl Bus {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let certificate = Certificate::local().unwrap();
        folder.write("c.pem", certificate.cert_pem());
        folder.write("c.key", certificate.key_pem());
        // Both at once, so that they differ; the server takes them when they are free again.
        let ports = [(); 2].map(|()| TcpListener::bind(("127.0.0.1", 0)).unwrap());
        let [client, monitor] = ports.map(|port| port.local_addr().unwrap());
        let bus = Self { folder, client, monitor };
        bus.compose("a");
        bus
    }

    /// A file with one user of this name.
    fn compose(&self, user: &str) {
        let place = self.folder.0.display();
        let Self { client, monitor, .. } = self;
        let hash = "$2a$04$wYfFMwNLf3zH0OlAGqmGWuLjWAdnSLXqBkMkTc0oNzYcYdMxBYjWm";
        let text = format!(
            "server_name: bus\nlisten: \"{client}\"\nhttp: \"{monitor}\"\nsystem_account: SYS\n\
             tls {{ cert_file: \"{place}/c.pem\", key_file: \"{place}/c.key\" }}\n\
             accounts {{ SYS {{}}, M {{ users: [ {{ user: {user}, password: \"{hash}\", permissions: {{\n  \
             publish: {{ deny: \">\" }}, subscribe: {{ deny: \">\" }} }} }} ] }} }}\n"
        );
        BusFolder::at(self.dir()).write(&text).unwrap();
    }

    fn dir(&self) -> String {
        self.folder.0.join("bus").display().to_string()
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = program();
        command.args(["bus", "run", "--interval", "200ms", "--dir", &self.dir()]);
        command.arg("--server").arg(find_program().unwrap()).args(more);
        command
    }

    fn run(&self, more: &[&str]) -> Running {
        Running::of(&mut self.command(more))
    }

    fn serves(&self) -> bool {
        TcpStream::connect(self.client).is_ok()
    }
}

/// The program with what it says; killed if a test fails.
struct Running {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    /// The first line that holds this.
    fn line(&mut self, wanted: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.out.read_line(&mut line).unwrap() > 0, "it ended without {wanted}");
            if line.contains(wanted) {
                return line;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(pid(self.child.id()), signal).unwrap();
    }

    /// The code with which it ends, and what it says until then.
    fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // In good order, so that its server goes with it.
        let _ = kill_process(pid(self.child.id()), Signal::TERM);
        let _ = self.child.wait();
    }
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id.try_into().unwrap()).unwrap()
}

/// The server's process, by the report.
fn server(bus: &Bus) -> u32 {
    let report = fs::read(bus.folder.0.join("bus/reload.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    report["pid"].as_u64().unwrap().try_into().unwrap()
}

fn until(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn told_to_end_it_ends_its_server_and_exits_0_or_130() {
    for (signal, code) in [(Signal::TERM, 0), (Signal::INT, 130)] {
        let bus = Bus::new("bus-end");
        let mut running = bus.run(&[]);
        running.line("live");
        assert!(bus.serves());
        running.signal(signal);
        let (ended, told) = running.end();
        assert_eq!((ended, told.as_str()), (Some(code), "the server has ended, with code 0\n"));
        assert!(!bus.serves());
    }
}

#[test]
fn a_server_that_dies_ends_it_with_that_code() {
    let bus = Bus::new("bus-dies");
    let mut running = bus.run(&[]);
    running.line("live");
    kill_process(pid(server(&bus)), Signal::KILL).unwrap();
    let (ended, told) = running.end();
    assert_eq!(
        (ended, told.as_str()),
        (Some(137), "the server has ended by itself, by signal 9\n")
    );
}

#[test]
fn a_hang_up_has_the_file_read_again_and_a_bad_file_is_named() {
    let bus = Bus::new("bus-hup");
    let mut running = bus.run(&["--json"]);
    let first: Value = serde_json::from_str(&running.line("report")).unwrap();
    assert_eq!(first["schema"], "mesh.bus.run/1");
    assert_eq!(first["report"]["outcome"], "live");
    running.signal(Signal::HUP);
    let again: Value = serde_json::from_str(&running.line("report")).unwrap();
    assert_eq!(again["report"]["digest"], first["report"]["digest"]);

    bus.compose("b, usr: c");
    let bad: Value = serde_json::from_str(&running.line("report")).unwrap();
    assert_eq!(bad["report"]["outcome"], "refused");
    assert!(bad["report"]["error"].as_str().unwrap().contains("nats-server.conf:"), "{bad}");
    assert_eq!(bad["report"]["digest"], first["report"]["digest"]);
    bus.compose("b");
    let good: Value = serde_json::from_str(&running.line("report")).unwrap();
    assert_eq!(good["report"]["outcome"], "live");
    assert_ne!(good["report"]["digest"], first["report"]["digest"]);
    assert_eq!(good["report"]["pid"], first["report"]["pid"]);
}

#[test]
fn at_the_end_it_is_a_lame_duck_for_as_long_as_it_was_told_or_until_it_is_told_again() {
    let bus = Bus::new("bus-lame");
    let mut running = bus.run(&["--lame-duck", "1h"]);
    running.line("live");
    let stays = TcpStream::connect(bus.client).unwrap();
    // Until the server has greeted it, it is no client yet.
    let mut greeted = String::new();
    BufReader::new(&stays).read_line(&mut greeted).unwrap();
    running.signal(Signal::TERM);
    running.line("no new clients");
    until("new clients are refused", || !bus.serves());
    assert!(running.child.try_wait().unwrap().is_none());
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn what_can_not_be_started_says_why_and_what_to_do() {
    let bus = Bus::new("bus-not");
    let old = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../mesh-testkit/tests/fixtures/old/nats-server");
    let run =
        program().args(["bus", "run", "--dir", &bus.dir(), "--server"]).arg(old).output().unwrap();
    let told = text(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{told}");
    assert!(
        told.contains("2.9.10 is too old") && told.contains("hint: name one with --server"),
        "{told}"
    );

    bus.folder.write("bus/nats-server.conf", "accounts { M { users: [] } }\n");
    let run = bus.command(&[]).output().unwrap();
    let told = text(&run.stdout);
    assert_eq!(run.status.code(), Some(1), "{told}");
    assert!(told.contains("line 1: account M has an empty list of users"), "{told}");

    fs::remove_file(bus.folder.0.join("bus/nats-server.conf")).unwrap();
    let run = bus.command(&[]).output().unwrap();
    let told = text(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{told}");
    assert!(
        told.contains("there is no composed file") && told.contains("mesh perm compose"),
        "{told}"
    );

    let run = bus.command(&["--interval", "0s"]).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
}

/// In a namespace of processes of its own it is process 1: signals that it does not listen to don't reach it,
/// and every orphan is its child.
#[cfg(target_os = "linux")]
#[test]
fn as_process_1_it_obeys_signals_reloads_and_waits_for_everybodys_orphans() {
    let Some(unshare) = unshare() else { return };
    let bus = Bus::new("bus-one");
    let asked = bus.command(&[]);
    let mut command = Command::new("unshare");
    command.args(&unshare).arg(asked.get_program()).args(asked.get_args());
    let mut running = Running::of(&mut command);
    let line = running.line("live");
    // Numbers in the namespace: the server comes after process 1.
    assert!(line.contains(" in process "), "{line}");
    let first = child_of(running.child.id());
    assert_eq!(number_inside(first), 1);

    bus.compose("b");
    running.line("live");

    // A process that ends with a child of its own leaves an orphan, which ends at once, too.
    let orphan = "sh -c 'sleep 0.1 & echo $!'";
    let user: &[&str] =
        if unshare.contains(&"--user") { &["--user", "--preserve-credentials"] } else { &[] };
    let entered = Command::new("nsenter")
        .args(user)
        .args(["--target", &first.to_string(), "--pid", "--mount", "--", "sh", "-c", orphan])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(entered.status.success(), "{}", text(&entered.stderr));
    let number: u32 = text(&entered.stdout).trim().parse().unwrap();
    until("the orphan is waited for", || {
        !children_of(first).iter().any(|id| number_inside(*id) == number)
    });
    assert!(children_of(first).iter().all(|id| !is_zombie(*id)));

    kill_process(pid(first), Signal::TERM).unwrap();
    let (ended, told) = running.end();
    assert_eq!((ended, told.as_str()), (Some(0), "the server has ended, with code 0\n"));
    assert!(!bus.serves());
}

/// How to begin such a namespace here. Where that is forbidden it fails if `MESH_NAMESPACES` is `required`, and else
/// it is said.
#[cfg(target_os = "linux")]
fn unshare() -> Option<Vec<&'static str>> {
    let ways = [
        vec!["--pid", "--fork", "--mount-proc", "--kill-child=TERM"],
        vec!["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child=TERM"],
    ];
    let works = |way: &Vec<&str>| {
        let tried = Command::new("unshare").args(way).arg("true").output();
        tried.is_ok_and(|tried| tried.status.success())
    };
    let way = ways.into_iter().find(works);
    if way.is_none() {
        // A container may forbid it, and CI's may be one: that is no fault of the program's.
        let must = std::env::var_os("MESH_NAMESPACES").is_some_and(|must| must == "required");
        assert!(!must, "no namespace of processes may be made here");
        // Not by the macro, whose words are seen of a test that fails alone.
        let told =
            b"NOT TRIED: no namespace of processes may be made here, so nothing is process 1\n";
        std::io::stderr().write_all(told).unwrap();
    }
    way
}

#[cfg(target_os = "linux")]
fn children_of(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let wanted = parent.to_string();
    processes.filter(|id| status(*id, "PPid").is_some_and(|of| of == wanted)).collect()
}

#[cfg(target_os = "linux")]
fn child_of(parent: u32) -> u32 {
    let children = children_of(parent);
    assert_eq!(children.len(), 1, "{children:?}");
    children[0]
}

/// What the innermost namespace calls it.
#[cfg(target_os = "linux")]
fn number_inside(id: u32) -> u32 {
    let numbers = status(id, "NSpid").unwrap_or_default();
    numbers.split_whitespace().last().and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn is_zombie(id: u32) -> bool {
    status(id, "State").is_some_and(|state| state.starts_with('Z'))
}

#[cfg(target_os = "linux")]
fn status(id: u32, key: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    Some(line?.trim().to_owned())
}
