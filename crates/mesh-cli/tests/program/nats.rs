//! The demo on a nats-server that the program starts.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::{Folder, mesh, text};

/// Where the server is, by the first line of the story.
fn address(line: &str) -> &str {
    let (_, rest) = line.split_once(" at tls://").unwrap();
    rest.trim_end().trim_end_matches('.')
}

#[test]
fn the_demo_on_nats_exits_0_and_its_server_is_gone() {
    let run = mesh(&["demo", "--transport", "nats"]);
    let story = text(&run.stdout);
    assert_eq!(run.status.code(), Some(0), "{story}{}", text(&run.stderr));
    assert_eq!(text(&run.stderr), "");
    assert!(story.contains("12 as computed from the files, 0 otherwise"), "{story}");
    assert!(story.ends_with("The nats-server has ended, and what it stored is gone.\n"), "{story}");
    assert!(TcpStream::connect(address(story.lines().next().unwrap())).is_err());
}

#[test]
fn a_broken_flow_on_nats_exits_1_and_is_named_last() {
    for flow in ["calls", "refused", "new-realm"] {
        let run = mesh(&["demo", "--transport", "nats", "--break", flow]);
        assert_eq!(run.status.code(), Some(1), "{flow}: {}", text(&run.stderr));
        let story = text(&run.stdout);
        assert!(story.ends_with(&format!("Came out otherwise: {flow}.\n")), "{story}");
    }
}

#[test]
fn what_the_memory_brokers_expect_is_expected_of_nats_but_for_who_calls() {
    let steps = |transport: &str| {
        let story = text(&mesh(&["demo", "--transport", transport]).stdout);
        let steps = story.lines().filter(|line| line.starts_with("    - "));
        let cut = |line: &str| line.split(" (caller").next().unwrap().to_owned();
        steps.map(cut).collect::<Vec<_>>()
    };
    let nats = steps("nats");
    assert_eq!(nats.len(), 43);
    assert_eq!(nats, steps("memory"));
}

#[test]
fn a_mesh_of_ones_own_is_raised_on_nats() {
    let folder = Folder::new("own-on-nats");
    folder.write("a.toml", "name = 'a'\nversion = '1'\nemits = ['x']\nconsumes = ['b.*']\n");
    folder.write("b.toml", "name = 'b'\nversion = '1'\nemits = ['y']\nconsumes = ['a.>']\n");
    let file = folder.write(
        "mesh.toml",
        "nodes = [{ name = 'n1' }, { name = 'n2' }]
         [[assignments]]\nmodule = 'a'\nmanifest = 'a.toml'\nnodes = ['n1', 'n2']
         [[assignments]]\nmodule = 'b'\nmanifest = 'b.toml'\nnodes = ['n2']\n",
    );
    let run = mesh(&["demo", "--transport", "nats", "--mesh", &file]);
    let story = text(&run.stdout);
    assert_eq!(run.status.code(), Some(0), "{story}{}", text(&run.stderr));
    assert!(story.contains("b on n2 publishes y: handled by a on n1, a on n2"), "{story}");
}

#[test]
fn without_a_server_to_start_it_exits_2_and_says_where_to_get_one() {
    let run = Command::new(env!("CARGO_BIN_EXE_mesh"))
        .args(["demo", "--transport", "nats"])
        .env("MESH_NATS_SERVER", "/no/such/nats-server")
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(text(&run.stdout), "");
    let told = text(&run.stderr);
    assert!(told.contains("MESH_NATS_SERVER names /no/such/nats-server"), "{told}");
    assert!(told.contains("--credentials"), "{told}");
    assert!(told.contains("hint: name another with that variable"), "{told}");
}

#[test]
fn on_ctrl_c_it_exits_130_and_its_server_is_gone() {
    // A flow that waits for what does not come, so that it is still running then.
    let mut run = Command::new(env!("CARGO_BIN_EXE_mesh"))
        .args(["demo", "--transport", "nats", "--break", "events"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut story = BufReader::new(run.stdout.take().unwrap());
    story.read_line(&mut line).unwrap();
    assert!(TcpStream::connect(address(&line)).is_ok(), "{line}");
    interrupt(&run);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(TcpStream::connect(address(&line)).is_err(), "{line}");
}

fn interrupt(run: &Child) {
    let pid = Pid::from_raw(i32::try_from(run.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
}

#[test]
fn the_clients_own_words_are_logged_only_if_they_are_asked_for() {
    for (asked, logged) in [("info", false), ("info,async_nats=info", true)] {
        let run = Command::new(env!("CARGO_BIN_EXE_mesh"))
            .args(["demo", "--transport", "nats"])
            .env("MESH_LOG", asked)
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(0));
        assert_eq!(text(&run.stderr).contains("async_nats"), logged, "{}", text(&run.stderr));
    }
}
