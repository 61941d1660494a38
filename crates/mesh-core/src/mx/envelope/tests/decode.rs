use super::*;

#[test]
fn every_field_is_kept_and_the_body_is_the_same_text() {
    for text in [
        concat!(
            r#"{"msgType":"Cmd","to":{"realm":"acme.com","path":"x/a.accepts.m","x9":1},"#,
            r#""from":{"realm":"shop","path":"b.emits.n","x9":[2]},"#,
            r#""replyTo":{"realm":"shop","path":"b.accepts.r","x9":"3"},"msgId":"m1","#,
            r#""correlationId":"c\"1","ttl":8,"timestamp":1700000000000,"traceId":"t","#,
            r#""principal":{"iss":"i","sub":"s"},"auth":"jwt","#,
            r#""body":{"z":1e400, "a":123456789012345678901234567890,"a":1},"#,
            r#""error":{"code":"E","message":"m","details":{"d":1},"x9":4},"x9":{"y":5},"ttlMs":7}"#
        ),
        concat!(
            r#"{"fromRealm":"shop","toRealm":"acme.com","fromPath":"b.emits.n","toPath":"a.accepts.m","#,
            r#""replyToRealm":"shop","replyToPath":"b.accepts.r","correlationId":"c1","#,
            r#""timestamp":5,"ttlMs":6,"msgId":"m1","principal":"ada","body":[1e400],"x9":1,"ttl":3}"#
        ),
        r#"{"fromRealm":"shop","toPath":"a.emits.m","correlationId":"c1","body":null}"#,
        concat!(
            r#"{"correlationId":"c1","ok":false,"fromRealm":"shop","body":1.0,"#,
            r#""error":{"code":"E","message":""},"timestamp":5,"x9":{}}"#
        ),
    ] {
        let decoded = read(text);
        assert_eq!(write(&decoded), text);
        assert_eq!(write(&decoded.clone().into_owned()), text);
        assert_eq!(decoded.clone().into_owned(), decoded);
    }
}

#[test]
fn the_profile_is_told_by_shape() {
    let shape = |text: &str| match decode(text.as_bytes(), MAX) {
        Ok(Decoded::MxEnv(_)) => "mxenv1",
        Ok(Decoded::LegacyRequest(_)) => "request",
        Ok(Decoded::LegacyEvent(_)) => "event",
        Ok(Decoded::LegacyReply(_)) => "reply",
        Err(error) if error.problem == DecodeProblem::Shape => "none",
        Err(error) => panic!("{error}: {text}"),
    };
    let request = r#""fromRealm":"s","toPath":"a.accepts.m","correlationId":"c""#;
    let event = r#""fromRealm":"s","toPath":"a.emits.m","correlationId":"c""#;
    for (text, expected) in [
        (command(""), "mxenv1"),
        (command(r#","ok":true,"correlationId":"c""#), "mxenv1"),
        (format!("{{{request}}}"), "request"),
        (format!(r#"{{{request},"ok":true}}"#), "request"),
        (format!(r#"{{{request},"msgType":"Cmd"}}"#), "request"),
        (format!(r#"{{{request},"msgType":1,"to":{{}}}}"#), "request"),
        (format!("{{{event}}}"), "event"),
        (format!(r#"{{{event},"replyToRealm":null}}"#), "event"),
        (format!(r#"{{{event},"replyToRealm":"s"}}"#), "request"),
        (format!(r#"{{{event},"replyToPath":"a.accepts.r"}}"#), "request"),
        (r#"{"ok":true,"correlationId":"c"}"#.into(), "reply"),
        (r#"{"ok":1,"correlationId":"c"}"#.into(), "none"),
        (r#"{"ok":true}"#.into(), "none"),
        (r#"{"toPath":"a.accepts.m"}"#.into(), "none"),
        (r#"{"toPath":7,"fromRealm":"s","ok":true,"correlationId":"c"}"#.into(), "none"),
        ("{}".into(), "none"),
        ("[]".into(), "none"),
        ("7".into(), "none"),
    ] {
        assert_eq!(shape(&text), expected, "{text}");
    }
}

#[test]
fn a_body_has_other_names_in_legacy_and_only_one_of_them_at_once() {
    let request = |more: &str| {
        format!(r#"{{"fromRealm":"s","toPath":"a.accepts.m","correlationId":"c"{more}}}"#)
    };
    for more in [r#","body":[1]"#, r#","params":[1]"#, r#","payload":[1]"#] {
        assert_eq!(write(&read(&request(more))), request(r#","body":[1]"#));
    }
    assert_eq!(
        write(&read(r#"{"ok":true,"correlationId":"c","result":[1]}"#)),
        r#"{"correlationId":"c","ok":true,"body":[1]}"#
    );
    let both = request(r#","params":77,"body":2"#);
    assert_refused(&both, "77", "params", "duplicate key");
    // Another profile's name for it is an unknown field.
    let text = command(r#","params":1"#);
    assert_eq!(write(&read(&text)), text);
}

#[test]
fn a_key_that_comes_twice_in_the_envelopes_own_objects_is_refused() {
    let twice = |text: &str, at, field| assert_refused(text, at, field, "duplicate key");
    twice(r#"{"msgType":"Evt","msgType":"Cmd"}"#, "\"msgType", "envelope");
    twice(&command(r#","x9":1,"x9":2"#), "\"x9", "envelope");
    twice(&command(r#","x9":1,"\u00789":2"#), "\"\\u00789", "envelope");
    let from = command("").replace("\"shop\"", "\"shop\",\"realm\":\"x\"");
    twice(&from, "\"realm", "from");
    let to = command("").replace("\"a.accepts.m\"", "\"a.accepts.m\",\"p\\u0061th\":1");
    twice(&to, "\"p\\u", "to");
    let reply_to = command(r#","replyTo":{"realm":"a","path":"a.accepts.m","y":1,"y":2}"#);
    twice(&reply_to, "\"y", "replyTo");
    twice(&command(r#","error":{"code":"a","code":"b"}"#), "\"code", "error");
    twice(&command(r#","principal":{"sub":"a","sub":"b"}"#), "\"sub", "principal");
    assert!(decode(command(r#","body":{"a":1,"a":2}"#).as_bytes(), MAX).is_ok());
}

#[test]
fn a_field_that_is_wrong_is_named_with_its_offset() {
    let plain = command("");
    let with = |from: &str, to: &str| plain.replace(from, to);
    for (text, at, field, reason) in [
        (with("Cmd", "cmd"), "\"cmd", "msgType", "not a message type"),
        (with("\"m1\"", "77"), "77", "msgId", "not a string"),
        (with("\"m1\"", "\"\""), "\"\"", "msgId", "empty"),
        (with("msgId", "msgid"), "{\"msgType", "msgId", "missing"),
        (with(r#""path":"a.accepts.m""#, r#""p":1"#), r#"{"realm":"acme"#, "to.path", "missing"),
        (with(r#""realm":"shop""#, ""), "{}", "from.realm", "missing"),
        (with(r#"{"realm":"shop"}"#, "\"shop\""), "\"shop", "from", "not an object"),
        (
            with("a.accepts.m", "a.accepts.>"),
            "\"a.accepts",
            "to.path",
            "path: character '>' at offset 10 is not allowed",
        ),
        (
            with("acme.com", "*"),
            "\"*",
            "to.realm",
            "realm: character '*' at offset 0 is not allowed",
        ),
        (command(r#","replyTo":{"realm":"x"}"#), r#"{"realm":"x""#, "replyTo.path", "missing"),
        (command(r#","ttl":-1"#), "-1", "ttl", "not a whole number"),
        (command(r#","ttl":1.5"#), "1.5", "ttl", "not a whole number"),
        (command(r#","timestamp":"99""#), "\"99", "timestamp", "not a whole number"),
        (command(r#","error":{}"#), "{}", "error.code", "missing"),
        (command(" trailing"), "trailing", "envelope", "unexpected character"),
        (format!("{plain} x"), "x", "envelope", "text after the value"),
        (format!("\u{feff}{plain}"), "\u{feff}", "envelope", "byte-order mark"),
        (command(r#","body":"\ud800""#), "\\ud800", "envelope", "lone surrogate"),
        (command(r#","body":NaN"#), "NaN", "envelope", "number that is not finite"),
    ] {
        assert_refused(&text, at, field, reason);
    }
    let deep = |n: usize| command(&format!(r#","body":{}{}"#, "[".repeat(n), "]".repeat(n)));
    assert!(decode(deep(127).as_bytes(), MAX).is_ok());
    assert_refused(&deep(128), "[", "envelope", "nested deeper than 128");
    let error = decode(&[b' '; MAX + 1], MAX).unwrap_err();
    let found = MAX + 1;
    let problem = crate::json::JsonProblem::TooLarge { max: MAX, found };
    assert_eq!(error.problem, DecodeProblem::Json(problem));
}

#[test]
fn null_is_not_there_but_for_a_body() {
    let text = command(r#","replyTo":null,"ttl":null,"error":null,"principal":null,"body":null"#);
    assert_eq!(write(&read(&text)), command(r#","body":null"#));
}

#[test]
fn debug_shows_neither_proof_nor_body() {
    let text = command(r#","auth":"s3cret-1","body":"s3cret-2""#);
    assert!(!format!("{:?}", read(&text)).contains("s3cret"));
}

#[test]
fn a_refused_name_is_told_at_its_very_byte_however_it_is_escaped() {
    for (realm, wrong) in [
        ("a*b", "*"),
        (r"\u0061*b", "*"),
        (r"é\u00e9*", "*"),
        (r"\ud83d\ude00a..b", ".b"),
        ("", "\""),
    ] {
        let document =
            format!(r#"{{"correlationId":"c","toPath":"a.emits.m","fromRealm":"{realm}"}}"#);
        let error = decode(document.as_bytes(), DEFAULT_MAX_BYTES).unwrap_err();
        let at = error.offset_in(document.as_bytes());
        assert!(document[at..].starts_with(wrong), "{realm}: {}", &document[at..]);
    }
    let document = r#"{"fromRealm":"a","toPath":"a.b","correlationId":"c"}"#;
    let error = decode(document.as_bytes(), DEFAULT_MAX_BYTES).unwrap_err();
    assert_eq!(&document[error.offset_in(document.as_bytes())..][..3], "a.b");
}
