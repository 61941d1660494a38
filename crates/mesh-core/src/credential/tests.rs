use proptest::prelude::*;

use super::*;
use crate::identity::Principal;
use crate::json::JsonProblem;

const HASH: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn url(text: &str) -> Result<BrokerUrl, (UrlProblem, usize)> {
    text.parse().map_err(|e: UrlError| (e.problem, e.offset))
}

fn parts(text: &str) -> (String, u16, Option<(String, String)>) {
    let url = url(text).unwrap();
    let server = url.server().unwrap();
    let login = |login: &Login| (login.user().into(), login.password().expose().into());
    (server.host().to_string(), server.port(), server.login().map(login))
}

fn login(user: &str, password: &str) -> Option<(String, String)> {
    Some((user.into(), password.into()))
}

fn module(url: &str) -> Result<Credential, CredentialError> {
    Credential::parse(format!(
        r#"{{"url":"{url}","fingerprint":"{HASH}","node":"n1","module":"mail"}}"#
    ))
}

fn problem(document: &str) -> (&'static str, CredentialProblem) {
    let error = Credential::parse(document).unwrap_err();
    (error.field, error.problem)
}

#[test]
fn a_nats_url_carries_its_decoded_user_and_password() {
    let expected = ("127.0.0.1".into(), 4222, login("host-a", "p@ss"));
    assert_eq!(parts("tls://host-a:p%40ss@127.0.0.1:4222"), expected);
    assert_eq!(parts("NATS://host-a:p%40ss@127.0.0.1"), expected);
    assert_eq!(
        parts("tls://u:p:q@[2001:db8::1]"),
        ("[2001:db8::1]".into(), 4222, login("u", "p:q"))
    );
}

#[test]
fn an_amqp_url_means_what_it_says() {
    let vhost = |text: &str| match url(text) {
        Ok(BrokerUrl::Amqps { vhost, .. }) => vhost.as_str().to_owned(),
        other => panic!("{other:?}"),
    };
    let text = "amqps://m:a%23b@h/v%2Fw";
    assert_eq!(parts(text), ("h".into(), 5671, login("m", "a#b")));
    assert_eq!(vhost(text), "v/w");
    assert_eq!(vhost("amqps://m:p@h/"), "/", "nobody has a host with an empty name");
    assert_eq!(vhost("amqps://m:p@h"), "/");
    assert_eq!(vhost("amqps://m:p@h/%2F"), "/");
    assert_eq!(url("amqps://m:p@h/%zz"), Err((UrlProblem::Escape, 14)));
    assert_eq!(url("amqps://m:p@h/a/b"), Err((UrlProblem::VirtualHost, 14)));
    assert_eq!(url("amqps://m:p@h//"), Err((UrlProblem::VirtualHost, 14)));
}

#[test]
fn a_login_is_whole_or_the_credential_is_refused() {
    let refused = |text: &str| match module(text).unwrap_err() {
        CredentialError { field: "url", problem: CredentialProblem::Url(error) } => {
            (error.problem, error.offset)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(refused("amqps://m:@h/x"), (UrlProblem::Password, 10));
    assert_eq!(refused("amqps://m@h/x"), (UrlProblem::Password, 9));
    assert_eq!(refused("amqps://h/x"), (UrlProblem::User, 0));
    assert_eq!(refused("tls://:p@h"), (UrlProblem::User, 6));
    assert_eq!(refused("tls://@h"), (UrlProblem::User, 6));
    assert_eq!(refused("tls://a%00b:p@h"), (UrlProblem::Control, 6));
    assert!(module("mem:").is_ok(), "a broker in the process asks for no password");
    assert!(Bootstrap::parse("amqps://h/x").is_err());
}

#[test]
fn a_bad_url_says_what_and_where() {
    use UrlProblem::*;
    for (text, expected) in [
        ("", (Scheme, 0)),
        ("amqp://m:p@h/x", (Scheme, 0)),
        ("amqps:m:p@h/x", (Scheme, 0)),
        ("tls://u:p@h path", (Character, 11)),
        ("tls://u:é@h", (Character, 8)),
        ("amqps://m:a#b@h/v", (Reserved, 11)),
        ("amqps://m:a/b@h/v", (Reserved, 11)),
        ("tls://u:a@b@h", (Reserved, 9)),
        ("tls://u:%ff@h", (Utf8, 8)),
        ("tls://u:p@", (Host, 10)),
        ("tls://u:p@a..b", (Host, 10)),
        ("tls://u:p@1.2.3", (Host, 10)),
        ("tls://u:p@[::1", (Host, 10)),
        ("tls://u:p@[::1]x", (Host, 10)),
        ("tls://u:p@::1", (Host, 10)),
        ("tls://u:p@h:", (Port, 12)),
        ("tls://u:p@h:0", (Port, 12)),
        ("tls://u:p@h:65536", (Port, 12)),
        ("tls://u:p@h:+1", (Port, 12)),
        ("tls://u:p@h/x", (Path, 12)),
        ("amqps://m:p@h/x?heartbeat=1", (Query, 15)),
        ("tls://u:p@h#x", (Query, 11)),
        ("mem://x", (Name, 4)),
    ] {
        assert_eq!(url(text), Err(expected), "{text}");
    }
}

#[test]
fn a_document_tells_its_principal() {
    let principal = |fields: &str| {
        let url = "tls://u:p@h";
        let document = format!(r#"{{"url":"{url}","fingerprint":["{HASH}"],"new":1,{fields}}}"#);
        let credential = Credential::parse(&document).unwrap();
        let again = Credential::parse(credential.to_document().unwrap().expose()).unwrap();
        assert_eq!(again, credential);
        Principal::from(&credential).to_string()
    };
    assert_eq!(principal(r#""node":"n1","module":"mail""#), "module mail on n1");
    assert_eq!(principal(r#""kind":"module","node":"n1","module":"mail""#), "module mail on n1");
    assert_eq!(principal(r#""kind":"host","node":"n1""#), "host n1");
    assert_eq!(principal(r#""kind":"builder","node":"n1""#), "builder n1");
    assert_eq!(principal(r#""kind":"person","name":"alice""#), "person alice");
    assert_eq!(principal(r#""kind":"controller","name":"controller""#), "controller controller");
    assert_eq!(principal(r#""kind":"controller","node":"n1""#), "controller n1");
    assert_eq!(principal(r#""kind":"gateway","name":"g1""#), "gateway g1");
}

#[test]
fn a_document_with_a_part_of_a_scope_must_have_the_whole() {
    let all = [
        ("url", r#""tls://u:p@h""#.to_owned()),
        ("fingerprint", format!("\"{HASH}\"")),
        ("node", r#""n1""#.to_owned()),
        ("module", r#""mail""#.to_owned()),
    ];
    for (left_out, _) in &all {
        let fields = all.iter().filter(|(name, _)| name != left_out);
        let fields: Vec<String> = fields.map(|(n, v)| format!("\"{n}\":{v}")).collect();
        let document = format!("{{{}}}", fields.join(","));
        assert_eq!(problem(&document), (*left_out, CredentialProblem::Missing));
    }
    let person = format!(r#"{{"kind":"person","url":"tls://u:p@h","fingerprint":"{HASH}"}}"#);
    assert_eq!(problem(&person), ("name", CredentialProblem::Missing));
}

#[test]
fn a_bootstrap_url_is_another_type() {
    for text in ["tls://u:p@h", " tls://u:p@h\n", "\"tls://u:p@h\"", r#"{"url":"tls://u:p@h"}"#] {
        assert!(Bootstrap::parse(text).is_ok(), "{text}");
        assert_eq!(problem(text), ("document", CredentialProblem::Unscoped));
    }
    let scoped = module("tls://u:p@h").unwrap().to_document().unwrap();
    let error = Bootstrap::parse(scoped.expose()).unwrap_err();
    assert_eq!(error.problem, CredentialProblem::Scoped);
}

#[test]
fn a_bad_document_names_the_field_and_the_offset() {
    let expected = |what, offset| CredentialProblem::Expected { what, offset };
    assert_eq!(problem(r#"{"node":1}"#), ("node", expected("a string", 8)));
    assert_eq!(
        problem(r#"{"kind":"root"}"#),
        ("kind", expected("module, host, builder, person, controller or gateway", 8))
    );
    let empty_list = r#"{"url":"mem:","node":"n1","module":"mail","fingerprint":[]}"#;
    assert_eq!(problem(empty_list), ("fingerprint", expected("1 to 8 fingerprints", 56)));
    let (field, CredentialProblem::Json(error)) = problem(r#"{"node":"a","node":"b"}"#) else {
        panic!();
    };
    assert_eq!((field, error.problem, error.offset), ("document", JsonProblem::DuplicateKey, 12));
    assert!(matches!(problem(r#"{"node":"a.*"}"#), ("node", CredentialProblem::Name(_))));
    let (_, large) = problem(&" ".repeat(MAX_DOCUMENT_BYTES + 1));
    assert!(matches!(large, CredentialProblem::TooLarge { .. }));
}

#[test]
fn a_fingerprint_is_read_in_every_usual_spelling() {
    let plain: Fingerprint = HASH.parse().unwrap();
    let colons: Vec<String> = (0..32).map(|i| HASH[2 * i..2 * i + 2].to_uppercase()).collect();
    for text in [HASH.to_uppercase(), format!("SHA256:{HASH}"), colons.join(":")] {
        assert_eq!(text.parse(), Ok(plain), "{text}");
    }
    let refused = |text: &str| {
        let error = text.parse::<Fingerprint>().unwrap_err();
        (error.problem, error.offset)
    };
    assert_eq!(refused(""), (FingerprintProblem::TooShort, 0));
    assert_eq!(refused(&HASH[..63]), (FingerprintProblem::TooShort, 63));
    assert_eq!(refused(&format!("{HASH}0")), (FingerprintProblem::TooLong, 64));
    assert_eq!(refused("0:0"), (FingerprintProblem::Character, 1));
    assert_eq!(refused(&format!("sha1:{HASH}")), (FingerprintProblem::Character, 0));
}

#[test]
fn a_token_reads_back_and_a_bad_one_is_refused() {
    let token = EnrolmentToken::new(
        "t0".parse().unwrap(),
        Secret::new("hunter2"),
        "n3".parse().unwrap(),
        "tls://bus.example".parse().unwrap(),
        Fingerprint::from_bytes([7; 32]).into(),
        ControllerKey::from_bytes([9; 32]),
    )
    .unwrap();
    let text = token.to_text().unwrap();
    assert!(!text.expose().contains('='));
    assert_eq!(EnrolmentToken::parse(&format!(" {}\n", text.expose())).unwrap(), token);
    assert_eq!(Principal::from(&token).inbox_tokens(), ("enrol", "t0"));
    assert!(!format!("{token:?}").contains("hunter2"));
    let refused = |text: &str| EnrolmentToken::parse(text).unwrap_err();
    assert_eq!(refused("ab$d").problem, CredentialProblem::Base64 { offset: 2 });
    assert_eq!(refused("e30").field, "controllerKey");
}

#[test]
fn a_token_logs_in_with_its_secret_unless_its_url_says_otherwise() {
    let token = |url: &str, secret: &str| {
        EnrolmentToken::new(
            "t0".parse().unwrap(),
            Secret::new(secret),
            "n3".parse().unwrap(),
            url.parse().unwrap(),
            Fingerprint::from_bytes([7; 32]).into(),
            ControllerKey::from_bytes([9; 32]),
        )
    };
    let login = |url: &str| {
        let token = token(url, "hunter2").unwrap();
        let login = token.login();
        (login.user().to_owned(), login.password().expose().to_owned())
    };
    assert_eq!(login("tls://bus.example"), ("enrol.t0".to_owned(), "hunter2".to_owned()));
    assert_eq!(login("tls://u:p%40ss@bus.example"), ("u".to_owned(), "p@ss".to_owned()));
    let refused = |secret: &str| token("tls://bus.example", secret).unwrap_err();
    assert_eq!((refused("").field, refused("").problem), ("secret", CredentialProblem::Missing));
    assert!(matches!(refused("a\0b").problem, CredentialProblem::Expected { .. }));
}

#[test]
fn no_error_and_no_debug_shows_a_password() {
    let bad = [
        "tls://u:s3cr3t@h:99999",
        "tls://u:s3cr3t@h/x",
        "tls://u:s3cr3t @h",
        "tls://u:s3cr3t@x@h",
        "s3cr3t",
    ];
    for text in bad {
        for document in [text.to_owned(), format!("\"{text}\""), format!(r#"{{"url":"{text}"}}"#)] {
            let error = Document::parse(&document).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{document}");
        }
    }
    for text in [r#"{"url" "s3cr3t"}"#, r#"{"url":["s3cr3t"]}"#, r#""s3cr3t"#] {
        let error = Document::parse(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{text}");
    }
    let credential = module("tls://u:s3cr3t@h").unwrap();
    assert!(!format!("{credential:?} {}", credential.url()).contains("s3cr3t"));
    assert_eq!(credential.url().to_string(), "tls://u:[redacted]@h:4222");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_login_and_vhost_survive_the_url(
        user in "\\PC{1,12}", password in "\\PC{1,24}", name in "\\PC{1,24}", port in 1u16..,
    ) {
        let login = Login::new(user, Secret::new(password)).unwrap();
        let server = Server::new(Host::new("h.example").unwrap(), port, Some(login)).unwrap();
        let nats = BrokerUrl::Nats { server: server.clone() };
        let amqps = BrokerUrl::Amqps { server, vhost: VirtualHost::new(name).unwrap() };
        prop_assert_eq!(nats.expose().parse(), Ok(nats));
        prop_assert_eq!(amqps.expose().parse(), Ok(amqps));
    }

    #[test]
    fn no_url_panics_and_an_accepted_one_reads_back(
        text in "(amqps|tls|nats|mem|x):(//)?[a%:@/?#\\[\\].0-9é -]{0,24}",
    ) {
        if let Ok(url) = text.parse::<BrokerUrl>() {
            prop_assert_eq!(url.expose().parse(), Ok(url));
        }
    }

    #[test]
    fn no_document_panics(
        bytes in proptest::collection::vec(any::<u8>(), 0..64),
        text in "[{\":,a-z\\[\\]}]{0,48}",
    ) {
        let _ = Document::parse(&bytes);
        let _ = Document::parse(&text);
        let _ = EnrolmentToken::parse(&text);
        let _ = text.parse::<Fingerprint>();
    }
}
