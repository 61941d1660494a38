//! People: an administrator, and somebody who may call one tool.

use mesh_core::identity::Responder;
use mesh_core::port::{Connection, ErrorKind};
use mesh_testkit::fixtures::{message, module_name};
use serde_json::Value;

use crate::split::{Bed, PATIENCE};
use crate::{module, soon};

async fn call(person: &Connection, module: &str, tool: &str) -> Result<String, ErrorKind> {
    let asked = person.requests().unwrap().request(
        Responder::Module(module_name(module)),
        message(&format!("mesh.tools.{module}.{tool}"), "\"hello\""),
        PATIENCE,
    );
    let answer = soon(asked).await.map_err(|error| error.kind())?;
    Ok(String::from_utf8(answer.payload().to_vec()).unwrap())
}

#[tokio::test]
async fn a_person_calls_what_is_listed_and_an_administrator_all_but_provisioning() {
    let bed = Bed::split().await.unwrap();
    let svc = module(&bed, "svc.n1", &[]).await;
    let echo = |call: mesh_sdk::ToolCall| async move { call.decode::<Value>() };
    for tool in ["echo", "slow", "provision_grant", "provision_withdraw"] {
        soon(svc.handle(tool, echo)).await.unwrap();
    }
    let bob = bed.connect("person.bob").await.unwrap();
    let alice = bed.connect("person.alice").await.unwrap();
    for person in [&bob, &alice] {
        assert_eq!(call(person, "svc", "echo").await.as_deref(), Ok("\"hello\""));
        for reserved in ["provision_grant", "provision_withdraw"] {
            assert_eq!(call(person, "svc", reserved).await, Err(ErrorKind::Denied), "{reserved}");
        }
    }
    assert_eq!(call(&alice, "svc", "slow").await.as_deref(), Ok("\"hello\""));
    assert_eq!(call(&bob, "svc", "slow").await, Err(ErrorKind::Denied));
    assert_eq!(call(&alice, "db", "drop").await, Err(ErrorKind::NoResponders));
    assert_eq!(call(&bob, "db", "drop").await, Err(ErrorKind::Denied));
}

#[tokio::test]
async fn a_person_neither_emits_nor_reads() {
    let bed = Bed::split().await.unwrap();
    let alice = bed.connect("person.alice").await.unwrap();
    let streams = alice.streams().unwrap();
    let append = streams.append(message("mesh.events.svc.made", "{}"), Default::default());
    assert_eq!(soon(append).await.unwrap_err().kind(), ErrorKind::Denied);
    let reader =
        mesh_testkit::fixtures::consumer(mesh_core::topology::StreamName::Events, "n1_svc");
    let read = streams.consume(reader, Default::default());
    assert_eq!(soon(read).await.unwrap_err().kind(), ErrorKind::Denied);
}
