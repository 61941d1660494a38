//! No Rust source file passes [`MAX`] lines, except those that `xtask/long-files.txt` lists with a
//! reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{Failure, Workspace};

/// The most lines a file may have.
const MAX: usize = 400;

pub(crate) fn run(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    let mut files = Vec::new();
    collect(workspace.root(), &mut files)
        .map_err(|error| Failure::new(format!("reading the sources: {error}")))?;
    let mut counted = Vec::new();
    for file in files {
        let text = read(&file)?;
        let name = file.strip_prefix(workspace.root()).unwrap_or(&file);
        let name = name.to_string_lossy().replace('\\', "/");
        counted.push((name, text.lines().count()));
    }
    let exceptions = read(&workspace.root().join("xtask/long-files.txt"))?;
    let found = judge(&counted, &exceptions);
    if !found.is_empty() {
        return Err(Failure::list("line limit", &found));
    }
    if let Some((name, lines)) = counted.iter().max_by_key(|(_, lines)| *lines) {
        println!(
            "{} source files, none over {MAX} lines; the longest is {name} with {lines}",
            counted.len()
        );
    }
    Ok(())
}

/// Files that are too long and not excepted, and exceptions that no file needs.
fn judge(counted: &[(String, usize)], exceptions: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut unused: BTreeSet<&str> = BTreeSet::new();
    for line in exceptions.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split_once(char::is_whitespace) {
            Some((name, _reason)) => {
                unused.insert(name);
            }
            None => found.push(format!("exception {line} gives no reason")),
        }
    }
    for (name, lines) in counted {
        if *lines > MAX && !unused.remove(name.as_str()) {
            found.push(format!("{name} has {lines} lines, {MAX} are allowed"));
        }
    }
    found.extend(unused.iter().map(|name| format!("exception {name} is not needed: remove it")));
    found
}

/// Every `.rs` file below `folder`, build output and hidden folders left out.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let kind = entry.file_type()?;
        let name = entry.file_name();
        let skipped = name == "target" || name.to_string_lossy().starts_with('.');
        if kind.is_dir() && !skipped {
            collect(&path, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Used by the other checks of sources too.
pub(super) fn sources_below(folder: &Path) -> Result<Vec<(PathBuf, String)>, Failure> {
    let mut files = Vec::new();
    collect(folder, &mut files)
        .map_err(|error| Failure::new(format!("reading {}: {error}", folder.display())))?;
    files.into_iter().map(|file| read(&file).map(|text| (file, text))).collect()
}

fn read(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("reading {}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, lines: usize) -> (String, usize) {
        (name.to_owned(), lines)
    }

    #[test]
    fn a_file_at_the_limit_passes_and_one_line_more_does_not() {
        assert!(judge(&[file("a.rs", MAX)], "").is_empty());
        assert_eq!(
            judge(&[file("a.rs", MAX + 1)], "# nothing\n"),
            ["a.rs has 401 lines, 400 are allowed"]
        );
    }

    #[test]
    fn an_exception_needs_a_reason_and_a_long_file() {
        let long = [file("a.rs", 500)];
        assert!(judge(&long, "a.rs one generated table\n").is_empty());
        assert_eq!(
            judge(&long, "a.rs\n"),
            ["exception a.rs gives no reason", "a.rs has 500 lines, 400 are allowed"]
        );
        assert_eq!(
            judge(&[file("a.rs", 5)], "a.rs was long once"),
            ["exception a.rs is not needed: remove it"]
        );
    }
}
