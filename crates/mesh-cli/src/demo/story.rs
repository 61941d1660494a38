//! What a person reads.

use std::io::{self, Write};

use mesh_core::identity::{Instance, Principal};
use mesh_core::manifest::{Access, Mesh};
use mesh_sdk::Closed;

use super::flow::{FlowResult, Step};
use super::ground::Ground;

/// The columns of a line, where its words allow it.
const WIDTH: usize = 112;
/// The most lines of a drawing that are printed, where it is as it should be.
const MOST_LINES: usize = 24;
/// The most steps of a flow that are printed, not counting those that came out otherwise.
const MOST_STEPS: usize = 12;

pub(crate) fn opening(out: &mut impl Write, mesh: &Mesh, ground: &dyn Ground) -> io::Result<()> {
    let running = mesh.modules().filter(|module| !module.nodes.is_empty()).count();
    let (nodes, modules) = (count(mesh.nodes().len(), "node"), count(running, "module"));
    let place = ground.place();
    wrapped(out, 0, 0, &format!("A mesh of {nodes} and {modules} in this process, {place}."))?;
    if let Some(about) = ground.about() {
        wrapped(out, 0, 0, about)?;
    }
    for module in mesh.modules() {
        let nodes: Vec<&str> = module.nodes.iter().map(|node| node.as_str()).collect();
        let place = match nodes.is_empty() {
            true => "runs nowhere".to_owned(),
            false => format!("runs on {}", nodes.join(", ")),
        };
        wrapped(out, 2, 13, &format!("{:<12} {place}", module.manifest.name))?;
    }
    for (name, access) in mesh.people() {
        let may = match access {
            Access::Administrator => "an administrator: may call every tool".to_owned(),
            Access::Tools(tools) if tools.is_empty() => "may call nothing".to_owned(),
            Access::Tools(tools) => format!("may call {}", list(tools)),
        };
        wrapped(out, 2, 13, &format!("{name:<12} a person, {may}"))?;
    }
    for warning in mesh.warnings() {
        wrapped(out, 2, 2, &warning.to_string())?;
    }
    Ok(())
}

pub(crate) fn flow(out: &mut impl Write, result: &FlowResult) -> io::Result<()> {
    let mark = match (result.missing, result.is_as_expected()) {
        (Some(_), _) => "--",
        (None, true) => "ok",
        (None, false) => "NO",
    };
    writeln!(out, "\n{mark}  {}", result.name.title())?;
    match result.missing {
        Some(missing) => wrapped(out, 4, 0, &format!("Not tried: {missing}."))?,
        None => wrapped(out, 4, 0, &result.about)?,
    }
    let otherwise = result.steps.iter().filter(|step| !step.is_as_expected()).count();
    let mut room = MOST_STEPS.saturating_sub(otherwise);
    let mut left_out = 0_usize;
    for step in &result.steps {
        if !step.is_as_expected() {
            self::otherwise(out, step)?;
        } else if room > 0 {
            room -= 1;
            as_expected(out, step)?;
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        writeln!(out, "    … and {left_out} more as computed")?;
    }
    Ok(())
}

fn as_expected(out: &mut impl Write, step: &Step) -> io::Result<()> {
    let lines: Vec<&str> = step.found.lines().collect();
    if lines.len() < 2 {
        return wrapped(out, 4, 2, &format!("- {}: {}", step.what, step.found));
    }
    wrapped(out, 4, 2, &format!("- {}:", step.what))?;
    for line in lines.iter().take(MOST_LINES) {
        writeln!(out, "      {line}")?;
    }
    match lines.len().saturating_sub(MOST_LINES) {
        0 => Ok(()),
        more => writeln!(out, "      … and {more} more as computed"),
    }
}

fn otherwise(out: &mut impl Write, step: &Step) -> io::Result<()> {
    wrapped(out, 4, 2, &format!("- {}:", step.what))?;
    if step.expected.contains('\n') || step.found.contains('\n') {
        for (what, drawing) in [("expected:", &step.expected), ("found:", &step.found)] {
            writeln!(out, "        {what}")?;
            for line in drawing.lines() {
                writeln!(out, "          {line}")?;
            }
        }
        return Ok(());
    }
    wrapped(out, 8, 10, &format!("expected: {}", step.expected))?;
    wrapped(out, 8, 10, &format!("found:    {}", step.found))
}

pub(crate) fn summary(
    out: &mut impl Write,
    results: &[FlowResult],
    closed: &Closed,
    left: Option<&str>,
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
    match (closed.released, closed.lost, closed.overdue) {
        (0, 0, false) => writeln!(out, "Everybody has left; no message was given back or lost.")?,
        (back, lost, overdue) => {
            let at_least = if overdue { "at least " } else { "" };
            let counts = format!("{at_least}{back} given back unhandled, {at_least}{lost} lost");
            writeln!(out, "Everybody has left; {counts}.")?;
        }
    }
    if let Some(left) = left {
        wrapped(out, 0, 0, left)?;
    }
    if !bad.is_empty() {
        let names: Vec<&str> = bad.iter().map(|flow| flow.name.word()).collect();
        writeln!(out, "Came out otherwise: {}.", names.join(", "))?;
    }
    Ok(())
}

/// Somebody as a reader of the story knows them.
pub(crate) fn who(principal: &Principal) -> String {
    match principal {
        Principal::Module { node, module } => {
            Instance { node: node.clone(), module: module.clone() }.to_string()
        }
        Principal::Person { name } => name.to_string(),
        other => other.to_string(),
    }
}

/// By which tool, and who called as far as it was told.
pub(crate) fn answered(tool: &str, caller: Option<&str>) -> String {
    match caller {
        Some(caller) => format!("answered by {tool} (caller: {caller})"),
        None => format!("answered by {tool} (caller not proven)"),
    }
}

/// Each in turn, with commas between them.
pub(crate) fn list(items: impl IntoIterator<Item = impl ToString>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// A paragraph from this column on; its further lines begin `hang` columns further in. Spaces are
/// kept as they are, except where a line ends.
fn wrapped(out: &mut impl Write, indent: usize, hang: usize, text: &str) -> io::Result<()> {
    let mut line = " ".repeat(indent);
    let mut begun = false;
    for word in text.split(' ') {
        if begun && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{}", line.trim_end())?;
            line = " ".repeat(indent + hang);
        } else if begun {
            line.push(' ');
        }
        line.push_str(word);
        begun = true;
    }
    writeln!(out, "{line}")
}
