//! Case A18: nothing is left behind by a call.

use proptest::prelude::*;

use super::*;

#[tokio::test]
async fn ten_thousand_calls_to_a_silent_realm_leave_nothing() {
    const ALL: usize = 10_000;
    const DROPPED: usize = 100;
    let deadline = Duration::from_millis(5);
    let bed =
        Bed::with(RealmOptions { deadline, ..RealmOptions::default() }, |outside| outside).await;
    let mut shop = bed.shop().await;
    let before = (bed.backbone.statistics(), bed.local.statistics(), bed.clock.asleep());

    let mut asking = tokio::task::JoinSet::new();
    let mut dropped = Vec::new();
    for n in 0..ALL {
        let client = bed.client.clone();
        let handle =
            asking.spawn(async move { client.call(COUNT, &RawJson::NULL).await.map(drop) });
        if n % (ALL / DROPPED) == 0 {
            dropped.push(handle);
        }
    }
    bed.clock.sleepers(before.2 + ALL).await;
    assert_eq!(bed.client.answers().counts().pending, ALL);
    let first = shop.next().await;
    for handle in &dropped {
        handle.abort();
    }
    bed.clock.advance(deadline).await;
    let (mut timed_out, mut aborted) = (0, 0);
    while let Some(ended) = asking.join_next().await {
        match ended {
            Ok(result) => {
                assert!(matches!(result, Err(RemoteError::TimedOut)), "{result:?}");
                timed_out += 1;
            }
            Err(error) => {
                assert!(error.is_cancelled());
                aborted += 1;
            }
        }
    }
    assert_eq!((timed_out, aborted), (ALL - DROPPED, DROPPED), "one result each");

    bed.clock.advance(Duration::from_millis(50)).await;
    shop.answer(&first, Ok("1")).await;
    settle().await;
    let counts = bed.client.answers().counts();
    assert_eq!((counts.pending, counts.unknown, counts.given_up), (0, 1, ALL as u64));
    let after = (bed.backbone.statistics(), bed.local.statistics(), bed.clock.asleep());
    assert_eq!(after, before);
}

/// The same on several threads, by the machine's clock: whatever the order, each call ends once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_from_several_threads_end_once_each_and_leave_nothing() {
    const ALL: usize = 2_000;
    let clock = Arc::new(mesh_clock::SystemClock::new());
    let backbone = InMemoryExactBroker::new(clock.clone());
    let local = InMemoryFilterBroker::new(clock);
    let deadline = Duration::from_secs(60);
    let options = RealmOptions { deadline, ..RealmOptions::default() };
    let client = client(backbone.connect(gateway("home")), &local, options, |outside| outside);
    let client = client.await;
    let mut shop = Shop::new(backbone.connect(gateway("shop"))).await;
    let answering = tokio::spawn(async move {
        for n in 0..ALL {
            let came = shop.next().await;
            // Each third has no answer.
            if n % 3 != 0 {
                shop.answer(&came, Ok("1")).await;
            }
        }
        shop
    });
    let mut asking = tokio::task::JoinSet::new();
    for n in 0..ALL {
        let client = client.clone();
        asking.spawn(async move {
            let deadline = (n % 2 == 0).then_some(Duration::from_millis(200));
            let options = CallOptions { deadline, ..CallOptions::default() };
            client.call_with(&MxUri::parse(COUNT).unwrap(), &RawJson::NULL, &options).await
        });
    }
    let _shop = answering.await.unwrap();
    let (mut answered, mut ended) = (0, 0);
    // Whoever has a long deadline and no answer is given up.
    while ended < ALL {
        tokio::select! {
            biased;
            Some(result) = asking.join_next() => {
                ended += 1;
                match result {
                    Ok(Ok(_)) => answered += 1,
                    Ok(Err(error)) => assert!(matches!(error, RemoteError::TimedOut), "{error}"),
                    Err(error) => assert!(error.is_cancelled()),
                }
            }
            () = tokio::time::sleep(Duration::from_millis(300)) => asking.abort_all(),
        }
    }
    let counts = client.answers().counts();
    assert_eq!((counts.pending, counts.matched), (0, answered));
    assert_eq!(counts.matched + counts.given_up, ALL as u64);
}

/// What may become of one call.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Answered,
    AnsweredTwice,
    Refused,
    Late,
    Forged,
    GivenUp,
}

fn fates() -> impl Strategy<Value = Vec<(Fate, bool)>> {
    let fate = prop_oneof![
        Just(Fate::Answered),
        Just(Fate::AnsweredTwice),
        Just(Fate::Refused),
        Just(Fate::Late),
        Just(Fate::Forged),
        Just(Fate::GivenUp),
    ];
    proptest::collection::vec((fate, any::<bool>()), 1..40)
}

async fn play(fates: Vec<(Fate, bool)>) {
    let bed = Bed::new().await;
    let mut other = bed.shop().await;
    let before = (bed.backbone.statistics(), bed.clock.asleep());
    let mut asked = Vec::new();
    for (fate, legacy) in fates {
        let profile = if legacy { Profile::Legacy } else { Profile::MxEnv1 };
        bed.client.set_profile(shop(), profile);
        let asking = bed.call("1");
        asked.push((fate, asking, other.next().await));
    }
    for (fate, asking, came) in &asked {
        match fate {
            Fate::Answered => other.answer(came, Ok("1")).await,
            Fate::AnsweredTwice => {
                other.answer(came, Ok("1")).await;
                other.answer(came, Ok("2")).await;
            }
            Fate::Refused => other.answer(came, Err(("E", "no"))).await,
            Fate::Forged => {
                let text = came.route().0.ok(&Stamp::new("m", 1), &json("666"));
                let text = String::from_utf8(text).unwrap().replace("shop.example", "thief");
                other.send(came.kind, &us(), text.into_bytes()).await;
            }
            Fate::GivenUp => asking.abort(),
            Fate::Late => {}
        }
    }
    bed.clock.advance(Duration::from_secs(10)).await;
    for (fate, _, came) in &asked {
        if matches!(fate, Fate::Late) {
            other.answer(came, Ok("1")).await;
        }
    }
    for (fate, asking, _) in asked {
        let result = asking.await;
        let as_it_should = match fate {
            Fate::Answered | Fate::AnsweredTwice => {
                matches!(&result, Ok(Ok(body)) if body.as_str() == "1")
            }
            Fate::Refused => matches!(result, Ok(Err(RemoteError::Refused { .. }))),
            Fate::Late | Fate::Forged => matches!(result, Ok(Err(RemoteError::TimedOut))),
            Fate::GivenUp => result.is_err(),
        };
        assert!(as_it_should, "{fate:?}");
    }
    settle().await;
    assert_eq!(bed.client.answers().counts().pending, 0);
    assert_eq!((bed.backbone.statistics(), bed.clock.asleep()), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn each_call_has_one_result_and_leaves_nothing(fates in fates()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(play(fates));
    }
}
