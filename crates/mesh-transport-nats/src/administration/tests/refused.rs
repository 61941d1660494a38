use mesh_core::port::{Administration as _, DriftMode, ErrorKind};
use mesh_core::topology::{Retention, StreamName, Topology};
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use serde_json::json;

use super::look::small_events;
use super::server::{Plain, Server, client};
use super::{consumer, only, topology};
use crate::administration::{Admin, StreamSettings};

#[tokio::test]
async fn a_second_consumer_of_a_work_queue_is_refused() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    let mut wide = only(StreamName::Builds).stream(StreamName::Builds).unwrap().clone();
    wide.max_consumers = 2;
    let wide = only(StreamName::Builds).with_stream(wide);
    let stranger = json!({
        "durable_name": "stranger", "ack_policy": "explicit", "filter_subject": "mesh.build.request",
    });
    let bare = json!({
        "name": "BUILDS", "subjects": ["mesh.build.request"], "retention": "workqueue",
        "discard": "new", "max_consumers": 2, "max_bytes": 67_108_864, "max_msg_size": 983_040,
        "deny_purge": true,
    });
    hand.done("STREAM.CREATE.BUILDS", bare).await;
    hand.make_consumer("create", "BUILDS", "stranger", stranger).await;
    let error = admin.assert(&wide, DriftMode::Mend).await.unwrap_err();
    assert_eq!((error.kind(), error.subject()), (ErrorKind::Invalid, Some("BUILDS/builder")));
    assert!(error.to_string().contains("unique"), "{error}");
    hand.consumer("BUILDS", "stranger").await;
    // The same where its one place is taken.
    let error = admin.assert(&only(StreamName::Builds), DriftMode::Mend).await.unwrap_err();
    assert_eq!((error.kind(), error.subject()), (ErrorKind::Invalid, Some("BUILDS/builder")));
    assert!(error.to_string().contains("maximum consumers"), "{error}");
}

#[tokio::test]
async fn subjects_of_a_stream_that_is_not_ours_are_not_taken() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    let strange = json!({ "name": "STRANGE", "subjects": ["mesh.events.>"] });
    hand.done("STREAM.CREATE.STRANGE", strange).await;
    let error = admin.assert(&only(StreamName::Events), DriftMode::Mend).await.unwrap_err();
    assert_eq!((error.kind(), error.subject()), (ErrorKind::Broker, Some("EVENTS")));
    assert!(error.to_string().contains("overlap"), "{error}");
}

#[tokio::test]
async fn more_than_the_server_has_is_full_when_it_is_made_and_left_when_it_is_mended() {
    let server = Server::start().await;
    let admin = server.admin().await;
    let huge = small_events(|events| events.max_bytes = 1 << 50);
    let error = admin.assert(&huge, DriftMode::Mend).await.unwrap_err();
    assert_eq!((error.kind(), error.subject()), (ErrorKind::Full, Some("EVENTS")));
    admin.assert(&only(StreamName::Events), DriftMode::Mend).await.unwrap();
    let drift = admin.assert(&huge, DriftMode::Mend).await.unwrap();
    assert_eq!(super::fields(&drift), [("EVENTS", "max_bytes", false)]);
}

#[tokio::test]
async fn an_account_without_storage_is_unsupported() {
    // Beside one that has some.
    let users = "no_auth_user: a\naccounts { A { users: [{ user: a, password: a }] }, B { jetstream: enabled } }";
    let server = NatsServer::launch(NatsConfig::new().jetstream().with(users)).await.unwrap();
    let admin = Admin::new(Plain::new(client(&server).await), StreamSettings::default());
    let error = admin.assert(&topology(), DriftMode::Mend).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let error = admin.inspect(StreamName::Events).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[tokio::test]
async fn what_no_server_can_hold_is_refused_before_anything_is_made() {
    let server = Server::start().await;
    let admin = server.admin().await;
    let refuse = async |topology: &Topology, about: &str| {
        let error = admin.assert(topology, DriftMode::Mend).await.unwrap_err();
        assert_eq!((error.kind(), error.subject()), (ErrorKind::Invalid, Some(about)), "{error}");
        assert_eq!(*admin.api.asked.lock(), Vec::<String>::new());
    };
    for change in [
        (|events| events.max_bytes = 0) as fn(&mut mesh_core::topology::StreamSpec),
        |events| events.max_bytes = u64::MAX,
        |events| events.max_message_bytes = Some(0),
        |events| events.max_message_bytes = Some(1 << 31),
        |events| events.max_consumers = 0,
        |events| events.max_messages_per_subject = Some(0),
        |events| events.deduplication_window = std::time::Duration::ZERO,
        |events| events.max_age = Some(std::time::Duration::ZERO),
        |events| events.max_age = Some(std::time::Duration::MAX),
        |events| events.subjects.clear(),
        |events| events.subjects.push(mesh_core::subject::Filter::new("mesh.events.a.b").unwrap()),
        |events| events.retention = Retention::WorkQueue,
    ] {
        // Two consumers, which a work queue can't have.
        refuse(&super::with_module(small_events(change), "crm"), "EVENTS").await;
    }
    let of = consumer(StreamName::Events, "n1_mail");
    for change in [
        (|mail| mail.filters.clear()) as fn(&mut mesh_core::topology::ConsumerSpec),
        |mail| mail.rules.ack_wait = std::time::Duration::ZERO,
        |mail| mail.rules.max_ack_pending = 0,
        |mail| mail.rules.max_ack_pending = usize::MAX,
        |mail| mail.rules.max_deliver = Some(0),
    ] {
        let mut mail = topology().consumer(&of).unwrap().clone();
        change(&mut mail);
        refuse(&topology().with_consumer(mail), "EVENTS/n1_mail").await;
    }
    for replicas in [0, 6] {
        let settings = StreamSettings { replicas, ..StreamSettings::default() };
        let admin = Admin::new(Plain::new(server.client().await), settings);
        let error = admin.assert(&topology(), DriftMode::Mend).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(*admin.api.asked.lock(), Vec::<String>::new());
    }
    assert_eq!(admin.inspect(StreamName::Events).await.unwrap(), None);
}

#[tokio::test]
async fn more_replicas_than_there_are_servers_are_refused() {
    let server = Server::start().await;
    let settings = StreamSettings { replicas: 3, ..StreamSettings::default() };
    let admin = Admin::new(Plain::new(server.client().await), settings);
    let error = admin.assert(&topology(), DriftMode::Mend).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("non-clustered"), "{error}");
    // Where the streams are there, it is a difference that can't be mended.
    server.admin().await.assert(&only(StreamName::Events), DriftMode::Mend).await.unwrap();
    let drift = admin.assert(&only(StreamName::Events), DriftMode::Mend).await.unwrap();
    assert_eq!(super::fields(&drift), [("EVENTS", "num_replicas", false)]);
}

#[tokio::test]
async fn a_consumer_of_an_absent_stream_is_not_found_and_nothing_is_made() {
    let server = Server::start().await;
    let admin = server.admin().await;
    let mail = topology().consumer(&consumer(StreamName::Events, "n1_mail")).unwrap().clone();
    let topology = only(StreamName::Builds).with_consumer(mail);
    let error = admin.assert(&topology, DriftMode::Mend).await.unwrap_err();
    assert_eq!((error.kind(), error.subject()), (ErrorKind::NotFound, Some("EVENTS/n1_mail")));
    assert_eq!(admin.inspect(StreamName::Builds).await.unwrap(), None);
}
