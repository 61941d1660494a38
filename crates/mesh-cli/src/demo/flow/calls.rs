use mesh_core::manifest::ToolRef;
use mesh_sdk::{Broker, RequestError};
use serde_json::json;

use super::Step;
use crate::demo::raise::{Echo, Raised};

/// Each declared call to a tool that is served is answered by its module, which knows who asked.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let mut steps = Vec::new();
    for (instance, broker) in &raised.modules {
        let Some(module) = raised.mesh.module(&instance.module) else {
            continue;
        };
        for tool in module.manifest.calls.iter().filter(|tool| raised.mesh.is_served(tool)) {
            let caller = broker.principal().to_string();
            let expected = format!("{tool} answered {caller}");
            steps.push(Step::new(
                format!("{instance} calls {tool}"),
                expected,
                call(broker, tool).await,
            ));
        }
    }
    steps
}

/// Calls a tool of the demo, and says what came.
pub(crate) async fn call(broker: &Broker, tool: &ToolRef) -> String {
    let request = mesh_sdk::ToolRequest::new(tool.module.clone(), tool.tool.clone());
    let answer: Result<Echo, RequestError> = broker.request(request, &json!({})).await;
    match answer {
        Ok(echo) => {
            format!("{} answered {}", echo.tool, echo.caller.as_deref().unwrap_or("somebody"))
        }
        Err(RequestError::Denied(_)) => "denied".to_owned(),
        Err(RequestError::Unavailable(_)) => "unavailable".to_owned(),
        Err(error) => error.to_string(),
    }
}
