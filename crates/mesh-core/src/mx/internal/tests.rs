use super::*;
use crate::json::RawJson;
use crate::mx::{Decoded, MxRealm, Profile, Topic, decode};
use crate::name::RealmName;
use crate::subject::Subject;

const MAX: usize = 4096;

/// One reply of each step of the order, and those that could fall between two of them.
#[test]
fn a_reply_is_read_in_the_protocols_order() {
    let text = |text| Ok(RawJson::string(text).to_string());
    let ok = |body: &str| Ok(body.to_owned());
    let fault = |code: &str, message: &str| Err((code.to_owned(), message.to_owned()));
    let edge = |message: &str| fault("MX.EDGE.HANDLER_ERROR", message);
    type Read = Result<String, (String, String)>;
    let table: &[(&[u8], Read)] = &[
        // 1. Not UTF-8 JSON.
        (b"", text("")),
        (b"hello", text("hello")),
        (b"{\"a\":", text("{\"a\":")),
        (b"NaN", text("NaN")),
        (b"\xffx", text("\u{fffd}x")),
        (b"{} {}", text("{} {}")),
        // 2. Not an object.
        (b" 1e400 ", ok("1e400")),
        (b"null", ok("null")),
        (br#"[{"ok":false}]"#, ok(r#"[{"ok":false}]"#)),
        (br#""plain""#, ok(r#""plain""#)),
        // 3. A boolean `ok`.
        (br#"{"ok":true}"#, ok("null")),
        (br#"{"ok":true,"body":1,"result":2,"x":3}"#, ok("1")),
        (br#"{"ok":true,"result":2}"#, ok("2")),
        (br#"{"ok":true,"body":null,"result":2}"#, ok("null")),
        (br#"{"ok":true,"error":{"code":"E"},"body":1}"#, ok("1")),
        (br#"{"ok":false,"error":{"code":"E","message":"m"}}"#, fault("E", "m")),
        (br#"{"ok":false}"#, edge("")),
        (br#"{"ok":false,"error":"no"}"#, edge("no")),
        (br#"{"ok":false,"error":{"code":7}}"#, edge("")),
        // 4. An error with a code.
        (br#"{"error":{"code":"E"},"result":1}"#, fault("E", "")),
        (br#"{"ok":"yes","error":{"code":"E","message":5}}"#, fault("E", "")),
        // 5. A result.
        (br#"{"result":1,"body":2,"x":3}"#, ok("1")),
        (br#"{"result":null}"#, ok("null")),
        (br#"{"error":{"message":"no code"},"result":1}"#, ok("1")),
        (br#"{"ok":null,"result":1}"#, ok("1")),
        // 6. A body and nothing foreign beside it.
        (br#"{"body":2}"#, ok("2")),
        (br#"{"body":2,"correlationId":"other","error":null,"ok":1}"#, ok("2")),
        // 7. The whole object.
        (br#"{"body":2,"x":3}"#, ok(r#"{"body":2,"x":3}"#)),
        (br#" {"b":1, "a":1e400} "#, ok(r#"{"b":1, "a":1e400}"#)),
        (br#"{"error":{"message":"no code"}}"#, ok(r#"{"error":{"message":"no code"}}"#)),
        (br#"{"a":1,"a":2}"#, ok(r#"{"a":1,"a":2}"#)),
        (b"{}", ok("{}")),
        // What no envelope may carry.
        (br#"{"ok":true,"ok":false}"#, edge("reply: JSON: duplicate key at offset 11")),
        (br#"{"error":{"code":"A","code":"B"}}"#, edge("reply: error at offset 21: duplicate key")),
        (br#""\ud800""#, edge("reply: JSON: lone surrogate at offset 1")),
    ];
    for (bytes, expected) in table {
        let read = decode_reply(bytes, MAX)
            .map(|body| body.to_string())
            .map_err(|fault| (fault.code.to_string(), fault.message.to_string()));
        assert_eq!(&read, expected, "{}", String::from_utf8_lossy(bytes));
    }
    let deep = "[".repeat(200);
    assert!(decode_reply(deep.as_bytes(), MAX).is_err());
    assert!(decode_reply(&[b' '; MAX + 1], MAX).is_err());
}

#[test]
fn a_failure_without_a_code_keeps_what_it_says_as_details() {
    let fault = decode_reply(br#"{"ok":false,"body":{"why":1}}"#, MAX).unwrap_err();
    assert_eq!(fault.details.unwrap().as_str(), r#"{"why":1}"#);
    let fault = decode_reply(br#"{"error":{"code":"E","details":[1],"x":2}}"#, MAX).unwrap_err();
    assert_eq!(fault.details.unwrap().as_str(), "[1]");
    assert_eq!(fault.unknown.get("x").unwrap().as_str(), "2");
}

#[test]
fn a_big_object_of_a_components_own_passes_whole() {
    let members: Vec<_> = (0..500).map(|n| format!("\"x{n}\":{n}")).collect();
    let text = format!("{{{}}}", members.join(","));
    let body = decode_reply(text.as_bytes(), 1 << 20).unwrap();
    assert_eq!(body.as_str(), text);
}

fn request_text(more: &str) -> String {
    format!(
        r#"{{"msgType":"Cmd","to":{{"realm":"acme","path":"a.accepts.m"}},"from":{{"realm":"shop"}},"msgId":"m1"{more}}}"#
    )
}

#[test]
fn a_request_carries_what_the_gateway_knows_and_nothing_a_remote_claims() {
    let text = request_text(
        r#","traceId":"t","principal":"ada","body":{"_mx":1,"n":1e400},"_mx":{"fromRealm":"boss"}"#,
    );
    let local = RealmName::new("acme").unwrap();
    let reply_to = Topic::internal_reply(&local, crate::mx::ReplyId([7; 16]));
    let Ok(Decoded::MxEnv(envelope)) = decode(text.as_bytes(), MAX) else {
        panic!("MXENV/1");
    };
    assert!(envelope.unknown.is_empty(), "_mx from a remote is stripped");
    let mut request = InternalRequest::of(&envelope, Profile::MxEnv1, "c1", reply_to);
    request.envelope = Some(RawJson::new(text.as_str()).unwrap());
    let bytes = request.encode();
    let written = String::from_utf8(bytes.clone()).unwrap();
    let start = concat!(
        r#"{"correlationId":"c1","replyTo":"mx/1/acme/_reply.07070707070707070707070707070707","#,
        r#""params":{"_mx":1,"n":1e400},"_mx":{"fromRealm":"shop","incomingProfile":"mxenv1","#,
        r#""msgId":"m1","principalKey":"ada","traceId":"t"},"envelope":{"msgType""#
    );
    assert!(written.starts_with(start), "{written}");
    assert!(!written.contains("boss"));

    let read = InternalRequest::decode(&bytes, MAX).unwrap();
    assert_eq!(read.mx, request.mx);
    assert_eq!(read.params, request.params);
    assert_eq!(read.reply_to, request.reply_to);
    let mx = read.mx.unwrap();
    assert_eq!(mx.from_realm, RealmName::new("shop").unwrap());
    assert_eq!(mx.incoming_profile, Profile::MxEnv1);
}

#[test]
fn a_request_without_a_body_has_null_params() {
    let text = request_text("");
    let Ok(Decoded::MxEnv(envelope)) = decode(text.as_bytes(), MAX) else {
        panic!("MXENV/1");
    };
    let reply_to = Subject::new("mx/1/acme/_reply.x").unwrap();
    let request = InternalRequest::of(&envelope, Profile::MxEnv1, "c1", reply_to);
    assert_eq!(request.params, RawJson::NULL);
    assert_eq!(request.mx.unwrap().from_realm, MxRealm::new("shop").unwrap());
}

#[test]
fn a_request_that_is_none_is_refused_by_field_and_offset() {
    for (text, message) in [
        ("[]", "request at offset 0: unexpected character"),
        (r#"{"replyTo":"a"}"#, "correlationId at offset 0: missing"),
        (r#"{"correlationId":"c"}"#, "replyTo at offset 0: missing"),
        (r#"{"correlationId":"c","replyTo":"a.*"}"#, "replyTo at offset 31: not a subject"),
        (
            r#"{"correlationId":"c","replyTo":"a","_mx":{"fromRealm":"a/b","incomingProfile":"legacy"}}"#,
            "_mx.fromRealm at offset 54: realm: character '/' at offset 1 is not allowed",
        ),
        (
            r#"{"correlationId":"c","replyTo":"a","_mx":{"fromRealm":"a","incomingProfile":"x"}}"#,
            "_mx.incomingProfile at offset 76: not a profile's name",
        ),
        (
            r#"{"correlationId":"c","correlationId":"d","replyTo":"a"}"#,
            "request at offset 21: duplicate key",
        ),
    ] {
        let error = InternalRequest::decode(text.as_bytes(), MAX).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn without_mx_takes_away_the_top_level_key_alone() {
    for (text, expected) in [
        (r#"{"a":{"_mx":1}}"#, r#"{"a":{"_mx":1}}"#),
        (r#"{"_mx":1}"#, "{}"),
        (r#"{ "a" : 1e400 , "\u005fmx" : {} , "b":2,"_mx":3}"#, r#"{"a" : 1e400,"b":2}"#),
        (r#"["_mx"]"#, r#"["_mx"]"#),
        ("7", "7"),
    ] {
        let value = RawJson::new(text).unwrap();
        assert_eq!(without_mx(&value).as_str(), expected);
    }
}

#[test]
fn a_reply_too_deep_for_its_envelope_is_a_failure_that_can_be_sent() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let failing = |levels| format!(r#"{{"ok":false,"body":{}}}"#, nested(levels));
    let answer = |reply: &str| {
        let fault = decode_reply(reply.as_bytes(), MAX);
        fault.map(|body| body.as_str().len()).map_err(|fault| fault.message.into_owned())
    };
    assert_eq!(answer(&nested(127)), Ok(254));
    assert!(answer(&nested(128)).unwrap_err().contains("too deep"));
    assert_eq!(answer(&failing(126)), Err(String::new()));
    assert!(answer(&failing(127)).unwrap_err().contains("too deep"));
}
