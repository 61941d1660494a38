use super::*;
use crate::json::RawJson;
use crate::mx::{AnswerRoute, EdgeCode, Profile, Stamp};

#[test]
fn only_requests_are_answered() {
    for (kind, answered) in [
        ("Cmd", true),
        ("Sub", true),
        ("Unsub", true),
        ("Evt", false),
        ("Result", false),
        ("Nack", false),
    ] {
        let text =
            command(r#","correlationId":"c","replyTo":{"realm":"shop","path":"b.accepts.r"}"#)
                .replace("Cmd", kind);
        let envelope = read(&text).into_envelope(&local()).unwrap();
        assert_eq!(AnswerRoute::of(&envelope, Profile::MxEnv1).is_some(), answered, "{kind}");
    }
    // MXENV/1 needs a path to answer to.
    let text = command("");
    let envelope = read(&text).into_envelope(&local()).unwrap();
    assert_eq!(AnswerRoute::of(&envelope, Profile::MxEnv1), None);
}

#[test]
fn an_answer_goes_back_in_the_profile_of_its_request() {
    let stamp = Stamp::new("m2", 9);
    let body = RawJson::new("1e400").unwrap();
    let fault = Fault::edge(EdgeCode::RateLimited, "slow down");
    let answers = |text: &str| {
        let decoded = read(text);
        let profile = decoded.profile();
        let route = AnswerRoute::of(&decoded.into_envelope(&local()).unwrap(), profile).unwrap();
        let [ok, failed] = [route.ok(&stamp, &body), route.failed(&stamp, &fault)]
            .map(|bytes| String::from_utf8(bytes).unwrap());
        (route.realm().to_string(), ok, failed)
    };
    let (realm, ok, failed) =
        answers(&command(r#","traceId":"t","replyTo":{"realm":"shop","path":"b.accepts.r"}"#));
    assert_eq!(realm, "shop");
    let rest = concat!(
        r#""to":{"realm":"shop","path":"b.accepts.r"},"from":{"realm":"acme.com","path":"a.accepts.m"},"#,
        r#""msgId":"m2","correlationId":"m1","timestamp":9,"traceId":"t","#
    );
    assert_eq!(ok, format!(r#"{{"msgType":"Result",{rest}"body":1e400}}"#));
    let error = r#""error":{"code":"MX.EDGE.RATE_LIMITED","message":"slow down"}"#;
    assert_eq!(failed, format!(r#"{{"msgType":"Nack",{rest}{error}}}"#));
    for text in [&ok, &failed] {
        let answer = read(text).as_answer().unwrap();
        assert_eq!(answer.correlation_id, "m1");
        assert_eq!(answer.from_realm.unwrap(), local());
        assert_eq!(answer.outcome.is_ok(), text == &ok);
    }

    let (realm, ok, failed) =
        answers(r#"{"fromRealm":"shop","toPath":"a.accepts.m","correlationId":"c1","msgId":"m1"}"#);
    assert_eq!(realm, "shop");
    assert_eq!(
        ok,
        r#"{"correlationId":"c1","ok":true,"fromRealm":"acme.com","body":1e400,"timestamp":9}"#
    );
    assert_eq!(
        failed,
        format!(
            r#"{{"correlationId":"c1","ok":false,"fromRealm":"acme.com",{error},"timestamp":9}}"#
        )
    );
    assert_eq!(read(&failed).as_answer().unwrap().outcome, Err(fault.clone()));
}

#[test]
fn what_answers_nothing_is_no_answer() {
    assert_eq!(read(&command("")).as_answer(), None);
    assert_eq!(read(&command("").replace("Cmd", "Nack")).as_answer(), None);
    let answer = |text: &str| {
        read(text).as_answer().unwrap().outcome.map(|b| b.to_string()).map_err(Fault::into_owned)
    };
    assert_eq!(answer(r#"{"ok":true,"correlationId":"c"}"#), Ok("null".into()));
    let vague = Fault::edge(EdgeCode::HandlerError, "refused without a reason");
    assert_eq!(answer(r#"{"ok":false,"correlationId":"c"}"#), Err(vague));
}
