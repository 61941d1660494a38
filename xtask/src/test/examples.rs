//! Runs each example and compares what it prints with `examples/expected/<name>.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::run::{Failure, Workspace};

pub(crate) fn run(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    run_all(workspace)
}

pub(super) fn run_all(workspace: &Workspace) -> Result<(), Failure> {
    let folder = workspace.root().join("examples");
    let examples = stems(&folder.join("examples"), "rs")?;
    let expected = stems(&folder.join("expected"), "txt")?;
    let found = unpaired(&examples, &expected);
    if !found.is_empty() {
        return Err(Failure::list("examples", &found));
    }
    if examples.is_empty() {
        println!("there are no examples");
        return Ok(());
    }
    let programs = build(workspace)?;
    for name in &examples {
        let program = programs
            .get(name)
            .ok_or_else(|| Failure::new(format!("cargo built no example {name}")))?;
        let printed = workspace.program_output(program)?;
        let file = folder.join("expected").join(format!("{name}.txt"));
        let wanted = fs::read(&file)
            .map_err(|error| Failure::new(format!("reading {}: {error}", file.display())))?;
        if let Some(difference) =
            difference(&String::from_utf8_lossy(&wanted), &String::from_utf8_lossy(&printed))
        {
            return Err(Failure::new(format!("example {name}: {difference}")));
        }
        println!("example {name} printed what it should");
    }
    Ok(())
}

/// Builds the examples and answers their programs by name. Built with the whole workspace, they share
/// what the suites need; on their own, other features would build half the tree once more.
fn build(workspace: &Workspace) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let arguments = ["build", "--workspace", "--examples", "--locked"];
    let told = workspace.cargo_output(
        &[&arguments[..], &["--message-format", "json-render-diagnostics"]].concat(),
    )?;
    let mut programs = BTreeMap::new();
    for line in told.split(|byte| *byte == b'\n') {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        let kinds = message["target"]["kind"].as_array();
        let name = message["target"]["name"].as_str();
        if let (Some(kinds), Some(name), Some(program)) =
            (kinds, name, message["executable"].as_str())
            && kinds.iter().any(|kind| kind == "example")
        {
            programs.insert(name.to_owned(), PathBuf::from(program));
        }
    }
    Ok(programs)
}

/// Names without their ending of the files in `folder` that have it, and of its folders with a `main` that
/// has it, as cargo finds examples; none if there is no folder.
fn stems(folder: &Path, ending: &str) -> Result<BTreeSet<String>, Failure> {
    if !folder.exists() {
        return Ok(BTreeSet::new());
    }
    let failed = |error| Failure::new(format!("reading {}: {error}", folder.display()));
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let found = path.extension().is_some_and(|end| end == ending)
            || path.join("main").with_extension(ending).is_file();
        if let Some(stem) = path.file_stem().filter(|_| found) {
            names.insert(stem.to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// Examples that nothing is expected of, and expectations of no example.
fn unpaired(examples: &BTreeSet<String>, expected: &BTreeSet<String>) -> Vec<String> {
    let missing = examples
        .difference(expected)
        .map(|name| format!("the example {name} has no expected/{name}.txt"));
    let stray = expected
        .difference(examples)
        .map(|name| format!("expected/{name}.txt has no example {name}"));
    missing.chain(stray).collect()
}

/// The first line that differs. The kind of line ending does not count.
fn difference(wanted: &str, printed: &str) -> Option<String> {
    let mut wanted_lines = wanted.lines();
    let mut printed_lines = printed.lines();
    for number in 1.. {
        match (wanted_lines.next(), printed_lines.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                let show = |line: Option<&str>| line.map_or("the end".into(), |l| format!("{l:?}"));
                return Some(format!(
                    "line {number} differs: expected {}, printed {}",
                    show(a),
                    show(b)
                ));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn an_example_and_its_expectation_come_in_pairs() {
        assert!(unpaired(&names(&["a"]), &names(&["a"])).is_empty());
        assert_eq!(
            unpaired(&names(&["a", "b"]), &names(&["b", "c"])),
            ["the example a has no expected/a.txt", "expected/c.txt has no example c"]
        );
    }

    #[test]
    fn an_example_of_several_files_is_the_folder_with_its_main() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/examples");
        let found = stems(&folder, "rs").unwrap();
        assert!(found.is_superset(&names(&["custom_transport", "quickstart"])), "{found:?}");
        assert!(!found.contains("link"));
    }

    #[test]
    fn the_first_line_that_differs_is_told() {
        assert_eq!(difference("a\nb\n", "a\r\nb"), None);
        assert_eq!(
            difference("a\nb\n", "a\nc\n").as_deref(),
            Some("line 2 differs: expected \"b\", printed \"c\"")
        );
        assert_eq!(
            difference("a\n", "a\nb\n").as_deref(),
            Some("line 2 differs: expected the end, printed \"b\"")
        );
        assert_eq!(
            difference("a\n", "").as_deref(),
            Some("line 1 differs: expected \"a\", printed the end")
        );
    }
}
