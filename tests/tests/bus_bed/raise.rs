//! Raised from nothing, raised again, and raised halfway.

use std::collections::BTreeSet;
use std::sync::Arc;

use mesh_control::genesis::{Genesis, Mode, Verdict};
use mesh_core::permissions::Permissions;
use mesh_core::port::{ErrorKind, Held};
use mesh_core::topology::StreamName;
use mesh_testkit::clock::ManualClock;
use mesh_testkit::fixtures::controller;
use mesh_transport_mem::InMemoryDurableBroker;
use serde_json::{Value, json};

use crate::bed::{Bed, Hand, of_module, topology};
use crate::faulty::Faulty;

/// All that the server says of streams and consumers, but for what it measures of itself.
async fn everything(bed: &Bed) -> Value {
    let mut all = bed.server.server().jsz().await.unwrap()["account_details"].clone();
    still(&mut all);
    all
}

/// The same once the server has counted what it was told.
async fn settled(bed: &Bed) -> Value {
    let mut last = Value::Null;
    crate::soon(async {
        loop {
            let now = everything(bed).await;
            if now == last {
                return now;
            }
            last = now;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await
}

/// Takes away what changes while nothing happens.
fn still(value: &mut Value) {
    match value {
        Value::Array(values) => {
            values.iter_mut().for_each(still);
            // Streams and consumers come in any order.
            values.sort_by_key(|value| value["name"].to_string());
        }
        Value::Object(map) => {
            for changing in ["ts", "last_active", "api", "cluster"] {
                map.remove(changing);
            }
            map.values_mut().for_each(still);
        }
        _ => {}
    }
}

#[tokio::test]
async fn a_new_mesh_gets_all_it_needs_and_a_second_run_changes_nothing_on_the_server() {
    let bed = Bed::new().await;
    let raised = bed.raise(Mode::Raise).await;
    assert!(raised.is_good(), "{raised:?}");
    assert_eq!(raised.found, 0);
    let made: BTreeSet<_> = raised.made.iter().map(ToString::to_string).collect();
    let expected = [
        "ADVISORIES",
        "ADVISORIES/controller",
        "BUILDS",
        "BUILDS/builder",
        "CONTROL",
        "CONTROL/controller",
        "EVENTS",
        "EVENTS/n1_log",
        "EVENTS/n1_mail",
        "EVENTS/n2_log",
        "EVENTS_DEAD",
        "NODES",
        "NODES/n1",
        "NODES/n2",
    ];
    assert_eq!(made.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    assert!(raised.epoch.is_some());

    // Of `mail`'s events one is acknowledged and two wait, of `log`'s all are in flight.
    let (shop, mail) = (bed.connect("shop.n1").await, bed.connect("mail.n1").await);
    let mut log = bed.server.raw("log.n1").await.unwrap();
    log.subscribe("mesh.deliver.EVENTS.n1_log", Some("n1_log")).await.unwrap();
    bed.emit(&shop, "1").await.unwrap();
    assert_eq!(bed.read(&mail, 1).await, ["1"]);
    crate::soon(mail.transport().close(crate::PATIENCE)).await;
    for body in ["2", "3"] {
        bed.emit(&shop, body).await.unwrap();
    }
    for _event in 0..3 {
        log.next().await.unwrap();
    }
    let before = settled(&bed).await;
    assert!(before.to_string().contains("n1_mail"), "{before}");
    for mode in [Mode::Look, Mode::Raise, Mode::Mend] {
        let again = bed.raise(mode).await;
        assert!(again.is_good(), "{again:?}");
        assert_eq!((again.made, again.drift, again.found), (vec![], vec![], expected.len()));
        assert_eq!(again.epoch, raised.epoch);
    }
    assert_eq!(everything(&bed).await, before);
}

#[tokio::test]
async fn a_look_tells_what_is_missing_and_makes_nothing() {
    let bed = Bed::new().await;
    let looked = bed.raise(Mode::Look).await;
    assert!(!looked.is_good());
    assert_eq!((looked.missing.len(), looked.made.len(), looked.epoch), (14, 0, None));
    assert_eq!(bed.hand.done("STREAM.NAMES", &Value::Null).await["total"], 0);
}

#[tokio::test]
async fn the_epoch_is_when_nodes_was_created_and_is_another_when_it_is_made_anew() {
    let bed = Bed::raised().await;
    let first = bed.raise(Mode::Raise).await.epoch.unwrap();
    let created = bed.hand.stream("NODES").await["created"].as_str().unwrap().to_owned();
    assert_eq!(created.parse::<mesh_core::time::Timestamp>().unwrap(), first);
    bed.server.server().restart().await.unwrap();
    assert_eq!(bed.raise(Mode::Raise).await.epoch, Some(first));
    let bed = Bed { hand: Hand::new(&bed.server).await, ..bed };
    bed.hand.delete_stream("NODES").await;
    let anew = bed.raise(Mode::Raise).await;
    assert!(anew.is_good() && anew.epoch.unwrap() > first, "{anew:?}");
}

#[tokio::test]
async fn events_of_a_mesh_that_is_raised_halfway_are_refused_to_their_emitter_and_none_is_lost() {
    let bed = Bed::new().await;
    let topology = topology();
    let streams = StreamName::ALL.map(StreamName::as_str);
    // The look is the first assertion; each step is one more, and the last opens EVENTS.
    for (count, done) in (0..24).flat_map(|count| [(count, false), (count, true)]) {
        let faulty = Faulty::after(count, done, &bed.controller);
        let broken = crate::soon(Genesis::of(&topology).run(&faulty, Mode::Raise)).await;
        let Some(stopped) = &broken.stopped else {
            assert!(count > 8, "it never broke off: {broken:?}");
            return;
        };
        assert_eq!(stopped.error.kind(), ErrorKind::Disconnected);
        // What it says to be there is there.
        let listed = bed.controller.administration().unwrap().list().await.unwrap();
        let made: BTreeSet<Held> = broken.made.iter().cloned().collect();
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), made, "{count} {done}");
        let shop = bed.connect("shop.n1").await;
        let emitted = bed.emit(&shop, "early").await;
        let kept = emitted.is_ok();
        if let Err(error) = &emitted {
            assert!(
                [ErrorKind::Full, ErrorKind::NotFound, ErrorKind::NoResponders]
                    .contains(&error.kind()),
                "{error}"
            );
        }
        let raised = bed.raise(Mode::Raise).await;
        assert!(raised.is_good(), "{raised:?}");
        assert_eq!(raised.found, made.len());
        bed.emit(&shop, "late").await.unwrap();
        let mail = bed.connect("mail.n1").await;
        let expected = if kept { vec!["early", "late"] } else { vec!["late"] };
        assert_eq!(bed.read(&mail, expected.len()).await, expected, "after {count}, {done}");
        for stream in streams {
            bed.hand.delete_stream(stream).await;
        }
    }
    panic!("it always breaks off");
}

#[tokio::test]
async fn a_half_raised_mesh_says_why_it_takes_no_events() {
    let bed = Bed::raised().await;
    bed.hand.done("CONSUMER.DELETE.EVENTS.n1_mail", &Value::Null).await;
    bed.hand.change_stream("EVENTS", &json!({ "max_bytes": 1 })).await;
    let looked = bed.raise(Mode::Look).await;
    assert_eq!(looked.missing, [Held::Consumer(of_module("mail"))]);
    assert_eq!(
        (looked.drift[0].drift.field, &looked.drift[0].verdict),
        ("max_bytes", &Verdict::Mendable)
    );
    let shop = bed.connect("shop.n1").await;
    let refused = bed.emit(&shop, "1").await.unwrap_err();
    assert_eq!((refused.kind(), refused.may_retry()), (ErrorKind::Full, true));
    assert!(bed.raise(Mode::Raise).await.is_good());
    bed.emit(&shop, "1").await.unwrap();
}

#[tokio::test]
async fn a_mesh_in_memory_is_raised_by_the_same_steps() {
    let clock = Arc::new(ManualClock::new());
    let broker = InMemoryDurableBroker::builder(clock).seed(1).build();
    let controller = broker.connect(controller(), Permissions::everything()).unwrap();
    let topology = topology();
    let genesis = Genesis::of(&topology);
    for count in 0..5 {
        let faulty = Faulty::after(count, false, &controller);
        assert!(genesis.run(&faulty, Mode::Raise).await.stopped.is_some());
    }
    let raised = genesis.run(&controller, Mode::Raise).await;
    assert!(raised.is_good() && raised.made.len() + raised.found == 14, "{raised:?}");
    let again = genesis.run(&controller, Mode::Mend).await;
    assert!(again.is_good() && again.made.is_empty(), "{again:?}");
    assert_eq!(again.epoch, raised.epoch);
    assert!(again.epoch.is_some());
}
