//! What goes between realms, in every profile.

use std::collections::BTreeMap;

use mesh_core::mx::{
    AnswerRoute, DEFAULT_MAX_BYTES, Decoded, InternalRequest, MxPath, MxUri, Profile, Stamp,
    decode, decode_reply, escape, principal_key,
};
use mesh_testkit::strategies::*;
use proptest::prelude::*;
use serde_json::value::RawValue;

use crate::cases;

fn read(bytes: &[u8]) -> Decoded<'_> {
    decode(bytes, DEFAULT_MAX_BYTES).unwrap()
}

proptest! {
    #![proptest_config(cases(700))]

    #[test]
    fn an_envelope_comes_back_as_it_was(envelope in envelope()) {
        let bytes = envelope.encode().unwrap();
        let decoded = read(&bytes);
        prop_assert_eq!(decoded.profile(), Profile::MxEnv1);
        prop_assert_eq!(decoded, Decoded::MxEnv(envelope));
    }

    #[test]
    fn a_legacy_request_comes_back_as_it_was(request in legacy_request(), local in realm_name()) {
        let bytes = request.encode();
        prop_assert_eq!(read(&bytes), Decoded::LegacyRequest(request.clone()));
        // As an envelope, and back: only what was left to the mailbox is filled in.
        let envelope = request.clone().into_envelope(&local);
        prop_assert!(envelope.kind.is_answered());
        let again = Profile::Legacy.encode(&envelope).unwrap();
        prop_assert_eq!(read(&again).into_envelope(&local).unwrap(), envelope);
    }

    #[test]
    fn a_legacy_event_comes_back_as_it_was(event in legacy_event(), local in realm_name()) {
        let bytes = event.encode();
        prop_assert_eq!(read(&bytes), Decoded::LegacyEvent(event.clone()));
        let envelope = event.into_envelope(&local);
        prop_assert!(AnswerRoute::of(&envelope, Profile::Legacy).is_none());
        let again = Profile::Legacy.encode(&envelope).unwrap();
        prop_assert_eq!(read(&again).into_envelope(&local).unwrap(), envelope);
    }

    #[test]
    fn a_legacy_reply_comes_back_as_it_was(reply in legacy_reply()) {
        let bytes = reply.encode();
        prop_assert_eq!(read(&bytes), Decoded::LegacyReply(reply.clone()));
        let answer = read(&bytes).as_answer().unwrap();
        prop_assert_eq!(answer.correlation_id, reply.correlation_id);
        prop_assert_eq!(answer.outcome.is_ok(), reply.ok);
    }

    #[test]
    fn an_internal_request_comes_back_as_it_was(request in internal_request()) {
        let bytes = request.encode();
        let decoded = InternalRequest::decode(&bytes, DEFAULT_MAX_BYTES).unwrap();
        prop_assert_eq!(&decoded.envelope, &request.envelope);
        prop_assert_eq!(decoded, request);
    }

    #[test]
    fn whatever_is_answered_gets_an_answer_that_names_it(
        envelope in envelope(),
        legacy in legacy_request(),
        local in realm_name(),
        body in raw_json(),
        fault in fault(),
    ) {
        let stamp = Stamp::new("m", 1_700_000_000_000);
        let incoming = [
            (envelope, Profile::MxEnv1),
            (legacy.into_envelope(&local), Profile::Legacy),
        ];
        for (request, profile) in incoming {
            let Some(route) = AnswerRoute::of(&request, profile) else {
                let known = request.from.path.is_some() || request.reply_to.is_some();
                prop_assert!(!request.kind.is_answered() || !known);
                continue;
            };
            prop_assert!(request.kind.is_answered(), "a {} is answered", request.kind);
            let (good, bad) = (route.ok(&stamp, &body), route.failed(&stamp, &fault));
            let (good, bad) = (read(&good).as_answer().unwrap(), read(&bad).as_answer().unwrap());
            let id = request.correlation_id.as_ref().or(request.msg_id.as_ref()).unwrap();
            prop_assert_eq!(&good.correlation_id, id);
            prop_assert_eq!(good.from_realm.unwrap(), request.to.realm.borrowed());
            prop_assert_eq!(good.outcome.unwrap(), body.borrowed());
            prop_assert_eq!(bad.outcome.unwrap_err(), fault.clone());
        }
    }

    #[test]
    fn a_component_may_answer_with_any_value(body in raw_json(), fault in fault()) {
        let ok = format!(r#"{{"ok":true,"body":{body}}}"#);
        prop_assert_eq!(decode_reply(ok.as_bytes(), DEFAULT_MAX_BYTES).unwrap(), body.borrowed());
        let result = format!(r#"{{"result":{body}}}"#);
        prop_assert_eq!(decode_reply(result.as_bytes(), DEFAULT_MAX_BYTES).unwrap(), body);
        let (code, message) = (serde_json::json!(fault.code), serde_json::json!(fault.message));
        let failed = format!(r#"{{"error":{{"code":{code},"message":{message}}}}}"#);
        let read = decode_reply(failed.as_bytes(), DEFAULT_MAX_BYTES).unwrap_err();
        prop_assert_eq!((read.code, read.message), (fault.code, fault.message));
    }

    #[test]
    fn both_forms_of_a_uri_are_the_uri((uri, compact, segmented) in mx_uri_forms()) {
        prop_assert_eq!(&MxUri::parse(&compact).unwrap(), &uri);
        prop_assert_eq!(&MxUri::parse(&segmented).unwrap(), &uri);
        prop_assert_ne!(compact, segmented);
    }

    #[test]
    fn a_uri_is_the_same_however_it_is_spelt((uri, text) in mx_uri_spelt()) {
        let parsed = MxUri::parse(&text);
        prop_assert!(parsed.is_ok(), "{}: {:?}", text, parsed);
        prop_assert_eq!(parsed.unwrap(), uri);
    }

    #[test]
    fn a_path_is_its_parts(path in mx_path()) {
        let mut parts: Vec<String> = path.mounts().map(str::to_owned).collect();
        parts.push(format!("{}.{}.{}", path.component(), path.plane(), path.message()));
        prop_assert_eq!(MxPath::new(parts.join("/")).unwrap(), path);
    }

    #[test]
    fn a_principals_key_names_one_principal(principal in mx_principal()) {
        let expected = match principal.to::<String>() {
            Ok(name) => Some(name),
            Err(_) => {
                let claims: BTreeMap<String, Box<RawValue>> = principal.to().unwrap_or_default();
                let part = |key| {
                    let text: String = serde_json::from_str(claims.get(key)?.get()).ok()?;
                    (!text.is_empty()).then(|| escape::encode(&text).into_owned())
                };
                part("iss").zip(part("sub")).map(|(iss, sub)| format!("{iss}|{sub}"))
            }
        };
        let expected = expected.filter(|key| !key.is_empty());
        prop_assert_eq!(principal_key(&principal).map(std::borrow::Cow::into_owned), expected);
    }
}
