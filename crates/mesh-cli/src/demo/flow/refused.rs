use mesh_core::manifest::ToolRef;
use mesh_core::name::ModuleName;

use super::Step;
use super::calls::call;
use crate::demo::raise::Raised;

/// For each module and person: the first served tool that it is not granted. The broker refuses it.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let served: Vec<ToolRef> = served(raised).collect();
    let mut steps = Vec::new();
    for broker in raised.modules.values().chain(raised.people.values()) {
        let principal = broker.principal();
        let own = |module: &ModuleName| matches!(principal, mesh_core::identity::Principal::Module { module: me, .. } if me == module);
        let refused =
            served.iter().find(|tool| !own(&tool.module) && !raised.mesh.may_call(principal, tool));
        if let Some(tool) = refused {
            let what = format!("{principal} calls {tool}, which it may not");
            steps.push(Step::new(what, "denied", call(broker, tool).await));
        }
    }
    steps
}

fn served(raised: &Raised) -> impl Iterator<Item = ToolRef> {
    raised.mesh.modules().filter(|module| !module.nodes.is_empty()).flat_map(|module| {
        let manifest = &module.manifest;
        let tools = manifest.tools.iter();
        tools.map(|tool| ToolRef { module: manifest.name.clone(), tool: tool.name.clone() })
    })
}
