//! What nobody's file names.

use mesh_control::genesis::{Genesis, Mode, Owed, RetireError, retire};
use mesh_core::name::ModuleName;
use mesh_core::port::{Administration, Held};
use mesh_core::topology::{ConsumerRef, StreamName};
use mesh_testkit::fixtures::consumer;
use serde_json::{Value, json};

use crate::bed::{Bed, of_module, topology};

/// A consumer of a module that left, which owes `count` events.
async fn left(bed: &Bed, count: u64) -> ConsumerRef {
    let old = consumer(StreamName::Events, "n1_old");
    let mut config = bed.hand.consumer("EVENTS", "n1_mail").await["config"].clone();
    for key in ["durable_name", "name", "deliver_group"] {
        config[key] = "n1_old".into();
    }
    config["deliver_subject"] = "mesh.deliver.EVENTS.n1_old".into();
    let made = bed.hand.make_consumer("create", "EVENTS", "n1_old", &config).await;
    assert!(made["error"].is_null(), "{made}");
    let shop = bed.connect("shop.n1").await;
    for body in 0..count {
        bed.emit(&shop, &body.to_string()).await.unwrap();
    }
    crate::soon(async {
        while bed.hand.consumer("EVENTS", "n1_old").await["num_pending"] != count {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    })
    .await;
    old
}

fn administration(bed: &Bed) -> &dyn Administration {
    &**bed.controller.administration().unwrap()
}

#[tokio::test]
async fn a_consumer_that_no_file_names_is_told_with_what_it_owes_and_left() {
    let bed = Bed::raised().await;
    left(&bed, 3).await;
    bed.hand
        .done("STREAM.CREATE.ORDERS", &json!({ "name": "ORDERS", "subjects": ["orders.>"] }))
        .await;
    for mode in [Mode::Look, Mode::Raise, Mode::Mend] {
        let raised = bed.raise(mode).await;
        assert!(raised.is_good(), "{raised:?}");
        let mut told: Vec<_> = raised
            .strangers
            .iter()
            .map(|stranger| (stranger.held.to_string(), stranger.state.map(|state| state.owed())))
            .collect();
        told.sort();
        assert_eq!(told, [("EVENTS/n1_old".to_owned(), Some(3)), ("ORDERS".to_owned(), None)]);
    }
    assert_eq!(bed.hand.consumer("EVENTS", "n1_old").await["num_pending"], 3);
}

#[tokio::test]
async fn the_consumer_of_a_module_whose_manifest_is_refused_is_no_stranger() {
    let bed = Bed::raised().await;
    left(&bed, 0).await;
    let topology = topology();
    let genesis = Genesis::of(&topology).with_refused([ModuleName::new("old").unwrap()]);
    let raised = genesis.run(&bed.controller, Mode::Mend).await;
    let [stranger] = &raised.strangers[..] else { panic!("{raised:?}") };
    assert!(stranger.is_of_refused, "{stranger:?}");
}

#[tokio::test]
async fn a_consumer_is_retired_when_it_owes_nothing_or_its_debt_is_given_up() {
    let bed = Bed::raised().await;
    let (at, topology) = (administration(&bed), topology());
    let old = left(&bed, 2).await;
    let owes = retire(at, &topology, &old, Owed::Keep).await.unwrap_err();
    assert!(matches!(owes, RetireError::Owes { owed: 2, .. }), "{owes}");
    assert_eq!(retire(at, &topology, &old, Owed::GiveUp).await.unwrap(), 2);
    let gone = retire(at, &topology, &old, Owed::GiveUp).await.unwrap_err();
    assert!(matches!(gone, RetireError::Absent(_)), "{gone}");
    let old = left(&bed, 0).await;
    assert_eq!(retire(at, &topology, &old, Owed::Keep).await.unwrap(), 0);
    assert!(
        !bed.raise(Mode::Look)
            .await
            .strangers
            .iter()
            .any(|s| s.held == Held::Consumer(old.clone()))
    );
}

#[tokio::test]
async fn a_consumer_that_the_files_name_or_somebody_reads_stays() {
    let bed = Bed::raised().await;
    let (at, topology) = (administration(&bed), topology());
    let named = retire(at, &topology, &of_module("mail"), Owed::GiveUp).await.unwrap_err();
    assert!(matches!(named, RetireError::Named(_)), "{named}");
    // Whoever was told to leave reads on as long as it is connected.
    let mail = bed.connect("mail.n1").await;
    let streams = mail.streams().unwrap();
    let reading = streams.consume(of_module("mail"), mesh_core::port::ConsumeOptions::default());
    let _reading = crate::soon(reading).await.unwrap();
    crate::soon(async {
        while bed.hand.consumer("EVENTS", "n1_mail").await["push_bound"] != Value::Bool(true) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    })
    .await;
    let without = topology.clone().without_stream(StreamName::Events);
    let read = retire(at, &without, &of_module("mail"), Owed::Keep).await.unwrap_err();
    assert!(matches!(read, RetireError::Read(_)), "{read}");
}
