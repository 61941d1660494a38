use super::*;
use crate::Sign as _;

#[test]
fn no_debug_output_holds_a_key() {
    let made = generate(Algorithm::EdDsa).unwrap();
    let secret: String = made.pem().lines().nth(1).unwrap().to_owned();
    let signer = Signer::eddsa_pem(realm("shop"), "k-1", made.pem()).unwrap();
    for shown in [format!("{made:?}"), format!("{signer:?}"), format!("{signer:#?}")] {
        assert!(!shown.contains(&secret[..20]), "{shown}");
    }
    assert_eq!(
        format!("{signer:?}"),
        r#"Signer { realm: RealmName("shop"), kid: "k-1", algorithm: EdDsa, .. }"#
    );
}

#[test]
fn keys_of_another_kind_are_refused_without_their_text() {
    let ed = generate(Algorithm::EdDsa).unwrap();
    let es = generate(Algorithm::Es256).unwrap();
    let refused = |result: Result<Signer, SignerError>| result.unwrap_err();
    assert_eq!(
        refused(Signer::es256_pem(realm("shop"), "k", ed.pem())),
        SignerError::Key(Algorithm::Es256)
    );
    assert_eq!(
        refused(Signer::eddsa_pem(realm("shop"), "k", es.pem())),
        SignerError::Key(Algorithm::EdDsa)
    );
    assert_eq!(refused(Signer::eddsa_pem(realm("shop"), "k", "no PEM")), SignerError::Pem);
    let cut = ed.pem().replace("MF", "");
    assert!(Signer::eddsa_pem(realm("shop"), "k", &cut).is_err());
    assert_eq!(refused(Signer::eddsa_pem(realm("shop"), "", ed.pem())), SignerError::KeyId);
    let long = "k".repeat(129);
    assert_eq!(refused(Signer::eddsa_pem(realm("shop"), long, ed.pem())), SignerError::KeyId);
}

/// As `openssl genpkey -algorithm ed25519` writes it: the private half alone.
#[test]
fn a_key_that_openssl_made_is_taken() {
    let pem = "-----BEGIN PRIVATE KEY-----\n\
               MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
               -----END PRIVATE KEY-----\n";
    let signer = Signer::eddsa_pem(realm("shop"), "k", pem).unwrap();
    assert_eq!(signer.algorithm(), Algorithm::EdDsa);
}

/// RFC 8037, A.3: the thumbprint of its example key.
#[test]
fn a_made_key_is_called_by_its_thumbprint() {
    use base64::Engine as _;
    let made = generate(Algorithm::EdDsa).unwrap();
    let jwk: Value = serde_json::from_str(made.jwk()).unwrap();
    let canonical = |x: &str| format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
    let thumbprint = |x: &str| {
        let hash = ring::digest::digest(&ring::digest::SHA256, canonical(x).as_bytes());
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(hash)
    };
    assert_eq!(
        thumbprint("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"),
        "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    );
    assert_eq!(thumbprint(jwk["x"].as_str().unwrap()), made.kid());
}

#[test]
fn what_can_not_be_proven_is_not_signed() {
    let mut envelope = command();
    envelope.from.realm = MxRealm::new("bank").unwrap();
    assert_eq!(EDDSA.signer.seal(&mut envelope, NOW), Err(SealError::Realm));
    let mut envelope = command();
    envelope.msg_id = None;
    assert_eq!(EDDSA.signer.seal(&mut envelope, NOW), Err(SealError::MessageId));
    let legacy = br#"{"correlationId":"c-1","ok":true}"#;
    for bytes in [&legacy[..], b"{}"] {
        assert!(EDDSA.signer.sign_encoded(bytes, NOW).is_err());
    }
}

#[test]
fn a_signer_s_tokens_are_short_lived() {
    let made = generate(Algorithm::EdDsa).unwrap();
    for (asked, lasts) in [(0, 1), (1, 1), (100, 100), (240, 240), (9999, 240)] {
        let signer = Signer::eddsa_pem(realm("shop"), "k", made.pem()).unwrap();
        let signer = signer.with_lifetime(std::time::Duration::from_secs(asked));
        let owner = Owner { signer, jwk: String::new(), kid: String::new() };
        let (_, claims) = honest(&owner);
        let span = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
        assert_eq!(span, lasts);
    }
}

/// The whole token of a fixed key and message, as a few lines of Python made it from the protocol's text:
/// EdDSA gives the same one each time.
#[test]
fn the_wire_of_a_token_does_not_change() {
    // The private key of RFC 8037, A.1.
    let pem = "-----BEGIN PRIVATE KEY-----\n\
               MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
               -----END PRIVATE KEY-----\n";
    let signer = Signer::eddsa_pem(realm("shop"), "k-1", pem).unwrap();
    let token = signer.token(&command(), NOW).unwrap();
    assert_eq!(
        token.as_string().unwrap(),
        concat!(
            "eyJ0eXAiOiJteCtqd3QiLCJhbGciOiJFZERTQSIsImtpZCI6ImstMSJ9.",
            "eyJpc3MiOiJzaG9wIiwiYXVkIjoiYWNtZS5jb20iLCJqdGkiOiJtLTEiLCJpYXQiOjE3NjcyMjU2MDAsImV4cCI6MTc2NzIyNTY2MCwibXgiOnsidHlwZSI6IkNtZCIsInRvIjoibWFpbC5hY2NlcH",
            "RzLnNlbmQiLCJmcm9tIjoidGlsbC5hY2NlcHRzLm9wZW4iLCJyZXBseVRvIjoic2hvcC90aWxsLmFjY2VwdHMuZG9uZSIsImNvcnJlbGF0aW9uSWQiOiJjLTEiLCJwcmluY2lwYWwiOiI0ak81SmVvdFMzYUQwY1RZUVNkR2huNHdLeGd4SmtQRWJiTy04ZFRMNkVzIiwiYm9keSI6ImExczJPdHNyNHhCZ1pwQmVWRXBlN09Bc2l4NFo4OVQ4WlljYmJkX2VOdm8ifX0.",
            "mgnkqyjakS-gmUTIG6WDQmyyKBNanxoTwa4yE6zrrI48HJeRSUA29niA55v4IU3WFv1RNcuECTq5JChPmYr3Cw",
        )
    );
}
