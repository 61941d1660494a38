//! The program as a person runs it: what it prints, where, and with which exit code.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[cfg(unix)]
mod amqp;
#[cfg(unix)]
mod bus;
#[cfg(unix)]
mod bus_run;
#[cfg(unix)]
mod captured;
mod check;
mod explain;
#[cfg(unix)]
mod federation;
mod files;
#[cfg(unix)]
mod given;
#[cfg(unix)]
mod nats;
#[cfg(unix)]
mod operator;
#[cfg(unix)]
mod operator_live;
mod output;
mod perm;
mod readme;
mod shell;
mod snapshots;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program, with nothing in its environment that would change what it prints.
fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_mesh"));
    program.stdin(Stdio::null());
    for name in ["CI", "MESH_LOG", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        program.env_remove(name);
    }
    program
}

fn mesh(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A folder of its own, gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn the_demo_of_the_example_exits_0_and_says_nothing_on_stderr() {
    let run = mesh(&["demo"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("12 as computed from the files, 0 otherwise"));
    assert_eq!(text(&run.stderr), "");
}

#[test]
fn a_broken_flow_exits_1_and_is_named_last() {
    let run = mesh(&["demo", "--break", "refused"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stdout).ends_with("Came out otherwise: refused.\n"));
}

#[test]
fn a_mesh_of_ones_own_is_raised() {
    let folder = Folder::new("own");
    folder.write("a.toml", "name = 'a'\nversion = '1'\nemits = ['x']\nconsumes = ['b.*']\n");
    folder.write("b.toml", "name = 'b'\nversion = '1'\nemits = ['y']\nconsumes = ['a.>']\n");
    let file = folder.write(
        "mesh.toml",
        "nodes = [{ name = 'n1' }, { name = 'n2' }]
         [[assignments]]\nmodule = 'a'\nmanifest = 'a.toml'\nnodes = ['n1', 'n2']
         [[assignments]]\nmodule = 'b'\nmanifest = 'b.toml'\nnodes = ['n2']\n",
    );
    let run = mesh(&["demo", "--mesh", &file]);
    let story = text(&run.stdout);
    assert_eq!(run.status.code(), Some(0), "{story}{}", text(&run.stderr));
    assert!(story.contains("b on n2 publishes y: handled by a on n1, a on n2"), "{story}");
    assert!(
        story.contains("Not tried: no person here is an administrator, so no realm can be let in."),
        "{story}"
    );
}

#[test]
fn a_flow_that_the_mesh_doesnt_have_cant_be_broken() {
    let folder = Folder::new("unbroken");
    folder.write("a.toml", "name = 'a'\nversion = '1'\nemits = ['x']");
    let file = folder.write(
        "mesh.toml",
        "nodes = [{ name = 'n1' }]
         [[assignments]]\nmodule = 'a'\nmanifest = 'a.toml'\nnodes = ['n1']\n",
    );
    for flow in ["calls", "new-realm", "events"] {
        let run = mesh(&["demo", "--mesh", &file, "--break", flow]);
        let told = text(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{flow}: {told}");
        assert!(
            told.contains(&format!("nothing to break: this mesh has no such flow ({flow}: ")),
            "{told}"
        );
    }
    assert_eq!(mesh(&["demo", "--mesh", &file]).status.code(), Some(0));
}

#[test]
fn a_flow_can_be_broken_in_a_mesh_of_people_and_of_what_runs_nowhere() {
    let folder = Folder::new("people");
    let tool = "name = 'NAME'\nversion = '1'\ntools = [{ name = 't', description = 'T' }]\n";
    folder.write("a.toml", tool.replace("NAME", "a"));
    let file = |nodes: &str| {
        folder.write(
            "mesh.toml",
            format!(
                "nodes = [{{ name = 'n1' }}]\npeople = [{{ name = 'p', tools = ['a.t'] }}]
                 [[assignments]]\nmodule = 'a'\nmanifest = 'a.toml'\nnodes = [{nodes}]\n"
            ),
        )
    };
    for (nodes, flow) in [("'n1'", "calls"), ("", "unavailable")] {
        let file = file(nodes);
        let run = mesh(&["demo", "--mesh", &file]);
        assert_eq!(run.status.code(), Some(0), "{}{}", text(&run.stdout), text(&run.stderr));
        let run = mesh(&["demo", "--mesh", &file, "--break", flow]);
        assert_eq!(run.status.code(), Some(1), "{}{}", text(&run.stdout), text(&run.stderr));
        assert!(text(&run.stdout).ends_with(&format!("Came out otherwise: {flow}.\n")));
    }
}

#[test]
fn a_mesh_where_nothing_can_be_tried_exits_2_and_says_what_each_flow_lacks() {
    let folder = Folder::new("nothing");
    let file = folder.write("mesh.toml", "nodes = [{ name = 'n1' }]");
    let run = mesh(&["demo", "--mesh", &file]);
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("nothing was tried"), "{}", text(&run.stderr));
    assert_eq!(text(&run.stdout).matches("Not tried: ").count(), 12, "{}", text(&run.stdout));
}

#[test]
fn a_long_flow_is_cut_short_and_what_came_out_otherwise_is_not() {
    let folder = Folder::new("long");
    let events: Vec<String> = (0..20).map(|event| format!("'e{event}'")).collect();
    let events = events.join(", ");
    folder.write("a.toml", format!("name = 'a'\nversion = '1'\nemits = [{events}]"));
    folder.write("b.toml", "name = 'b'\nversion = '1'\nconsumes = ['a.>']");
    let file = folder.write(
        "mesh.toml",
        "nodes = [{ name = 'n1' }]
         [[assignments]]\nmodule = 'a'\nmanifest = 'a.toml'\nnodes = ['n1']
         [[assignments]]\nmodule = 'b'\nmanifest = 'b.toml'\nnodes = ['n1']\n",
    );
    let story = text(&mesh(&["demo", "--mesh", &file]).stdout);
    let events = story.split("\n\n").nth(1).unwrap();
    assert_eq!(events.matches(": handled by b on n1").count(), 12, "{story}");
    assert!(story.contains("\n    … and 8 more as computed\n"), "{story}");
    let story = text(&mesh(&["demo", "--mesh", &file, "--break", "events"]).stdout);
    assert_eq!(story.matches("expected: handled by b on n1").count(), 20, "{story}");
}

#[test]
fn a_large_drawing_is_cut_short_and_one_that_came_out_otherwise_is_not() {
    let folder = Folder::new("drawing");
    folder.write("a.toml", "name = 'a'\nversion = '1'\nemits = ['x']\nconsumes = ['b.y']\n");
    folder.write("b.toml", "name = 'b'\nversion = '1'\nemits = ['y']\nconsumes = ['a.x']\n");
    let nodes: Vec<String> = (10..40).map(|node| format!("n{node}")).collect();
    let named: Vec<String> = nodes.iter().map(|node| format!("{{ name = '{node}' }}")).collect();
    let file = folder.write(
        "mesh.toml",
        format!(
            "nodes = [{}]
             [[assignments]]\nmodule = 'a'\nmanifest = 'a.toml'\nnodes = ['n10']
             [[assignments]]\nmodule = 'b'\nmanifest = 'b.toml'\nnodes = {nodes:?}\n",
            named.join(", "),
        ),
    );
    // Thirty who handle a's event, of whom two publish one of their own, which a handles.
    let story = text(&mesh(&["demo", "--mesh", &file]).stdout);
    assert!(story.contains("\n      ├─ b on n10 publishes y\n      │  └─ a on n10\n"), "{story}");
    assert!(story.contains("\n      … and 8 more as computed\n"), "{story}");
    let story = text(&mesh(&["demo", "--mesh", &file, "--break", "causes"]).stdout);
    assert!(story.contains("\n        expected:\n          ├─ b on n10 publishes y\n"), "{story}");
    assert!(story.contains("\n        found:\n          ├─ b on n10\n"), "{story}");
    assert_eq!(story.matches("─ b on n").count(), 60, "{story}");
}
