use std::time::Duration;

use mesh_core::credential::Credential;

use super::*;

fn failed(options: &NatsOptions, failure: Failure) -> TransportError {
    let url = "tls://n1_mail:hunter2@bus.example";
    let pin = "ab".repeat(32);
    let document =
        format!(r#"{{"url": "{url}", "fingerprint": "{pin}", "node": "n1", "module": "mail"}}"#);
    let target = Target::of(&Credential::parse(document).unwrap()).unwrap();
    let error = Attempt { target: &target, options, refusals: Refusals::default() }.failed(failure);
    assert_eq!(error.operation(), Operation::Connect);
    assert_eq!(error.subject(), Some("tls://bus.example:4222"));
    assert!(!format!("{error:?}").contains("hunter2"));
    error
}

fn connect_failed(kind: ConnectErrorKind, cause: impl Into<async_nats::Error>) -> TransportError {
    let failure = Failure::Connect(ConnectError::with_source(kind, cause));
    failed(&NatsOptions::default(), failure)
}

fn facts(error: &TransportError) -> (ErrorKind, bool) {
    (error.kind(), error.may_retry())
}

#[test]
fn what_may_pass_may_be_tried_again() {
    let options = NatsOptions::default();
    let away = || io::Error::from(io::ErrorKind::ConnectionRefused);
    for error in [
        failed(&options, Failure::Name(io::Error::other("no such host"))),
        connect_failed(ConnectErrorKind::Io, away()),
        connect_failed(ConnectErrorKind::Dns, away()),
        connect_failed(ConnectErrorKind::Io, "expected INFO, got nothing"),
    ] {
        assert_eq!(facts(&error), (ErrorKind::Disconnected, true), "{error}");
        assert!(error.source().is_some(), "{error}");
    }
    let error = failed(&options, Failure::TimedOut);
    assert_eq!(facts(&error), (ErrorKind::TimedOut, true));
    assert!(error.to_string().contains("TLS first and the option tls_first is not set"), "{error}");
}

#[test]
fn what_needs_somebody_to_change_something_may_not() {
    let options = NatsOptions::default();
    let bad = OptionsError::Span { field: "ping_interval", found: Duration::ZERO };
    let old = VersionError::TooOld("2.9.10".into());
    for (error, kind, says) in [
        (failed(&options, Failure::Options(bad)), ErrorKind::Invalid, "ping_interval"),
        (failed(&options, Failure::Version(old)), ErrorKind::Unsupported, "2.9.10"),
        (
            connect_failed(
                ConnectErrorKind::AuthorizationViolation,
                ServerError::AuthorizationViolation,
            ),
            ErrorKind::Denied,
            "refused the log-in of module mail on n1",
        ),
        (
            connect_failed(ConnectErrorKind::Tls, "invalid dns name"),
            ErrorKind::Invalid,
            "invalid dns name",
        ),
    ] {
        assert_eq!(facts(&error), (kind, false), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn what_the_server_says_decides_the_kind() {
    for (text, wanted) in [
        ("maximum connections exceeded", (ErrorKind::Broker, true)),
        ("Authentication Timeout", (ErrorKind::TimedOut, true)),
        ("User Authentication Expired", (ErrorKind::Denied, false)),
        ("User Authentication Revoked", (ErrorKind::Denied, false)),
        ("something new", (ErrorKind::Broker, false)),
    ] {
        let error = connect_failed(ConnectErrorKind::Io, ServerError::Other(text.into()));
        assert_eq!(facts(&error), wanted, "{text}");
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn what_a_stranger_says_is_neither_long_nor_obeyed_by_a_terminal() {
    let said = format!("\x1b[2J{}", "x".repeat(100_000));
    for error in [
        connect_failed(ConnectErrorKind::Io, ServerError::Other(said.clone())),
        connect_failed(ConnectErrorKind::Io, said),
    ] {
        let text = error.to_string();
        assert!(text.len() < 400 && !text.contains('\x1b'), "{text}");
    }
}

#[test]
fn a_broken_handshake_is_no_lost_connection() {
    let error = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let alert = rustls::Error::AlertReceived(rustls::AlertDescription::HandshakeFailure);
    let error = connect_failed(ConnectErrorKind::Io, error(alert));
    assert_eq!(facts(&error), (ErrorKind::Denied, false));
    assert!(error.to_string().contains("no TLS: received fatal alert"), "{error}");
}

#[test]
fn calls_on_a_client_name_what_they_were_about() {
    for (kind, wanted) in [
        (PublishErrorKind::MaxPayloadExceeded, (ErrorKind::TooLarge, false)),
        (PublishErrorKind::InvalidSubject, (ErrorKind::Invalid, false)),
        (PublishErrorKind::Send, (ErrorKind::Disconnected, true)),
    ] {
        let error = publish_error(kind.into(), Operation::Append, "a.b");
        assert_eq!(facts(&error), wanted);
        assert_eq!((error.operation(), error.subject()), (Operation::Append, Some("a.b")));
    }
    for (kind, wanted) in [
        (SubscribeErrorKind::InvalidSubject, (ErrorKind::Invalid, false)),
        (SubscribeErrorKind::InvalidQueueName, (ErrorKind::Invalid, false)),
        (SubscribeErrorKind::Other, (ErrorKind::Disconnected, true)),
    ] {
        let error = subscribe_error(kind.into(), Operation::Serve, "a.*");
        assert_eq!(facts(&error), wanted);
        assert_eq!((error.operation(), error.subject()), (Operation::Serve, Some("a.*")));
    }
}
