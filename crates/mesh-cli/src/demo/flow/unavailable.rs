use mesh_core::manifest::ToolRef;

use super::calls::call;
use super::{FlowName, Step};
use crate::demo::raise::Raised;

/// Each granted call to a tool of a module that runs nowhere: nobody is there, and it is said at
/// once.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let mut steps = Vec::new();
    for (instance, broker) in &raised.modules {
        let Some(module) = raised.mesh.module(&instance.module) else {
            continue;
        };
        for tool in module.manifest.calls.iter().filter(|tool| !raised.mesh.is_served(tool)) {
            let what = format!("{instance} calls {tool}, which nobody serves");
            let tool = wanted(raised, tool);
            steps.push(Step::new(what, "unavailable", call(broker, &tool).await));
        }
    }
    steps
}

/// The tool to call: another, which is served or not granted, where the flow is to be broken.
fn wanted(raised: &Raised, tool: &ToolRef) -> ToolRef {
    let mut modules = raised.mesh.modules().filter(|module| !module.nodes.is_empty());
    match modules.find_map(|module| Some((module, module.manifest.tools.first()?))) {
        Some((module, served)) if raised.broken == Some(FlowName::Unavailable) => {
            ToolRef { module: module.manifest.name.clone(), tool: served.name.clone() }
        }
        _ => tool.clone(),
    }
}
