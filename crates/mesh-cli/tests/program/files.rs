//! Mistakes in a person's files: what is told of them, and where.

use super::{Folder, mesh, text};

const TWO: &str = "nodes = [{ name = 'n1' }]
[[assignments]]
module = 'a'
manifest = 'modules/a.toml'
nodes = ['n1']
[[assignments]]
module = 'b'
manifest = 'modules/b.toml'
nodes = ['n1']
";

/// What stderr says of the mesh file `TWO` beside these manifests, and the folder.
fn told(folder: &Folder, manifests: &[(&str, &[u8])]) -> String {
    for (name, bytes) in manifests {
        folder.write(name, bytes);
    }
    let file = folder.write("mesh.toml", TWO);
    let run = mesh(&["demo", "--mesh", &file]);
    let told = text(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{told}");
    assert_eq!(text(&run.stdout), "");
    told
}

#[test]
fn every_mistake_in_the_files_is_told_with_its_place_and_exits_2() {
    let folder = Folder::new("mistakes");
    let told = told(
        &folder,
        &[
            (
                "modules/a.toml",
                b"name = 'a'\nversion = '1'\nemits = ['x y']\nconsumes = ['*.#.z']\n",
            ),
            ("modules/b.toml", b"name = 'B'\nversion = '1'\nemit = ['y']\n"),
        ],
    );
    for place in ["a.toml:3:10", "a.toml:4:13", "b.toml:3:1"] {
        let path = folder.0.join("modules").join(place).display().to_string();
        assert!(told.contains(&format!("{path}: error: ")), "{path} in\n{told}");
    }
    assert!(!told.contains("hint: name a mesh file"), "{told}");
}

#[test]
fn a_manifest_that_isnt_there_is_told_with_the_assignment_that_names_it() {
    let folder = Folder::new("no-manifest");
    let told = told(&folder, &[("modules/a.toml", b"name = 'a'\nversion = ''\n")]);
    let at = |name: &str| folder.0.join(name).display().to_string();
    let place = format!(
        "{}:8:12: error: assignments[1].manifest: can't read {}: ",
        at("mesh.toml"),
        at("modules/b.toml")
    );
    assert!(told.contains(&place), "{place} in\n{told}");
    assert!(told.contains(&at("modules/a.toml:2:11: error: version: it is empty")), "{told}");
    assert!(!told.contains("hint: name a mesh file"), "{told}");
}

#[test]
fn a_file_that_is_not_utf_8_is_told_with_the_byte_offset() {
    let folder = Folder::new("not-utf-8");
    let b: (&str, &[u8]) = ("modules/b.toml", b"name = 'b'\nversion = '1'\n");
    let told = told(&folder, &[("modules/a.toml", b"name = '\xff'\n"), b]);
    assert!(told.contains("mesh.toml:4:12: error: assignments[0].manifest: can't read "), "{told}");
    assert!(told.contains("a.toml: not UTF-8 at byte offset 8"), "{told}");

    let file = folder.write("bad.toml", b"nodes = []\n# \xc3\n");
    let run = mesh(&["demo", "--mesh", &file]);
    assert_eq!(run.status.code(), Some(2));
    let expected =
        format!("error: can't read {file}: not UTF-8 at byte offset 13\nhint: save it as UTF-8\n");
    assert_eq!(text(&run.stderr), expected);
}

#[test]
fn a_file_without_an_end_is_not_read_to_its_end() {
    let folder = Folder::new("large");
    let file = folder.write("mesh.toml", vec![b' '; 1024 * 1024 + 1]);
    let run = mesh(&["demo", "--mesh", &file]);
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("more than 1048576 bytes"), "{}", text(&run.stderr));
}

#[test]
fn a_call_of_ones_own_tool_is_refused() {
    let folder = Folder::new("own-tool");
    let a = b"name = 'a'\nversion = '1'\ncalls = ['a.t']\ntools = [{ name = 't', description = 'T' }]\n";
    let told =
        told(&folder, &[("modules/a.toml", a), ("modules/b.toml", b"name = 'b'\nversion = '1'\n")]);
    assert!(
        told.contains("a.toml:3:10: error: calls[0]: a.t is the module's own tool ("),
        "{told}"
    );
}

#[test]
fn a_mesh_file_that_is_not_there_exits_2_with_a_hint() {
    let run = mesh(&["demo", "--mesh", "no/such/mesh.toml"]);
    assert_eq!(run.status.code(), Some(2));
    let told = text(&run.stderr);
    assert!(
        told.contains("no/such/mesh.toml") && told.contains("hint: name a mesh file"),
        "{told}"
    );
}

#[test]
fn what_is_noticed_in_the_example_is_told_as_the_examples() {
    let story = text(&mesh(&["demo"]).stdout);
    assert!(story.contains("\n  built-in example: mesh.toml:32:9: warning: "), "{story}");
    assert!(story.contains("\n  built-in example: modules/audit.toml:8:43: warning: "), "{story}");
    assert!(!story.contains("note:"), "{story}");
}
