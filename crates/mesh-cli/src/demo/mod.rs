//! `mesh demo`: a whole mesh, its modules in this process, and what it must do computed from its files.

pub(crate) mod command;
mod error;
mod federation;
mod flow;
mod ground;
mod journal;
pub(crate) mod load;
mod raise;
mod reader;
mod select;
mod story;
mod teller;
mod vault;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;

use error::DemoError;
use flow::FlowName;
use ground::{Kind, Place};
use teller::Teller;

/// Raises the mesh, runs every flow, tells the story; answers whether all came out as computed.
///
/// That nothing was tried, or that the flow to be broken could not be, is an error: whoever asked
/// has been shown nothing.
pub(crate) async fn run(
    file: Option<&Path>,
    place: &Place,
    broken: Option<FlowName>,
    teller: &mut Teller<'_, impl Write + Send>,
) -> Result<bool, DemoError> {
    let mesh = load::mesh(file)?;
    let ground = ground::lay(place, &mesh, broken).await?;
    teller.opening(&mesh, &*ground)?;
    let mut raised = raise::raise(mesh, ground, broken).await?;
    let mut results = Vec::new();
    for name in FlowName::ALL {
        tracing::debug!(flow = name.word(), "begins");
        let result = flow::run(name, &mut raised).await;
        tracing::debug!(flow = name.word(), steps = result.steps.len(), "ends");
        teller.flow(&result)?;
        results.push(result);
    }
    let (closed, left) = raised.close().await;
    teller.summary(&results, &closed, left.as_deref())?;
    if !results.iter().all(flow::FlowResult::is_as_expected) {
        return Ok(false);
    }
    if let Some(flow) = broken {
        let of_it = results.iter().find(|result| result.name == flow);
        let why = of_it.and_then(|result| result.missing).unwrap_or("none of its steps can fail");
        return Err(DemoError::NothingToBreak { flow: flow.word(), why });
    }
    if results.iter().all(|result| result.steps.is_empty()) {
        return Err(DemoError::NothingTried);
    }
    Ok(true)
}
