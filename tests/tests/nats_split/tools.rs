//! Tools: each of the five ways in which asking one ends, and provisioning.

use std::time::{Duration, Instant};

use mesh_core::identity::Responder;
use mesh_core::tool::ToolFailure;
use mesh_sdk::{RequestError, ToolCall, ToolRequest};
use mesh_testkit::fixtures::{message, module_name, tool_name};
use serde_json::{Value, json};

use crate::split::{Bed, PATIENCE};
use crate::{module, soon};

#[tokio::test]
async fn a_tool_is_answered_denied_unavailable_timed_out_too_large_or_failed() {
    let bed = Bed::split().await.unwrap();
    let db = module(&bed, "db.n1", &[]).await;
    let serving = db.handle("drop", |call: ToolCall| async move {
        match call.decode::<Value>()? {
            Value::String(text) if text == "fail" => Err(ToolFailure::new("locked", "by somebody")),
            Value::String(text) if text == "never" => std::future::pending().await,
            other => Ok(json!({ "dropped": other })),
        }
    });
    soon(serving).await.unwrap();
    let svc = module(&bed, "svc.n1", &[]).await;
    let ask = |tool, input: Value| {
        let svc = svc.clone();
        async move { soon(svc.request::<_, _, Value>(("db", tool), &input)).await }
    };
    let answered = ask("drop", json!("table")).await.unwrap();
    assert_eq!(answered, json!({ "dropped": "table" }));

    let failed = ask("drop", json!("fail")).await.unwrap_err();
    assert!(matches!(&failed, RequestError::Tool(failure) if failure.code == "locked"), "{failed}");

    // Far within the 30 s that a call has: none of them waits for its end.
    let begun = Instant::now();
    let denied = ask("other", json!(1)).await.unwrap_err();
    assert!(matches!(denied, RequestError::Denied(_)), "{denied}");
    let absent = ask("absent", json!(1)).await.unwrap_err();
    assert!(matches!(absent, RequestError::Unavailable(_)), "{absent}");
    let large = ask("drop", json!("x".repeat(2 << 20))).await.unwrap_err();
    assert!(matches!(large, RequestError::TooLarge(_)), "{large}");
    assert!(begun.elapsed() < PATIENCE);

    let slow = ToolRequest::new(module_name("db"), tool_name("drop"));
    let slow = slow.timeout(Duration::from_millis(300));
    let late = soon(svc.request::<_, _, Value>(slow, &"never")).await.unwrap_err();
    assert!(matches!(late, RequestError::TimedOut(_)), "{late}");

    // After all that it answers as before.
    assert_eq!(ask("drop", json!(7)).await.unwrap(), json!({ "dropped": 7 }));
}

#[tokio::test]
async fn a_tool_may_not_be_served_by_who_has_not_declared_it() {
    let bed = Bed::split().await.unwrap();
    let svc = module(&bed, "svc.n1", &[]).await;
    let refused = soon(svc.handle("undeclared", |_| async { Ok(()) })).await.unwrap_err();
    let mesh_sdk::HandleError::Transport(error) = refused else { panic!("{refused}") };
    assert_eq!(error.kind(), mesh_core::port::ErrorKind::Denied);
}

#[tokio::test]
async fn a_provider_is_asked_for_a_grant_by_the_controller() {
    let bed = Bed::split().await.unwrap();
    let svc = module(&bed, "svc.n1", &[]).await;
    let granting = svc.handle("provision_grant", |call: ToolCall| async move {
        let asked: Value = call.decode()?;
        Ok(json!({ "credential": { "of": asked["consumer"]["module"] } }))
    });
    soon(granting).await.unwrap();
    let controller = bed.connect("controller-edge").await.unwrap();
    let grant = json!({ "provision": "rows", "consumer": { "node": "n1", "module": "evil" } });
    let asked = controller.requests().unwrap().request(
        Responder::Module(module_name("svc")),
        message("mesh.tools.svc.provision_grant", &grant.to_string()),
        PATIENCE,
    );
    let answer: Value = serde_json::from_slice(soon(asked).await.unwrap().payload()).unwrap();
    assert_eq!(answer, json!({ "credential": { "of": "evil" } }));
}
