//! Events in both modes.

use bytes::Bytes;
use mesh_core::event::{Event, EventId};
use mesh_core::json::{MAX_DEPTH, RawJson};
use mesh_core::message::{HeaderName, HeaderValue};
use mesh_core::time::Timestamp;
use mesh_testkit::strategies::*;
use proptest::prelude::*;

use crate::cases;

fn decoded(headers: &[(std::borrow::Cow<'static, str>, String)], body: Bytes) -> Event {
    let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
    Event::decode(pairs, body).unwrap()
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn an_event_comes_back_as_it_was(event in event()) {
        let read = decoded(&event.headers(), event.data().as_bytes().clone());
        prop_assert_eq!(read, event);
    }

    #[test]
    fn a_structured_event_comes_back_as_it_was(event in event()) {
        let (headers, body) = event.structured();
        let read = decoded(&headers, body);
        prop_assert_eq!(read.headers(), event.headers());
        prop_assert_eq!(read.data().raw(), event.data().raw());
        prop_assert_eq!(read.extra(), event.extra());
    }

    #[test]
    fn every_header_of_an_event_may_be_sent(event in event()) {
        for (name, value) in event.headers() {
            prop_assert!(HeaderName::new(name.clone()).is_ok(), "{}", name);
            prop_assert!(HeaderValue::new(value.clone()).is_ok(), "{}: {:?}", name, value);
        }
    }

    #[test]
    fn ids_and_moments_read_back(id in event_id(), time in timestamp()) {
        prop_assert_eq!(&EventId::from_header("x-event-id", &id.to_header()).unwrap(), &id);
        prop_assert_eq!(EventId::new(id.as_str()).unwrap(), id);
        prop_assert_eq!(time.to_string().parse::<Timestamp>().unwrap(), time);
    }

    #[test]
    fn a_json_value_is_its_text(value in raw_json()) {
        prop_assert_eq!(&RawJson::new(value.as_str()).unwrap(), &value);
        prop_assert!(depth(value.as_str()) < MAX_DEPTH);
        let known = serde_json::from_str::<Box<serde_json::value::RawValue>>(value.as_str());
        let known = known.unwrap();
        prop_assert_eq!(known.get(), value.as_str());
    }
}

/// The most containers open at once, counted the slow way.
fn depth(json: &str) -> usize {
    let (mut open, mut most, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for c in json.chars() {
        match (quoted, c) {
            (true, _) if escaped => escaped = false,
            (true, '\\') => escaped = true,
            (_, '"') => quoted = !quoted,
            (false, '[' | '{') => open += 1,
            (false, ']' | '}') => open -= 1,
            _ => {}
        }
        most = most.max(open);
    }
    most
}
