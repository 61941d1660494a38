use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use mesh_core::port::{ConnectionState, ErrorKind, Operation, TransportError};
use mesh_core::time::Backoff;
use tokio::sync::watch;

use super::*;

const BACKOFF: Backoff = Backoff { min: Duration::from_secs(1), max: Duration::from_secs(8) };

/// A session that ends when it is told to.
#[derive(Debug)]
struct Fake {
    id: u64,
    over: watch::Sender<Option<TransportError>>,
}

impl Fake {
    fn new(id: u64) -> Arc<Self> {
        Arc::new(Self { id, over: watch::Sender::new(None) })
    }
}

impl Session for Fake {
    fn id(&self) -> u64 {
        self.id
    }

    fn stands(&self) -> bool {
        self.over.borrow().is_none()
    }

    async fn over(&self) -> TransportError {
        self.over.subscribe().wait_for(Option::is_some).await.unwrap().clone().unwrap()
    }

    fn end(&self, why: &TransportError) {
        self.over.send_replace(Some(why.clone()));
    }
}

fn lost() -> TransportError {
    TransportError::new(ErrorKind::Disconnected, Operation::Connect).detail("pulled")
}

fn soon() -> tokio::time::Instant {
    deadline(Duration::from_secs(60))
}

fn names(states: Vec<ConnectionState>) -> Vec<&'static str> {
    let name = |state| match state {
        ConnectionState::Connected => "connected",
        ConnectionState::Connecting => "connecting",
        ConnectionState::Disconnected(_) => "disconnected",
        _ => "closed",
    };
    states.into_iter().map(name).collect()
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_followed_by_the_next_that_can_be_made() {
    let first = Fake::new(1);
    let line = Line::new(Arc::clone(&first));
    let mut states = line.states();
    assert!(states.next().await.unwrap().is_connected());
    let tries = Arc::new(AtomicU32::new(0));
    let open = {
        let tries = Arc::clone(&tries);
        move |id| {
            let nth = tries.fetch_add(1, Ordering::Relaxed);
            async move {
                if nth < 3 { Err(lost().detail(format!("try {nth}"))) } else { Ok(Fake::new(id)) }
            }
        }
    };
    let supervising = tokio::spawn(supervise(Arc::clone(&line), BACKOFF, Arc::clone(&first), open));
    first.end(&lost());
    let next = line.session(Operation::Publish, soon()).await.unwrap();
    assert_eq!((next.id(), tries.load(Ordering::Relaxed)), (5, 4));
    assert!(line.session_after(1).now_or_never().flatten().is_some());
    assert!(line.session_after(5).now_or_never().is_none());
    line.close();
    supervising.await.unwrap();
    line.tell_closed();
    // How often it is told that there is none is a matter of when one looks.
    let mut told = names(states.collect().await);
    told.dedup();
    assert_eq!(told.last(), Some(&"closed"));
    assert!(
        line.session(Operation::Publish, soon()).await.unwrap_err().kind() == ErrorKind::Closed
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_finds_no_session_in_its_time_says_why_there_is_none() {
    let first = Fake::new(1);
    let line = Line::new(Arc::clone(&first));
    let never = |_| std::future::pending::<Result<Arc<Fake>, TransportError>>();
    let supervising =
        tokio::spawn(supervise(Arc::clone(&line), BACKOFF, Arc::clone(&first), never));
    first.end(&lost());
    let error = line.session_for(Operation::Append, "a.b", soon()).await.unwrap_err();
    assert_eq!((error.kind(), error.subject()), (ErrorKind::Disconnected, Some("a.b")));
    assert!(error.to_string().contains("pulled"), "{error}");
    supervising.abort();
}

#[tokio::test]
async fn it_is_connected_once_every_subscription_has_its_place() {
    let line = Line::new(Fake::new(1));
    let second = Fake::new(2);
    line.placed(7, &Fake::new(1));
    assert!(line.step(Phase::Up(Arc::clone(&second))));
    let mut states = line.states();
    assert!(matches!(states.next().await, Some(ConnectionState::Connecting)));
    line.placed(7, &second);
    assert!(matches!(states.next().await, Some(ConnectionState::Connected)));
    line.gone(7);
    assert!(states.next().now_or_never().is_none(), "nothing new is told");
}

#[tokio::test]
async fn a_supervisor_that_is_dropped_closes_and_ends_what_waits() {
    let first = Fake::new(1);
    let line = Line::new(Arc::clone(&first));
    let never = |_| std::future::pending::<Result<Arc<Fake>, TransportError>>();
    assert!(
        supervise(Arc::clone(&line), BACKOFF, Arc::clone(&first), never).now_or_never().is_none()
    );
    assert!(line.is_closed() && !first.stands());
    assert!(first.over().await.to_string().contains("the runtime of this connection has ended"));
    assert!(matches!(line.states().next().await, Some(ConnectionState::Closed)));
}

#[tokio::test(start_paused = true)]
async fn closing_is_begun_once_and_goes_through_its_stages() {
    let line = Line::new(Fake::new(1));
    assert!(line.check_open(Operation::Publish).is_ok());
    assert!(line.begin_close(soon()).await);
    assert!(line.is_closing());
    assert_eq!(line.check_open(Operation::Publish).unwrap_err().kind(), ErrorKind::Closed);
    let mut other = std::pin::pin!(line.begin_close(soon()));
    assert!(other.as_mut().now_or_never().is_none(), "it waits for the first");
    let mut draining = std::pin::pin!(line.reached(Stage::Draining));
    assert!(draining.as_mut().now_or_never().is_none());
    line.placed(1, &Fake::new(1));
    let mut drained = std::pin::pin!(line.drain(soon()));
    assert!(drained.as_mut().now_or_never().is_none(), "one has not left");
    draining.await;
    line.gone(1);
    assert_eq!(drained.await.map(|session| session.id()), Some(1));
    assert_eq!(line.close().map(|session| session.id()), Some(1));
    assert!(!other.await);
    assert!(!line.step(Phase::Down(lost())), "closed is the end");
}
