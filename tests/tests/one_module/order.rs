//! Order by key, with handlers that fail, on each broker and, where the broker keeps it, across a close.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mesh_sdk::{Broker, HandlerError, ReceivedEvent, Subscription};
use mesh_testkit::fixtures::filter;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::module::{AUDIT, Ground, MAIL, broker, mesh};
use crate::{amqp, memory, nats, soon};

const EVENTS: u32 = 240;
const KEYS: u32 = 7;

/// The key of an event, which is a number and decides all else.
fn key(number: u32) -> u32 {
    number * number % KEYS
}

/// How often it fails, before it is handled.
fn failures(number: u32) -> u32 {
    if number.is_multiple_of(5) { number / 5 % 4 } else { 0 }
}

#[derive(Default)]
struct Seen {
    running: BTreeMap<u32, u32>,
    done: BTreeMap<u32, Vec<u32>>,
    tries: BTreeMap<u32, u32>,
    wrong: Vec<String>,
    beside: usize,
    count: u32,
}

type Shared = Arc<(Mutex<Seen>, Notify)>;

async fn handle(event: ReceivedEvent, seen: Shared) -> Result<(), HandlerError> {
    let number: u32 = event.decode()?;
    let failed = {
        let mut seen = seen.0.lock();
        if let Some(other) = seen.running.insert(key(number), number) {
            seen.wrong.push(format!("{number} beside {other}"));
        }
        seen.beside = seen.beside.max(seen.running.len());
        let tries = seen.tries.entry(number).or_default();
        *tries += 1;
        *tries <= failures(number)
    };
    for _ in 0..number % 8 {
        tokio::task::yield_now().await;
    }
    let mut noted = seen.0.lock();
    noted.running.remove(&key(number));
    if failed {
        return Err(HandlerError::retry_after("as planned", Duration::from_millis(5)));
    }
    noted.done.entry(key(number)).or_default().push(number);
    noted.count += 1;
    drop(noted);
    seen.1.notify_waiters();
    Ok(())
}

async fn listening(ground: &impl Ground, seen: &Shared) -> Broker {
    let audit = broker(ground, "audit", AUDIT, 2).await;
    let (seen, to) = (Arc::clone(seen), Subscription::new(filter("mail.letter.sent")));
    let to = to.ordered_by(|event| event.decode::<u32>().map_or(KEYS, key));
    soon(audit.subscribe(to, move |event| handle(event, Arc::clone(&seen)))).await.unwrap();
    audit
}

async fn done(seen: &Shared, count: u32) {
    loop {
        let told = seen.1.notified();
        tokio::pin!(told);
        told.as_mut().enable();
        if seen.0.lock().count >= count {
            return;
        }
        told.await;
    }
}

/// With `closes` the first reader closes midway, and another goes on with what it gives back.
async fn in_order<G: Ground>(closes: bool) {
    let ground = G::raise(&mesh()).await;
    let (seen, mail) = (Shared::default(), broker(&ground, "mail", MAIL, 1).await);
    for number in 0..EVENTS {
        soon(mail.publish("letter.sent", &number)).await.unwrap();
    }
    let mut audit = listening(&ground, &seen).await;
    if closes {
        soon(done(&seen, EVENTS / 3)).await;
        let closed = soon(audit.close(Duration::from_secs(10))).await;
        assert!(closed.released > 0, "{closed:?}");
        audit = listening(&ground, &seen).await;
    }
    soon(done(&seen, EVENTS)).await;
    for broker in [audit, mail] {
        soon(broker.close(Duration::from_secs(10))).await;
    }
    let seen = seen.0.lock();
    let mut expected: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for number in 0..EVENTS {
        expected.entry(key(number)).or_default().push(number);
    }
    assert_eq!(seen.done, expected);
    assert!(seen.wrong.is_empty(), "{:?}", seen.wrong);
    assert!(seen.beside > 1, "other keys are handled beside it");
    let failed: u32 = (0..EVENTS).map(failures).sum();
    assert_eq!(seen.tries.values().sum::<u32>(), EVENTS + failed);
}

#[tokio::test]
async fn events_of_a_key_are_in_order_in_memory() {
    in_order::<memory::Memory>(false).await;
}

#[tokio::test]
async fn events_of_a_key_are_in_order_in_memory_across_a_close() {
    in_order::<memory::Memory>(true).await;
}

#[tokio::test]
async fn events_of_a_key_are_in_order_on_nats() {
    in_order::<nats::Nats>(false).await;
}

#[tokio::test]
async fn events_of_a_key_are_in_order_on_nats_across_a_close() {
    in_order::<nats::Nats>(true).await;
}

/// Not across a close: a quorum queue gives back many at once in an order of its own.
#[tokio::test]
async fn events_of_a_key_are_in_order_on_amqp() {
    in_order::<amqp::Amqp>(false).await;
}
