use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::{Address, Envelope, MsgType, MxPath, MxRealm, MxUri, Party, Plane, Profile};

use super::client::Inner;
use super::{CallOptions, RealmClient, RemoteError, Sent};
use crate::HostError;
use crate::local::limited;

/// Where answers are addressed to. Nobody listens there: they are found by realm and `correlationId`.
const ANSWERS: &str = "client.accepts.answer";

impl RealmClient {
    /// Calls the command at `uri`, `matrix://<realm>/<path>`, with `body`, within the client's deadline.
    /// One of this realm is called on the local bus.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub async fn call(
        &self,
        uri: &str,
        body: &RawJson<'_>,
    ) -> Result<RawJson<'static>, RemoteError> {
        self.call_with(&MxUri::parse(uri)?, body, &CallOptions::default()).await
    }

    /// Calls the command at `uri` with `body` and what `options` say.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub async fn call_with(
        &self,
        uri: &MxUri<'_>,
        body: &RawJson<'_>,
        options: &CallOptions,
    ) -> Result<RawJson<'static>, RemoteError> {
        let inner = &*self.0;
        check(uri, Plane::Accepts)?;
        let deadline = options.deadline.unwrap_or(inner.options.deadline);
        if *uri.realm() == inner.realm {
            return Ok(inner.inside.request_within(uri.path(), body, deadline).await?);
        }
        let clock = Arc::clone(inner.outside.backbone().clock());
        let asking = inner.ask(uri, body, options, deadline);
        limited(&*clock, deadline, asking).await.unwrap_or(Err(RemoteError::TimedOut))
    }

    /// Tells another realm the event at `uri`, which is one of its `emits` paths: its gateway says it
    /// inside. Nobody answers. Returns when it is on its way.
    ///
    /// # Errors
    /// [`RemoteError`]; [`TimedOut`](RemoteError::TimedOut) where it may have been sent.
    pub async fn tell(
        &self,
        uri: &MxUri<'_>,
        body: &RawJson<'_>,
        options: &CallOptions,
    ) -> Result<(), RemoteError> {
        let inner = &*self.0;
        check(uri, Plane::Emits)?;
        if *uri.realm() == inner.realm {
            return match inner.host.emit(uri.path(), body).await {
                Ok(()) => Ok(()),
                Err(HostError::Transport(error)) => Err(error.into()),
                Err(HostError::Topic(error)) => Err(error.into()),
                // The plane was looked at, and an event has no handler.
                Err(HostError::Plane { path, expected }) => {
                    Err(RemoteError::Plane { path, expected })
                }
                Err(HostError::Taken { path }) => {
                    Err(RemoteError::Plane { path, expected: Plane::Emits })
                }
            };
        }
        let realm = uri.realm().to_name();
        let profile = options.profile.unwrap_or_else(|| inner.profiles.of(&realm));
        let mut envelope = inner.envelope(MsgType::Evt, uri, body, options, profile);
        if profile == Profile::Legacy {
            // A legacy event has no reply fields, but a `correlationId`.
            envelope.correlation_id = envelope.msg_id.clone();
        }
        let deadline = options.deadline.unwrap_or(inner.options.deadline);
        let clock = Arc::clone(inner.outside.backbone().clock());
        let sending = inner.outside.send(envelope, profile, deadline);
        match limited(&*clock, deadline, sending).await {
            Some(Ok(Sent::Direct | Sent::Backbone)) => Ok(()),
            Some(Err(error)) => Err(error.into()),
            Some(Ok(Sent::InDoubt)) | None => Err(RemoteError::TimedOut),
        }
    }
}

impl Inner {
    /// Asks, and waits for the answer for as long as this is polled.
    async fn ask(
        &self,
        uri: &MxUri<'_>,
        body: &RawJson<'_>,
        options: &CallOptions,
        deadline: Duration,
    ) -> Result<RawJson<'static>, RemoteError> {
        let realm = uri.realm().to_name();
        let profile = options.profile.unwrap_or_else(|| self.profiles.of(&realm));
        let correlation_id = self.random().id();
        let waiting = self.answers.register(&realm, &correlation_id, profile)?;
        let mut envelope = self.envelope(MsgType::Cmd, uri, body, options, profile);
        envelope.correlation_id = Some(correlation_id.as_str().into());
        envelope.reply_to = Some(Party::new(&self.realm, MxPath::new(ANSWERS).ok()));
        // Sent or perhaps sent: either way an answer may come, and nothing is sent again.
        let _: Sent = self.outside.send(envelope, profile, deadline).await?;
        Ok(waiting.await??)
    }

    fn envelope<'e>(
        &'e self,
        kind: MsgType,
        uri: &'e MxUri<'_>,
        body: &'e RawJson<'_>,
        options: &'e CallOptions,
        profile: Profile,
    ) -> Envelope<'e> {
        let from = Party::new(MxRealm::from(&self.realm), None);
        let to = Address::new(uri.realm().borrowed(), uri.path().borrowed());
        let mut envelope = Envelope::new(kind, from, to);
        envelope.msg_id = Some(match &options.msg_id {
            Some(id) => id.as_str().into(),
            None => self.random().id().into(),
        });
        let now = self.outside.backbone().clock().now();
        envelope.timestamp = u64::try_from(now.as_millis()).ok();
        envelope.principal = options.principal.as_ref().map(RawJson::borrowed);
        if profile == Profile::MxEnv1 {
            envelope.trace_id = options.trace_id.as_deref().map(Into::into);
        }
        envelope.body = Some(body.borrowed());
        envelope
    }
}

fn check(uri: &MxUri<'_>, expected: Plane) -> Result<(), RemoteError> {
    if uri.path().plane() == expected {
        return Ok(());
    }
    Err(RemoteError::Plane { path: uri.path().clone().into_owned(), expected })
}
