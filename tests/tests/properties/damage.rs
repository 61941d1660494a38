//! Damaged bytes: never a panic, an error inside them, and whatever is read after all can be written.

use bytes::Bytes;
use mesh_core::credential::{BrokerUrl, Document, EnrolmentToken};
use mesh_core::event::Event;
use mesh_core::json::RawJson;
use mesh_core::manifest::{MeshFile, ModuleManifest};
use mesh_core::mx::{
    DEFAULT_MAX_BYTES, Decoded, InternalRequest, MxUri, Topic, decode, decode_reply, principal_key,
};
use mesh_core::provision::GrantRequest;
use mesh_testkit::strategies::*;
use proptest::prelude::*;

use crate::cases;

fn written(decoded: &Decoded<'_>) -> Vec<u8> {
    match decoded {
        Decoded::MxEnv(envelope) => envelope.encode().unwrap(),
        Decoded::LegacyRequest(request) | Decoded::LegacyEvent(request) => request.encode(),
        Decoded::LegacyReply(reply) => reply.encode(),
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn a_damaged_message_of_a_mailbox(bytes in mutated_bytes(mailbox_bytes())) {
        match decode(&bytes, DEFAULT_MAX_BYTES) {
            Ok(decoded) => {
                let again = written(&decoded);
                prop_assert_eq!(decode(&again, DEFAULT_MAX_BYTES).unwrap(), decoded);
            }
            Err(error) => prop_assert!(error.offset <= bytes.len()),
        }
        if let Err(fault) = decode_reply(&bytes, DEFAULT_MAX_BYTES) {
            prop_assert!(fault.code.len() <= bytes.len() + 64);
        }
        if let Ok(value) = RawJson::from_slice(&bytes, DEFAULT_MAX_BYTES) {
            prop_assert_eq!(&RawJson::new(value.as_str()).unwrap(), &value);
            let _ = principal_key(&value);
        }
    }

    #[test]
    fn a_damaged_internal_request(
        bytes in mutated_bytes(internal_request().prop_map(|request| request.encode())),
    ) {
        match InternalRequest::decode(&bytes, DEFAULT_MAX_BYTES) {
            Ok(request) => {
                let again = request.encode();
                let read = InternalRequest::decode(&again, DEFAULT_MAX_BYTES).unwrap();
                prop_assert_eq!(read.params, request.params);
                prop_assert_eq!(read.mx, request.mx);
            }
            Err(error) => prop_assert!(error.offset <= bytes.len()),
        }
    }

    #[test]
    fn a_damaged_structured_event(
        (headers, body) in event().prop_map(|event| event.structured())
            .prop_flat_map(|(headers, body)| (Just(headers), mutated_bytes(Just(body.to_vec())))),
    ) {
        let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
        if let Ok(event) = Event::decode(pairs, Bytes::from(body)) {
            let (headers, body) = event.structured();
            let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
            prop_assert_eq!(Event::decode(pairs, body).unwrap(), event);
        }
    }

    #[test]
    fn an_event_with_a_damaged_header(
        event in event(),
        at in any::<prop::sample::Index>(),
        value in mutated_bytes(text(1..=12).prop_map(String::into_bytes)),
    ) {
        let mut headers = event.headers();
        let at = at.index(headers.len());
        headers[at].1 = String::from_utf8_lossy(&value).into_owned();
        let body = event.data().as_bytes().clone();
        let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
        if let Ok(read) = Event::decode(pairs, body.clone()) {
            let headers = read.headers();
            let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
            prop_assert_eq!(Event::decode(pairs, body).unwrap(), read);
        }
    }

    #[test]
    fn damaged_credentials(
        document in mutated_bytes(credential().prop_filter_map("never", |credential| {
            Some(credential.to_document().ok()?.expose().as_bytes().to_vec())
        })),
        token in mutated_bytes(enrolment_token().prop_filter_map("never", |token| {
            Some(token.to_text().ok()?.expose().as_bytes().to_vec())
        })),
        url in mutated_bytes(broker_url().prop_map(|url| url.expose().into_bytes())),
    ) {
        if let Ok(Document::Scoped(credential)) = Document::parse(&document) {
            let again = credential.to_document().unwrap();
            prop_assert_eq!(Document::parse(again.expose()).unwrap(), Document::Scoped(credential));
        }
        if let Ok(token) = EnrolmentToken::parse(&String::from_utf8_lossy(&token)) {
            let again = token.to_text().unwrap();
            prop_assert_eq!(EnrolmentToken::parse(again.expose()).unwrap(), token);
        }
        let url = String::from_utf8_lossy(&url);
        match url.parse::<BrokerUrl>() {
            Ok(read) => prop_assert_eq!(read.expose().parse::<BrokerUrl>().unwrap(), read),
            Err(error) => prop_assert!(error.offset <= url.len()),
        }
    }

    #[test]
    fn a_damaged_uri_or_topic(
        uri in mutated_bytes(mx_uri_spelt().prop_map(|(_, text)| text.into_bytes())),
        grant in mutated_bytes(grant_request().prop_map(|grant| grant.encode().as_str().as_bytes().to_vec())),
    ) {
        let uri = String::from_utf8_lossy(&uri);
        match MxUri::parse(&uri) {
            Ok(read) => {
                for text in [read.to_string(), read.segmented().to_string()] {
                    let again = MxUri::parse(&text).unwrap();
                    prop_assert_eq!(&again, &read);
                }
                let topic = Topic::Internal(read.realm().to_name(), read.path().clone().into_owned());
                if let Ok(subject) = topic.subject() {
                    prop_assert_eq!(subject.as_str().parse::<Topic>().unwrap(), topic);
                }
            }
            Err(error) => prop_assert!(error.offset <= uri.len() && uri.is_char_boundary(error.offset)),
        }
        if let Ok(read) = GrantRequest::decode(&grant) {
            prop_assert_eq!(GrantRequest::decode(read.encode().as_bytes()).unwrap(), read);
        }
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_damaged_file_of_a_mesh(
        manifest in mutated_bytes(module_manifest().prop_map(|manifest| manifest.text.into_bytes())),
        mesh in mutated_bytes(mesh_file().prop_map(|file| file.text.into_bytes())),
    ) {
        let manifest = String::from_utf8_lossy(&manifest);
        let problems = ModuleManifest::parse("m.toml", &manifest).err();
        let mesh = String::from_utf8_lossy(&mesh);
        let others = MeshFile::parse("mesh.toml", &mesh).err();
        for problems in [problems, others].into_iter().flatten() {
            prop_assert!(!problems.is_empty());
            for problem in problems {
                prop_assert!(problem.line >= 1 && problem.column >= 1, "{problem}");
            }
        }
    }
}
