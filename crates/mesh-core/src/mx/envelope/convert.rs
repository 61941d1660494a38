//! Between the legacy profile and [`Envelope`]. Whatever has no place is refused by name; `ttl`
//! (hops) and `ttlMs` (expiry) never turn into each other.

use super::super::{MxRealm, Profile};
use super::field::Field;
use super::{Address, Decoded, EncodeError, Envelope, LegacyReply, LegacyRequest, MsgType, Party};
use crate::json::UnknownFields;
use crate::name::RealmName;

const LEGACY: Profile = Profile::Legacy;

impl<'a> Decoded<'a> {
    /// The message as an envelope, in the mailbox of realm `mailbox`. `None` for a legacy reply,
    /// which says neither where it goes nor what it answers to but by its `correlationId`.
    #[must_use]
    pub fn into_envelope(self, mailbox: &RealmName) -> Option<Envelope<'a>> {
        match self {
            Self::MxEnv(envelope) => Some(envelope),
            Self::LegacyRequest(request) | Self::LegacyEvent(request) => {
                Some(request.into_envelope(mailbox))
            }
            Self::LegacyReply(_) => None,
        }
    }
}

impl<'a> LegacyRequest<'a> {
    /// The request as an envelope: a `Cmd`, or an `Evt` where it is an event. Without a `toRealm`
    /// it is for `mailbox`'s realm, without a `replyToRealm` the sender's realm is answered.
    #[must_use]
    pub fn into_envelope(self, mailbox: &RealmName) -> Envelope<'a> {
        let kind = if self.is_event() { MsgType::Evt } else { MsgType::Cmd };
        let reply_to = match (self.reply_to_realm, self.reply_to_path) {
            (None, None) => None,
            (realm, path) => {
                let realm = realm.unwrap_or_else(|| self.from_realm.clone());
                Some(Party::new(realm, path))
            }
        };
        let to_realm = self.to_realm.unwrap_or_else(|| MxRealm::from(mailbox).into_owned());
        let from = Party::new(self.from_realm, self.from_path);
        Envelope {
            reply_to,
            msg_id: self.msg_id,
            correlation_id: Some(self.correlation_id),
            timestamp: self.timestamp,
            ttl_ms: self.ttl_ms,
            principal: self.principal,
            body: self.body,
            unknown: self.unknown,
            ..Envelope::new(kind, from, Address::new(to_realm, self.to_path))
        }
    }

    /// A `Cmd` or an `Evt` as a legacy request.
    ///
    /// # Errors
    /// [`EncodeError`]: another type, an `Evt` that would be read as a request or a `Cmd` that
    /// would be read as an event, no `correlationId`, or a field without a place (`ttl`, `auth`,
    /// `traceId`, `error`).
    pub fn from_envelope(envelope: &Envelope<'a>) -> Result<Self, EncodeError> {
        let e = envelope.clone();
        no_place("ttl", e.ttl.is_some())?;
        no_place("auth", e.auth.is_some())?;
        no_place("traceId", e.trace_id.is_some())?;
        no_place("error", e.error.is_some())?;
        let (reply_to_realm, reply_to_path, reply_unknown) = match e.reply_to {
            Some(Party { realm, path, unknown }) => (Some(realm), path, unknown),
            None => (None, None, UnknownFields::default()),
        };
        for inner in [&e.to.unknown, &e.from.unknown, &reply_unknown] {
            no_place(UNKNOWN, !inner.is_empty())?;
        }
        keepable(&e.unknown)?;
        let request = Self {
            from_realm: e.from.realm,
            to_path: e.to.path,
            correlation_id: e
                .correlation_id
                .ok_or(EncodeError::Missing { field: "correlationId", profile: LEGACY })?,
            to_realm: Some(e.to.realm),
            from_path: e.from.path,
            reply_to_realm,
            reply_to_path,
            timestamp: e.timestamp,
            ttl_ms: e.ttl_ms,
            msg_id: e.msg_id,
            principal: e.principal,
            body: e.body,
            unknown: e.unknown,
        };
        match (e.kind, request.is_event()) {
            (MsgType::Cmd, false) | (MsgType::Evt, true) => Ok(request),
            _ => Err(EncodeError::Kind { profile: LEGACY }),
        }
    }
}

impl<'a> LegacyReply<'a> {
    /// A `Result` or a `Nack` as a legacy reply, `ok` unless it is a `Nack` or has an error. A
    /// reply finds its way by mailbox and `correlationId`: `to`, `from.path` and `msgId`, which
    /// every answer has, are not part of it.
    ///
    /// # Errors
    /// [`EncodeError`]: another type, no `correlationId`, or a field without a place (`replyTo`,
    /// `ttl`, `ttlMs`, `auth`, `traceId`, `principal`).
    pub fn from_envelope(envelope: &Envelope<'a>) -> Result<Self, EncodeError> {
        if !envelope.kind.is_answer() {
            return Err(EncodeError::Kind { profile: LEGACY });
        }
        let e = envelope.clone();
        no_place("replyTo", e.reply_to.is_some())?;
        no_place("ttl", e.ttl.is_some())?;
        no_place("ttlMs", e.ttl_ms.is_some())?;
        no_place("auth", e.auth.is_some())?;
        no_place("traceId", e.trace_id.is_some())?;
        no_place("principal", e.principal.is_some())?;
        for inner in [&e.to.unknown, &e.from.unknown] {
            no_place(UNKNOWN, !inner.is_empty())?;
        }
        keepable(&e.unknown)?;
        Ok(Self {
            correlation_id: e
                .correlation_id
                .ok_or(EncodeError::Missing { field: "correlationId", profile: LEGACY })?,
            ok: e.kind == MsgType::Result && e.error.is_none(),
            from_realm: Some(e.from.realm),
            body: e.body,
            error: e.error,
            timestamp: e.timestamp,
            unknown: e.unknown,
        })
    }
}

const UNKNOWN: &str = "unknown field";

fn no_place(field: &'static str, set: bool) -> Result<(), EncodeError> {
    if set {
        return Err(EncodeError::NoPlace { field, profile: LEGACY });
    }
    Ok(())
}

/// A kept field that any profile has a meaning for would change what the message says.
fn keepable(unknown: &UnknownFields<'_>) -> Result<(), EncodeError> {
    let known = unknown.iter().any(|(key, _)| Field::of(key).is_some());
    no_place(UNKNOWN, known)
}
