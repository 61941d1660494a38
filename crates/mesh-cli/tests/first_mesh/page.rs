//! Reads the page and does what it says.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::PLAYS;

const PAGE: &str = include_str!("../../../../docs/first-mesh.md");
const MODULES: [&str; 2] = [include_str!("stock.rs"), include_str!("shop.rs")];

/// What goes before what a block prints, in the script's output.
const MARK: &str = "==== block ";

/// One fenced block.
struct Block<'p> {
    /// `toml mesh.toml`, `sh`, `text`, `rust`.
    kind: &'p str,
    text: String,
}

fn blocks() -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    let mut lines = PAGE.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(Block { kind, text: text.join("\n") + "\n" });
    }
    blocks
}

/// The page's ports, and free ones to run with: others may have the page's.
fn ports() -> [(&'static str, String); 2] {
    let held = ["4222", "8222"].map(|port| (port, TcpListener::bind("127.0.0.1:0").unwrap()));
    held.map(|(port, held)| (port, held.local_addr().unwrap().port().to_string()))
}

pub(crate) fn follow() {
    let place = tempfile::tempdir().unwrap();
    let bin = place.path().join("bin");
    let here = place.path().join("mesh");
    fs::create_dir(&here).unwrap();
    fs::create_dir(&bin).unwrap();
    programs(&bin);
    let ports = ports();
    let at_free_ports = |text: &str| {
        ports.iter().fold(text.to_owned(), |text, (old, new)| {
            text.replace(&format!("127.0.0.1:{old}"), &format!("127.0.0.1:{new}"))
        })
    };
    let mut script = String::new();
    let mut expected: Vec<(usize, String)> = Vec::new();
    let (mut commands, mut files, mut shown) = (0, 0, 0);
    for block in blocks() {
        match block.kind.split_once(' ') {
            None if block.kind == "sh" => {
                commands += 1;
                write!(script, "echo '{MARK}{commands}'\n{}", at_free_ports(&block.text)).unwrap();
            }
            None if block.kind == "text" => expected.push((commands, at_free_ports(&block.text))),
            None if block.kind == "rust" => {
                shown += 1;
                let is_there = MODULES.iter().any(|module| module.contains(&block.text));
                assert!(is_there, "no module has this of the page:\n{}", block.text);
            }
            // A file is written when the page comes to it, since commands may change it.
            Some(("toml", name)) => {
                files += 1;
                let end = "END_OF_FILE";
                let text = at_free_ports(&block.text);
                writeln!(
                    script,
                    "mkdir -p \"$(dirname '{name}')\"\ncat > '{name}' <<'{end}'\n{text}{end}"
                )
                .unwrap();
            }
            _ => panic!("the page has a block of an unknown kind: {}", block.kind),
        }
    }
    assert!(commands > 5 && files > 5 && shown == 2 && !expected.is_empty());
    let output = run(&here, &bin, &script);
    let printed = outputs(&output);
    for (number, text) in expected {
        let found = &printed[number];
        assert!(says(found, &text), "block {number} prints\n{found}\nand not\n{text}");
    }
    println!("first_mesh: {files} files, {commands} blocks of commands, as the page says");
}

/// What the page calls by its name: this program as the modules, the program itself, and the server.
fn programs(bin: &Path) {
    let write = |name: &str, text: String| {
        let path = bin.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let this = env::current_exe().unwrap();
    for module in ["stock", "shop"] {
        write(module, format!("#!/bin/sh\n{PLAYS}={module} exec '{}'\n", this.display()));
    }
    write("mesh", format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_mesh")));
    let server = mesh_testkit::servers::nats::find_program().unwrap();
    write("nats-server", format!("#!/bin/sh\nexec '{}' \"$@\"\n", server.display()));
}

/// Runs the script in a group of its own, all of which is ended afterwards.
fn run(here: &Path, bin: &Path, script: &str) -> String {
    let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap());
    let script = format!("exec 2>&1\nset -eu\n{script}\n");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(here).env("PATH", path).env_remove(PLAYS);
    for name in ["CI", "MESH_LOG", "CLICOLOR_FORCE", "MESH_CREDENTIAL"] {
        shell.env_remove(name);
    }
    // In a file: what runs on in the background has it open, too.
    let printed = here.join("printed.log");
    shell.stdin(Stdio::null()).stdout(fs::File::create(&printed).unwrap()).process_group(0);
    let mut child = shell.spawn().unwrap();
    let status = child.wait().unwrap();
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
    // Nothing is left of it, if the page ended what it began.
    let left = kill_process_group(group, Signal::KILL).is_ok();
    let output = fs::read_to_string(&printed).unwrap();
    assert!(status.success(), "{status} after\n{output}");
    assert!(!left, "the page leaves something running\n{output}");
    output
}

/// What each block printed, by its number.
fn outputs(output: &str) -> Vec<String> {
    output
        .split(MARK)
        .map(|part| part.split_once('\n').map_or("", |(_, rest)| rest).to_owned())
        .collect()
}

/// Whether these lines were printed one after the other, with others between them where a line of the page is `…`;
/// `…` within a line stands for anything.
fn says(found: &str, wanted: &str) -> bool {
    let found: Vec<&str> = found.lines().map(str::trim_end).collect();
    let mut rest = found.as_slice();
    for (number, line) in wanted.lines().enumerate() {
        if line.trim() == "…" {
            continue;
        }
        let free =
            number == 0 || wanted.lines().nth(number - 1).is_some_and(|line| line.trim() == "…");
        let Some(at) = rest.iter().position(|printed| fits(printed, line)) else { return false };
        if !free && at != 0 {
            return false;
        }
        rest = &rest[at + 1..];
    }
    true
}

fn fits(printed: &str, wanted: &str) -> bool {
    let mut parts = wanted.split('…');
    let Some(mut rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
}
