use mesh_core::name::ConsumerName;
use mesh_core::port::{
    AppendOptions, ConsumeOptions, Deliveries, Drift, DriftMode, ErrorKind, Position,
};
use mesh_core::subject::Filter;
use mesh_core::topology::{ConsumerRef, StreamName, Topology};
use mesh_testkit::servers::rabbit::Account;
use serde_json::json;

use crate::testing::{Bed, PASSWORD, come, message};

fn topology(modules: &[&str]) -> Topology {
    let shop = [Filter::new("shop.>").unwrap()];
    modules.iter().fold(Topology::new(), |topology, module| {
        let (node, module) = ("n1".parse().unwrap(), module.parse().unwrap());
        topology.with_module(&node, &module, &shop).unwrap()
    })
}

fn events_of(module: &str) -> ConsumerRef {
    let name = ConsumerName::new(format!("n1_{module}")).unwrap();
    ConsumerRef::new(StreamName::Events, name)
}

async fn assert(bed: &Bed, topology: &Topology) -> Vec<Drift> {
    let controller = bed.controller().await;
    let administration = controller.administration().unwrap();
    come(administration.assert(topology, DriftMode::Mend)).await.unwrap()
}

async fn hear(deliveries: &mut Deliveries) -> String {
    let delivery = come(deliveries.next()).await.unwrap().unwrap();
    let body = String::from_utf8(delivery.message().payload().to_vec()).unwrap();
    come(delivery.ack()).await.unwrap();
    body
}

/// Case A7.
#[tokio::test]
async fn a_queue_without_dead_letters_is_named_in_full_and_healthy_readers_go_on() {
    let bed = Bed::new().await;
    assert!(assert(&bed, &topology(&["mail"])).await.is_empty());
    let mail = bed.connect("n1.mail").await;
    let streams = mail.streams().unwrap();
    let mut healthy =
        come(streams.consume(events_of("mail"), ConsumeOptions::default())).await.unwrap();
    bed.queue("n1.edge.events", json!({ "x-queue-type": "quorum", "x-delivery-limit": 9 })).await;
    for _twice in 0..2 {
        let drift = assert(&bed, &topology(&["mail", "edge"])).await;
        let mut told: Vec<_> = drift
            .iter()
            .map(|drift| (drift.field, drift.expected.as_str(), drift.found.as_str()))
            .collect();
        told.sort_unstable();
        let whole = [
            ("x-dead-letter-exchange", "mesh.events.dead", "none"),
            ("x-dead-letter-strategy", "at-least-once", "none"),
            ("x-delivery-limit", "4", "9"),
        ];
        assert!(
            drift.iter().all(|drift| drift.object == "EVENTS/n1_edge" && !drift.mended
                || drift.object == "EVENTS"),
            "{drift:?}"
        );
        assert!(whole.iter().all(|wanted| told.contains(wanted)), "{drift:?}");
    }
    let append = streams.append(message("mesh.events.shop.sold", "1"), AppendOptions::default());
    come(append).await.unwrap();
    assert_eq!(hear(&mut healthy).await, "1");
}

#[tokio::test]
async fn an_exchange_of_another_kind_is_named_and_left() {
    let bed = Bed::new().await;
    let path = ["exchanges", bed.host.name(), "mesh.rpc"];
    let direct = json!({ "type": "direct", "durable": true });
    bed.host.management().put(&path, &direct).await.unwrap();
    let drift = assert(&bed, &topology(&[])).await;
    let expected = Drift {
        object: "mesh.rpc".into(),
        field: "type",
        expected: "topic".into(),
        found: "direct".into(),
        mended: false,
    };
    assert_eq!(drift, [expected]);
}

#[tokio::test]
async fn who_may_declare_nothing_is_told_which_object_it_was_denied() {
    let bed = Bed::new().await;
    let controller = bed.controller().await;
    bed.account(Account::new("controller.c1", PASSWORD).rights("", "", "")).await;
    let administration = controller.administration().unwrap();
    let topology = topology(&["mail"]);
    let asserting = administration.assert(&topology, DriftMode::Report);
    let refused = come(asserting).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
    assert_eq!(refused.subject(), Some("mesh.events"));
}

#[tokio::test]
async fn a_queue_that_is_its_stream_is_not_retired_and_nothing_is_read_by_number() {
    let bed = Bed::new().await;
    assert!(assert(&bed, &topology(&["mail"])).await.is_empty());
    let controller = bed.controller().await;
    let administration = controller.administration().unwrap();
    for stream in [StreamName::Control, StreamName::Builds, StreamName::EventsDead] {
        let of = ConsumerRef::new(stream, ConsumerName::new("controller").unwrap());
        let refused = come(administration.retire(&of)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
        let state = come(administration.inspect(stream)).await.unwrap();
        assert_eq!(state.unwrap().messages, 0);
    }
    let read = administration.read(StreamName::Events, Position::Sequence(1));
    assert_eq!(come(read).await.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn a_queue_that_is_full_refuses_the_sender_and_keeps_what_it_has() {
    let bed = Bed::new().await;
    let mut topology = topology(&["mail"]);
    for stream in [StreamName::Control, StreamName::Events] {
        let mut spec = topology.stream(stream).unwrap().clone();
        spec.max_bytes = 8 * 1024;
        topology = topology.with_stream(spec);
    }
    assert!(assert(&bed, &topology).await.is_empty());
    let (host, mail, controller) =
        (bed.host_of("n1").await, bed.connect("n1.mail").await, bed.controller().await);
    let of_control =
        ConsumerRef::new(StreamName::Control, ConsumerName::new("controller").unwrap());
    let places = [
        (&host, "mesh.control.n1.report", &controller, of_control),
        (&mail, "mesh.events.shop.sold", &mail, events_of("mail")),
    ];
    for (by, subject, reader, consumer) in places {
        let mut stored = 0;
        let full = loop {
            let body = format!("{stored:01000}");
            let streams = by.streams().unwrap();
            let append = streams.append(message(subject, &body), AppendOptions::default());
            match come(append).await {
                // The broker looks at a quorum queue's size now and then.
                Ok(_) if stored < 10_000 => stored += 1,
                other => break other,
            }
        };
        let full = full.unwrap_err();
        assert_eq!((full.kind(), full.may_retry()), (ErrorKind::Full, true), "{full}");
        assert!(stored > 2, "{stored}");
        let reading = reader.streams().unwrap().consume(consumer, ConsumeOptions::default());
        let mut deliveries = come(reading).await.unwrap();
        for number in 0..stored {
            assert_eq!(hear(&mut deliveries).await, format!("{number:01000}"));
        }
        let append =
            by.streams().unwrap().append(message(subject, "room"), AppendOptions::default());
        come(append).await.unwrap();
    }
}
