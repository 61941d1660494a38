use proptest::prelude::*;

use super::*;

/// What the other realm may do next.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Grant,
    Silent,
    Unknown,
    Unavailable,
    Event,
    Ended,
    Missed,
    Wait,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        Just(Deed::Grant),
        Just(Deed::Silent),
        Just(Deed::Unknown),
        Just(Deed::Unavailable),
        Just(Deed::Event),
        Just(Deed::Ended),
        Just(Deed::Missed),
        Just(Deed::Wait),
    ];
    proptest::collection::vec(deed, 0..40)
}

async fn play(deeds: Vec<Deed>) {
    let patience = Duration::from_secs(1_000_000);
    let bed =
        Bed::with(RealmOptions { patience, ..RealmOptions::default() }, |outside| outside).await;
    let mut shop = bed.shop().await;
    let before = (bed.local.statistics(), bed.clock.asleep());
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    let mut said = 0;
    for deed in deeds {
        match deed {
            Deed::Event => {
                said += 1;
                shop.tell(&sink, &said.to_string()).await;
            }
            Deed::Ended => shop.notice(&sink, r#"{"kind":"ended","reason":"evicted"}"#).await,
            Deed::Missed => shop.notice(&sink, r#"{"kind":"missed","atLeast":1}"#).await,
            Deed::Wait => bed.clock.advance(Duration::from_secs(7)).await,
            answer => {
                let came = shop.next_in_time(&bed).await;
                match answer {
                    Deed::Grant => shop.grant(&bed, &came).await,
                    Deed::Unknown => shop.answer(&came, Err(("MX.SUB.NOT_FOUND", ""))).await,
                    Deed::Unavailable => shop.answer(&came, Err(("MX.SUB.UNAVAILABLE", ""))).await,
                    _ => {}
                }
                settle().await;
            }
        }
    }
    // From here on the other realm does all it should.
    for _ in 0..120 {
        bed.clock.advance(Duration::from_secs(1)).await;
        while let Some(came) = tokio::select! {
            biased;
            came = shop.next() => Some(came),
            () = settle() => None,
        } {
            assert_ne!(came.command(), "unsubscribe");
            shop.grant(&bed, &came).await;
        }
    }
    assert!(watch.is_held());
    said += 1;
    shop.tell(&sink, &said.to_string()).await;
    let mut next = 1;
    while let Some(seen) = seen(&mut watch).await {
        match seen {
            Seen::Event(body) => {
                assert_eq!(body.as_str(), next.to_string(), "in order, each once");
                next += 1;
            }
            Seen::Missed { .. } => {}
            Seen::Ended(end) => panic!("{end:?}"),
        }
    }
    assert_eq!(next, said + 1, "none is missing");
    drop(watch);
    let came = shop.expect("unsubscribe").await;
    shop.answer(&came, Ok("null")).await;
    settle().await;
    assert_eq!((bed.local.statistics(), bed.clock.asleep()), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the other realm does, its lease is held again once it does what it should.
    #[test]
    fn a_watch_recovers_from_whatever_happens_to_its_lease(deeds in deeds()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(play(deeds));
    }
}
