//! How long a caller still waits when a handler begins.

use mesh_core::identity::Responder;
use mesh_core::message::{HeaderValue, names};
use mesh_core::port::Operation;
use mesh_core::tool::{ToolFailure, codes};

use super::*;
use crate::{RequestError, ToolCall, ToolRequest};

/// A tool that answers one call at a time: it writes down how long the caller still waits, then is let
/// go on.
struct Busy {
    bed: Bed,
    mail: Broker,
    audit: Broker,
    notes: Notes,
    go: Arc<Notify>,
}

impl Busy {
    async fn new() -> Self {
        let bed = Bed::new().await;
        let mail = bed.connect(module("n1", "mail"), Permissions::everything());
        Self::on(bed, mail).await
    }

    async fn on(bed: Bed, mail: BrokerBuilder) -> Self {
        let mail = mail.concurrency(1).build().unwrap();
        let (notes, go) = (Notes::default(), Arc::new(Notify::new()));
        let (seen, wait) = (notes.clone(), Arc::clone(&go));
        mail.handle("send", move |call: ToolCall| {
            seen.write(format!("{} {:?}", call.input.as_str(), call.timeout));
            let wait = Arc::clone(&wait);
            async move {
                wait.notified().await;
                Ok::<_, ToolFailure>(1)
            }
        })
        .await
        .unwrap();
        let audit = bed.audit().build().unwrap();
        Self { bed, mail, audit, notes, go }
    }

    /// Asks, and lets that arrive.
    async fn ask(
        &self,
        number: u32,
        timeout: Duration,
    ) -> tokio::task::JoinHandle<Result<u32, RequestError>> {
        let (audit, bed) = (self.audit.clone(), &self.bed);
        let tool = ToolRequest::new(module_name("mail"), tool_name("send")).timeout(timeout);
        let asking = tokio::spawn(async move { audit.request(tool, &number).await });
        bed.clock.advance(Duration::ZERO).await;
        asking
    }
}

#[tokio::test]
async fn a_call_that_waited_for_a_handler_has_less_time() {
    let busy = Busy::new().await;
    let _first = busy.ask(1, 60 * SECOND).await;
    let second = busy.ask(2, 30 * SECOND).await;
    assert_eq!(busy.notes.read(), ["1 Some(60s)"]);
    busy.bed.clock.advance(12 * SECOND).await;
    busy.go.notify_one();
    assert_eq!(busy.notes.wait(2).await[1], "2 Some(18s)");
    busy.go.notify_one();
    assert_eq!(second.await.unwrap().unwrap(), 1);
    assert_eq!(busy.mail.health().expired_calls, 0);
}

#[tokio::test]
async fn a_call_whose_time_is_over_reaches_no_handler_and_is_counted() {
    let busy = Busy::new().await;
    let _first = busy.ask(1, 60 * SECOND).await;
    let second = busy.ask(2, 10 * SECOND).await;
    let _third = busy.ask(3, 60 * SECOND).await;
    busy.bed.clock.advance(10 * SECOND).await;
    let late = second.await.unwrap();
    assert!(matches!(late, Err(RequestError::TimedOut(_))), "{late:?}");
    busy.go.notify_one();
    assert_eq!(busy.notes.wait(2).await, ["1 Some(60s)", "3 Some(50s)"]);
    assert_eq!(busy.mail.health().expired_calls, 1);
}

#[tokio::test]
async fn a_call_whose_time_is_over_is_answered_as_timed_out() {
    let busy = Busy::new().await;
    let _first = busy.ask(1, 60 * SECOND).await;
    // Its caller waits for longer than it says.
    let question = Message::new(mesh_testkit::fixtures::tool("mail", "send"), "2")
        .with_header(names::TIMEOUT_MS, HeaderValue::from(1000_u64));
    let requests = Arc::clone(busy.audit.0.connection.requests().unwrap());
    let responder = Responder::Module(module_name("mail"));
    let asking =
        tokio::spawn(async move { requests.request(responder, question, 60 * SECOND).await });
    busy.bed.clock.advance(SECOND).await;
    busy.go.notify_one();
    let answer = asking.await.unwrap().unwrap();
    let failure = ToolFailure::decode(answer.headers(), answer.payload()).unwrap();
    assert_eq!(failure.code, codes::TIMED_OUT);
    assert!(failure.message.contains("1s"), "{failure}");
    assert_eq!(busy.notes.read().len(), 1, "no handler ran");
}

#[tokio::test]
async fn an_answer_of_timed_out_is_that_error_to_its_caller() {
    let bed = Bed::new().await;
    let (mail, audit) = (bed.mail(), bed.audit().build().unwrap());
    let late = |_| async { Err::<u32, _>(ToolFailure::new(codes::TIMED_OUT, "too late")) };
    mail.handle("send", late).await.unwrap();
    let answer: Result<u32, _> = audit.request(("mail", "send"), &()).await;
    let Err(RequestError::TimedOut(error)) = answer else { panic!("{answer:?}") };
    assert_eq!(error.operation(), Operation::Request);
    assert!(error.to_string().contains("too late"), "{error}");
}

#[tokio::test]
async fn where_the_transport_does_not_say_it_is_counted_from_when_the_call_was_taken() {
    let bed = Bed::new().await;
    let mail = Broker::builder(bed.fake("mail").connection());
    let busy = Busy::on(bed, mail).await;
    let _first = busy.ask(1, 60 * SECOND).await;
    let _second = busy.ask(2, 30 * SECOND).await;
    busy.bed.clock.advance(12 * SECOND).await;
    busy.go.notify_one();
    assert_eq!(busy.notes.wait(2).await[1], "2 Some(30s)");
}

#[tokio::test]
async fn a_caller_that_says_no_time_has_no_end() {
    let busy = Busy::new().await;
    for said in [None, Some("soon")] {
        let mut question = Message::new(mesh_testkit::fixtures::tool("mail", "send"), "1");
        if let Some(said) = said {
            let said = HeaderValue::new(said.to_owned()).unwrap();
            question = question.with_header(names::TIMEOUT_MS, said);
        }
        let requests = Arc::clone(busy.audit.0.connection.requests().unwrap());
        let responder = Responder::Module(module_name("mail"));
        busy.go.notify_one();
        requests.request(responder, question, SECOND).await.unwrap();
    }
    assert_eq!(busy.notes.read(), ["1 None", "1 None"]);
}
