//! Each way to forge, move or keep a token, refused by its name.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use super::*;

/// The token's header changed.
async fn header(change: impl FnOnce(&mut Value)) -> Result<(), Refused> {
    let (mut header, claims) = honest(&EDDSA);
    change(&mut header);
    verdict(&with_token(&EDDSA, &header, &claims)).await
}

/// The token's claims changed, and signed all the same.
async fn claims(change: impl FnOnce(&mut Value)) -> Result<(), Refused> {
    let (header, mut claims) = honest(&EDDSA);
    change(&mut claims);
    verdict(&with_token(&EDDSA, &header, &claims)).await
}

/// The envelope changed after it was sealed.
async fn envelope(change: impl FnOnce(&mut Envelope<'static>)) -> Result<(), Refused> {
    let mut envelope = sealed(&EDDSA);
    change(&mut envelope);
    verdict(&envelope).await
}

fn raw(token: &str) -> Envelope<'static> {
    let mut envelope = command();
    envelope.auth = Some(RawJson::string(token));
    envelope
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[tokio::test]
async fn a_token_without_a_signature_is_refused() {
    let (mut header, claims) = honest(&EDDSA);
    for none in ["none", "None", "nOnE", ""] {
        header["alg"] = none.into();
        let token = format!("{}.{}.", encoded(&header), encoded(&claims));
        assert_eq!(verdict(&raw(&token)).await, Err(Refused::Algorithm), "{none}");
    }
    // Nor does an honest header help.
    header["alg"] = "EdDSA".into();
    let token = format!("{}.{}.", encoded(&header), encoded(&claims));
    assert_eq!(verdict(&raw(&token)).await, Err(Refused::Signature));
}

#[tokio::test]
async fn a_public_key_used_as_a_shared_secret_is_refused() {
    for secret in [EDDSA.jwk.as_bytes(), &jwks(&[&EDDSA]).find(&EDDSA.kid).unwrap().point] {
        let (mut header, claims) = honest(&EDDSA);
        header["alg"] = "HS256".into();
        let message = format!("{}.{}", encoded(&header), encoded(&claims));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        let token = format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag));
        assert_eq!(verdict(&raw(&token)).await, Err(Refused::Algorithm));
    }
}

#[tokio::test]
async fn other_algorithms_are_refused() {
    for other in ["RS256", "PS256", "ES384", "ES512", "HS512", "Ed25519", "eddsa", "es256"] {
        assert_eq!(header(|h| h["alg"] = other.into()).await, Err(Refused::Algorithm), "{other}");
    }
    assert_eq!(header(|h| h["alg"] = 1.into()).await, Err(Refused::Malformed));
    assert_eq!(
        header(|h| drop(h.as_object_mut().unwrap().remove("alg"))).await,
        Err(Refused::Malformed)
    );
}

#[tokio::test]
async fn a_key_of_the_other_type_is_refused() {
    // Says ES256 and names the Ed25519 key, signed by either.
    for owner in [&*EDDSA, &*ES256] {
        let (mut header, claims) = honest(owner);
        header["alg"] = "ES256".into();
        header["kid"] = EDDSA.kid.as_str().into();
        assert_eq!(verdict(&with_token(owner, &header, &claims)).await, Err(Refused::KeyType));
    }
    let (mut header, claims) = honest(&EDDSA);
    header["kid"] = ES256.kid.as_str().into();
    assert_eq!(verdict(&with_token(&EDDSA, &header, &claims)).await, Err(Refused::KeyType));
}

#[tokio::test]
async fn a_token_that_brings_its_own_key_is_refused() {
    let stranger = owner(Algorithm::EdDsa);
    let jwk: Value = serde_json::from_str(&stranger.jwk).unwrap();
    for (name, value) in [
        ("jwk", jwk),
        ("jku", json!("https://evil.example/keys")),
        ("x5u", json!("https://evil.example/cert")),
        ("x5c", json!(["MIIB"])),
        ("x5t", json!("abc")),
        ("x5t#S256", json!("abc")),
    ] {
        let (mut header, claims) = honest(&stranger);
        header[name] = value;
        let result = verdict(&with_token(&stranger, &header, &claims)).await;
        assert_eq!(result, Err(Refused::ForeignKey), "{name}");
    }
}

#[tokio::test]
async fn a_header_that_asks_for_more_is_refused() {
    for (name, value) in [
        ("crit", json!(["exp"])),
        ("crit", json!([])),
        ("crit", json!(["b64"])),
        ("b64", json!(false)),
        ("b64", json!(true)),
        ("enc", json!("A128GCM")),
        ("zip", json!("DEF")),
    ] {
        assert_eq!(header(|h| h[name] = value).await, Err(Refused::Critical), "{name}");
    }
    // What nobody has a meaning for has none.
    assert_eq!(header(|h| h["x-more"] = json!({"a": 1})).await, Ok(()));
}

#[tokio::test]
async fn a_token_of_another_type_or_without_a_key_is_refused() {
    for typ in [json!("JWT"), json!("at+jwt"), json!("MX+JWT"), json!(null)] {
        assert_eq!(header(|h| h["typ"] = typ).await, Err(Refused::Type));
    }
    for kid in [json!(null), json!(""), json!("k".repeat(129))] {
        assert_eq!(header(|h| h["kid"] = kid).await, Err(Refused::KeyId));
    }
    assert_eq!(header(|h| h["kid"] = json!("nobody")).await, Err(Refused::UnknownKey));
}

#[tokio::test]
async fn a_wrong_issuer_audience_or_id_is_refused() {
    assert_eq!(claims(|c| c["iss"] = "acme.com".into()).await, Err(Refused::Issuer));
    assert_eq!(claims(|c| c["aud"] = "other.org".into()).await, Err(Refused::Audience));
    assert_eq!(claims(|c| c["jti"] = "m-2".into()).await, Err(Refused::MessageId));
    // The signature is right, and the realm is not the key's.
    let keys = StaticKeys::new().with(realm("bank"), jwks(&[&ES256]));
    let mut envelope = sealed(&EDDSA);
    envelope.from.realm = MxRealm::new("bank").unwrap();
    let guard = MxSec::new(realm("acme.com"), keys);
    assert_eq!(guard.prove(&envelope, NOW).await, Err(Refused::Issuer));
    // A list is no realm, also one that holds the right one.
    for list in ["iss", "aud", "jti"] {
        let result = claims(|c| c[list] = json!([c[list].clone()])).await;
        assert_eq!(result, Err(Refused::Malformed), "{list}");
    }
    for missing in ["iss", "aud", "jti", "iat", "exp", "mx"] {
        let result = claims(|c| drop(c.as_object_mut().unwrap().remove(missing))).await;
        assert_eq!(result, Err(Refused::Malformed), "{missing}");
    }
}

#[tokio::test]
async fn a_claim_that_stands_twice_is_refused() {
    let (header, claims) = honest(&EDDSA);
    let twice = claims.to_string().replacen('{', r#"{"aud":"other.org","#, 1);
    let message = format!("{}.{}", encoded(&header), URL_SAFE_NO_PAD.encode(twice));
    assert_eq!(verdict(&raw(&format!("{message}.AAAA"))).await, Err(Refused::Malformed));
}

#[tokio::test]
async fn a_token_is_good_for_its_time_alone() {
    let at = |seconds: i64| Timestamp::from_millis(NOW.as_millis() + seconds * 1000);
    let envelope = sealed(&EDDSA);
    for (seconds, result) in [
        (-31, Err(Refused::NotYet)),
        (-30, Ok(())),
        (0, Ok(())),
        (89, Ok(())),
        (90, Err(Refused::Expired)),
        (1_000_000, Err(Refused::Expired)),
        (-1_000_000, Err(Refused::NotYet)),
    ] {
        assert_eq!(guard().prove(&envelope, at(seconds)).await, result, "{seconds} s");
    }
    assert_eq!(claims(|c| c["nbf"] = (NOW_SECONDS + 31).into()).await, Err(Refused::NotYet));
    assert_eq!(claims(|c| c["nbf"] = (NOW_SECONDS + 30).into()).await, Ok(()));
    assert_eq!(claims(|c| c["exp"] = (NOW_SECONDS + 240).into()).await, Ok(()));
    assert_eq!(claims(|c| c["exp"] = (NOW_SECONDS + 241).into()).await, Err(Refused::Lifetime));
    assert_eq!(claims(|c| c["exp"] = u64::MAX.into()).await, Err(Refused::Lifetime));
    for odd in [json!(-1), json!("1767225660"), json!(1_767_225_660.5), json!(null), json!(1e300)] {
        assert_eq!(claims(|c| c["exp"] = odd).await, Err(Refused::Malformed));
    }
}

#[test]
fn nothing_is_good_for_longer_than_it_is_remembered() {
    let seconds = Duration::from_secs;
    assert_eq!(Lifetimes::new(seconds(240), seconds(30)), Ok(Lifetimes::default()));
    assert_eq!(Lifetimes::new(seconds(241), seconds(30)), Err(LifetimesError::Longest));
    assert_eq!(Lifetimes::new(seconds(300), seconds(0)).map(drop), Ok(()));
    assert_eq!(Lifetimes::new(seconds(0), seconds(0)), Err(LifetimesError::Longest));
    assert_eq!(Lifetimes::new(seconds(60), seconds(31)), Err(LifetimesError::Leeway));
    assert_eq!(Lifetimes::new(Duration::MAX, seconds(30)), Err(LifetimesError::Longest));
}

#[tokio::test]
async fn a_token_can_not_be_moved_to_another_message() {
    let path = |text: &'static str| MxPath::new(text).unwrap();
    assert_eq!(envelope(|e| e.msg_id = Some("m-2".into())).await, Err(Refused::MessageId));
    assert_eq!(envelope(|e| e.kind = MsgType::Sub).await, Err(Refused::Kind));
    assert_eq!(envelope(|e| e.to.path = path("mail.accepts.drop")).await, Err(Refused::Path));
    assert_eq!(envelope(|e| e.from.path = None).await, Err(Refused::Path));
    let other = Party::new(MxRealm::new("shop").unwrap(), Some(path("spy.accepts.done")));
    assert_eq!(envelope(|e| e.reply_to = Some(other)).await, Err(Refused::ReplyTo));
    assert_eq!(envelope(|e| e.reply_to = None).await, Err(Refused::ReplyTo));
    let elsewhere = Party::new(MxRealm::new("spy").unwrap(), Some(path("till.accepts.done")));
    assert_eq!(envelope(|e| e.reply_to = Some(elsewhere)).await, Err(Refused::ReplyTo));
    let id = Refused::CorrelationId;
    assert_eq!(envelope(|e| e.correlation_id = Some("c-2".into())).await, Err(id));
    assert_eq!(envelope(|e| e.correlation_id = None).await, Err(id));
    let eve = || Some(RawJson::string("eve"));
    assert_eq!(envelope(|e| e.principal = eve()).await, Err(Refused::Principal));
    assert_eq!(envelope(|e| e.principal = None).await, Err(Refused::Principal));
    assert_eq!(envelope(|e| e.body = None).await, Err(Refused::Body));
    assert_eq!(envelope(|e| e.error = Some(Fault::new("a", "b"))).await, Err(Refused::Body));
}

#[tokio::test]
async fn a_body_is_bound_to_its_last_character() {
    for body in [
        r#"{"big": 1e400,"a": 1}"#,
        r#"{"a": 1, "big": 1e400}"#,
        r#"{"big": 1e400, "a": 1.0}"#,
        r#"{"big": 1e400, "\u0061": 1}"#,
    ] {
        let body = RawJson::new(body).unwrap();
        assert_eq!(envelope(|e| e.body = Some(body)).await, Err(Refused::Body));
    }
}

#[tokio::test]
async fn texts_of_an_error_can_not_change_places() {
    let mut nack = refusal();
    nack.error = Some(Fault::new("ab", "c"));
    EDDSA.signer.seal(&mut nack, NOW).unwrap();
    for (code, message) in [("a", "bc"), ("abc", ""), ("c", "ab")] {
        nack.error = Some(Fault::new(code, message));
        assert_eq!(verdict(&nack).await, Err(Refused::Body));
    }
    nack.error = Some(Fault::new("ab", "c"));
    assert_eq!(verdict(&nack).await, Ok(()));
    nack.error.as_mut().unwrap().details = Some(RawJson::NULL);
    assert_eq!(verdict(&nack).await, Err(Refused::Body));
}

#[tokio::test]
async fn a_stranger_s_signature_is_refused() {
    for (stranger, honest_one) in
        [(owner(Algorithm::EdDsa), &*EDDSA), (owner(Algorithm::Es256), &*ES256)]
    {
        let (header, claims) = honest(honest_one);
        let result = verdict(&with_token(&stranger, &header, &claims)).await;
        assert_eq!(result, Err(Refused::Signature));
    }
}

#[tokio::test]
async fn what_is_no_token_is_refused() {
    let honest = sealed(&EDDSA).auth.unwrap();
    let honest = honest.as_string().unwrap();
    let parts: Vec<_> = honest.split('.').collect();
    let [header, payload, signature] = parts[..] else { panic!("three parts") };
    for bad in [
        String::new(),
        "..".into(),
        "a.b.c".into(),
        header.into(),
        format!("{header}.{payload}"),
        format!("{honest}."),
        format!("{honest}.AAAA"),
        format!(" {honest}"),
        format!("{header}=.{payload}.{signature}"),
        format!("{header}.{payload}.{signature}=="),
        format!("{header}.{payload}.+/{}", &signature[2..]),
        format!("{}.{payload}.{signature}", URL_SAFE_NO_PAD.encode("[1]")),
        format!("{header}.{}.{signature}", URL_SAFE_NO_PAD.encode("\u{feff}{}")),
    ] {
        assert_eq!(verdict(&raw(&bad)).await, Err(Refused::Malformed), "{bad}");
    }
    let cut = &signature[..signature.len() - 6];
    let result = verdict(&raw(&format!("{header}.{payload}.{cut}"))).await;
    assert_eq!(result, Err(Refused::Signature));
    let mut envelope = command();
    assert_eq!(verdict(&envelope).await, Err(Refused::NoToken));
    for auth in ["null", "{}", r#"{"jwt":"a.b.c"}"#, "1"] {
        envelope.auth = Some(RawJson::new(auth).unwrap());
        assert_eq!(verdict(&envelope).await, Err(Refused::Malformed));
    }
    assert_eq!(verdict(&raw(&"a".repeat(4095))).await, Err(Refused::TooLong));
}
