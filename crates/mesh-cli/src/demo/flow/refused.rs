use mesh_core::identity::Principal;
use mesh_core::manifest::ToolRef;
use mesh_core::name::ModuleName;
use mesh_sdk::{Asking, Broker};

use super::calls::call;
use super::{FlowName, Step};
use crate::demo::raise::Raised;
use crate::demo::story::who;

/// For each module and person: the first served tool that it is not granted. The broker refuses it.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let served = raised.served();
    let mut steps = Vec::new();
    for broker in raised.callers() {
        let principal = broker.principal();
        let own = |name: &ModuleName| matches!(principal, Principal::Module { module, .. } if module == name);
        let refused =
            served.iter().find(|tool| !own(&tool.module) && !raised.mesh.may_call(principal, tool));
        if let Some(tool) = refused {
            let what = format!("{} calls {tool}, which it may not", who(principal));
            let tool = wanted(raised, &broker, tool);
            steps.push(Step::new(what, "refused", call(&broker, &tool, FlowName::Refused).await));
        }
    }
    steps
}

/// The tool to call. Where the flow is to be broken, and rights are not this program's to give, another:
/// one that is served and granted.
fn wanted(raised: &Raised, caller: &Broker<Asking>, tool: &ToolRef) -> ToolRef {
    if raised.broken != Some(FlowName::Refused) || raised.ground.widens() {
        return tool.clone();
    }
    let served = raised.served();
    let granted = served.into_iter().find(|tool| raised.mesh.may_call(caller.principal(), tool));
    granted.unwrap_or_else(|| tool.clone())
}
