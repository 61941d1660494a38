use proptest::prelude::*;

use super::*;
use crate::subject::Subject;

fn realm() -> impl Strategy<Value = RealmName> {
    let label = prop_oneof![4 => "[a-zA-Z0-9_~-]{1,8}", 1 => "[!-~¡-ÿ]{1,5}"];
    prop::collection::vec(label, 1..4)
        .prop_filter_map("a realm", |labels| RealmName::new(labels.join(".")).ok())
}

fn path() -> impl Strategy<Value = MxPath<'static>> {
    let label = || prop_oneof![4 => "[a-zA-Z0-9_-]{1,8}", 1 => "[!-~¡-ÿ]{1,4}"];
    let plane = prop_oneof![Just("accepts"), Just("emits")];
    (
        prop::collection::vec(prop_oneof![4 => label().boxed(), 1 => "[a.-]{1,3}".boxed()], 0..3),
        prop::collection::vec(label(), 1..4),
        plane,
        label(),
    )
        .prop_filter_map("a path", |(mounts, component, plane, message)| {
            let mounts: String = mounts.iter().map(|mount| format!("{mount}/")).collect();
            let text = format!("{mounts}{}.{plane}.{message}", component.join("."));
            MxPath::new(text).ok()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn mxesc1_comes_back_as_it_was(text in "\\PC{1,20}") {
        let escaped = escape::encode(&text);
        prop_assert!(escaped.bytes().all(|b| b == b'%' || escape::encoded_len(&(b as char).to_string()) == 1));
        prop_assert_eq!(escaped.len(), escape::encoded_len(&text));
        prop_assert_eq!(escape::decode_canonical(&escaped).unwrap(), text.as_str());
        let lower = escaped.to_lowercase();
        prop_assert_eq!(escape::decode(&lower).is_ok(), true);
    }

    #[test]
    fn a_topic_comes_back_as_it_was(realm in realm(), path in path(), shard: u8, id: [u8; 16]) {
        let topics = [
            Topic::Mailbox(MailboxKind::Legacy, realm.clone()),
            Topic::Mailbox(MailboxKind::Mx(Shard(shard)), realm.clone()),
            Topic::RouteInbox(realm.clone(), Shard(shard)),
            Topic::Internal(realm.clone(), path),
            Topic::InternalReply(realm.clone(), ReplyId(id)),
        ];
        for topic in topics {
            let subject = topic.subject().unwrap();
            // `Subject::new` looks again at what was made from checked parts.
            prop_assert_eq!(&Subject::new(subject.as_str()).unwrap(), &subject);
            prop_assert_eq!(subject.as_str().parse::<Topic>().unwrap(), topic);
        }
        let raw = MailboxKind::LegacyRaw.subject(&realm);
        let Ok(Topic::Mailbox(_, read)) = raw.as_str().parse::<Topic>() else {
            return Err(TestCaseError::fail("a mailbox"));
        };
        prop_assert_eq!(read, realm);
    }

    #[test]
    fn a_uri_comes_back_as_it_was(realm in realm(), path in path()) {
        let uri = MxUri::new(&realm, path);
        for text in [uri.to_string(), uri.segmented().to_string()] {
            prop_assert_eq!(&MxUri::parse(&text).unwrap(), &uri, "{}", text);
            prop_assert!(text.is_ascii());
        }
    }

    #[test]
    fn any_uri_parses_or_points_inside(
        realm in "[a-z.:@%?#é-]{0,6}",
        rest in prop::collection::vec("[a.%/ -]{0,4}|accepts|emits|-|%2D|%C3%A9|%ff", 0..7),
        dotted: bool,
    ) {
        let text = format!("matrix://{realm}/{}", rest.join(if dotted { "." } else { "/" }));
        match MxUri::parse(&text) {
            Ok(uri) => {
                let printed = uri.to_string();
                let again = MxUri::parse(&printed).unwrap();
                prop_assert_eq!(&again, &uri);
                prop_assert_eq!(again.to_string(), printed);
            }
            Err(error) => prop_assert!(
                error.offset <= text.len() && text.is_char_boundary(error.offset),
                "{}: {}", text, error
            ),
        }
    }

    #[test]
    fn an_escape_that_was_not_needed_changes_nothing(
        realm in "[a.:@?é-]{0,3}x",
        rest in "([a.?é-]{1,2}/){0,2}[a.?é/-]{1,3}[./](accepts|emits)[./][a?é/-]{0,2}x",
    ) {
        // What is spelled without escapes is read by a shorter way.
        let plain = format!("matrix://{realm}/{rest}");
        let parsed = MxUri::parse(&plain).ok();
        let escaped = |text: &str| text.replace('x', "%78");
        for text in [
            format!("matrix://{}/{rest}", escaped(&realm)),
            format!("matrix://{realm}/{}", escaped(&rest)),
            format!("matrix://{}/{}", escaped(&realm), escaped(&rest)),
        ] {
            prop_assert_eq!(&MxUri::parse(&text).ok(), &parsed, "{} {}", plain, text);
        }
    }

    #[test]
    fn any_text_is_a_path_by_the_rules_or_not_at_all(text in "[a./*é -]{0,6}(a|b\\.)?\\.?(accepts|emits|)\\.?[a/.]{0,2}") {
        // The same rules, said the slow way.
        let segments: Vec<&str> = text.split('/').collect();
        let (atom, mounts) = segments.split_last().unwrap();
        let labels: Vec<&str> = atom.split('.').collect();
        let good = mounts.iter().all(|m| !m.is_empty() && !m.contains(".."))
            && labels.len() >= 3
            && labels.iter().all(|l| !l.is_empty())
            && ["accepts", "emits"].contains(&labels[labels.len() - 2])
            && !text.contains(['*', ' ']);
        prop_assert_eq!(MxPath::new(text.as_str()).is_ok(), good, "{}", text);
    }
}
