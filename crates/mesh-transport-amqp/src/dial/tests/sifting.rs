//! What the client library is handed, however it comes in pieces.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::io::{AsyncRead, AsyncReadExt};
use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldArray, FieldTable};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::legible;
use super::super::sift::Sift;
use crate::correlation::CorrelationId;
use crate::publish::Returned;

/// Gives what it has in pieces of these lengths, and then the rest.
struct Pieces(VecDeque<u8>, VecDeque<usize>);

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let length = self.1.pop_front().unwrap_or(usize::MAX).clamp(1, buffer.len());
        let given: Vec<u8> = (0..length).map_while(|_| self.0.pop_front()).collect();
        buffer[..given.len()].copy_from_slice(&given);
        Poll::Ready(Ok(given.len()))
    }
}

fn sifted(bytes: &[u8], pieces: Vec<usize>) -> Vec<u8> {
    let mut all = Vec::new();
    let mut sift = Sift::new(Pieces(bytes.to_vec().into(), pieces.into()), None);
    sift.read_to_end(&mut all).now_or_never().unwrap().unwrap();
    all
}

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let size = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&[kind, 0, 1], &size[..], payload, &[0xce]].concat()
}

/// A header frame's payload with these properties, written by the client library itself.
fn written(properties: &BasicProperties) -> Vec<u8> {
    use lapin::protocol::basic::gen_properties;
    let (bytes, _) = gen_properties(properties)(Vec::new().into()).unwrap().into_inner();
    [&[0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3], &bytes[..]].concat()
}

fn read(payload: &[u8]) -> Option<BasicProperties> {
    let (rest, properties) = lapin::protocol::basic::parse_properties(&payload[12..]).ok()?;
    rest.is_empty().then_some(properties)
}

#[test]
fn all_that_a_broker_writes_is_handed_on_as_it_is() {
    let mut row = FieldTable::default();
    row.insert("queue".into(), AMQPValue::LongString("q".into()));
    row.insert("time".into(), AMQPValue::Timestamp(7));
    row.insert("count".into(), AMQPValue::LongLongInt(1));
    let mut rows = FieldArray::default();
    rows.push(AMQPValue::FieldTable(row));
    let mut table = FieldTable::default();
    table.insert("x-death".into(), AMQPValue::FieldArray(rows));
    table.insert("a".into(), AMQPValue::Double(1.5));
    table.insert("b".into(), AMQPValue::Boolean(true));
    let full = BasicProperties::default()
        .with_content_type("text/plain".into())
        .with_content_encoding("x".into())
        .with_headers(table)
        .with_delivery_mode(2)
        .with_priority(3)
        .with_correlation_id("c".into())
        .with_reply_to("r".into())
        .with_expiration("1".into())
        .with_message_id("m".into())
        .with_timestamp(9)
        .with_type("t".into())
        .with_user_id("u".into())
        .with_app_id("a".into())
        .with_cluster_id("i".into());
    for properties in [BasicProperties::default(), full] {
        let before = written(&properties);
        let mut payload = before.clone();
        legible::header(&mut payload);
        assert_eq!(payload, before);
    }
}

#[test]
fn a_key_that_is_no_text_becomes_one_that_is_no_subject() {
    let deliver = |key: &[u8]| {
        let tail = [&[1, b'e', u8::try_from(key.len()).unwrap()], key].concat();
        [&[0, 60, 0, 60, 1, b'c', 0, 0, 0, 0, 0, 0, 0, 1, 0][..], &tail].concat()
    };
    let mut payload = deliver(b"a.\xffb");
    legible::method(&mut payload);
    assert_eq!(payload, deliver(b"a.\x1fb"));
    let mut good = deliver("a.é".as_bytes());
    legible::method(&mut good);
    assert_eq!(good, deliver("a.é".as_bytes()));
}

proptest! {
    #[test]
    fn whatever_the_properties_are_the_client_can_read_them(bytes in vec(any::<u8>(), 2..600)) {
        let mut payload = [&[0; 12], &bytes[..]].concat();
        legible::header(&mut payload);
        prop_assert_eq!(payload.len(), bytes.len() + 12);
        prop_assert!(read(&payload).is_some(), "{:?}", payload);
    }

    #[test]
    fn frames_are_the_same_in_whatever_pieces_they_come(
        frames in vec((prop::sample::select(vec![1_u8, 2, 3, 8]), vec(any::<u8>(), 0..40)), 0..6),
        pieces in vec(1_usize..9, 0..200),
    ) {
        let bytes: Vec<u8> =
            frames.iter().flat_map(|(kind, payload)| frame(*kind, payload)).collect();
        let wanted: Vec<u8> = frames
            .into_iter()
            .flat_map(|(kind, mut payload)| {
                match kind {
                    1 => legible::method(&mut payload),
                    2 => legible::header(&mut payload),
                    _ => {}
                }
                frame(kind, &payload)
            })
            .collect();
        prop_assert_eq!(sifted(&bytes, pieces), wanted);
    }
}

proptest! {
    #[test]
    fn what_comes_back_is_noted_before_anything_after_it_is_handed_on(
        back in vec((any::<bool>(), 0_usize..40), 1..6),
        pieces in vec(1_usize..60, 0..200),
    ) {
        const RETURN: [u8; 4] = [0, 60, 0, 50];
        const ACK: [u8; 13] = [0, 60, 0, 80, 0, 0, 0, 0, 0, 0, 0, 7, 1];
        let returned = Arc::new(Returned::default());
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for (comes_back, body) in back {
            let id = CorrelationId::random();
            let watched = returned.watch(id);
            if comes_back {
                let properties = BasicProperties::default()
                    .with_content_type("text/plain".into())
                    .with_correlation_id(id.text())
                    .with_message_id(CorrelationId::random().text());
                bytes.extend(frame(1, &RETURN));
                bytes.extend(frame(2, &written(&properties)));
                ends.push((Some(bytes.len()), watched));
                bytes.extend(frame(3, &vec![7; body]));
            } else {
                ends.push((None, watched));
            }
            bytes.extend(frame(1, &ACK));
        }
        let pieces = Pieces(bytes.clone().into(), pieces.into());
        let mut sift = Sift::new(pieces, Some(returned));
        let (mut handed, mut buffer) = (0, [0; 16]);
        while let Ok(count @ 1..) = sift.read(&mut buffer).now_or_never().unwrap() {
            handed += count;
            for (end, watched) in &ends {
                if end.is_some_and(|end| handed >= end) {
                    prop_assert!(watched.came_back(), "{handed}");
                }
            }
        }
        prop_assert_eq!(handed, bytes.len());
        for (end, watched) in &ends {
            prop_assert_eq!(watched.came_back(), end.is_some());
        }
    }
}

/// Values as a publisher may write them, nested, with bytes changed and lengths that lie.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let long = |kind: u8, inner: Vec<u8>| {
        let length = u32::try_from(inner.len()).unwrap().to_be_bytes();
        [&[kind], &length[..], &inner].concat()
    };
    let kinds = prop::sample::select(b"tbBsUuIifDLldTVSxz\0".to_vec());
    let leaf =
        (kinds, vec(any::<u8>(), 0..9)).prop_map(|(kind, rest)| [&[kind], &rest[..]].concat());
    let text = vec(any::<u8>(), 0..20).prop_map(move |text| long(b'S', text));
    prop_oneof![leaf, text].prop_recursive(24, 60, 4, move |inner| {
        let array = vec(inner.clone(), 0..4).prop_map(move |all| long(b'A', all.concat()));
        let row = (vec(any::<u8>(), 0..4), inner).prop_map(|(name, value)| {
            [&[u8::try_from(name.len()).unwrap()], &name[..], &value].concat()
        });
        let table = vec(row, 0..4).prop_map(move |rows| long(b'F', rows.concat()));
        prop_oneof![array, table]
    })
}

proptest! {
    #[test]
    fn whatever_a_publisher_nests_or_breaks_the_client_can_read_it(
        flags in any::<u8>(),
        values in vec(value(), 0..4),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let rows: Vec<u8> =
            values.iter().flat_map(|value| [&[1, b'k'], &value[..]].concat()).collect();
        let table = [&u32::try_from(rows.len()).unwrap().to_be_bytes()[..], &rows].concat();
        // A table, and a word before and after it where the flags say so.
        let flags = 0x2000 | u16::from(flags & 1) << 15 | u16::from(flags & 2) << 9;
        let mut properties = flags.to_be_bytes().to_vec();
        if flags & 0x8000 != 0 {
            properties.extend([1, b'x']);
        }
        properties.extend(table);
        if flags & 0x0400 != 0 {
            properties.extend([2, b'y', 0xff]);
        }
        for (place, byte) in changes {
            let place = place.index(properties.len());
            properties[place] = byte;
        }
        if is_cut {
            properties.truncate(cut.index(properties.len()).max(2));
        }
        let mut payload = [&[0; 12], &properties[..]].concat();
        legible::header(&mut payload);
        prop_assert!(read(&payload).is_some(), "{:?}", payload);
    }
}
