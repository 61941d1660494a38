use mesh_core::manifest::ToolRef;
use mesh_sdk::{Asking, Broker, RequestError};

use super::{FlowName, Step};
use crate::demo::raise::{Ask, Echo, Raised};
use crate::demo::story::{answered, who};

/// Each granted call of a tool that is served is answered by its module, which knows who asked
/// where the broker proves it.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let mut steps = Vec::new();
    for (broker, tools) in raised.grants() {
        let caller = who(broker.principal());
        let told = raised.told(broker.principal());
        for tool in tools.iter().filter(|tool| raised.mesh.is_served(tool)) {
            steps.push(Step::new(
                format!("{caller} calls {tool}"),
                answered(&tool.to_string(), told.as_deref()),
                call(&broker, tool, FlowName::Calls).await,
            ));
        }
    }
    steps
}

/// Calls a tool of the demo, and says what came.
pub(super) async fn call(broker: &Broker<Asking>, tool: &ToolRef, flow: FlowName) -> String {
    let request = mesh_sdk::ToolRequest::new(tool.module.clone(), tool.tool.clone());
    let answer: Result<Echo, RequestError> = broker.request(request, &Ask { flow }).await;
    match answer {
        Ok(echo) => answered(&echo.tool, echo.caller.as_deref()),
        Err(RequestError::Denied(_)) => "refused".to_owned(),
        Err(RequestError::Unavailable(_)) => "unavailable".to_owned(),
        Err(error) => error.to_string(),
    }
}
