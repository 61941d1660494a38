use std::error::Error;

use super::*;

fn refused(code: u16, err_code: u32, description: &str) -> TransportError {
    let error = ApiError { code, err_code, description: description.to_owned() };
    api_error(Operation::Append, "mesh.events.mail.sent", &error)
}

#[test]
fn what_the_server_refuses_has_a_kind_and_says_whether_to_try_again() {
    for (code, err_code, description, kind, may_retry) in [
        (404, 10059, "stream not found", ErrorKind::NotFound, false),
        (404, 10014, "consumer not found", ErrorKind::NotFound, false),
        (400, 10071, "wrong last sequence: 2", ErrorKind::Conflict, false),
        (503, 10077, "maximum bytes exceeded", ErrorKind::Full, true),
        (503, 10077, "maximum messages per subject exceeded", ErrorKind::Full, true),
        (503, 10077, "write /js: input/output error", ErrorKind::Broker, true),
        (500, 10049, "error creating store for stream", ErrorKind::Broker, true),
        (500, 10047, "insufficient storage resources available", ErrorKind::Full, true),
        (400, 10054, "message size exceeds maximum allowed", ErrorKind::TooLarge, false),
        (400, 10097, "header size exceeds maximum allowed of 64k", ErrorKind::TooLarge, false),
        (400, 10065, "subjects overlap with an existing stream", ErrorKind::Broker, false),
        (503, 10039, "JetStream not enabled for account", ErrorKind::Unsupported, false),
        (400, 10026, "maximum consumers limit reached", ErrorKind::Invalid, false),
        (400, 10100, "filtered consumer not unique on workqueue", ErrorKind::Invalid, false),
        (500, 10052, "maximum replicas is 5", ErrorKind::Invalid, false),
        (400, 10138, "consumer subject filters cannot overlap", ErrorKind::Invalid, false),
        (503, 10008, "JetStream system temporarily unavailable", ErrorKind::Broker, true),
        (503, 19999, "of a server to come", ErrorKind::Broker, true),
        (404, 19999, "of a server to come", ErrorKind::NotFound, false),
        (500, 19999, "of a server to come", ErrorKind::Broker, false),
    ] {
        let error = refused(code, err_code, description);
        assert_eq!(
            (error.kind(), error.may_retry()),
            (kind, may_retry),
            "{err_code} {description}"
        );
        assert!(error.to_string().contains(description), "{error}");
        assert_eq!(error.subject(), Some("mesh.events.mail.sent"));
        assert!(error.source().is_some_and(|source| source.is::<ApiError>()));
    }
}

#[test]
fn the_server_s_words_are_bounded_and_cut_at_a_character() {
    let long = "é".repeat(100_000);
    let error = refused(500, 10012, &long);
    assert!(error.to_string().len() < 500, "{} bytes", error.to_string().len());
    assert!(error.to_string().contains("é…"), "{error}");
}

#[test]
fn a_limit_is_final_and_an_absent_leader_is_not() {
    let error = |err_code| ApiError { code: 503, err_code, description: String::new() };
    for (err_code, is_final) in [(10008, false), (10059, false), (10047, true), (10052, true)] {
        assert_eq!(error(err_code).is_final(), is_final, "{err_code}");
    }
}

#[test]
fn an_error_without_its_parts_is_still_an_error() {
    let error: ApiError = serde_json::from_str("{}").unwrap();
    assert_eq!(api_error(Operation::Read, "EVENTS", &error).kind(), ErrorKind::Broker);
}
