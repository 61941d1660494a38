//! Sessions that end while much is under way.

use std::sync::atomic::AtomicUsize;

use super::*;
use crate::error::passive;

/// How long after its end all must have heard of it. What they wait for otherwise takes longer.
const HEARD: Duration = Duration::from_secs(10);

fn whole_minute() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Publishes, asks and opens channels until the session fails it; the error.
async fn busy(session: Arc<Session>, number: usize, done: Arc<AtomicUsize>) -> TransportError {
    let (there, absent) = (Route::to_queue("there"), Route::to_queue("absent"));
    loop {
        let route = if number.is_multiple_of(3) { &absent } else { &there };
        let make = || {
            let properties = BasicProperties::default().with_user_id(session.user.clone());
            let payload = Bytes::from_static(b"{}");
            let outgoing = Outgoing { mandatory: None, properties, payload };
            outgoing.mandatory_if(number.is_multiple_of(2))
        };
        let said = match number % 10 {
            0 => session.publish_question(route, make, whole_minute()).await.map(drop),
            1 => session.publishing.channel(Operation::Publish, whole_minute()).await.map(drop),
            2 => session.open_line(Operation::Publish, whole_minute()).await.map(drop),
            3 => {
                let look = |channel: lapin::Channel| async move {
                    channel.queue_declare("there".into(), passive(), Default::default()).await
                };
                session.try_out(Operation::Publish, whole_minute(), look).await.map(drop)
            }
            _ => session.publish(Operation::Publish, route, make, whole_minute()).await.map(drop),
        };
        if let Err(error) = said {
            return error;
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_under_way_when_a_session_ends_is_told_at_once() {
    let bed = Bed::new().await;
    bed.queue("there", json!({ "x-max-length": 100 })).await;
    for round in 0..32_usize {
        let options =
            AmqpOptions { publish_window: 50.try_into().unwrap(), ..AmqpOptions::default() };
        let session = session(&bed, "n1.mail", &options).await;
        let done = Arc::new(AtomicUsize::new(0));
        let busy = (0..150)
            .map(|number| tokio::spawn(busy(Arc::clone(&session), number, Arc::clone(&done))));
        let busy: Vec<_> = busy.collect();
        while done.load(Ordering::Relaxed) < round * 20 {
            tokio::task::yield_now().await;
        }
        let closed = round % 4 == 3;
        match round % 4 {
            // The socket is gone, and nobody has said so.
            0 => session.publishing.pull(),
            1 => session.reading.pull(),
            2 => session.abandon("the test says so"),
            _ => session.close(Instant::now() + HEARD).await,
        }
        let heard = tokio::time::timeout(HEARD, join_all(busy)).await;
        for error in heard.unwrap_or_else(|_| panic!("round {round}: somebody waits yet")) {
            let error = error.unwrap();
            let wanted = if closed { ErrorKind::Closed } else { ErrorKind::Disconnected };
            assert_eq!(error.kind(), wanted, "round {round}: {error}");
        }
        come(idle(&session)).await;
    }
}
