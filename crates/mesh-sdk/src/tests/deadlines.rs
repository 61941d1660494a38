//! A transport that forgets the time it was given holds up nobody for ever.

use futures_util::FutureExt as _;
use mesh_core::port::{ErrorKind, Operation};
use mesh_core::store::{Handled, HandledKey, HandledStore, StoreError};
use mesh_core::tool::ToolFailure;

use super::fake::Fake;
use super::*;
use crate::limit::{MARGIN, PATIENCE};
use crate::{HandlerError, PublishError, RequestError, RetryPolicy, SubscribeError, ToolRequest};

struct Deaf {
    bed: Bed,
    fake: Fake,
}

impl Deaf {
    async fn to(operation: Operation) -> Self {
        let bed = Bed::new().await;
        Self { fake: bed.fake("audit").deaf(operation), bed }
    }

    fn builder(&self) -> BrokerBuilder {
        Broker::builder(self.fake.connection()).consumes([filter("mail.>")])
    }

    fn audit(&self) -> Broker {
        self.builder().build().unwrap()
    }

    /// What a verb gives that is told to be back after `span`.
    async fn after<T: Send + 'static>(
        &self,
        span: Duration,
        verb: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let verb = tokio::spawn(verb);
        self.bed.clock.advance(span).await;
        self.bed.clock.advance(MARGIN).await;
        assert!(verb.is_finished(), "it is not back in time");
        verb.await.unwrap()
    }
}

#[tokio::test]
async fn publish_is_back_in_its_time() {
    let deaf = Deaf::to(Operation::Append).await;
    let audit = deaf.builder().publish_timeout(7 * SECOND).build().unwrap();
    let result = deaf.after(7 * SECOND, async move { audit.publish("seen", &()).await }).await;
    match result {
        Err(PublishError::Transport(error)) => assert_eq!(error.kind(), ErrorKind::TimedOut),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn request_is_back_in_its_time() {
    let deaf = Deaf::to(Operation::Request).await;
    let audit = deaf.audit();
    let tool = ToolRequest::new(module_name("mail"), tool_name("send")).timeout(3 * SECOND);
    let asking = async move { audit.request::<_, _, u32>(tool, &()).await };
    let result = deaf.after(3 * SECOND, asking).await;
    assert!(matches!(result, Err(RequestError::TimedOut(_))), "{result:?}");
}

#[tokio::test]
async fn subscribe_is_back_in_its_time_and_can_be_tried_again() {
    let deaf = Deaf::to(Operation::Consume).await;
    for _ in 0..2 {
        let audit = deaf.audit();
        let subscribing = async move { audit.subscribe("mail.sent", |_| async { Ok(()) }).await };
        match deaf.after(PATIENCE, subscribing).await {
            Err(SubscribeError::Transport(error)) => assert_eq!(error.kind(), ErrorKind::TimedOut),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn who_subscribes_while_another_does_is_back_in_its_own_time() {
    let deaf = Deaf::to(Operation::Consume).await;
    let audit = deaf.audit();
    let other = audit.clone();
    let both = async move {
        tokio::join!(
            audit.subscribe("mail.sent", |_| async { Ok(()) }),
            other.subscribe("mail.lost", |_| async { Ok(()) }),
        )
    };
    let (first, second) = deaf.after(PATIENCE, both).await;
    assert!(first.is_err() && second.is_err(), "{first:?} {second:?}");
}

#[tokio::test]
async fn handle_is_back_in_its_time_and_can_be_tried_again() {
    let deaf = Deaf::to(Operation::Serve).await;
    let audit = deaf.audit();
    for _ in 0..2 {
        let audit = audit.clone();
        let serving =
            async move { audit.handle("count", |_| async { Ok::<_, ToolFailure>(1) }).await };
        let error = deaf.after(PATIENCE, serving).await.unwrap_err();
        assert!(error.to_string().contains("timed out"), "{error}");
    }
    assert!(audit.health().tools.is_empty());
}

#[tokio::test]
async fn a_tool_is_free_again_when_nobody_waits_for_handle_any_more() {
    let deaf = Deaf::to(Operation::Serve).await;
    let audit = deaf.audit();
    for _ in 0..2 {
        let handle = audit.handle("count", |_| async { Ok::<_, ToolFailure>(1) });
        assert!(handle.now_or_never().is_none(), "it is being tried");
    }
}

#[tokio::test]
async fn close_is_back_in_its_time_and_says_what_it_does_not_know() {
    let deaf = Deaf::to(Operation::Close).await;
    let audit = deaf.audit();
    let closed = deaf.after(2 * SECOND, async move { audit.close(2 * SECOND).await }).await;
    assert!(closed.overdue, "{closed:?}");
}

/// `audit`, one event at a time, whose handler writes down which it sees.
async fn one_by_one(deaf: &Deaf, builder: BrokerBuilder) -> (Broker, Notes) {
    let (audit, notes) = (builder.concurrency(1).build().unwrap(), Notes::default());
    let seen = notes.clone();
    audit
        .subscribe("mail.sent", move |event| {
            seen.write(event.event.data().as_str());
            async { Ok(()) }
        })
        .await
        .unwrap();
    let mail = deaf.bed.mail();
    for number in 1..=2 {
        mail.publish("sent", &number).await.unwrap();
    }
    (audit, notes)
}

#[tokio::test]
async fn an_event_that_can_not_be_settled_does_not_keep_the_next_from_its_handler() {
    let deaf = Deaf::to(Operation::Settle).await;
    let (_audit, notes) = one_by_one(&deaf, deaf.builder()).await;
    notes.wait(1).await;
    // The first comes again, is known to be handled, and can't be settled again.
    for _ in 0..5 {
        deaf.bed.clock.advance(PATIENCE + MARGIN).await;
    }
    assert_eq!(notes.read(), ["1", "2"]);
}

#[tokio::test]
async fn a_report_of_progress_that_hangs_does_not_stop_its_handler() {
    let deaf = Deaf::to(Operation::Progress).await;
    let (audit, notes, go) = (deaf.audit(), Notes::default(), Arc::new(Notify::new()));
    let (seen, wait) = (notes.clone(), Arc::clone(&go));
    audit
        .subscribe("mail.sent", move |_| {
            let (seen, wait) = (seen.clone(), Arc::clone(&wait));
            async move {
                seen.write("begun");
                wait.notified().await;
                seen.write("done");
                Ok(())
            }
        })
        .await
        .unwrap();
    deaf.bed.mail().publish("sent", &()).await.unwrap();
    notes.wait(1).await;
    deaf.bed.clock.advance(10 * SECOND).await;
    assert_eq!(deaf.fake.count("progress"), 1);
    go.notify_one();
    assert_eq!(notes.wait(2).await, ["begun", "done"]);
}

#[tokio::test]
async fn an_answer_that_can_not_be_sent_does_not_keep_the_next_call_waiting() {
    let deaf = Deaf::to(Operation::Answer).await;
    let (audit, notes) = (deaf.builder().concurrency(1).build().unwrap(), Notes::default());
    let seen = notes.clone();
    audit
        .handle("count", move |call| {
            seen.write(call.input.as_str());
            async { Ok::<_, ToolFailure>(1) }
        })
        .await
        .unwrap();
    let asker = deaf.bed.connect(module("n1", "mail"), Permissions::everything()).build().unwrap();
    for number in 1..=2 {
        let asker = asker.clone();
        tokio::spawn(async move { asker.request::<_, _, u32>(("audit", "count"), &number).await });
    }
    notes.wait(1).await;
    deaf.bed.clock.advance(PATIENCE + MARGIN).await;
    assert_eq!(notes.wait(2).await, ["1", "2"]);
}

/// A store that never answers.
#[derive(Debug)]
struct Silent;

#[async_trait::async_trait]
impl HandledStore for Silent {
    async fn begin(&self, _key: &HandledKey) -> Result<Handled, StoreError> {
        std::future::pending().await
    }

    async fn record(&self, _key: HandledKey) -> Result<(), StoreError> {
        std::future::pending().await
    }

    async fn forget(&self, _key: &HandledKey) -> Result<(), StoreError> {
        std::future::pending().await
    }

    fn window(&self) -> Duration {
        RetryPolicy::SPAN
    }
}

#[tokio::test]
async fn a_store_that_gives_no_answer_is_a_failure_of_the_event() {
    let bed = Bed::new().await;
    let policy = RetryPolicy { first: SECOND, longest: SECOND };
    let audit = bed.audit().handled(Arc::new(Silent)).retry(policy).build().unwrap();
    audit.subscribe("mail.sent", |_| async { Err(HandlerError::reject("run")) }).await.unwrap();
    bed.mail().publish("sent", &()).await.unwrap();
    for _ in 0..5 {
        bed.clock.advance(11 * SECOND).await;
    }
    let letter = bed.dead_letter().await;
    let error = letter.error.unwrap();
    assert!(error.as_str().contains("gives no answer"), "{error}");
}
