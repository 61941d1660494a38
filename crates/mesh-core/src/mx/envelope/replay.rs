use super::{Envelope, LegacyRequest};

/// What marks a message as seen: its sender's realm and an id of the sender's (protocol §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
// Exhaustive on purpose: the protocol's pair.
pub struct ReplayKey<'e> {
    /// The realm that says it sent the message.
    pub realm: &'e str,
    /// `msgId`, or `correlationId` where there is none.
    pub id: &'e str,
}

impl Envelope<'_> {
    /// The replay key. `None` for an envelope without any id, which no decoder makes.
    #[must_use]
    pub fn replay_key(&self) -> Option<ReplayKey<'_>> {
        Some(ReplayKey {
            realm: self.from.realm.as_str(),
            id: self.msg_id.as_deref().or(self.correlation_id.as_deref())?,
        })
    }
}

impl LegacyRequest<'_> {
    /// The replay key.
    #[must_use]
    pub fn replay_key(&self) -> ReplayKey<'_> {
        ReplayKey {
            realm: self.from_realm.as_str(),
            id: self.msg_id.as_deref().unwrap_or(&self.correlation_id),
        }
    }
}
