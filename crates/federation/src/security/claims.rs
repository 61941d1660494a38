//! What a token says, and whether that is what its envelope says.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mesh_core::json::RawJson;
use mesh_core::mx::{Envelope, Fault, Party};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::Refused;

/// The claims of a token (protocol §8, MXSEC/1). Times are whole seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claims<'a> {
    #[serde(borrow)]
    pub(super) iss: Cow<'a, str>,
    pub(super) aud: Cow<'a, str>,
    pub(super) jti: Cow<'a, str>,
    pub(super) iat: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nbf: Option<u64>,
    pub(super) exp: u64,
    pub(super) mx: Bound<'a>,
}

/// What of the envelope the token is bound to. A claim is there exactly where its field is, so that a field
/// can neither be changed, nor removed, nor added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bound<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    to: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Cow<'a, str>>,
}

impl<'a> Bound<'a> {
    /// What a token for `envelope` has to say.
    pub(super) fn of(envelope: &'a Envelope<'_>) -> Self {
        let path = |party: &'a Party<'_>| party.path.as_ref().map(|path| path.as_str());
        let exact =
            |json: &Option<RawJson<'_>>| json.as_ref().map(|json| hash(json.as_str()).into());
        Self {
            kind: envelope.kind.as_str().into(),
            to: envelope.to.path.as_str().into(),
            from: path(&envelope.from).map(Cow::Borrowed),
            reply_to: envelope.reply_to.as_ref().map(|party| {
                // No realm holds a `/`, so the two parts can be told apart.
                format!("{}/{}", party.realm, path(party).unwrap_or_default()).into()
            }),
            correlation_id: envelope.correlation_id.as_deref().map(Cow::Borrowed),
            principal: exact(&envelope.principal),
            body: exact(&envelope.body),
            error: envelope.error.as_ref().map(|fault| error(fault).into()),
        }
    }

    /// Whether it is what `envelope` says.
    pub(super) fn check(&self, envelope: &Envelope<'_>) -> Result<(), Refused> {
        let of = Bound::of(envelope);
        let same = |same: bool, refused| if same { Ok(()) } else { Err(refused) };
        same(self.kind == of.kind, Refused::Kind)?;
        same(self.to == of.to && self.from == of.from, Refused::Path)?;
        same(self.reply_to == of.reply_to, Refused::ReplyTo)?;
        same(self.correlation_id == of.correlation_id, Refused::CorrelationId)?;
        same(self.principal == of.principal, Refused::Principal)?;
        same(self.body == of.body && self.error == of.error, Refused::Body)
    }
}

/// SHA-256 of a text, as base64url without padding.
fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}

/// SHA-256 over the three hashes of code, message and details (of nothing, where there are none): so that
/// no text of one part can pass for text of another.
fn error(fault: &Fault<'_>) -> String {
    let details = fault.details.as_ref().map_or("", |details| details.as_str());
    let parts = [fault.code.as_ref(), fault.message.as_ref(), details]
        .map(|part| digest(&SHA256, part.as_bytes()));
    let parts: Vec<u8> = parts.iter().flat_map(|part| part.as_ref()).copied().collect();
    URL_SAFE_NO_PAD.encode(digest(&SHA256, &parts))
}
