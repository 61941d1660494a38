//! `docs/federation.md` names the test that shows each row of its threat table: there is one of each name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const DOCUMENT: &str = include_str!("../../../docs/federation.md");
const HEAD: &str = "| | stops | does not stop | shown by |";

/// Every name in the document that can only be a test's, and at least one in each row of the table.
pub(crate) fn names_tests_that_exist() {
    let table = DOCUMENT.split_once(HEAD).expect("the table has another head").1;
    let rows: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 15, "{} rows", rows.len());
    for row in &rows {
        let shown = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        assert!(!names(shown).is_empty(), "no test shows {row}");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut functions = BTreeSet::new();
    for folder in ["crates", "tests/tests"] {
        read(&root.join(folder), &mut functions);
    }
    let missing: Vec<&str> =
        names(DOCUMENT).into_iter().filter(|name| !functions.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/federation.md names tests that nobody has: {missing:?}");
}

/// What stands between backticks, and is as long as only tests' names are.
fn names(text: &str) -> BTreeSet<&str> {
    let is_name = |name: &&str| {
        name.matches('_').count() >= 4 && name.bytes().all(|b| b == b'_' || b.is_ascii_lowercase())
    };
    text.split('`').skip(1).step_by(2).filter(is_name).collect()
}

/// The names of all functions below a folder.
fn read(folder: &Path, functions: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, functions);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            functions.extend(text.split("fn ").skip(1).filter_map(|rest| {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
                Some(rest[..end].to_owned())
            }));
        }
    }
}
