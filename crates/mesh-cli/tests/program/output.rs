//! Where the output goes: terminals, readers that leave, full disks; and what is logged.

use std::process::{Command, Stdio};

use super::{mesh, text};

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_mesh"));
    program.arg("demo").stdin(Stdio::null()).env_remove("MESH_LOG");
    program
}

/// A terminal: the end that shows, and the end that a program writes to.
#[cfg(unix)]
fn terminal() -> (std::fs::File, std::fs::File) {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io::IsTerminal as _;
    use std::os::unix::ffi::OsStrExt as _;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let shows = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&shows).unwrap();
    unlockpt(&shows).unwrap();
    let path = ptsname(&shows, Vec::new()).unwrap();
    let written = File::options().write(true).open(OsStr::from_bytes(path.to_bytes())).unwrap();
    assert!(written.is_terminal());
    (File::from(shows), written)
}

/// The program with stderr on a terminal: how it ended, and what the terminal showed.
#[cfg(unix)]
pub(crate) fn on_a_terminal(program: &mut Command) -> (std::process::Output, String) {
    use std::io::Read as _;

    let (mut shows, written) = terminal();
    let reader = std::thread::spawn(move || {
        let mut shown = Vec::new();
        // A terminal whose writers are gone answers an error in place of an end.
        drop(shows.read_to_end(&mut shown));
        shown
    });
    let child = program.stdout(Stdio::piped()).stderr(written).spawn().unwrap();
    // The command has the terminal open too.
    program.stderr(Stdio::null());
    let run = child.wait_with_output().unwrap();
    (run, text(&reader.join().unwrap()))
}

#[cfg(unix)]
#[test]
fn the_demo_runs_with_stderr_on_a_terminal() {
    let (run, shown) = on_a_terminal(&mut program());
    assert_eq!(run.status.code(), Some(0), "{shown}");
    assert_eq!(shown, "");
    assert!(text(&run.stdout).contains("0 otherwise"));
}

#[cfg(unix)]
#[test]
fn what_is_logged_to_a_terminal_is_plain() {
    let (run, shown) = on_a_terminal(program().env("MESH_LOG", "trace"));
    assert_eq!(run.status.code(), Some(0), "{shown}");
    assert!(shown.contains("DEBUG mesh::demo: begins flow=\"dead-letter\""), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn a_filter_that_cant_be_read_is_told_and_exits_2() {
    let run = program().env("MESH_LOG", "mesh=loud").output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(text(&run.stdout), "");
    let told = text(&run.stderr);
    assert!(told.contains("MESH_LOG=\"mesh=loud\": ") && told.contains("hint:"), "{told}");
}

#[test]
fn a_reader_that_leaves_early_ends_it_in_silence() {
    let mut run = program().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(run.stdout.take());
    let run = run.wait_with_output().unwrap();
    assert_eq!(text(&run.stderr), "");
    assert_eq!(run.status.code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_exits_2() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let run = program().stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let run = run.wait_with_output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    let told = text(&run.stderr);
    assert!(
        told.starts_with("error: can't write the output: ") && told.contains("hint: "),
        "{told}"
    );
}

#[test]
fn the_help_says_what_there_is() {
    let help = text(&mesh(&["--help"]).stdout);
    for word in ["check", "demo", "completions", "Exit codes:", "MESH_LOG", "NO_COLOR"] {
        assert!(help.contains(word), "{word} in {help}");
    }
    let help = text(&mesh(&["demo", "--help"]).stdout);
    assert!(help.starts_with("Raise a mesh "), "{help}");
    assert!(help.contains("Exit codes:") && help.contains("MESH_LOG"), "{help}");
}

#[test]
fn no_line_of_the_story_is_wider_than_a_screen() {
    let story = text(&mesh(&["demo"]).stdout);
    for line in story.lines() {
        assert!(line.chars().count() <= 120, "{line}");
    }
}
