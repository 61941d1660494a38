use super::*;
use crate::mx::{MxPath, Profile};

#[test]
fn hops_and_expiry_never_turn_into_each_other() {
    let text = r#"{"fromRealm":"s","toPath":"a.accepts.m","correlationId":"c","msgId":"m","timestamp":5,"ttlMs":6}"#;
    let mut envelope = read(text).into_envelope(&local()).unwrap();
    assert_eq!((envelope.ttl, envelope.ttl_ms), (None, Some(6)));
    let no_place = |field, profile| Err(EncodeError::NoPlace { field, profile });
    assert_eq!(Profile::MxEnv1.encode(&envelope), no_place("ttlMs", Profile::MxEnv1));
    envelope.ttl_ms = None;
    envelope.ttl = Some(8);
    assert!(Profile::MxEnv1.encode(&envelope).is_ok());
    assert_eq!(Profile::Legacy.encode(&envelope), no_place("ttl", Profile::Legacy));

    let text = command(r#","ttlMs":6,"correlationId":"c""#);
    let Decoded::MxEnv(envelope) = read(&text) else { panic!("MXENV/1") };
    assert_eq!((envelope.ttl, envelope.ttl_ms), (None, None));
    assert_eq!(Profile::Legacy.encode(&envelope), no_place("unknown field", Profile::Legacy));
}

#[test]
fn a_legacy_request_becomes_an_envelope_and_back() {
    let text = concat!(
        r#"{"fromRealm":"shop","toRealm":"acme.com","toPath":"a.accepts.m","replyToRealm":"other","#,
        r#""correlationId":"c1","ttlMs":6,"body":[1],"x9":1}"#
    );
    let envelope = read(text).into_envelope(&local()).unwrap();
    assert_eq!(envelope.kind, MsgType::Cmd);
    assert_eq!(envelope.reply_to.as_ref().unwrap().realm.as_str(), "other");
    assert_eq!(Profile::Legacy.encode(&envelope).unwrap(), text.as_bytes());

    let text = r#"{"fromRealm":"shop","toPath":"a.accepts.m","replyToPath":"b.accepts.r","correlationId":"c1"}"#;
    let envelope = read(text).into_envelope(&local()).unwrap();
    assert_eq!(envelope.to.realm, local());
    assert_eq!(envelope.reply_to.unwrap().realm.as_str(), "shop");

    let text = r#"{"fromRealm":"shop","toPath":"a.emits.m","correlationId":"c1"}"#;
    let mut event = read(text).into_envelope(&local()).unwrap();
    assert_eq!(event.kind, MsgType::Evt);
    assert!(Profile::Legacy.encode(&event).is_ok());
    // What would be read as something else is not written.
    let kind = Err(EncodeError::Kind { profile: Profile::Legacy });
    event.kind = MsgType::Cmd;
    assert_eq!(Profile::Legacy.encode(&event), kind);
    event.kind = MsgType::Sub;
    assert_eq!(Profile::Legacy.encode(&event), kind);
    event.kind = MsgType::Evt;
    event.to.path = MxPath::new("a.accepts.m").unwrap();
    assert_eq!(Profile::Legacy.encode(&event), kind);
}

#[test]
fn a_field_of_another_profile_is_never_written_beside_ones_own() {
    let text =
        r#"{"fromRealm":"s","toPath":"a.accepts.m","correlationId":"c","msgId":"m","error":1}"#;
    let envelope = read(text).into_envelope(&local()).unwrap();
    assert_eq!(
        Profile::MxEnv1.encode(&envelope),
        Err(EncodeError::NoPlace { field: "unknown field", profile: Profile::MxEnv1 })
    );
    let text = command(r#","correlationId":"c","toPath":"b.accepts.m""#).replace("Cmd", "Result");
    let Decoded::MxEnv(result) = read(&text) else { panic!("MXENV/1") };
    assert!(Profile::MxEnv1.encode(&result).is_ok());
    assert!(Profile::Legacy.encode(&result).is_err());
}

#[test]
fn the_replay_key_is_the_message_id_or_else_the_correlation_id() {
    let key = |text| {
        let envelope = read(text).into_envelope(&local()).unwrap();
        let key = envelope.replay_key().unwrap();
        (key.realm.to_owned(), key.id.to_owned())
    };
    let legacy = r#"{"fromRealm":"s","toPath":"a.emits.m","correlationId":"c"}"#;
    let with_id = r#"{"fromRealm":"s","toPath":"a.emits.m","correlationId":"c","msgId":"m"}"#;
    assert_eq!(key(legacy), ("s".into(), "c".into()));
    assert_eq!(key(with_id), ("s".into(), "m".into()));
    assert_eq!(key(&command(r#","correlationId":"c""#)), ("shop".into(), "m1".into()));
}
