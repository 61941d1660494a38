//! What each command prints, in every form.

use std::process::Output;

use super::{Folder, program, text};

/// A run as a person sees it, escape sequences made visible.
fn shown(command: &str, run: &Output) -> String {
    let mut shown = format!("$ mesh {command}\n");
    for (stream, bytes) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        let bytes = text(bytes);
        if !bytes.is_empty() {
            shown.push_str(&format!("--- {stream}\n{bytes}"));
        }
    }
    let code = run.status.code().unwrap();
    shown.push_str(&format!("--- exit {code}\n"));
    shown.replace(env!("CARGO_PKG_VERSION"), "[version]").replace('\u{1b}', "␛")
}

fn told(folder: &Folder, command: &str) -> String {
    let arguments = command.split(' ').filter(|word| !word.is_empty());
    shown(command, &program().current_dir(&folder.0).args(arguments).output().unwrap())
}

/// The command for people, with colours, and for programs.
pub(crate) fn in_each_form(folder: &Folder, command: &str) -> String {
    let forms = ["", " --color always", " --json"];
    forms.map(|form| told(folder, &format!("{command}{form}"))).join("\n")
}

macro_rules! snapshot {
    ($name:ident, $shown:expr) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!($shown);
        }
    };
}

/// A mesh with a mistake of each sort.
fn mistaken(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write(
        "mesh.toml",
        "nodes = [{ name = \"north\" }]

[[assignments]]
module = \"mail\"
manifest = \"mail.toml\"
nodes = [\"north\", \"nort\"]

[[assignments]]
module = \"ledger\"
manifest = \"ledger.toml\"
nodes = []
",
    );
    folder.write(
        "mail.toml",
        "name = \"mail\"
version = \"1.0.0\"
emits = [\"letter.sent\"]
consumes = [\"ledger.>\", \"ledger.#.b\"]
calls = [\"ledger.balance\"]
emit = 5
",
    );
    folder.write(
        "ledger.toml",
        "name = \"ledger\"
version = \"1.0.0\"
emits = [\"zażółć\\u001b\"]
[[tools]]
name = \"balance\"
description = \"\"
timeout = \"2 years\"
",
    );
    folder
}

fn warned(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("a.toml", "name = 'a'\nversion = '1'\nemits = ['x']\n");
    folder.write("b.toml", "name = 'b'\nversion = '1'\nconsumes = ['a.y']\n");
    folder
}

snapshot!(check_with_mistakes, in_each_form(&mistaken("snap-mistaken"), "check mesh.toml"));
snapshot!(check_with_warnings, in_each_form(&warned("snap-warned"), "check ."));
snapshot!(check_with_warnings_denied, told(&warned("snap-denied"), "check . --deny-warnings"));
snapshot!(check_of_what_isnt_there, in_each_form(&warned("snap-unread"), "check no.toml a.toml"));
snapshot!(check_of_nothing, in_each_form(&Folder::new("snap-nothing"), "check ."));
snapshot!(no_command, told(&Folder::new("snap-none"), "--json"));
snapshot!(a_mistyped_command, in_each_form(&Folder::new("snap-typo"), "chekc"));
snapshot!(a_mistyped_option, in_each_form(&Folder::new("snap-option"), "demo --brake events"));
snapshot!(a_value_that_isnt_one, in_each_form(&Folder::new("snap-value"), "demo --break event"));
snapshot!(an_argument_that_is_missing, in_each_form(&Folder::new("snap-missing"), "check"));
snapshot!(a_page_that_isnt_there, in_each_form(&Folder::new("snap-page"), "man demos"));
snapshot!(demo_for_programs, told(&Folder::new("snap-demo"), "demo --json"));
snapshot!(
    demo_of_mistaken_files,
    in_each_form(&mistaken("snap-demo-mistaken"), "demo --mesh mesh.toml")
);
snapshot!(help_of_check, told(&Folder::new("snap-help"), "check --help"));
snapshot!(help, told(&Folder::new("snap-all-help"), "--help"));
snapshot!(version, told(&Folder::new("snap-version"), "--version"));
snapshot!(manual_of_check, told(&Folder::new("snap-man"), "man check"));
snapshot!(completions_of_fish, told(&Folder::new("snap-fish"), "completions fish"));
