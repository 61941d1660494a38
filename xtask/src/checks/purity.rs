//! `mesh-core` is pure: no runtime, client, clock, I/O or ambient randomness, neither in what it
//! depends on nor in what it calls. And crates depend inwards only.

mod sources;
mod tree;

#[cfg(test)]
mod tests;

use crate::run::{Failure, Workspace};

/// The crate that must be pure.
const PURE: &str = "mesh-core";

pub(crate) fn run(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    let tree = tree::Tree::new(&workspace.metadata()?)?;
    let mut found = tree.banned_below(PURE)?;
    found.extend(tree.outward_arrows());
    let files = super::lines::sources_below(&workspace.root().join("crates/mesh-core/src"))?;
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
        "{PURE} is pure: {} packages below it, {} source files; arrows point inwards",
        tree.count_below(PURE)?,
        files.len()
    );
    Ok(())
}
