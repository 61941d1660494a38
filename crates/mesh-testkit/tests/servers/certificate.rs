use mesh_testkit::servers::{Certificate, Validity};

#[test]
fn each_certificate_is_another_and_names_itself() {
    let (one, other) = (Certificate::local().unwrap(), Certificate::local().unwrap());
    assert_ne!(one.fingerprint(), other.fingerprint());
    assert_eq!(one.fingerprint().len(), 64);
    assert!(one.fingerprint().bytes().all(|byte| b"0123456789abcdef".contains(&byte)));
    assert!(one.cert_pem().starts_with("-----BEGIN CERTIFICATE-----"));
    assert!(one.key_pem().starts_with("-----BEGIN PRIVATE KEY-----"));
}

#[test]
fn an_impostor_has_the_certificate_and_not_the_key() {
    let certificate = Certificate::local().unwrap();
    let impostor = certificate.with_wrong_key().unwrap();
    assert_eq!(impostor.fingerprint(), certificate.fingerprint());
    assert_eq!(impostor.cert_pem(), certificate.cert_pem());
    assert_ne!(impostor.key_pem(), certificate.key_pem());
}

#[test]
fn names_are_checked_and_the_key_is_never_shown() {
    assert!(Certificate::new(&["no\u{e9}l"], Validity::Current).is_err());
    let expired = Certificate::new(&["bus.example", "10.0.0.1"], Validity::Expired).unwrap();
    let shown = format!("{expired:?}");
    assert!(shown.contains(&expired.fingerprint()) && shown.len() < 100, "{shown}");
}
