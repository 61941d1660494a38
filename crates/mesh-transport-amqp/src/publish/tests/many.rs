//! Many at once, some of which come back, and whatever else a broker may send back.

use std::collections::BTreeMap;

use lapin::types::ShortString;
use mesh_core::message::{HeaderName, HeaderValue, Headers};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_thousand_at_once_each_hears_what_became_of_its_own() {
    let bed = Bed::new().await;
    bed.queue("lasting", json!({ "x-queue-type": "quorum" })).await;
    bed.queue("there", json!({})).await;
    let session = session(&bed, "n1.mail", &AmqpOptions::default()).await;
    let queues = [
        ("there", Confirmed::Taken),
        ("absent", Confirmed::Unroutable),
        ("lasting", Confirmed::Taken),
        ("nowhere", Confirmed::Unroutable),
    ];
    let queues = queues.map(|(name, wanted)| (Arc::new(Route::to_queue(name)), wanted));
    let all = (0..10_000).map(|number: usize| {
        let ((route, wanted), session) = (queues[number * 7 % 4].clone(), Arc::clone(&session));
        tokio::spawn(async move {
            let question = number.is_multiple_of(3);
            let make = || {
                let properties = BasicProperties::default().with_user_id(session.user.clone());
                let payload = Bytes::from(vec![7; number % 5 * 300]);
                let outgoing = Outgoing { mandatory: None, properties, payload };
                outgoing.mandatory_if(true)
            };
            let publishing = async {
                match question {
                    true => session.publish_question(&route, make, soon()).await,
                    false => session.publish(Operation::Publish, &route, make, soon()).await,
                }
            };
            if number.is_multiple_of(11) {
                // Given up midway, at whatever point it is.
                let _ =
                    tokio::time::timeout(Duration::from_micros(number as u64), publishing).await;
                return;
            }
            assert_eq!(publishing.await.unwrap(), wanted, "{number}");
        })
    });
    for done in come(join_all(all)).await {
        done.unwrap();
    }
    come(idle(&session)).await;
    assert!(session.publisher.returned.is_empty());
    assert!(session.stands());
}

#[tokio::test]
async fn no_id_that_a_caller_may_say_is_taken_for_that_of_what_came_back() {
    let bed = Bed::new().await;
    bed.queue("there", json!({})).await;
    let session = session(&bed, "n1.mail", &AmqpOptions::default()).await;
    let (there, absent) = (Route::to_queue("there"), Route::to_queue("absent"));
    for route in [&there, &absent] {
        to_queue(&session, route, true).await.unwrap();
    }
    let id = CorrelationId::random();
    let told = BTreeMap::from([("there", Confirmed::Taken), ("absent", Confirmed::Unroutable)]);
    // One says the id of the other in all that its caller can say.
    let all = (0..200_usize).map(|number| {
        let (name, route) =
            if number.is_multiple_of(2) { ("there", &there) } else { ("absent", &absent) };
        let (session, wanted) = (&session, told[name]);
        async move {
            let text = id.text().to_string();
            let mut headers = Headers::default();
            for name in ["correlation-id", "correlation_id", "reply-to"] {
                let name = HeaderName::new(name.to_owned()).unwrap();
                headers.append(name, HeaderValue::new(text.clone()).unwrap());
            }
            let said = message("acme.orders", &text).with_headers(headers);
            let make = || {
                let outgoing = Outgoing::on(route, &said, session);
                let said = ShortString::from(text.as_str());
                let properties = outgoing.properties.with_correlation_id(said.clone());
                let outgoing =
                    Outgoing { properties: properties.with_message_id(said), ..outgoing };
                outgoing.mandatory_if(true)
            };
            (wanted, session.publish(Operation::Publish, route, make, soon()).await)
        }
    });
    let watched = session.publisher.returned.watch(id);
    for (wanted, said) in come(join_all(all)).await {
        assert_eq!(said.unwrap(), wanted);
    }
    assert!(!watched.came_back());
}
