use std::num::NonZeroUsize;

use mesh_core::port::{
    ErrorKind, PublishOptions, QueueGroup, ReceiveError, SubscribeOptions, Subscription,
};

use super::*;
use crate::{InMemoryExactBroker, InMemoryFilterBroker};

fn broker() -> InMemoryFilterBroker {
    InMemoryFilterBroker::new(Arc::new(ManualClock::new()))
}

async fn listen(connection: &Connection, to: &str, buffer: usize) -> Subscription {
    let options =
        SubscribeOptions { buffer: NonZeroUsize::new(buffer).unwrap(), ..Default::default() };
    let transport = connection.transport();
    transport.subscribe(filter(to), options).await.unwrap()
}

async fn publish(connection: &Connection, on: &str, body: String) {
    let transport = connection.transport();
    transport.publish(message(on, body), Default::default()).await.unwrap();
}

#[tokio::test]
async fn the_exact_broker_refuses_what_it_does_not_declare() {
    let broker = InMemoryExactBroker::new(Arc::new(ManualClock::new()));
    let connection = broker.connect(module("mail"));
    let transport = connection.transport();
    let refused = transport.subscribe(filter("a.*"), Default::default()).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    let grouped = SubscribeOptions { group: Some(QueueGroup::serve()), ..Default::default() };
    let refused = transport.subscribe(filter("a.b"), grouped).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(connection.streams().is_err());
    assert!(connection.requests().is_err());
    assert!(connection.administration().is_err());
}

#[tokio::test]
async fn five_thousand_events_to_a_sleeping_reader_are_read_or_told() {
    let broker = broker();
    let connection = broker.connect(module("mail"));
    let mut sleeper = listen(&connection, "a.>", 1000).await;
    let mut awake = listen(&connection, "a.b", 5000).await;
    for number in 0..5000 {
        publish(&connection, "a.b", number.to_string()).await;
    }
    connection.transport().close(Default::default()).await;
    let (mut read, mut lost, mut expected) = (0, 0, 0_u64);
    while let Some(arrival) = sleeper.next().await {
        match arrival {
            Ok(message) => {
                assert_eq!(&message.payload()[..], expected.to_string().as_bytes());
                expected += 1;
                read += 1;
            }
            Err(ReceiveError::Lagged { lost: some }) => {
                expected += some;
                lost += some;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((read, lost), (1000, 4000));
    let mut all = 0;
    while let Some(arrival) = awake.next().await {
        arrival.unwrap();
        all += 1;
    }
    assert_eq!(all, 5000);
}

#[tokio::test]
async fn loss_is_told_in_its_place() {
    let broker = broker();
    let connection = broker.connect(module("mail"));
    let mut reader = listen(&connection, "a", 2).await;
    for number in 0..5 {
        publish(&connection, "a", number.to_string()).await;
    }
    let body = |arrival: Option<Result<Message, ReceiveError>>| match arrival {
        Some(Ok(message)) => String::from_utf8(message.payload().to_vec()).unwrap(),
        Some(Err(error)) => error.to_string(),
        None => "end".to_owned(),
    };
    assert_eq!(body(reader.next().await), "0");
    // One was read, so one more has room, behind the word of those that had none.
    publish(&connection, "a", "5".to_owned()).await;
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(body(reader.next().await));
    }
    assert_eq!(told, ["1", "the reader was too slow: 3 lost", "5"]);
}

#[tokio::test]
async fn a_publisher_lets_a_busy_reader_run_before_it_drops() {
    let broker = broker();
    let connection = broker.connect(module("mail"));
    let mut reader = listen(&connection, "a", 4).await;
    let count = tokio::spawn(async move {
        let mut count = 0;
        while let Some(arrival) = reader.next().await {
            arrival.unwrap();
            count += 1;
        }
        count
    });
    for number in 0..1000 {
        publish(&connection, "a", number.to_string()).await;
    }
    connection.transport().close(Default::default()).await;
    assert_eq!(count.await.unwrap(), 1000);
}

#[tokio::test]
async fn a_group_member_with_room_is_preferred_to_a_full_one() {
    let broker = broker();
    let connection = broker.connect(module("mail"));
    let member = |buffer| SubscribeOptions {
        group: Some(QueueGroup::serve()),
        buffer: NonZeroUsize::new(buffer).unwrap(),
        ..SubscribeOptions::default()
    };
    let transport = connection.transport();
    let mut small = transport.subscribe(filter("a"), member(1)).await.unwrap();
    // One group, though by another filter.
    let mut large = transport.subscribe(filter("*"), member(9)).await.unwrap();
    for number in 0..10 {
        publish(&connection, "a", number.to_string()).await;
    }
    transport.close(Default::default()).await;
    let mut counts = [0, 0];
    for (count, member) in counts.iter_mut().zip([&mut small, &mut large]) {
        while let Some(arrival) = member.next().await {
            arrival.unwrap();
            *count += 1;
        }
    }
    assert_eq!(counts, [1, 9]);
}

#[tokio::test]
async fn a_subscription_that_is_dropped_leaves_nothing() {
    let broker = broker();
    let connection = broker.connect(module("mail"));
    let reader = listen(&connection, "a.*", 10).await;
    publish(&connection, "a.b", "1".to_owned()).await;
    assert_eq!(broker.statistics().subscriptions, 1);
    drop(reader);
    assert_eq!(broker.statistics().subscriptions, 0);
    let insist = PublishOptions { require_receiver: true, ..Default::default() };
    let transport = connection.transport();
    let refused = transport.publish(message("a.b", "2"), insist).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::NoResponders);
    drop(connection);
    assert_eq!(broker.statistics().connections, 0);
}

#[tokio::test]
async fn ever_new_subjects_fill_no_memory() {
    let broker = broker();
    let connection = broker.connect(module("mail"));
    let mut reader = listen(&connection, "a.*", 1).await;
    for number in 0..100_000 {
        publish(&connection, &format!("a.{number}"), String::new()).await;
    }
    assert!(broker.0.hub.remembered() <= 64 * 1024);
    assert!(reader.next().await.unwrap().is_ok());
}

#[tokio::test]
async fn a_publish_that_is_given_up_while_it_waits_is_told_as_lost() {
    let broker = broker();
    let connection = broker.connect(module("mail"));
    let mut slow = listen(&connection, "a.b", 1).await;
    publish(&connection, "a.b", "1".to_owned()).await;
    let transport = connection.transport();
    let mut second = transport.publish(message("a.b", "2"), Default::default());
    assert!(poll(&mut second).is_pending());
    drop(second);
    assert_eq!(&slow.next().await.unwrap().unwrap().payload()[..], b"1");
    let told = arrived(&mut slow).await;
    assert!(matches!(told, Some(Err(ReceiveError::Lagged { lost: 1 }))), "{told:?}");
}
