use super::*;

fn round_trip(failure: &ToolFailure) -> (Headers, Bytes, ToolFailure) {
    let mut headers = Headers::default();
    let body = failure.encode(&mut headers);
    let read = ToolFailure::decode(&headers, &body).unwrap();
    (headers, body, read)
}

#[test]
fn a_failure_survives_the_wire_with_its_details() {
    let details = RawValue::from_string(r#"{"n":12345678901234567890123}"#.to_owned()).unwrap();
    let failure = ToolFailure::new("X.Y", "two\nlines \u{7}").with_details(details);
    let (headers, body, read) = round_trip(&failure);
    assert_eq!(read, failure);
    assert_eq!(headers.value("Nats-Service-Error"), Some("two lines"));
    assert!(std::str::from_utf8(&body).unwrap().contains("12345678901234567890123"));
}

#[test]
fn a_code_is_made_legal_and_never_empty() {
    assert_eq!(ToolFailure::new("a b\r\n", "").code, "a_b__");
    assert_eq!(ToolFailure::new("", "").code, codes::FAILED);
    assert_eq!(ToolFailure::new("é".repeat(300), "").code.len(), 100);
    let (headers, _, read) = round_trip(&ToolFailure::new("", ""));
    assert_eq!(headers.value("Nats-Service-Error-Code"), Some(codes::FAILED));
    assert_eq!(read.code, codes::FAILED);
}

#[test]
fn an_answer_without_the_headers_is_no_failure_whatever_its_body() {
    let body = br#"{"error":{"code":"X","message":"y"}}"#;
    assert_eq!(ToolFailure::decode(&Headers::default(), body), None);
}

#[test]
fn headers_alone_are_enough() {
    let mut headers = Headers::default();
    headers.set(names::SERVICE_ERROR, HeaderValue::new("gone").unwrap());
    let failure = ToolFailure::decode(&headers, b"not json").unwrap();
    assert_eq!((failure.code.as_str(), failure.message.as_str()), (codes::FAILED, "gone"));
}
