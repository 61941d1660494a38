use mesh_core::json::RawJson;
use mesh_core::mx::{Profile, Shard};

use super::*;

fn read(text: &str) -> Result<Document, DocumentError> {
    Document::from_slice(text.as_bytes())
}

#[test]
fn what_was_written_is_read() {
    let jwks = RawJson::new(r#"{"keys": [ ]}"#).unwrap();
    let document = acme()
        .with_profiles(&[Profile::MxEnv1, Profile::Legacy])
        .with_shards(&[Shard(0), Shard(10)])
        .with_endpoint("https://a.example/mx/1/in")
        .with_endpoint("https://b.example/mx/1/in")
        .with_jwks(&jwks)
        .with_jwks_uri("https://a.example/keys")
        .with_max_age(Duration::from_millis(90_000));
    let text = document.to_json();
    assert_eq!(
        text,
        concat!(
            r#"{"version":1,"realm":"acme.example","profiles":["mxenv1","legacy"],"shards":["00","0a"],"#,
            r#""endpoints":[{"kind":"https","url":"https://a.example/mx/1/in"},"#,
            r#"{"kind":"https","url":"https://b.example/mx/1/in"}],"#,
            r#""jwksUri":"https://a.example/keys","jwks":{"keys": [ ]},"maxAgeMs":90000}"#,
        )
    );
    assert_eq!(read(&text), Ok(document));
}

#[test]
fn what_a_later_version_adds_is_passed_over() {
    let text = r#"{"version":1,"realm":"a.b","profiles":["mxenv9","legacy"],
        "endpoints":[{"kind":"quic","url":"x","more":1},{"kind":"https","url":"y"}],"more":{"a":[]}}"#;
    let document = read(text).unwrap();
    assert_eq!(document.profiles(), [Profile::Legacy]);
    assert_eq!(document.endpoints(EndpointKind::Https).collect::<Vec<_>>(), ["y"]);
    assert_eq!(document.max_age(), Duration::from_secs(3600));
}

#[test]
fn what_is_no_document_is_refused() {
    for bad in [
        "",
        "[]",
        "{}",
        r#"{"version":1}"#,
        r#"{"realm":"a.b"}"#,
        r#"{"version":"1","realm":"a.b"}"#,
        r#"{"version":1,"realm":"a b"}"#,
        r#"{"version":1,"realm":"a.b","realm":"c.d"}"#,
        r#"{"version":1,"realm":"a.b"} x"#,
        r#"{"version":1,"realm":"a.b","shards":["0"]}"#,
        r#"{"version":1,"realm":"a.b","shards":["+1"]}"#,
        r#"{"version":1,"realm":"a.b","maxAgeMs":-1}"#,
        r#"{"version":1,"realm":"a.b","endpoints":[{"kind":"https"}]}"#,
        "\u{feff}{\"version\":1,\"realm\":\"a.b\"}",
    ] {
        assert_eq!(read(bad), Err(DocumentError::Shape), "{bad}");
    }
    assert_eq!(read(r#"{"version":2,"realm":"a.b"}"#), Err(DocumentError::Version(2)));
    let many = vec![r#""00""#; 257].join(",");
    let text = format!(r#"{{"version":1,"realm":"a.b","shards":[{many}]}}"#);
    assert_eq!(read(&text), Err(DocumentError::TooMany));
    let large = format!(r#"{{"version":1,"realm":"a.b","x":"{}"}}"#, "x".repeat(65_536));
    assert_eq!(read(&large), Err(DocumentError::Shape));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let _ = Document::from_slice(&bytes);
    }

    #[test]
    fn no_text_in_its_place_makes_it_panic(text in proptest::prelude::any::<String>()) {
        let text = serde_json::to_string(&text).unwrap();
        let document = format!(
            r#"{{"version":1,"realm":{text},"endpoints":[{{"kind":"https","url":{text}}}],"jwksUri":{text}}}"#
        );
        if let Ok(document) = Document::from_slice(document.as_bytes()) {
            for url in document.endpoints(EndpointKind::Https) {
                let _ = Egress::public().check(url);
            }
            proptest::prop_assert_eq!(Document::from_slice(document.to_json().as_bytes()), Ok(document));
        }
    }
}
