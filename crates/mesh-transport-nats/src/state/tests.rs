use mesh_core::store::{Revision, StoreErrorKind, StoreKey};
use mesh_core::topology::BucketAddress;

use super::looking::{self, Message};
use super::writing::seconds;
use std::time::Duration;

fn bucket() -> BucketAddress {
    BucketAddress::of("marks".parse().unwrap())
}

fn stored(subject: &str, hdrs: &str, data: &str) -> Message {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD as BASE64;
    Message {
        subject: subject.to_owned(),
        seq: 7,
        hdrs: BASE64.encode(hdrs),
        data: BASE64.encode(data),
    }
}

#[test]
fn what_is_stored_is_an_entry_or_the_notice_of_its_end() {
    let read = |headers: &str| {
        looking::read(&bucket(), stored("$KV.marks.a.b", headers, "value")).unwrap()
    };
    let entry = read("NATS/1.0\r\nNats-TTL: 60s\r\nNats-Msg-Id: 0af3\r\n\r\n");
    assert_eq!((entry.key, entry.revision), (StoreKey::new("a.b").ok(), Revision(7)));
    assert_eq!((entry.value.as_deref(), entry.id.as_deref()), (Some(&b"value"[..]), Some("0af3")));
    assert_eq!(read("").value.as_deref(), Some(&b"value"[..]));
    // A value that looks like a header is none.
    assert!(read("NATS/1.0\r\nx: KV-Operation: DEL\r\n\r\n").value.is_some());
    for over in ["KV-Operation: DEL", "KV-Operation: PURGE", "Nats-Marker-Reason: MaxAge"] {
        assert_eq!(read(&format!("NATS/1.0\r\n{over}\r\n\r\n")).value, None, "{over}");
    }
}

#[test]
fn what_nobody_here_has_stored_is_passed_over_or_damaged_and_no_panic() {
    for subject in ["$KV.marks", "$KV.marks.", "$KV.others.a", "$KV.marks.a b", "", "$KV.marks..a"]
    {
        assert_eq!(
            looking::read(&bucket(), stored(subject, "", "")).unwrap().key,
            None,
            "{subject}"
        );
    }
    let odd = Message { hdrs: "*".to_owned(), ..stored("$KV.marks.a", "", "") };
    assert_eq!(looking::read(&bucket(), odd).unwrap_err().kind(), StoreErrorKind::Corrupt);
    let odd = Message { data: "A".to_owned(), ..stored("$KV.marks.a", "", "") };
    assert_eq!(looking::read(&bucket(), odd).unwrap_err().kind(), StoreErrorKind::Corrupt);
}

#[test]
fn lifetimes_are_rounded_up_to_whole_seconds() {
    let millis = Duration::from_millis;
    for (lifetime, wanted) in [
        (Duration::ZERO, 1),
        (millis(1), 1),
        (millis(1000), 1),
        (millis(1001), 2),
        (millis(300_000), 300),
        (Duration::MAX, 3_153_600_000),
    ] {
        assert_eq!(seconds(lifetime), wanted, "{lifetime:?}");
    }
}
