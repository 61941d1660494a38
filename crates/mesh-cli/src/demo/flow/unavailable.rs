use mesh_core::manifest::ToolRef;
use mesh_core::name::ToolName;
use mesh_core::provision::GRANT_TOOL;

use super::calls::call;
use super::{FlowName, Step};
use crate::demo::raise::Raised;
use crate::demo::story::who;

/// Each granted call to a tool of a module that runs nowhere: nobody is there, and it is said at
/// once.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let mut steps = Vec::new();
    for (broker, tools) in raised.grants() {
        for tool in tools.iter().filter(|tool| !raised.mesh.is_served(tool)) {
            let what =
                format!("{} calls {tool}, whose module runs nowhere", who(broker.principal()));
            let found = match wanted(raised, tool) {
                Ok(tool) => call(&broker, &tool, FlowName::Unavailable).await,
                Err(error) => error.to_string(),
            };
            steps.push(Step::new(what, "unavailable", found));
        }
    }
    steps
}

/// The tool to call. Where the flow is to be broken, another: one that is served, or one that is
/// nobody's to call.
fn wanted(raised: &Raised, tool: &ToolRef) -> Result<ToolRef, mesh_core::name::NameError> {
    if raised.broken != Some(FlowName::Unavailable) {
        return Ok(tool.clone());
    }
    match raised.served().into_iter().next() {
        Some(served) => Ok(served),
        None => Ok(ToolRef { module: tool.module.clone(), tool: ToolName::new(GRANT_TOOL)? }),
    }
}
