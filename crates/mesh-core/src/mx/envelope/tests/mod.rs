mod answers;
mod convert;
mod decode;
mod passage;
mod props;

use super::*;
use crate::name::RealmName;

const MAX: usize = 1 << 16;

fn read(text: &str) -> Decoded<'_> {
    decode(text.as_bytes(), MAX).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn refusal(text: &str) -> String {
    decode(text.as_bytes(), MAX).unwrap_err().to_string()
}

fn write(decoded: &Decoded<'_>) -> String {
    let bytes = match decoded {
        Decoded::MxEnv(envelope) => envelope.encode().unwrap(),
        Decoded::LegacyRequest(request) | Decoded::LegacyEvent(request) => request.encode(),
        Decoded::LegacyReply(reply) => reply.encode(),
    };
    String::from_utf8(bytes).unwrap()
}

fn local() -> RealmName {
    RealmName::new("acme.com").unwrap()
}

fn command(more: &str) -> String {
    format!(
        r#"{{"msgType":"Cmd","to":{{"realm":"acme.com","path":"a.accepts.m"}},"from":{{"realm":"shop"}},"msgId":"m1"{more}}}"#
    )
}

/// `text` is refused for `field`, at the last place where `at` stands, for this reason.
#[track_caller]
fn assert_refused(text: &str, at: &str, field: &str, reason: &str) {
    let offset = text.rfind(at).unwrap();
    let message = format!("{field} at offset {offset}: {reason}");
    assert_eq!(refusal(text), message, "{text}");
}
