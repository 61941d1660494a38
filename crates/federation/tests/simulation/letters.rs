//! What realms write to each other, and what a letter says of itself, read without a gateway.

use bytes::Bytes;
use mesh_core::json::RawJson;
use mesh_core::mx::{
    Address, DEFAULT_MAX_BYTES, Decoded, Envelope, MsgType, MxPath, Party, Profile, decode,
};
use mesh_core::name::RealmName;

/// The number that each letter has in its body, by which it is known wherever it turns up.
pub(crate) type Token = u64;

pub(crate) fn path(text: &str) -> MxPath<'static> {
    MxPath::new(text.to_owned()).expect("a path")
}

pub(crate) fn body(token: Token, more: &str) -> RawJson<'static> {
    RawJson::new(format!(r#"{{"q":{token}{more},"big":1e400}}"#)).expect("JSON")
}

/// The number in a body, if it has one.
pub(crate) fn token(body: &str) -> Option<Token> {
    let digits = body.split_once(r#""q":"#)?.1;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// A command or an event with all that MXENV/1 wants.
pub(crate) fn envelope(
    kind: MsgType,
    from: &RealmName,
    to: &RealmName,
    to_path: &str,
    (token, more): (Token, &str),
) -> Envelope<'static> {
    let sender = Party::new(from, Some(path("desk.accepts.answer"))).into_owned();
    let mut envelope = Envelope::new(kind, sender, Address::new(to, path(to_path)).into_owned());
    envelope.msg_id = Some(format!("m-{token}").into());
    envelope.correlation_id = Some(format!("c-{token}").into());
    envelope.body = Some(body(token, more));
    envelope
}

pub(crate) fn write(profile: Profile, envelope: &Envelope<'_>) -> Bytes {
    profile.encode(envelope).expect("an envelope").into()
}

/// What a letter claims.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Claim {
    pub(crate) from: Option<RealmName>,
    pub(crate) reply_to: Option<RealmName>,
    pub(crate) to: Option<RealmName>,
    pub(crate) path: Option<String>,
    pub(crate) correlation: Option<String>,
    pub(crate) profile: Profile,
    pub(crate) token: Option<Token>,
}

pub(crate) fn claim(bytes: &[u8]) -> Option<Claim> {
    let decoded = decode(bytes, DEFAULT_MAX_BYTES).ok()?;
    let profile = decoded.profile();
    let text = |body: &Option<RawJson<'_>>| body.as_ref().and_then(|body| token(body.as_str()));
    Some(match decoded {
        Decoded::MxEnv(e) => Claim {
            from: Some(e.from.realm.to_name()),
            reply_to: e.reply_to.as_ref().map(|party| party.realm.to_name()),
            to: Some(e.to.realm.to_name()),
            path: Some(e.to.path.to_string()),
            correlation: e.correlation_id.as_ref().or(e.msg_id.as_ref()).map(ToString::to_string),
            profile,
            token: text(&e.body),
        },
        Decoded::LegacyRequest(r) | Decoded::LegacyEvent(r) => Claim {
            from: Some(r.from_realm.to_name()),
            reply_to: r.reply_to_realm.as_ref().map(|realm| realm.to_name()),
            to: r.to_realm.as_ref().map(|realm| realm.to_name()),
            path: Some(r.to_path.to_string()),
            correlation: Some(r.correlation_id.to_string()),
            profile,
            token: text(&r.body),
        },
        Decoded::LegacyReply(r) => Claim {
            from: r.from_realm.as_ref().map(|realm| realm.to_name()),
            reply_to: None,
            to: None,
            path: None,
            correlation: Some(r.correlation_id.to_string()),
            profile,
            token: text(&r.body),
        },
    })
}
