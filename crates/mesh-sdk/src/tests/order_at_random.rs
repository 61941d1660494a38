//! Order by key, whatever happens: keys, failures, spans and rooms at random, each from its number.

use std::collections::BTreeMap;

use mesh_core::port::Capability;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::order::Ordered;
use super::*;
use crate::{HandlerError, Subscription};

const KEYS: u32 = 5;
const EVENTS: u32 = 80;

/// What becomes of an event: it fails so often, each run taking so many milliseconds, and is then handled
/// or rejected.
type Plan = (u32, u32, u32, u64, bool);

#[derive(Debug, Default)]
struct Seen {
    running: BTreeMap<u32, u32>,
    /// Number and try, by key.
    runs: BTreeMap<u32, Vec<(u32, u32)>>,
    most: usize,
}

#[tokio::test]
async fn events_of_a_key_are_never_side_by_side_and_never_out_of_order() {
    let mut beside = 0;
    for seed in 0..40 {
        beside = beside.max(run(seed).await);
    }
    assert!(beside > 1, "events of several keys are handled side by side");
}

/// Gives the most that ran at a time.
async fn run(seed: u64) -> usize {
    let mut random = StdRng::seed_from_u64(seed);
    let handlers = random.random_range(1..9);
    let (waits, lists) = (random.random(), random.random());
    let ordered = Ordered::on(
        |fake| if waits { fake } else { fake.without(Capability::DelayedNak) },
        handlers,
    )
    .await;
    let seen = Arc::new(Mutex::new(Seen::default()));
    let plans: Vec<Plan> = (0..EVENTS)
        .map(|number| {
            let failures = if random.random_ratio(1, 4) { random.random_range(1..7) } else { 0 };
            let key = random.random_range(0..KEYS);
            (key, number, failures, random.random_range(0..400), random.random_ratio(1, 10))
        })
        .collect();
    if lists {
        // Then what comes before the subscription is held.
        ordered.audit.subscribe("mail.lost", |_| async { Ok(()) }).await.unwrap();
    }
    let early = random.random_range(0..plans.len());
    for plan in &plans[..early] {
        ordered.mail.publish("sent", plan).await.unwrap();
    }
    ordered.bed.clock.advance(Duration::from_millis(random.random_range(0..3000))).await;
    subscribe(&ordered, &seen).await;
    for plan in &plans[early..] {
        ordered.mail.publish("sent", plan).await.unwrap();
        if random.random_ratio(1, 5) {
            ordered.bed.clock.advance(Duration::from_millis(random.random_range(0..700))).await;
        }
    }
    // All tries of all events of one key, should they all have the same.
    ordered.bed.clock.advance(Duration::from_secs(16) * EVENTS).await;
    let seen = seen.lock();
    let mut expected: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
    for (key, number, failures, _, _) in plans {
        let tries = (failures + 1).min(5);
        expected.entry(key).or_default().extend((1..=tries).map(|attempt| (number, attempt)));
    }
    assert_eq!(seen.runs, expected, "seed {seed}");
    assert!(seen.most <= handlers, "seed {seed}: {} beside each other", seen.most);
    assert_eq!(ordered.audit.health().held_back_events, 0);
    seen.most
}

async fn subscribe(ordered: &Ordered, seen: &Arc<Mutex<Seen>>) {
    let (seen, clock) = (Arc::clone(seen), ordered.bed.clock.clone());
    let to = Subscription::new(filter("mail.sent"))
        .ordered_by(|event| event.decode::<Plan>().map_or(KEYS, |plan| plan.0));
    ordered
        .audit
        .subscribe(to, move |event| {
            let (seen, clock) = (Arc::clone(&seen), clock.clone());
            async move {
                let (key, number, failures, millis, rejected) = event.decode::<Plan>()?;
                {
                    let mut seen = seen.lock();
                    let earlier = seen.running.insert(key, number);
                    assert_eq!(earlier, None, "{number} beside another of its key");
                    seen.runs.entry(key).or_default().push((number, event.attempt));
                    seen.most = seen.most.max(seen.running.len());
                }
                clock.sleep(Duration::from_millis(millis)).await;
                seen.lock().running.remove(&key);
                match event.attempt <= failures {
                    true => Err(HandlerError::retry("as planned")),
                    false if rejected => Err(HandlerError::reject("as planned")),
                    false => Ok(()),
                }
            }
        })
        .await
        .unwrap();
}
