//! Channels that the broker closes, and what else was on its way there.

use std::sync::atomic::AtomicBool;

use lapin::Channel;
use lapin::types::FieldTable;

use super::*;
use crate::error::passive;

/// The numbers that a connection has for its channels.
const NUMBERS: usize = 2047;

async fn look(session: &Session, queue: &'static str) -> Result<u32, TransportError> {
    let act = move |channel: Channel| async move {
        channel.queue_declare(queue.into(), passive(), FieldTable::default()).await
    };
    session.try_out(Operation::Request, soon(), act).await.map(|queue| queue.consumer_count())
}

#[tokio::test]
async fn the_number_of_a_channel_that_was_refused_tells_no_later_one_the_same() {
    let bed = Bed::new().await;
    bed.queue("there", json!({})).await;
    let session = session(&bed, "n1.mail", &AmqpOptions::default()).await;
    for number in 0..NUMBERS {
        // Few of them: the others' numbers are as good as new.
        let queue = if number % 100 == 0 { "absent" } else { "there" };
        let said = look(&session, queue).await.map_err(|error| error.kind());
        assert_eq!(said, if queue == "there" { Ok(0) } else { Err(ErrorKind::NotFound) });
    }
    for number in 0..NUMBERS {
        assert_eq!(look(&session, "there").await.unwrap(), 0, "{number}");
    }
    assert!(session.stands());
}

#[tokio::test]
async fn a_session_whose_channels_were_all_refused_makes_way_for_a_new_one() {
    let bed = Bed::new().await;
    bed.queue("there", json!({})).await;
    let session = session(&bed, "n1.mail", &AmqpOptions::default()).await;
    for number in 0..NUMBERS {
        let said = look(&session, "absent").await.unwrap_err();
        assert_eq!(said.kind(), ErrorKind::NotFound, "{number}: {said}");
    }
    let said = look(&session, "there").await.unwrap_err();
    assert_eq!(said.kind(), ErrorKind::Disconnected, "{said}");
    let why = come(session.over()).await;
    assert!(why.to_string().contains("used up"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_that_is_closed_under_load_costs_no_session() {
    let bed = Bed::new().await;
    bed.exchange("mesh.events").await;
    bed.queue("q", json!({})).await;
    bed.bind("mesh.events", "q", "#").await;
    let session = session(&bed, "n1.mail", &AmqpOptions::default()).await;
    let routes = Routes::default();
    let sent = route(&routes, "mesh.events.mail.sent");
    let over = Arc::new(AtomicBool::new(false));
    let publishing = (0..300).map(|_| {
        let (session, sent, over) = (Arc::clone(&session), Arc::clone(&sent), Arc::clone(&over));
        tokio::spawn(async move {
            while !over.load(Ordering::Relaxed) {
                assert_eq!(event(&session, &sent).await.unwrap(), Confirmed::Taken);
            }
        })
    });
    let publishing: Vec<_> = publishing.collect();
    let alive = route(&routes, "mesh.control.n1.alive");
    for round in 0..15 {
        bed.exchange("mesh.alive").await;
        event(&session, &alive).await.unwrap();
        bed.delete("exchanges", "mesh.alive").await;
        let error = event(&session, &alive).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{round}: {error}");
    }
    over.store(true, Ordering::Relaxed);
    for done in come(join_all(publishing)).await {
        done.unwrap();
    }
    assert!(session.stands());
}
