use lapin::types::FieldArray;
use mesh_core::port::Limits;
use mesh_testkit::strategies;
use proptest::prelude::*;

use super::*;

fn user() -> ShortString {
    "n1.mail".into()
}

fn with(table: &[(&str, AMQPValue)]) -> BasicProperties {
    let mut headers = FieldTable::default();
    for (name, value) in table {
        headers.insert((*name).into(), value.clone());
    }
    BasicProperties::default().with_headers(headers)
}

fn long(text: &str) -> AMQPValue {
    AMQPValue::LongString(text.into())
}

fn pairs(headers: &Headers) -> Vec<(&str, &str)> {
    let mut pairs: Vec<_> = headers.iter().collect();
    pairs.sort_unstable();
    pairs
}

proptest! {
    #[test]
    fn a_message_arrives_as_it_was_sent(message in strategies::message()) {
        prop_assume!(message.check(&Limits::default()).is_ok());
        let sent = properties(&message, &user(), true);
        prop_assert_eq!(sent.user_id().as_ref(), Some(&user()));
        let (subject, payload) = (message.subject().clone(), message.payload().to_vec());
        let arrived = message_in(subject, &sent, payload, true).unwrap();
        prop_assert_eq!(pairs(arrived.headers()), pairs(message.headers()));
        prop_assert_eq!((arrived.reply(), arrived.payload()), (message.reply(), message.payload()));
    }
}

#[test]
fn the_content_type_is_the_property_and_everything_else_a_text_in_the_table() {
    let mut headers = Headers::default();
    for (name, value) in
        [("content-type", "application/json"), ("x-Event-id", "1"), ("x-node", "n1")]
    {
        headers.append(HeaderName::new(name).unwrap(), HeaderValue::new(value).unwrap());
    }
    let sent = headers_out(&headers);
    assert_eq!(sent.content_type().as_ref().unwrap().as_str(), "application/json");
    let table = sent.headers().as_ref().unwrap();
    assert_eq!(
        table,
        with(&[("x-Event-id", long("1")), ("x-node", long("n1"))]).headers().as_ref().unwrap()
    );
    assert_eq!(*headers_out(&Headers::default()).headers(), None);
}

#[test]
fn a_content_type_too_long_for_the_property_stands_in_the_table() {
    let value = "a".repeat(256);
    let mut headers = Headers::default();
    headers.append(names::CONTENT_TYPE, HeaderValue::new(value.clone()).unwrap());
    let sent = headers_out(&headers);
    assert_eq!(*sent.content_type(), None);
    assert_eq!(pairs(&headers_in(&sent)), [("content-type", value.as_str())]);
}

#[test]
fn the_property_outweighs_a_content_type_in_the_table() {
    let sent = with(&[("content-type", long("text/plain"))]).with_content_type("a/b".into());
    assert_eq!(pairs(&headers_in(&sent)), [("content-type", "a/b")]);
}

#[test]
fn what_the_broker_adds_and_what_is_no_text_is_passed_over() {
    let arrived = with(&[
        ("x-death", AMQPValue::FieldArray(FieldArray::default())),
        ("x-first-death-queue", long("q")),
        ("x-delivery-count", AMQPValue::LongLongInt(3)),
        ("Nats-Msg-Id", long("1")),
        ("CC", AMQPValue::FieldArray(FieldArray::default())),
        ("x-list", AMQPValue::FieldArray(FieldArray::default())),
        ("x-table", AMQPValue::FieldTable(FieldTable::default())),
        ("x-bytes", AMQPValue::LongString(vec![0xff].into())),
        ("x-broken", long("a\nb")),
        ("x y", long("a")),
        ("x-number", AMQPValue::LongInt(-7)),
        ("x-flag", AMQPValue::Boolean(true)),
        ("x-node", long("n1")),
    ]);
    let headers = headers_in(&arrived);
    assert_eq!(pairs(&headers), [("x-flag", "true"), ("x-node", "n1"), ("x-number", "-7")]);
}

#[test]
fn a_reply_address_that_is_no_subject_keeps_a_message_from_being_read_where_it_matters() {
    let arrived = BasicProperties::default().with_reply_to("a b".into());
    let subject = || Subject::new("a.b").unwrap();
    assert!(message_in(subject(), &arrived, Vec::new(), true).is_none());
    assert!(message_in(subject(), &arrived, Vec::new(), false).unwrap().reply().is_none());
}
