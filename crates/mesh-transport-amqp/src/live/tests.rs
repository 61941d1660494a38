use std::sync::Arc;

use lapin::options::BasicPublishOptions;
use lapin::types::{AMQPValue, FieldArray, FieldTable};
use lapin::{BasicProperties, Channel};
use mesh_core::port::{Connection, PublishOptions};
use mesh_testkit::servers::rabbit::Account;
use serde_json::json;

use super::*;
use crate::session::Session;
use crate::testing::{Bed, PASSWORD, come, message, soon};
use crate::{AmqpOptions, Target};

/// The exchanges that live messages go through.
pub(crate) async fn bed() -> Bed {
    let bed = Bed::new().await;
    for name in ["mesh.live", "mesh.events", "mesh.events.dead", "mesh.rpc", "mesh.alive"] {
        bed.exchange(name).await;
    }
    bed
}

/// A channel on which anything may be done, and its session.
pub(crate) async fn raw(target: &Target) -> (Arc<Session>, Channel) {
    let session = Session::open(1, target, &AmqpOptions::default()).await.unwrap();
    let channel = session.publishing.channel(Operation::Publish, soon()).await.unwrap();
    (session, channel)
}

pub(crate) async fn send(channel: &Channel, exchange: &str, key: &str, with: BasicProperties) {
    let options = BasicPublishOptions::default();
    channel.basic_publish(exchange.into(), key.into(), options, b"raw", with).await.unwrap();
}

pub(crate) fn from(user: &str) -> BasicProperties {
    BasicProperties::default().with_user_id(user.into())
}

async fn subscribed(connection: &Connection, filter: &str) -> Subscription {
    try_subscribe(connection, filter).await.unwrap()
}

async fn try_subscribe(
    connection: &Connection,
    filter: &str,
) -> Result<Subscription, TransportError> {
    let filter = Filter::new(filter).unwrap();
    come(connection.transport().subscribe(filter, SubscribeOptions::default())).await
}

async fn publish(connection: &Connection, subject: &str, body: &str) {
    let publishing = connection.transport().publish(message(subject, body), Default::default());
    come(publishing).await.unwrap();
}

async fn heard(subscription: &mut Subscription) -> Message {
    come(subscription.next()).await.unwrap().unwrap()
}

async fn refused(subscription: &mut Subscription) -> (String, RefusalReason) {
    match come(subscription.next()).await.unwrap() {
        Err(ReceiveError::Refused { subject, reason }) => (subject.to_string(), reason),
        other => panic!("{other:?}"),
    }
}

fn of(subject: &str, reason: RefusalReason) -> (String, RefusalReason) {
    (subject.to_owned(), reason)
}

#[tokio::test]
async fn what_comes_round_the_brokers_check_is_refused() {
    let bed = bed().await;
    let mail = bed.connect("n1.mail").await;
    let mut subscription = subscribed(&mail, "test.a").await;
    let (_session, channel) = raw(&bed.target("n1.mail")).await;
    let copies = FieldArray::from(vec![AMQPValue::LongString("test.a".into())]);
    for name in ["CC", "BCC"] {
        let mut headers = FieldTable::default();
        headers.insert(name.into(), AMQPValue::FieldArray(copies.clone()));
        let with = from("n1.mail").with_headers(headers);
        send(&channel, "mesh.live", "test.other", with).await;
        let expected = of("test.other", RefusalReason::UnexpectedSubject);
        assert_eq!(refused(&mut subscription).await, expected, "{name}");
    }
    send(&channel, "mesh.live", "test.a", BasicProperties::default()).await;
    assert_eq!(refused(&mut subscription).await, of("test.a", RefusalReason::Unproven));
    publish(&mail, "test.a", "good").await;
    assert_eq!(heard(&mut subscription).await.payload(), "good");
}

#[tokio::test]
async fn no_event_is_heard_that_did_not_come_as_one() {
    let bed = bed().await;
    let mail = bed.connect("n1.mail").await;
    let mut subscription = subscribed(&mail, ">").await;
    let (_session, channel) = raw(&bed.target("n1.mail")).await;
    send(&channel, "mesh.live", "mesh.events.shop.sold", from("n1.mail")).await;
    let expected = of("mesh.events.shop.sold", RefusalReason::UnexpectedSubject);
    assert_eq!(refused(&mut subscription).await, expected);
    publish(&mail, "mesh.events.mail.sent", "event").await;
    let event = heard(&mut subscription).await;
    assert_eq!(
        (event.subject().as_str(), &event.payload()[..]),
        ("mesh.events.mail.sent", &b"event"[..])
    );
}

#[tokio::test]
async fn a_token_that_is_a_wildcard_of_the_broker_is_none_here() {
    let bed = bed().await;
    let mail = bed.connect("n1.mail").await;
    let mut subscription = subscribed(&mail, "test.#.a").await;
    for subject in ["test.a", "test.b.a", "test.#.a"] {
        publish(&mail, subject, subject).await;
    }
    assert_eq!(heard(&mut subscription).await.subject().as_str(), "test.#.a");
}

#[tokio::test]
async fn what_goes_to_a_queue_by_its_name_is_not_heard() {
    let bed = bed().await;
    let mail = bed.connect("n1.mail").await;
    let error = try_subscribe(&mail, "mesh.control.n1.report").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

/// The names of the queues that are there.
async fn queues(bed: &Bed) -> Vec<String> {
    let found = bed.host.management().get(&["queues", bed.host.name()]).await.unwrap();
    let names = found.as_array().unwrap().iter();
    names.map(|queue| queue["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_subscription_whose_queue_is_deleted_comes_back_and_says_so() {
    let bed = bed().await;
    let mail = bed.connect("n1.mail").await;
    let mut other = subscribed(&mail, "test.b").await;
    let group = Some(mesh_core::port::QueueGroup::new("g").unwrap());
    let options = SubscribeOptions { group, ..SubscribeOptions::default() };
    let filter = Filter::new("test.a").unwrap();
    let mut subscription = come(mail.transport().subscribe(filter, options)).await.unwrap();
    bed.delete("queues", "live.@g.test.a").await;
    match come(subscription.next()).await.unwrap() {
        Err(ReceiveError::Interrupted) => {}
        found => panic!("{found:?}"),
    }
    // It is there again when the flush has been answered.
    come(mail.transport().flush(soon() - Instant::now())).await.unwrap();
    publish(&mail, "test.a", "again").await;
    assert_eq!(heard(&mut subscription).await.payload(), "again");
    publish(&mail, "test.b", "undisturbed").await;
    assert_eq!(heard(&mut other).await.payload(), "undisturbed");
}

#[tokio::test]
async fn where_no_queue_may_be_declared_the_provisioned_one_is_read_by_one_alone() {
    let bed = bed().await;
    let narrow = Account::new("n1.crm", PASSWORD)
        .rights("", "^mesh\\.live$", "^live\\.n1\\.crm\\.test\\.a$")
        .topic("mesh.live", "^test\\.a$", "");
    bed.account(narrow).await;
    let crm = bed.connect("n1.crm").await;
    let error = try_subscribe(&crm, "test.a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("live.n1.crm.test.a is not provisioned"), "{error}");
    bed.queue("live.n1.crm.test.a", json!({})).await;
    bed.bind("mesh.live", "live.n1.crm.test.a", "test.*").await;
    let mut subscription = subscribed(&crm, "test.a").await;
    publish(&crm, "test.a", "mine").await;
    assert_eq!(heard(&mut subscription).await.payload(), "mine");
    let beside = bed.connect("n1.crm").await;
    let error = try_subscribe(&beside, "test.a").await.unwrap_err();
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Broker, true), "{error}");
    assert!(error.to_string().contains("exclusive"), "{error}");
    drop(subscription);
    come(crm.transport().flush(std::time::Duration::from_secs(30))).await.unwrap();
    let mut last = subscribed(&beside, "test.a").await;
    // Removed, it is looked for again, and named when it stays away.
    bed.delete("queues", "live.n1.crm.test.a").await;
    let word = come(last.next()).await;
    assert!(matches!(word, Some(Err(ReceiveError::Interrupted))), "{word:?}");
    match come(last.next()).await {
        Some(Err(ReceiveError::Ended(error))) => {
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
            assert!(error.to_string().contains("is not provisioned"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert!(come(last.next()).await.is_none());
}

#[tokio::test]
async fn a_refused_subscription_leaves_no_queue_and_others_go_on() {
    let bed = bed().await;
    let own = "^live\\.n1\\.crm\\..+$";
    let narrow = Account::new("n1.crm", PASSWORD)
        .rights(own, format!("{own}|^mesh\\.live$"), format!("{own}|^mesh\\.live$"))
        .topic("mesh.live", "^test\\.a$", "^test\\.a$");
    bed.account(narrow).await;
    let crm = bed.connect("n1.crm").await;
    let mut healthy = subscribed(&crm, "test.a").await;
    let before = queues(&bed).await;
    let error = try_subscribe(&crm, "test.b").await.unwrap_err();
    assert_eq!((error.kind(), error.subject()), (ErrorKind::Denied, Some("test.b")), "{error}");
    assert_eq!(queues(&bed).await, before);
    publish(&crm, "test.a", "healthy").await;
    assert_eq!(heard(&mut healthy).await.payload(), "healthy");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flush_hears_whatever_was_confirmed_to_anybody() {
    let bed = bed().await;
    let (mail, beside) = (bed.connect("n1.mail").await, bed.connect("n1.mail").await);
    let mut subscription = subscribed(&mail, "test.a").await;
    for round in 0..300 {
        publish(&beside, "test.a", "1").await;
        come(mail.transport().flush(std::time::Duration::from_secs(30))).await.unwrap();
        let there = futures_util::FutureExt::now_or_never(subscription.next());
        assert!(matches!(there, Some(Some(Ok(_)))), "in round {round}: {there:?}");
    }
}

#[tokio::test]
async fn a_flush_hears_all_of_a_long_queue() {
    let bed = bed().await;
    let mail = bed.connect("n1.mail").await;
    let beside = bed.connect("n1.mail").await;
    let filter = Filter::new("test.a").unwrap();
    let buffer = std::num::NonZeroUsize::new(2000).unwrap();
    let options = SubscribeOptions { buffer, ..SubscribeOptions::default() };
    let mut subscription = come(mail.transport().subscribe(filter, options)).await.unwrap();
    let all = (0..1500)
        .map(|_| beside.transport().publish(message("test.a", "1"), PublishOptions::default()));
    for done in come(futures_util::future::join_all(all)).await {
        done.unwrap();
    }
    come(mail.transport().flush(std::time::Duration::from_secs(30))).await.unwrap();
    let mut waiting = 0;
    while let Some(Some(Ok(_))) = futures_util::FutureExt::now_or_never(subscription.next()) {
        waiting += 1;
    }
    assert_eq!(waiting, 1500);
}

#[test]
fn a_groups_queue_has_a_name_that_is_nobodys_and_never_too_long() {
    let group = mesh_core::port::QueueGroup::new("g".repeat(127)).unwrap();
    for filter in ["test.a".to_owned(), "t".repeat(255), format!("{}.>", "t".repeat(253))] {
        let filter = Filter::new(filter).unwrap();
        let Wanted::Shared(name) = Wanted::shared(&group, &filter) else { panic!() };
        assert!(name.starts_with("live.@ggg") && name.len() <= 255, "{name}");
        assert!(lapin::types::ShortString::try_new(name).is_ok());
    }
}
