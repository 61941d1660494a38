//! `mesh check` on what people have on their disks.

use std::fs;
use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::Value;

use super::{Folder, program, text};

fn check(folder: &Folder, arguments: &[&str]) -> Output {
    program().current_dir(&folder.0).arg("check").args(arguments).output().unwrap()
}

/// The exit code, and each problem as `file:line:column code`.
fn found(folder: &Folder, arguments: &[&str]) -> (i32, Vec<String>) {
    let run = check(folder, &[arguments, &["--json"]].concat());
    let answer: Value = serde_json::from_slice(&run.stdout).unwrap();
    let problems = answer["problems"].as_array().unwrap();
    let place = |problem: &Value| {
        let word = |key: &str| problem[key].as_str().unwrap().to_owned();
        format!("{}:{}:{} {}", word("file"), problem["line"], problem["column"], word("code"))
    };
    (run.status.code().unwrap(), problems.iter().map(place).collect())
}

const SHOP: &str = "name = 'shop'\nversion = '1'\nemits = ['sold']\ncalls = ['stock.count']\n";
const STOCK: &str = "name = 'stock'\nversion = '1'\nconsumes = ['shop.sold']\ntools = [{ name = 'count', description = 'C' }]\n";
const MESH: &str = "nodes = [{ name = 'n1' }]
[[assignments]]
module = 'shop'
manifest = 'modules/shop.toml'
nodes = ['n1']
[[assignments]]
module = 'stock'
manifest = 'modules/stock.toml'
nodes = ['n1']
";

fn good(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("mesh.toml", MESH);
    folder.write("modules/shop.toml", SHOP);
    folder.write("modules/stock.toml", STOCK);
    folder
}

#[test]
fn a_mesh_is_good_by_its_file_by_its_folder_and_by_its_manifests() {
    let folder = good("check-good");
    for arguments in [
        &["mesh.toml"][..],
        &["."],
        &["mesh.toml", "."],
        &["mesh.toml", "./mesh.toml", "modules/shop.toml"],
        &["modules"],
        &["modules/shop.toml", "modules/stock.toml"],
    ] {
        assert_eq!(found(&folder, arguments), (0, vec![]), "{arguments:?}");
    }
}

#[test]
fn a_manifest_alone_is_not_blamed_for_what_others_lack() {
    let folder = good("check-alone");
    let run = check(&folder, &["modules/shop.toml"]);
    assert_eq!(run.status.code(), Some(0));
    assert!(text(&run.stdout).starts_with("note: checked alone; "), "{}", text(&run.stdout));
}

#[test]
fn every_mistake_of_every_file_is_told_at_once() {
    let folder = good("check-all");
    folder.write("mesh.toml", MESH.replace("'n1'", "'N 1'").replace("nodes = ['N 1']", "node = 1"));
    folder.write("modules/shop.toml", SHOP.replace("'sold'", "'s old', 5"));
    folder.write("modules/stock.toml", "name = 'stock'\nversion\n");
    let all = [
        "mesh.toml:1:19 bad-name",
        "mesh.toml:2:1 missing-key",
        "mesh.toml:5:1 unknown-key",
        "mesh.toml:6:1 missing-key",
        "mesh.toml:9:1 unknown-key",
        "modules/shop.toml:3:10 bad-name",
        "modules/shop.toml:3:19 wrong-type",
        "modules/stock.toml:2:8 not-toml",
    ];
    let (code, problems) = found(&folder, &["mesh.toml"]);
    assert_eq!(code, 1);
    assert_eq!(problems, all);
}

#[test]
fn what_a_broken_manifest_may_still_say_is_not_missed() {
    let folder = good("check-broken");
    // Whether it has the tool, and consumes the event, can't be known; the node and the typo can.
    folder.write("mesh.toml", MESH.replace("nodes = ['n1']", "nodes = ['n1', 'n2']"));
    folder.write("modules/shop.toml", SHOP.replace("'stock.count'", "'stock.count', 'shop2.x'"));
    folder.write("modules/stock.toml", STOCK.replace("version = '1'", ""));
    let (code, problems) = found(&folder, &["mesh.toml"]);
    assert_eq!(code, 1);
    assert_eq!(
        problems,
        [
            "mesh.toml:5:16 unknown-node",
            "mesh.toml:9:16 unknown-node",
            "modules/shop.toml:4:25 unknown-tool",
            "modules/stock.toml:1:1 missing-key",
        ]
    );
    let run = check(&folder, &["mesh.toml"]);
    assert!(
        text(&run.stdout).contains("note: what is between the modules was checked only as far")
    );
}

#[test]
fn that_a_manifest_could_not_be_read_is_said_of_what_depends_on_it() {
    let folder = good("check-missing");
    folder.write("mesh.toml", MESH.replace("modules/stock.toml", "modules/gone.toml"));
    let run = check(&folder, &["mesh.toml"]);
    assert!(text(&run.stdout).contains("error[unreadable-manifest]"), "{}", text(&run.stdout));
    assert!(
        text(&run.stdout).contains("note: what is between the modules was checked only as far")
    );
}

#[test]
fn what_nobody_gets_or_gives_is_a_warning_and_can_be_denied() {
    let folder = good("check-warnings");
    folder.write("modules/shop.toml", SHOP.replace("'sold'", "'sold', 'lost'"));
    folder.write("modules/stock.toml", STOCK.replace("'shop.sold'", "'shop.sold', 'shop.lent'"));
    let warnings =
        ["modules/shop.toml:3:18 nobody-consumes", "modules/stock.toml:3:26 nobody-emits"];
    let (code, problems) = found(&folder, &["mesh.toml"]);
    assert_eq!((code, problems.as_slice()), (0, &warnings.map(String::from)[..]));
    let (code, problems) = found(&folder, &["mesh.toml", "--deny-warnings"]);
    assert_eq!((code, problems.as_slice()), (1, &warnings.map(String::from)[..]));
}

#[test]
fn what_nobody_serves_or_provides_is_an_error() {
    let folder = good("check-missing");
    folder.write("modules/shop.toml", format!("{}requires = [{{ provision = 'db' }}]\n", SHOP));
    folder.write("modules/stock.toml", STOCK.replace("'count'", "'counts'"));
    let (code, problems) = found(&folder, &["mesh.toml"]);
    assert_eq!(code, 1);
    assert_eq!(
        problems,
        ["modules/shop.toml:4:10 unknown-tool", "modules/shop.toml:5:13 nobody-provides"]
    );
}

#[test]
fn a_module_in_two_files_is_told_with_both() {
    let folder = good("check-twice");
    folder.write("modules/stock2.toml", STOCK);
    let (code, problems) = found(&folder, &["."]);
    assert_eq!(
        (code, problems.as_slice()),
        (1, &["modules/stock2.toml:1:8 module-twice".to_owned()][..])
    );
    let (code, problems) = found(&folder, &["modules"]);
    assert_eq!(
        (code, problems.as_slice()),
        (1, &["modules/stock2.toml:1:8 module-twice".to_owned()][..])
    );
}

#[test]
fn a_manifest_that_the_mesh_file_forgot_is_an_error_beside_it() {
    let folder = good("check-forgotten");
    folder.write("modules/new.toml", "name = 'new'\nversion = '1'\n");
    let (code, problems) = found(&folder, &["."]);
    assert_eq!(
        (code, problems.as_slice()),
        (1, &["modules/new.toml:1:8 unassigned-manifest".to_owned()][..])
    );
    assert_eq!(
        found(&folder, &["mesh.toml"]),
        (0, vec![]),
        "who names the mesh file only gets it only"
    );
}

#[test]
fn two_mesh_files_in_a_folder_are_two_meshes() {
    let folder = good("check-two");
    folder.write("small.toml", MESH.split("[[assignments]]\nmodule = 'stock'").next().unwrap());
    let (code, problems) = found(&folder, &["."]);
    assert_eq!(code, 1);
    assert_eq!(
        problems,
        ["modules/shop.toml:3:10 nobody-consumes", "modules/shop.toml:4:10 unknown-tool"]
    );
}

#[test]
fn a_manifest_that_isnt_there_is_a_mistake_of_the_mesh_file() {
    let folder = good("check-no-manifest");
    fs::remove_file(folder.0.join("modules/stock.toml")).unwrap();
    let (code, problems) = found(&folder, &["mesh.toml"]);
    assert_eq!(
        (code, problems.as_slice()),
        (1, &["mesh.toml:8:12 unreadable-manifest".to_owned()][..])
    );
    folder.write("mesh.toml", MESH.replace("modules/stock.toml", "mesh.toml"));
    let (code, problems) = found(&folder, &["mesh.toml"]);
    assert_eq!(
        (code, problems.as_slice()),
        (1, &["mesh.toml:8:12 unreadable-manifest".to_owned()][..])
    );
}

#[test]
fn a_path_that_cant_be_read_exits_2_and_the_rest_is_checked() {
    let folder = good("check-unread");
    folder.write("modules/shop.toml", SHOP.replace("'sold'", "'s old'"));
    let run = check(&folder, &["no/such.toml", "mesh.toml", "--json"]);
    assert_eq!(run.status.code(), Some(2));
    let failure: Value = serde_json::from_slice(&run.stderr).unwrap();
    assert_eq!(
        (&failure["schema"], &failure["at"]),
        (&"mesh.failure/1".into(), &"no/such.toml".into())
    );
    let answer: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!((&answer["good"], &answer["errors"]), (&false.into(), &1.into()));
    assert_eq!(answer["unread"][0]["at"], "no/such.toml");
}

#[test]
fn marks_and_line_ends_of_other_systems_are_no_mistakes() {
    let folder = good("check-crlf");
    let other = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    folder.write("mesh.toml", other(MESH));
    folder.write("modules/shop.toml", other(SHOP));
    folder.write("modules/stock.toml", other(STOCK));
    assert_eq!(found(&folder, &["mesh.toml"]), (0, vec![]));
    folder.write("modules/stock.toml", other(&STOCK.replace("name = 'stock'", "name = 'St'")));
    let run = check(&folder, &["mesh.toml"]);
    let told = text(&run.stdout);
    assert!(
        told.contains("--> modules/stock.toml:1:8\n") && told.contains("| name = 'St'\n"),
        "{told}"
    );
}

#[test]
fn files_that_are_no_text_or_have_no_end_are_told_in_their_place() {
    let folder = good("check-bytes");
    folder.write("modules/shop.toml", b"name = 'shop'\nversion = '\xff'\n");
    folder.write("modules/stock.toml", format!("{STOCK}# {}", " ".repeat(10 * 1024 * 1024)));
    let (code, problems) = found(&folder, &["mesh.toml"]);
    assert_eq!(code, 1);
    assert_eq!(problems, ["modules/shop.toml:2:12 not-utf-8", "modules/stock.toml:1:1 too-large"]);
    let told = text(&check(&folder, &["modules/stock.toml"]).stdout);
    assert!(told.contains("10485864 bytes long"), "{told}");
    #[cfg(unix)]
    assert_eq!(found(&folder, &["/dev/zero"]).1, ["/dev/zero:1:1 too-large"]);
}

#[test]
fn in_a_folder_only_what_looks_like_a_meshs_is_checked() {
    let folder = good("check-folder");
    folder.write("Cargo.toml", "[package]\nname = 'x'\n");
    folder.write("broken.toml", "= = =");
    folder.write(".hidden/mesh.toml", "nodes = 5");
    folder.write("notes.txt", "name = 'x'\nversion = 1\n");
    let run = check(&folder, &[".", "--json"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stdout));
    let answer: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(answer["skipped"], serde_json::json!(["Cargo.toml", "broken.toml"]));
    // Named, each is checked.
    assert_eq!(found(&folder, &["broken.toml"]).1[0], "broken.toml:1:1 not-toml");
}

#[test]
fn a_folder_without_any_exits_2() {
    let folder = Folder::new("check-empty");
    folder.write("Cargo.toml", "[package]\nname = 'x'\n");
    let run = check(&folder, &["."]);
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("no mesh file and no manifest is there"));
}

#[cfg(unix)]
#[test]
fn links_that_go_round_and_pipes_end() {
    let folder = good("check-links");
    std::os::unix::fs::symlink("..", folder.0.join("modules/up")).unwrap();
    std::os::unix::fs::symlink("self.toml", folder.0.join("self.toml")).unwrap();
    std::os::unix::fs::symlink("modules/shop.toml", folder.0.join("again.toml")).unwrap();
    let run = check(&folder, &["."]);
    assert_eq!(run.status.code(), Some(2), "{}", text(&run.stdout));
    let told = text(&run.stderr);
    assert!(told.starts_with("error: self.toml: can't read it: "), "{told}");
    assert!(text(&run.stdout).contains("in 3 files, 1 not read"), "{}", text(&run.stdout));
}

/// A pipe has no end until somebody writes to it.
#[cfg(unix)]
#[test]
fn a_manifest_that_is_a_pipe_is_not_waited_for() {
    let folder = good("check-pipe");
    fs::remove_file(folder.0.join("modules/stock.toml")).unwrap();
    let made =
        std::process::Command::new("mkfifo").arg(folder.0.join("modules/stock.toml")).status();
    assert!(made.unwrap().success());
    assert_eq!(found(&folder, &["mesh.toml"]).1, ["mesh.toml:8:12 unreadable-manifest"]);
    assert_eq!(found(&folder, &["modules"]), (0, vec![]));
}

/// What a shell gives in place of a file is a pipe that is found under no other name.
#[cfg(unix)]
#[test]
fn what_another_program_writes_is_checked() {
    let folder = good("check-substituted");
    let mut run = std::process::Command::new("bash");
    let run = run
        .current_dir(&folder.0)
        .args(["-c", "\"$0\" check <(cat modules/shop.toml) modules/stock.toml"]);
    let run = run.arg(env!("CARGO_BIN_EXE_mesh")).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}{}", text(&run.stdout), text(&run.stderr));
    assert!(text(&run.stdout).ends_with("in 2 files\n"));
}

#[test]
fn a_deep_folder_is_looked_through() {
    let folder = good("check-deep");
    let deep = ["d"; 300].join("/");
    folder.write(&format!("{deep}/bad.toml"), "name = 'B'\nversion = '1'\n");
    let (code, problems) = found(&folder, &["."]);
    assert_eq!(code, 1);
    assert!(problems[0].ends_with("/d/bad.toml:1:8 bad-name"), "{problems:?}");
}

#[test]
fn stdin_is_checked_as_a_file_that_is_here() {
    let folder = good("check-stdin");
    let run = |given: &str, more: &[&str]| {
        let mut program = program();
        let program = program.current_dir(&folder.0).args(["check", "-"]).args(more);
        let mut run = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        run.stdin.take().unwrap().write_all(given.as_bytes()).unwrap();
        let run = run.wait_with_output().unwrap();
        (run.status.code().unwrap(), text(&run.stdout))
    };
    assert_eq!(run(MESH, &[]).0, 0);
    assert_eq!(run(SHOP, &["modules/stock.toml"]).0, 0);
    let (code, told) = run("name = 'A'\nversion = '1'", &["-"]);
    assert_eq!(code, 1);
    assert!(told.contains("--> (stdin):1:8") && told.contains("in 1 file\n"), "{told}");
}

/// Each problem cost a look at the whole file.
#[test]
fn many_problems_on_one_line_are_told_in_time_for_their_number() {
    let folder = Folder::new("check-many");
    let events: Vec<String> = (0..20_000).map(|event| format!("'E {event}'")).collect();
    folder.write("a.toml", format!("name = 'a'\nversion = '1'\nemits = [{}]", events.join(", ")));
    let run = check(&folder, &["a.toml"]);
    assert!(text(&run.stdout).ends_with("not good: 20000 errors, 0 warnings in 1 file\n"));
}
