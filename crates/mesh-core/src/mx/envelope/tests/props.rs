use proptest::prelude::*;

use super::*;
use crate::json::RawJson;
use crate::mx::{InternalRequest, MxPath, Profile, decode_reply};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-z0-9-]{1,12}", 1 => "\\PC{1,6}", 1 => "[\"\\\\\n\u{1f}é😀]{1,4}"]
}

pub(super) fn any_envelope() -> impl Strategy<Value = Envelope<'static>> {
    let path = "([a-z]{1,4}/){0,2}[a-z]{1,5}\\.(accepts|emits)\\.[a-z]{1,5}"
        .prop_map(|text| MxPath::new(text).unwrap());
    let realm = "[a-z]{1,5}(\\.[a-zé]{1,4})?".prop_map(|text| RealmName::new(text).unwrap());
    let body = prop_oneof![
        Just("1e400".to_owned()),
        Just(r#"{"b":[1.50,null],"a":"\u00e9"}"#.to_owned()),
        text().prop_map(|text| RawJson::string(&text).to_string()),
    ]
    .prop_map(|text| RawJson::new(text).unwrap());
    let kind = prop::sample::select(vec![
        MsgType::Cmd,
        MsgType::Evt,
        MsgType::Result,
        MsgType::Sub,
        MsgType::Unsub,
        MsgType::Nack,
    ]);
    let ends = (realm.clone(), path.clone(), realm.clone(), prop::option::of(path.clone()));
    let more = (
        prop::option::of((realm, path)),
        text(),
        prop::option::of(text()),
        prop::option::of(any::<u64>()),
        prop::option::of(body.clone()),
        prop::option::of((text(), text(), prop::option::of(body.clone()))),
        prop::collection::btree_map("x-[a-z\"é]{1,4}", body, 0..3),
    );
    (kind, ends, more).prop_map(|(kind, (to, path, from, from_path), more)| {
        let (reply_to, msg_id, correlation_id, number, body, error, unknown) = more;
        let from = Party::new(&from, from_path).into_owned();
        let mut e = Envelope::new(kind, from, Address::new(&to, path).into_owned());
        e.reply_to = reply_to.map(|(realm, path)| Party::new(&realm, Some(path)).into_owned());
        e.msg_id = Some(msg_id.into());
        e.trace_id = correlation_id.clone().map(Into::into);
        e.correlation_id = correlation_id.map(Into::into);
        (e.ttl, e.timestamp) = (number, number);
        (e.auth, e.body) = (body.clone(), body);
        e.error = error.map(|(code, message, details)| {
            let mut fault = Fault::new(code, message);
            fault.details = details.filter(|d| *d != RawJson::NULL);
            fault
        });
        for (key, value) in unknown {
            e.unknown.push(key, value);
        }
        e
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn an_envelope_comes_back_as_it_was(envelope in any_envelope()) {
        let bytes = envelope.encode().unwrap();
        prop_assert!(serde_json::from_slice::<std::collections::HashMap<String, Box<serde_json::value::RawValue>>>(&bytes).is_ok());
        let decoded = decode(&bytes, MAX).unwrap();
        prop_assert_eq!(&decoded, &Decoded::MxEnv(envelope));
        prop_assert_eq!(decoded.into_owned().into_envelope(&local()).unwrap().encode().unwrap(), bytes);
    }

    #[test]
    fn what_legacy_has_a_place_for_comes_back_as_it_was(mut envelope in any_envelope()) {
        (envelope.ttl, envelope.auth, envelope.trace_id) = (None, None, None);
        if let Ok(bytes) = Profile::Legacy.encode(&envelope) {
            let decoded = decode(&bytes, MAX).unwrap();
            prop_assert_eq!(decoded.profile(), Profile::Legacy);
            match decoded.as_answer() {
                Some(answer) => prop_assert_eq!(answer.correlation_id, envelope.correlation_id.unwrap()),
                None => prop_assert_eq!(decoded.into_envelope(&local()).unwrap(), envelope),
            }
        }
    }

    #[test]
    fn a_damaged_envelope_is_read_or_refused_inside_its_bytes(
        envelope in any_envelope(),
        cut in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        legacy: bool,
    ) {
        let mut bytes = envelope.encode().unwrap();
        if legacy {
            (bytes, _) = (Profile::Legacy.encode(&envelope).unwrap_or(bytes), ());
        }
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cut.index(4) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        match decode(&bytes, MAX) {
            Ok(decoded) => {
                // Whatever is read can be written and read again to the same.
                let text = write(&decoded);
                prop_assert_eq!(decode(text.as_bytes(), MAX).unwrap(), decoded);
            }
            Err(error) => prop_assert!(error.offset <= bytes.len()),
        }
        let _ = decode_reply(&bytes, MAX);
        let _ = InternalRequest::decode(&bytes, MAX);
    }
}
