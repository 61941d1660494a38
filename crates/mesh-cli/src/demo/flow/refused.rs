use mesh_core::identity::Principal;
use mesh_core::name::ModuleName;

use super::calls::call;
use super::{FlowName, Step};
use crate::demo::raise::Raised;
use crate::demo::story::who;

/// For each module and person: the first served tool that it is not granted. The broker refuses it.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let served = raised.served();
    let mut steps = Vec::new();
    for broker in raised.modules.values().chain(raised.people.values()) {
        let principal = broker.principal();
        let own = |name: &ModuleName| matches!(principal, Principal::Module { module, .. } if module == name);
        let refused =
            served.iter().find(|tool| !own(&tool.module) && !raised.mesh.may_call(principal, tool));
        if let Some(tool) = refused {
            let what = format!("{} calls {tool}, which it may not", who(principal));
            steps.push(Step::new(what, "refused", call(broker, tool, FlowName::Refused).await));
        }
    }
    steps
}
