use super::*;

/// Line, field and code of each mistake.
fn found(problems: &[Problem]) -> Vec<(usize, &str, &'static str)> {
    let found = problems.iter();
    found.map(|problem| (problem.line, problem.field.as_str(), problem.kind.code())).collect()
}

#[test]
fn a_mistake_of_shape_hides_no_other() {
    let text = "version = 1
emits = 'sent'
consumes = ['ledger', 5]
emit = ['x']
calls = ['mail']
[[tools]]
description = ['x']
timeout = 5
repeatable = 'yes'
input = 'x'
[[tools]]
name = 'B C'
descripton = ''
[[provides]]
name = 'd b'
[[requires]]
from = 'Mail'
";
    let problems = ModuleManifest::parse("m.toml", text).unwrap_err();
    assert_eq!(
        found(&problems),
        [
            (1, "name", "missing-key"),
            (1, "version", "wrong-type"),
            (2, "emits", "wrong-type"),
            (3, "consumes[0]", "bad-pattern"),
            (3, "consumes[1]", "wrong-type"),
            (4, "emit", "unknown-key"),
            (5, "calls[0]", "bad-tool"),
            (6, "tools[0].name", "missing-key"),
            (7, "tools[0].description", "wrong-type"),
            (8, "tools[0].timeout", "wrong-type"),
            (9, "tools[0].repeatable", "wrong-type"),
            (10, "tools[0].input", "wrong-type"),
            (11, "tools[1].description", "missing-key"),
            (12, "tools[1].name", "bad-name"),
            (13, "tools[1].descripton", "unknown-key"),
            (14, "provides[0].credential", "missing-key"),
            (15, "provides[0].name", "bad-name"),
            (16, "requires[0].provision", "missing-key"),
            (17, "requires[0].from", "bad-name"),
        ]
    );
    let text = "assignments = [{}, { module = 'a', manifest = '', nodes = 'n' }]
people = [{ administrator = 1 }, { name = 'B' }]
";
    let problems = MeshFile::parse("mesh.toml", text).unwrap_err();
    assert_eq!(
        found(&problems),
        [
            (1, "nodes", "missing-key"),
            (1, "assignments[0].module", "missing-key"),
            (1, "assignments[0].manifest", "missing-key"),
            (1, "assignments[0].nodes", "missing-key"),
            (1, "assignments[1].manifest", "empty"),
            (1, "assignments[1].nodes", "wrong-type"),
            (2, "people[0].name", "missing-key"),
            (2, "people[0].administrator", "wrong-type"),
            (2, "people[1]", "access"),
            (2, "people[1].name", "bad-name"),
        ]
    );
}

#[test]
fn what_cant_be_stood_in_for_ends_the_reading() {
    let problems = ModuleManifest::parse("m.toml", "tools = [5]\nname = 'B C'").unwrap_err();
    assert_eq!(found(&problems), [(1, "tools[0]", "wrong-type"), (1, "", "unfinished")]);
}

#[test]
fn a_problem_says_which_bytes_are_meant() {
    let text = "name = 'a'\r\nversion = '1'\r\nemits = ['é é', 'ok',\r\n  'ok']\r\ntool = 1\r\n";
    let problems = ModuleManifest::parse("m.toml", text).unwrap_err();
    let meant: Vec<&str> = problems.iter().map(|problem| &text[problem.span.clone()]).collect();
    assert_eq!(meant, ["'é é'", "'ok'", "tool"]);
    assert_eq!((problems[1].line, problems[1].column), (4, 3));
}

#[test]
fn a_byte_order_mark_is_no_mistake_and_counts_for_no_column() {
    assert!(ModuleManifest::parse("m.toml", "\u{feff}name = 'a'\nversion = '1'").is_ok());
    let problems = ModuleManifest::parse("m.toml", "\u{feff}nam = 'a'\nversion = '1'").unwrap_err();
    let unknown = problems.iter().find(|problem| problem.field == "nam").unwrap();
    assert_eq!((unknown.line, unknown.column), (1, 1));
}

#[test]
fn bytes_that_are_no_text_are_told_with_their_place() {
    let problem = Problem::of_bytes("m.toml", b"a = 1\n\xc3\xa9 \xff", 10).unwrap();
    assert_eq!(
        problem.to_string(),
        "m.toml:2:3: error: not UTF-8 at byte offset 9 (save it as UTF-8)"
    );
    assert!(Problem::of_bytes("m.toml", b"a", MAX_FILE_BYTES).is_none());
    let problem = Problem::of_bytes("m.toml", b"\xff", MAX_FILE_BYTES + 1).unwrap();
    assert_eq!((problem.line, problem.column, problem.kind.code()), (1, 1, "too-large"));
}

#[test]
fn what_a_mesh_file_names_is_known_although_it_has_mistakes() {
    let text = "nodes = 5\nassignments = [{ manifest = 'a.toml' }, 5, { manifest = 6 }, { manifest = 'b' }]\n= x";
    assert!(MeshFile::parse("mesh.toml", text).is_err());
    assert_eq!(MeshFile::manifests_named(text), ["a.toml", "b"]);
    assert!(MeshFile::manifests_named("assignments = 5").is_empty());
    assert_eq!(FileKind::of(""), None);
    assert_eq!(FileKind::of(&"é".repeat(MAX_FILE_BYTES)), None);
}

#[test]
fn two_manifests_of_one_name_are_a_mistake_on_one_node_too() {
    let [a, b] = ["a.toml", "b.toml"]
        .map(|file| ModuleManifest::parse(file, "name = 'a'\nversion = '1'").unwrap());
    let problems = Mesh::on_one_node(&"n1".parse().unwrap(), [a, b]).unwrap_err();
    assert_eq!(
        shown(&problems),
        ["b.toml:1:8: error: name: a.toml has the name a already (give one of them another name)"]
    );
}
