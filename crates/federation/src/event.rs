//! An event on its way to another realm.

use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::mx::{Address, EncodeError, Envelope, MailboxKind, MsgType, MxPath, Party, Profile};
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;

use crate::{Sign, SignError};

/// Why an event has no envelope.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The profile has no form for it: a legacy event goes to an `emits` path alone.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// It could not be signed.
    #[error(transparent)]
    Sign(#[from] SignError),
}

/// One event for one realm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event<'a> {
    pub(crate) from: &'a RealmName,
    pub(crate) from_path: Option<&'a MxPath<'a>>,
    pub(crate) to: &'a RealmName,
    pub(crate) to_path: &'a MxPath<'a>,
    pub(crate) profile: Profile,
    /// Legacy has no place for it.
    pub(crate) trace_id: Option<&'a str>,
    pub(crate) body: &'a RawJson<'a>,
}

impl Event<'_> {
    /// The message for the realm's mailbox: of MXENV/1 the one of shard 00, of legacy the escaped one.
    pub(crate) fn message(
        &self,
        msg_id: &str,
        now: Timestamp,
        sign: Option<&dyn Sign>,
    ) -> Result<Message, EventError> {
        let from = Party::new(self.from, self.from_path.map(MxPath::borrowed));
        let to = Address::new(self.to, self.to_path.borrowed());
        let mut envelope = Envelope::new(MsgType::Evt, from, to);
        envelope.msg_id = Some(msg_id.into());
        envelope.timestamp = u64::try_from(now.as_millis()).ok();
        envelope.body = Some(self.body.borrowed());
        let mailbox = match self.profile {
            Profile::Legacy => {
                // A legacy message must have one, and an event has nothing to tie it to.
                envelope.correlation_id = Some(msg_id.into());
                MailboxKind::Legacy
            }
            Profile::MxEnv1 => {
                envelope.trace_id = self.trace_id.map(Into::into);
                if let Some(sign) = sign {
                    envelope.auth = Some(sign.sign(&envelope, now)?);
                }
                MailboxKind::default()
            }
        };
        Ok(Message::new(mailbox.subject(self.to), self.profile.encode(&envelope)?))
    }
}
