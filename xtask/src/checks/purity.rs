//! `mesh-core` is pure: no runtime, client, clock, I/O or ambient randomness, neither in what it
//! depends on nor in what it calls. Crates depend inwards only, and `mesh-sdk` has no adapter below it that
//! was not asked for.

mod sources;
mod tree;

#[cfg(test)]
mod tests;

use crate::run::{Failure, Workspace};

/// The crate that must be pure.
const PURE: &str = "mesh-core";
/// The crate that has adapters behind features, and none by default.
const SDK: &str = "mesh-sdk";

pub(crate) fn run(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    let tree = tree::Tree::new(&workspace.metadata()?)?;
    let core = below(workspace, PURE)?;
    let mut found = core.impure();
    found.extend(below(workspace, SDK)?.clients());
    found.extend(tree.outward_arrows());
    let mut files = super::lines::sources_below(&workspace.root().join("crates/mesh-core/src"))?;
    // A test may start a thread to see that a lock holds.
    files.retain(|(file, _)| !is_test(file));
    for (file, text) in &files {
        let name = file.strip_prefix(workspace.root()).unwrap_or(file);
        for (line, call) in sources::impure_calls(text) {
            found.push(format!("{}:{line} uses {call}", name.display()));
        }
    }
    if !found.is_empty() {
        return Err(Failure::list("purity", &found));
    }
    println!(
        "{PURE} is pure: {} packages below it, {} source files; {SDK} has no adapter by default; \
         arrows point inwards",
        core.count(),
        files.len()
    );
    Ok(())
}

/// What that crate needs, with the features that it has by default.
fn below(workspace: &Workspace, package: &str) -> Result<tree::Below, Failure> {
    let asked = ["--edges", "no-dev", "--target", "all", "--prefix", "depth", "--format", " {p}"];
    let asked = [&["tree", "--locked", "--package", package], asked.as_slice()].concat();
    tree::Below::new(&String::from_utf8_lossy(&workspace.cargo_output(&asked)?))
}

fn is_test(file: &std::path::Path) -> bool {
    file.file_name().is_some_and(|name| name == "tests.rs")
        || file.components().any(|part| part.as_os_str() == "tests")
}
