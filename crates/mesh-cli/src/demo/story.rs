//! What a person reads.

use std::io::{self, Write};

use mesh_core::manifest::Mesh;
use mesh_sdk::Closed;

use super::flow::FlowResult;

pub(crate) fn opening(out: &mut impl Write, mesh: &Mesh) -> io::Result<()> {
    let running = mesh.modules().filter(|module| !module.nodes.is_empty()).count();
    writeln!(
        out,
        "A mesh of {} and {} in this process, on memory.",
        count(mesh.nodes().len(), "node"),
        count(running, "module"),
    )?;
    for module in mesh.modules() {
        let nodes: Vec<&str> = module.nodes.iter().map(|node| node.as_str()).collect();
        let place = if nodes.is_empty() {
            "runs nowhere".into()
        } else {
            format!("on {}", nodes.join(", "))
        };
        writeln!(out, "  {:<12} {place}", module.manifest.name.as_str())?;
    }
    for warning in mesh.warnings() {
        writeln!(out, "  note: {warning}")?;
    }
    Ok(())
}

pub(crate) fn flow(out: &mut impl Write, result: &FlowResult) -> io::Result<()> {
    let mark = match (result.steps.is_empty(), result.is_as_expected()) {
        (true, _) => "--",
        (false, true) => "ok",
        (false, false) => "NO",
    };
    writeln!(out, "\n{mark}  {}", result.name.title())?;
    if result.steps.is_empty() {
        writeln!(out, "    this mesh has nothing of the kind")?;
    }
    for step in &result.steps {
        if step.is_as_expected() {
            writeln!(out, "    {}: {}", step.what, step.found)?;
        } else {
            writeln!(out, "    {}:", step.what)?;
            writeln!(out, "      expected: {}", step.expected)?;
            writeln!(out, "      found:    {}", step.found)?;
        }
    }
    Ok(())
}

pub(crate) fn summary(
    out: &mut impl Write,
    results: &[FlowResult],
    closed: &Closed,
) -> io::Result<()> {
    let (none, some): (Vec<_>, Vec<_>) = results.iter().partition(|flow| flow.steps.is_empty());
    let (good, bad): (Vec<_>, Vec<_>) = some.into_iter().partition(|flow| flow.is_as_expected());
    let steps: usize = results.iter().map(|flow| flow.steps.len()).sum();
    writeln!(
        out,
        "\n{} in {}: {} as computed from the files, {} otherwise, {} not in this mesh.",
        count(steps, "step"),
        count(results.len(), "flow"),
        good.len(),
        bad.len(),
        none.len(),
    )?;
    writeln!(out, "Closed: {} released, {} lost.", closed.released, closed.lost)?;
    if !bad.is_empty() {
        let names: Vec<&str> = bad.iter().map(|flow| flow.name.word()).collect();
        writeln!(out, "Came out otherwise: {}.", names.join(", "))?;
    }
    Ok(())
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
