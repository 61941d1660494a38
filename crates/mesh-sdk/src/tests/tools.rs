use mesh_core::port::PublishOptions;
use mesh_core::tool::{ToolFailure, codes};
use mesh_testkit::fixtures::permissions;
use serde_json::{Value, json};

use super::*;
use crate::{Asking, RequestError, ToolCall, ToolRequest};

async fn serving(bed: &Bed) -> (Broker, Notes) {
    let (mail, notes) = (bed.mail(), Notes::default());
    let seen = notes.clone();
    mail.handle("send", move |call: ToolCall| {
        seen.write(format!(
            "{:?} {:?}",
            call.caller.as_ref().map(ToString::to_string),
            call.timeout
        ));
        async move {
            let input: Value = call.decode()?;
            match input["do"].as_str() {
                Some("fail") => Err(ToolFailure::new("NO_SUCH_BOX", "there is no box 7")),
                Some("panic") => panic!("as asked"),
                Some("hang") => std::future::pending().await,
                _ => Ok(json!({"done": input})),
            }
        }
    })
    .await
    .unwrap();
    (mail, notes)
}

async fn ask(audit: &Broker, what: &str) -> Result<Value, RequestError> {
    audit.request(("mail", "send"), &json!({ "do": what })).await
}

#[tokio::test]
async fn a_tool_answers_and_knows_who_asks_and_how_long_they_wait() {
    let bed = Bed::new().await;
    let (_mail, notes) = serving(&bed).await;
    let answer = ask(&bed.audit().build().unwrap(), "it").await.unwrap();
    assert_eq!(answer, json!({"done": {"do": "it"}}));
    assert_eq!(notes.read(), [r#"Some("module audit on n1") Some(30s)"#]);
}

#[tokio::test]
async fn a_failing_tool_a_panic_and_a_bad_input_are_answers() {
    let bed = Bed::new().await;
    let (_mail, _notes) = serving(&bed).await;
    let audit = bed.audit().build().unwrap();
    let code = |answer: Result<Value, RequestError>| match answer {
        Err(RequestError::Tool(failure)) => failure.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code(ask(&audit, "fail").await), "NO_SUCH_BOX");
    assert_eq!(code(ask(&audit, "panic").await), codes::PANICKED);
    let wrong: Result<Value, _> = audit.request(("mail", "send"), &json!({"do": "it"})).await;
    assert!(wrong.is_ok(), "the tool still lives");
    let requests = audit.0.connection.requests().unwrap();
    let bad = Message::new(mesh_testkit::fixtures::tool("mail", "send"), "{");
    let responder = mesh_core::identity::Responder::Module(module_name("mail"));
    let answer = requests.request(responder, bad, SECOND).await.unwrap();
    let failure = ToolFailure::decode(answer.headers(), answer.payload()).unwrap();
    assert_eq!(failure.code, codes::BAD_REQUEST);
}

#[tokio::test]
async fn denied_unavailable_timed_out_and_too_large_are_four_errors() {
    let bed = Bed::new().await;
    let (_mail, _notes) = serving(&bed).await;
    let audit = bed.audit().build().unwrap();
    let denied: Result<Value, _> = audit.request(("mail", "delete"), &()).await;
    assert!(matches!(denied, Err(RequestError::Denied(_))), "{denied:?}");
    let away: Result<Value, _> = audit.request(("vault", "open"), &()).await;
    assert!(matches!(away, Err(RequestError::Unavailable(_))), "{away:?}");
    let large = "x".repeat(2 * 1024 * 1024);
    let large: Result<Value, _> = audit.request(("mail", "send"), &large).await;
    assert!(matches!(large, Err(RequestError::TooLarge(_))), "{large:?}");

    let asking = tokio::spawn(async move {
        let tool = ToolRequest::new(module_name("mail"), tool_name("send")).timeout(SECOND);
        let late: Result<Value, _> = audit.request(tool, &json!({"do": "hang"})).await;
        late
    });
    bed.clock.sleepers(1).await;
    bed.clock.advance(SECOND).await;
    let late = asking.await.unwrap();
    assert!(matches!(late, Err(RequestError::TimedOut(_))), "{late:?}");
}

#[tokio::test]
async fn an_answer_that_the_broker_refuses_is_counted_and_the_tool_is_served_on() {
    let bed = Bed::new().await;
    let mute = permissions(&module("n1", "mail"), &[], &["mesh.tools.mail.send"]);
    let mail = bed.connect(module("n1", "mail"), mute).build().unwrap();
    mail.handle("send", |_| async { Ok::<_, ToolFailure>(1) }).await.unwrap();
    let audit = bed.audit().build().unwrap();
    for lost in 1..=2 {
        let audit = audit.clone();
        let asking = tokio::spawn(async move { ask(&audit, "it").await });
        let counted = async {
            while mail.health().lost_answers < lost {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(SECOND * 30, counted).await.unwrap();
        assert!(mail.health().is_well());
        bed.clock.advance(SECOND * 30).await;
        let asked = asking.await.unwrap();
        assert!(matches!(asked, Err(RequestError::TimedOut(_))), "{asked:?}");
    }
    assert_eq!(bed.broker.statistics().lost_answers, 2);
}

#[tokio::test]
async fn a_call_without_a_reply_address_of_the_mesh_never_reaches_the_handler() {
    let bed = Bed::new().await;
    let (_mail, notes) = serving(&bed).await;
    let call = || Message::new(mesh_testkit::fixtures::tool("mail", "send"), "{}");
    let transport = bed.controller.transport();
    for reply in [
        None,
        Some("mesh.node.n2.declare"),
        Some("_INBOX.audit.n1.vault.00000000000000000000000000000000"),
    ] {
        let message = match reply {
            None => call(),
            Some(reply) => call().with_reply(subject(reply)),
        };
        transport.publish(message, PublishOptions::default()).await.unwrap();
    }
    ask(&bed.audit().build().unwrap(), "it").await.unwrap();
    assert_eq!(notes.read().len(), 1, "only the proper call");
}

#[tokio::test]
async fn an_answer_of_another_shape_is_an_error_and_not_a_panic() {
    let bed = Bed::new().await;
    let (_mail, _notes) = serving(&bed).await;
    let answer: Result<u64, _> =
        bed.audit().build().unwrap().request(("mail", "send"), &json!({})).await;
    assert!(matches!(answer, Err(RequestError::OutputShape(_))), "{answer:?}");
}

#[tokio::test]
async fn a_tool_that_the_manifest_does_not_have_is_denied() {
    let bed = Bed::new().await;
    let error = bed.mail().handle("steal", |_| async { Ok(()) }).await.unwrap_err();
    assert!(error.to_string().contains("denied"), "{error}");
}

#[tokio::test]
async fn a_panic_before_a_handler_gives_its_future_is_an_answer() {
    let bed = Bed::new().await;
    let (mail, audit) = (bed.mail(), bed.audit().build().unwrap());
    mail.handle("send", |call: ToolCall| {
        let input: Value = call.decode().unwrap();
        assert!(input["do"] != "panic", "as asked");
        async move { Ok(input) }
    })
    .await
    .unwrap();
    match ask(&audit, "panic").await {
        Err(RequestError::Tool(failure)) => assert_eq!(failure.code, codes::PANICKED),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_second_handler_of_one_tool_is_refused_and_the_first_goes_on() {
    let bed = Bed::new().await;
    let (mail, _notes) = serving(&bed).await;
    let again = mail.handle("send", |_| async { Ok(1) }).await.unwrap_err();
    assert!(matches!(again, crate::HandleError::AlreadyServed { .. }), "{again}");
    let answer = ask(&bed.audit().build().unwrap(), "it").await.unwrap();
    assert_eq!(answer, json!({"done": {"do": "it"}}));
    for _ in 0..2 {
        let denied = mail.handle("steal", |_| async { Ok(()) }).await.unwrap_err();
        assert!(denied.to_string().contains("denied"), "not taken for served: {denied}");
    }
}

#[tokio::test]
async fn the_controllers_tools_are_not_run_for_whom_nobody_proves_to_be_the_controller() {
    let bed = Bed::new().await;
    let fake = bed.fake("mail").without(mesh_core::port::Capability::ScopedReplies);
    let (mail, notes) = (Broker::builder(fake.connection()).build().unwrap(), Notes::default());
    for tool in ["send", "provision_grant", "provision_withdraw"] {
        let seen = notes.clone();
        let handler = move |_| {
            seen.write(tool);
            async { Ok::<_, ToolFailure>(1) }
        };
        mail.handle(tool, handler).await.unwrap();
    }
    let controller = Broker::builder(bed.controller.clone()).build_only::<Asking>().unwrap();
    for tool in ["provision_grant", "provision_withdraw"] {
        let controller = controller.clone();
        let asking = tokio::spawn(async move {
            let asked = ToolRequest::new(module_name("mail"), tool_name(tool)).timeout(SECOND);
            let answer: Result<u32, _> = controller.request(asked, &()).await;
            answer
        });
        bed.clock.sleepers(1).await;
        bed.clock.advance(SECOND).await;
        let asked = asking.await.unwrap();
        assert!(matches!(asked, Err(RequestError::TimedOut(_))), "{asked:?}");
    }
    let answer: u32 = controller.request(("mail", "send"), &()).await.unwrap();
    assert_eq!((answer, notes.read()), (1, vec!["send".to_owned()]));
}
