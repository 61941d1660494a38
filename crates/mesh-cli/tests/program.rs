//! The program as a person runs it: what it prints, where, and with which exit code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn mesh(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mesh")).args(arguments).stdin(Stdio::null()).output().unwrap()
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

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
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
    assert!(text(&run.stdout).contains("8 as computed from the files, 0 otherwise"));
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
    assert!(story.contains("this mesh has nothing of the kind"), "{story}");
}

#[test]
fn every_mistake_in_the_files_is_told_with_its_place_and_exits_2() {
    let folder = Folder::new("mistakes");
    folder.write("a.toml", "name = 'a'\nversion = '1'\nemits = ['x y']\nconsumes = ['*.#.z']\n");
    folder.write("b.toml", "name = 'B'\nversion = '1'\nemit = ['y']\n");
    let file = folder.write(
        "mesh.toml",
        "nodes = [{ name = 'n1' }]
         [[assignments]]\nmodule = 'a'\nmanifest = 'a.toml'\nnodes = ['n1']
         [[assignments]]\nmodule = 'b'\nmanifest = 'b.toml'\nnodes = ['n1']\n",
    );
    let run = mesh(&["demo", "--mesh", &file]);
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(text(&run.stdout), "");
    let told = text(&run.stderr);
    for place in ["a.toml:3:10", "a.toml:4:13", "b.toml:3:1"] {
        assert!(told.contains(place), "{place} in\n{told}");
    }
}

#[test]
fn a_file_that_is_not_there_exits_2_with_a_hint() {
    let run = mesh(&["demo", "--mesh", "no/such/mesh.toml"]);
    assert_eq!(run.status.code(), Some(2));
    let told = text(&run.stderr);
    assert!(told.contains("no/such/mesh.toml") && told.contains("hint:"), "{told}");
}

#[test]
fn a_reader_that_leaves_early_is_no_panic() {
    let mut run = Command::new(env!("CARGO_BIN_EXE_mesh"))
        .arg("demo")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(run.stdout.take());
    let run = run.wait_with_output().unwrap();
    assert!(!text(&run.stderr).contains("panicked"), "{}", text(&run.stderr));
    assert_eq!(run.status.code(), Some(2));
}
