use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::{Address, Envelope, MsgType, MxPath, MxRealm, MxUri, Party, Plane, Profile};
use mesh_core::name::RealmName;
use mesh_core::port::Connection;
use tokio::sync::{Semaphore, watch};

use super::profiles::Profiles;
use super::{CallOptions, RealmOptions, RemoteError, ResolvedClient, Sent};
use crate::local::limited;
use crate::{
    Answers, ComponentHost, Handler, HostError, LocalRequestReplyClient, Random, Registration,
};

/// A realm of its own, for a service that calls components of other realms by their MXURI, watches their
/// events, and is called. Clones are the same client.
///
/// It has two buses. On the backbone it sends to the mailboxes of other realms, each in the profile that
/// was [chosen for it](Self::set_profile); on the local bus are its own components. What comes in is its
/// gateway's to read: that gives answers to the [`Answers`] that this client waits at, and brings calls
/// and events to the local bus.
///
/// Another realm is what it says that it is, unless the backbone or MXSEC proves it.
#[derive(Debug, Clone)]
pub struct RealmClient(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    realm: RealmName,
    outside: ResolvedClient,
    answers: Answers,
    host: ComponentHost,
    inside: LocalRequestReplyClient,
    profiles: Profiles,
    pub(super) options: RealmOptions,
    pub(super) watches: Arc<Semaphore>,
    closing: watch::Sender<bool>,
}

/// Where answers are addressed to. Nobody listens there: they are found by realm and `correlationId`.
const ANSWERS: &str = "client.accepts.answer";

/// A semaphore can hand out all of them at once.
const MOST_WATCHES: usize = 1 << 20;

impl RealmClient {
    /// A client of `realm`, which sends to other realms through `outside`, and whose own bus is `local`.
    /// Whoever reads the realm's mailboxes gives what comes in to `answers`, and to `local`.
    ///
    /// # Errors
    /// The local bus can't be listened to.
    pub async fn new(
        realm: RealmName,
        outside: ResolvedClient,
        local: Connection,
        answers: Answers,
        options: RealmOptions,
    ) -> Result<Self, RemoteError> {
        let host = ComponentHost::new(realm.clone(), local.clone(), options.host.clone());
        let inside =
            LocalRequestReplyClient::new(realm.clone(), local, options.local.clone()).await?;
        Ok(Self(Arc::new(Inner {
            realm,
            outside,
            answers,
            host,
            inside,
            profiles: Profiles::new(options.profile),
            watches: Arc::new(Semaphore::new(options.watches.min(MOST_WATCHES))),
            closing: watch::Sender::new(false),
            options,
        })))
    }

    /// The realm.
    #[must_use]
    pub fn realm(&self) -> &RealmName {
        &self.0.realm
    }

    /// What waits for answers of other realms.
    #[must_use]
    pub fn answers(&self) -> &Answers {
        &self.0.answers
    }

    /// How messages reach other realms.
    #[must_use]
    pub fn outside(&self) -> &ResolvedClient {
        &self.0.outside
    }

    /// The realm's own components.
    #[must_use]
    pub fn host(&self) -> &ComponentHost {
        &self.0.host
    }

    /// The profile that `realm` is written to in.
    #[must_use]
    pub fn profile(&self, realm: &RealmName) -> Profile {
        self.0.profiles.of(realm)
    }

    /// Writes to `realm` in this profile from now on. What is under way keeps the one it was sent in, and
    /// its answer is taken in either.
    pub fn set_profile(&self, realm: RealmName, profile: Profile) {
        self.0.profiles.set(realm, profile);
    }

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
        let profile = inner.profiles.of(&realm);
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

    /// Takes the command `path` of this realm from now on, from other realms and from inside.
    ///
    /// # Errors
    /// As [`ComponentHost::accept`].
    pub async fn accept(
        &self,
        path: MxPath<'static>,
        handler: impl Handler,
    ) -> Result<Registration, HostError> {
        self.0.host.accept(path, handler).await
    }

    /// Ends all watches, and waits for that, for `timeout` at most; then tells who waits for an answer
    /// that there will be none. Nothing more is asked. The gateway and the buses are others' to close.
    pub async fn close(&self, timeout: Duration) {
        let inner = &*self.0;
        inner.closing.send_replace(true);
        let all = inner.options.watches.min(MOST_WATCHES);
        let all = u32::try_from(all).unwrap_or(u32::MAX);
        let clock = Arc::clone(inner.outside.backbone().clock());
        limited(&*clock, timeout, async {
            // Never closed.
            let _all = inner.watches.acquire_many(all).await;
        })
        .await;
        inner.watches.close();
        inner.answers.close();
    }

    pub(super) fn closing(&self) -> watch::Receiver<bool> {
        self.0.closing.subscribe()
    }

    /// Says an event of this realm: whoever watches it hears it.
    ///
    /// # Errors
    /// As [`ComponentHost::emit`].
    pub async fn emit(&self, path: &MxPath<'_>, body: &RawJson<'_>) -> Result<(), HostError> {
        self.0.host.emit(path, body).await
    }
}

impl Inner {
    pub(super) fn random(&self) -> &dyn Random {
        &*self.options.random
    }

    /// Asks, and waits for the answer for as long as this is polled.
    async fn ask(
        &self,
        uri: &MxUri<'_>,
        body: &RawJson<'_>,
        options: &CallOptions,
        deadline: Duration,
    ) -> Result<RawJson<'static>, RemoteError> {
        let realm = uri.realm().to_name();
        let profile = self.profiles.of(&realm);
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
