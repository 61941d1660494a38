//! `mesh demo`: a whole mesh in the process, and what it must do computed from its files.

mod error;
mod federation;
mod flow;
mod journal;
mod load;
mod raise;
mod select;
mod story;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;

pub(crate) use error::DemoError;
pub(crate) use flow::FlowName;

/// Raises the mesh, runs every flow, tells the story; answers whether all came out as computed.
pub(crate) async fn run(
    file: Option<&Path>,
    broken: Option<FlowName>,
    out: &mut (impl Write + Send),
) -> Result<bool, DemoError> {
    let mesh = load::mesh(file)?;
    story::opening(out, &mesh)?;
    let raised = raise::raise(mesh, broken).await?;
    let mut results = Vec::new();
    for name in FlowName::ALL {
        let result = flow::run(name, &raised).await;
        story::flow(out, &result)?;
        results.push(result);
    }
    let closed = raised.close().await;
    story::summary(out, &results, &closed)?;
    Ok(results.iter().all(flow::FlowResult::is_as_expected))
}
