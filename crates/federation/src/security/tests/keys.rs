use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::*;

fn read(keys: &[Value]) -> Result<Keys, KeysError> {
    Keys::from_jwks(&json!({ "keys": keys }).to_string())
}

fn jwk(owner: &Owner) -> Value {
    serde_json::from_str(&owner.jwk).unwrap()
}

fn usable(change: impl FnOnce(&mut Value)) -> bool {
    let mut jwk = jwk(&ES256);
    change(&mut jwk);
    read(&[jwk]).unwrap().ids().count() == 1
}

/// A signature that another implementation made: RFC 8037, A.4, and RFC 7515, A.3.
#[test]
fn signatures_of_the_standards_own_examples_verify() {
    let keys = read(&[
        json!({"kty": "OKP", "crv": "Ed25519", "kid": "a",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}),
        json!({"kty": "EC", "crv": "P-256", "kid": "b",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}),
    ])
    .unwrap();
    for (kid, message, signature) in [
        (
            "a",
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
        (
            "b",
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ),
    ] {
        let key = keys.find(kid).unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        assert!(key.algorithm.verifies(&key.point, message.as_bytes(), &signature));
        assert!(!key.algorithm.verifies(&key.point, b"another", &signature));
    }
}

#[test]
fn a_key_is_used_only_for_what_it_is_for() {
    assert!(usable(|_| {}));
    assert!(usable(|k| k["key_ops"] = json!(["verify"])));
    assert!(!usable(|k| k["use"] = json!("enc")));
    assert!(!usable(|k| k["key_ops"] = json!(["encrypt"])));
    assert!(!usable(|k| k["alg"] = json!("EdDSA")));
    assert!(!usable(|k| k["alg"] = json!("ES384")));
    assert!(!usable(|k| k["crv"] = json!("P-384")));
    assert!(!usable(|k| k["kid"] = json!(null)));
    assert!(!usable(|k| k["kid"] = json!("")));
    assert!(!usable(|k| k["kid"] = json!("k".repeat(129))));
    assert!(!usable(|k| k["x"] = json!("AAAA")));
    assert!(!usable(|k| k["y"] = json!("!")));
    assert!(!usable(|k| k["kty"] = json!("OKP")));
}

#[test]
fn keys_that_are_not_understood_are_left_out() {
    let keys = read(&[
        json!({"kty": "RSA", "kid": "r", "n": "AQAB", "e": "AQAB"}),
        json!({"kty": "LMS", "kid": "q", "pub": "x"}),
        json!("no key at all"),
        jwk(&EDDSA),
    ]);
    assert_eq!(keys.unwrap().ids().collect::<Vec<_>>(), [EDDSA.kid.as_str()]);
}

#[test]
fn sets_that_can_not_be_right_are_refused() {
    assert_eq!(read(&[jwk(&EDDSA), jwk(&EDDSA)]), Err(KeysError::Duplicate));
    let mut same = jwk(&ES256);
    same["kid"] = EDDSA.kid.as_str().into();
    assert_eq!(read(&[jwk(&EDDSA), same]), Err(KeysError::Duplicate));
    let mut private = jwk(&EDDSA);
    private["d"] = "AAAA".into();
    assert_eq!(read(&[private]), Err(KeysError::Secret));
    assert_eq!(read(&[json!({"kty": "oct", "kid": "s", "k": "c2VjcmV0"})]), Err(KeysError::Secret));
    assert_eq!(read(&vec![json!({}); 33]), Err(KeysError::TooMany));
    for text in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[]}x"#] {
        assert_eq!(Keys::from_jwks(text), Err(KeysError::Shape), "{text}");
    }
}

#[test]
fn the_debug_output_of_keys_is_their_ids() {
    let shown = format!("{:?}", jwks(&[&EDDSA]));
    assert_eq!(shown, format!("{{{:?}: EdDsa}}", EDDSA.kid));
}
