//! What holds for every command: hints, colours, completions, manual pages, readers that leave.

use std::process::Stdio;

use serde_json::Value;

use super::{Folder, mesh, program, text};

/// Every way to go wrong that needs no server, by its arguments.
const FAILURES: &[&[&str]] = &[
    &[],
    &["chek"],
    &["--jsn"],
    &["--color", "sometimes", "demo"],
    &["check"],
    &["check", "--deny", "."],
    &["check", "no/such.toml"],
    &["check", "empty"],
    &["uri", "explain"],
    &["uri", "explian", "matrix://a/b.emits.c"],
    &["envelope", "explain", "no/such"],
    &["envelope", "explain", "empty"],
    &["envelope", "explain", "blank"],
    &["envelope", "explain", "blank", "--at", "soon"],
    &["envelope", "explain", "blank", "--realm", "a*b"],
    &["envelope", "explain", "blank", "--deny", "admin"],
    &["topic", "explain"],
    &["topic", "explain", "a.b", "--exchange", "mesh.event"],
    &["topic", "explain", "a.b", "--mesh", "no/such.toml"],
    &["topic", "explain", "a.b", "--mesh", "mistaken.toml"],
    &["operator"],
    &["operator", "keygen"],
    &["operator", "keygen", "no/such/key"],
    &["operator", "list", "--store", "no/such"],
    &["operator", "list", "--store", "blank"],
    &["operator", "issue", "ada"],
    &["operator", "revoke", "ada", "--mesh", "blank", "--store", "empty", "--bus", "empty"],
    &["credential", "open", "blank", "--identity", "blank", "--out", "x"],
    &["perm"],
    &["perm", "can-i", "a.n1", "publish"],
    &["perm", "can-i", "a.n1", "publish", "a", "--mesh", "no/such.toml"],
    &["perm", "can-i", "a.n1", "publish", "a.*", "--mesh", "nobody.toml"],
    &["perm", "explain", "a.n1", "--mesh", "nobody.toml"],
    &["perm", "who", "a..b"],
    &["perm", "diff", "nobody.toml", "mistaken.toml"],
    &["perm", "diff", "nobody.toml", "empty"],
    &["perm", "compose", "--mesh", "nobody.toml", "--store", "no/such", "--out", "bus"],
    &["completions"],
    &["completions", "tcsh"],
    &["man", "chek"],
    &["man", "demo", "more"],
    &["demo", "more"],
    &["demo", "--break", "calling"],
    &["demo", "--transport", "carrier"],
    &["demo", "--credentials", "empty"],
    &["demo", "--transport", "nats", "--credentials", "empty"],
    &["demo", "--transport", "amqp", "--credentials", "no/such"],
    &["demo", "--mesh", "no/such.toml"],
    &["demo", "--mesh", "empty"],
    &["demo", "--mesh", "bytes.toml"],
    &["demo", "--mesh", "large.toml"],
    &["demo", "--mesh", "mistaken.toml"],
    &["demo", "--mesh", "nobody.toml"],
    &["demo", "--mesh", "nobody.toml", "--break", "calls"],
];

#[test]
fn every_failure_exits_2_with_a_hint_for_people_and_for_programs() {
    let folder = Folder::new("failures");
    std::fs::create_dir(folder.0.join("empty")).unwrap();
    folder.write("blank", " \n");
    folder.write("bytes.toml", b"nodes = '\xff'");
    folder.write("large.toml", vec![b' '; 1024 * 1024 + 1]);
    folder.write("mistaken.toml", "nodes = [{ name = 'N' }]");
    folder.write("nobody.toml", "nodes = [{ name = 'n1' }]");
    for arguments in FAILURES {
        let run = program().current_dir(&folder.0).args(*arguments).output().unwrap();
        let told = text(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{arguments:?}: {told}");
        // Half a command shows what there is.
        if !told.contains("\nUsage: ") {
            assert!(told.starts_with("error: "), "{arguments:?}: {told}");
            assert!(told.lines().any(|line| line.starts_with("hint: ")), "{arguments:?}: {told}");
        }
        let json =
            program().current_dir(&folder.0).args(*arguments).arg("--json").output().unwrap();
        assert_eq!(json.status.code(), Some(2), "{arguments:?}");
        for line in text(&json.stderr).lines() {
            let failure: Value = serde_json::from_str(line).unwrap();
            assert_eq!(failure["schema"], "mesh.failure/1");
            assert!(!failure["error"].as_str().unwrap().is_empty());
            let hints = failure["hints"].as_array().unwrap();
            assert!(hints.iter().any(|hint| hint.as_str().is_some_and(|hint| !hint.is_empty())));
        }
        assert!(!json.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_filter_of_logs_that_cant_be_read_has_a_hint() {
    let run = program().args(["check", "."]).env("MESH_LOG", "mesh=loud").output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("\nhint: write a level"), "{}", text(&run.stderr));
}

#[test]
fn whoever_asks_for_nothing_is_shown_what_there_is() {
    let run = mesh(&[]);
    assert!(text(&run.stderr).contains("Commands:"), "{}", text(&run.stderr));
}

/// Whether the failure of a mistyped command is coloured.
fn is_coloured(environment: &[(&str, &str)], arguments: &[&str]) -> bool {
    let mut program = program();
    program.envs(environment.iter().copied()).arg("chek").args(arguments);
    text(&program.output().unwrap().stderr).contains('\u{1b}')
}

#[test]
fn what_is_piped_is_plain_unless_colours_are_forced() {
    assert!(!is_coloured(&[], &[]));
    assert!(is_coloured(&[], &["--color", "always"]));
    assert!(is_coloured(&[("NO_COLOR", "1")], &["--color=always"]));
    assert!(is_coloured(&[("CLICOLOR_FORCE", "1")], &[]));
    assert!(!is_coloured(&[("CLICOLOR_FORCE", "1")], &["--color", "never"]));
    assert!(!is_coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &[]));
    assert!(!is_coloured(&[], &["--color", "always", "--json"]));
}

#[cfg(unix)]
#[test]
fn a_terminal_is_coloured_unless_it_or_its_owner_wants_none() {
    let shown = |environment: &[(&str, &str)], arguments: &[&str]| {
        let mut program = program();
        program.env("TERM", "xterm").envs(environment.iter().copied()).arg("chek").args(arguments);
        super::output::on_a_terminal(&mut program).1.contains('\u{1b}')
    };
    assert!(shown(&[], &[]));
    assert!(!shown(&[("NO_COLOR", "1")], &[]));
    assert!(!shown(&[("TERM", "dumb")], &[]));
    assert!(!shown(&[("CLICOLOR", "0")], &[]));
    assert!(!shown(&[], &["--color", "never"]));
}

#[test]
fn the_completions_of_every_shell_know_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = mesh(&["completions", shell]);
        assert_eq!(run.status.code(), Some(0), "{shell}");
        let script = text(&run.stdout);
        for word in ["check", "demo", "explain", "completions", "deny-warnings"] {
            assert!(script.contains(word), "{word} in {shell}");
        }
    }
}

#[test]
fn the_manual_has_a_page_of_the_program_and_of_each_command() {
    let page = |path: &[&str]| text(&mesh(&[&["man"], path].concat()).stdout);
    assert!(page(&[]).contains(".TH mesh 1"));
    let version = env!("CARGO_PKG_VERSION");
    let head = format!(".TH mesh-check 1  \"mesh {version}\"");
    assert!(page(&["check"]).contains(&head), "{}", page(&["check"]));
    assert!(page(&["demo"]).contains("exit"));
}

#[test]
fn a_reader_that_leaves_early_changes_no_exit_code_of_check() {
    let folder = Folder::new("left");
    let events: Vec<String> = (0..2_000).map(|event| format!("'E {event}'")).collect();
    folder.write("a.toml", format!("name = 'a'\nversion = '1'\nemits = [{}]", events.join(", ")));
    let mut run = program();
    let run = run.current_dir(&folder.0).args(["check", "a.toml"]);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(run.stdout.take());
    let run = run.wait_with_output().unwrap();
    assert_eq!((run.status.code(), text(&run.stderr)), (Some(1), String::new()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_by_every_command() {
    for arguments in [&["check", "."][..], &["completions", "bash"], &["man"], &["--help"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut run = program();
        let run = run.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).stdout(full);
        let run = run.stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(run.status.code(), Some(2), "{arguments:?}");
        let told = text(&run.stderr);
        assert!(told.starts_with("error: can't write the output: "), "{arguments:?}: {told}");
    }
}
