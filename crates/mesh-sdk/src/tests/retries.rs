//! A transport that fails while an event is being published.

use async_trait::async_trait;
use mesh_core::port::{
    Appended, ConsumeOptions, Deliveries, ErrorKind, Operation, Streams, TransportError,
};
use mesh_core::topology::ConsumerRef;

use super::*;
use crate::{PublishError, Published};

/// What becomes of an append.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// It fails, and is not stored.
    Fails(ErrorKind),
    /// It is stored, and the answer is lost.
    AnswerIsLost,
}

#[derive(Debug)]
struct Flaky {
    streams: Arc<dyn Streams>,
    /// The last comes first; then all goes well.
    steps: Mutex<Vec<Step>>,
    ids: Mutex<Vec<String>>,
}

#[async_trait]
impl Streams for Flaky {
    async fn append(
        &self,
        message: Message,
        options: AppendOptions,
    ) -> Result<Appended, TransportError> {
        self.ids.lock().push(options.id.as_ref().unwrap().to_string());
        let step = self.steps.lock().pop();
        let failed = |kind| Err(TransportError::new(kind, Operation::Append));
        match step {
            Some(Step::Fails(kind)) => failed(kind),
            Some(Step::AnswerIsLost) => {
                self.streams.append(message, options).await?;
                failed(ErrorKind::TimedOut)
            }
            None => self.streams.append(message, options).await,
        }
    }

    async fn consume(
        &self,
        consumer: ConsumerRef,
        options: ConsumeOptions,
    ) -> Result<Deliveries, TransportError> {
        self.streams.consume(consumer, options).await
    }
}

struct Tried {
    result: Result<Published, PublishError>,
    stored: u64,
    ids: Vec<String>,
}

/// Publishes one event on a transport that fails so.
async fn publish(steps: impl IntoIterator<Item = Step>) -> Tried {
    let bed = Bed::new().await;
    let connection = bed.broker.connect(module("n1", "mail"), Permissions::everything()).unwrap();
    let mut steps: Vec<_> = steps.into_iter().collect();
    steps.reverse();
    let flaky = Arc::new(Flaky {
        streams: Arc::clone(connection.streams().unwrap()),
        steps: Mutex::new(steps),
        ids: Mutex::default(),
    });
    let mail = Broker::builder(connection.with_streams(flaky.clone())).build().unwrap();
    let publishing = tokio::spawn(async move { mail.publish("sent", &()).await });
    bed.clock.advance(10 * SECOND).await;
    assert!(publishing.is_finished(), "its time is over");
    let result = publishing.await.unwrap();
    let administration = bed.controller.administration().unwrap();
    let stored = administration.inspect(StreamName::Events).await.unwrap().unwrap().messages;
    let ids = std::mem::take(&mut *flaky.ids.lock());
    Tried { result, stored, ids }
}

#[tokio::test]
async fn an_event_whose_answer_was_lost_is_stored_once() {
    let lost = [Step::Fails(ErrorKind::Disconnected), Step::AnswerIsLost, Step::AnswerIsLost];
    let tried = publish(lost).await;
    assert!(tried.result.is_ok());
    assert_eq!(tried.stored, 1);
    assert_eq!(tried.ids.len(), 4);
    assert!(tried.ids.iter().all(|id| *id == tried.ids[0]), "{:?}", tried.ids);
}

#[tokio::test]
async fn an_event_that_may_be_stored_is_not_said_to_be_absent() {
    let tried = publish([Step::AnswerIsLost, Step::Fails(ErrorKind::Closed)]).await;
    assert_eq!(tried.stored, 1);
    match tried.result {
        Err(PublishError::Transport(error)) => assert_eq!(error.kind(), ErrorKind::TimedOut),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_broker_that_stays_away_is_told_when_the_time_is_over() {
    let tried = publish([Step::Fails(ErrorKind::Disconnected); 100]).await;
    assert_eq!(tried.stored, 0);
    match tried.result {
        Err(PublishError::Transport(error)) => assert_eq!(error.kind(), ErrorKind::Disconnected),
        other => panic!("{other:?}"),
    }
}
