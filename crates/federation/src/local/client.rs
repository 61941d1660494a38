use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::mx::{
    DEFAULT_MAX_BYTES, InternalRequest, MxPath, Plane, ReplyId, Topic, decode_reply,
};
use mesh_core::name::RealmName;
use mesh_core::port::{Capability, Connection, ErrorKind, PublishOptions, TransportError};
use tokio::sync::Semaphore;

use super::replies::{Replies, ReplyCounts};
use super::{LocalError, limited};
use crate::{OsRandom, Random};

/// Asks components of its own realm, on the local bus (protocol §8, "Inside a realm"). Clones are the
/// same client.
///
/// Where the bus has wildcards, one subscription to `mx/1/<realm>/_reply.*` hears the replies to all of
/// its requests; it then hears those to others' requests as well, and passes them over. Where the bus
/// has none, each request has a subscription of its own. Either way nothing is left behind by a request
/// that ends or is dropped, and a reply that comes late is counted and forgotten.
///
/// ```
/// # use std::sync::Arc;
/// # use mesh_core::identity::Principal;
/// # use mesh_core::name::InstanceName;
/// use mesh_core::json::RawJson;
/// use mesh_core::mx::MxPath;
/// use mesh_core::name::RealmName;
/// use mesh_federation::{
///     Call, ComponentHost, HostOptions, LocalError, LocalOptions, LocalRequestReplyClient,
/// };
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let clock = Arc::new(mesh_clock::SystemClock::new());
/// # let broker = mesh_transport_mem::InMemoryFilterBroker::new(clock);
/// # let connection = broker.connect(Principal::Gateway { name: InstanceName::new("g1")? });
/// let realm = RealmName::new("shop")?;
/// let count = MxPath::new("stock.accepts.count")?;
/// let host = ComponentHost::new(realm.clone(), connection.clone(), HostOptions::default());
/// let counting = host.accept(count.clone(), |call: Call| async { Ok(call.params) }).await?;
///
/// let client = LocalRequestReplyClient::new(realm, connection, LocalOptions::default()).await?;
/// let params = RawJson::new(r#"{"of": "apples"}"#)?;
/// assert_eq!(client.request(&count, &params).await?, params);
///
/// drop(counting);
/// # tokio::task::yield_now().await;
/// let error = client.request(&count, &params).await.unwrap_err();
/// assert!(matches!(error, LocalError::NoResponders { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LocalRequestReplyClient(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    realm: RealmName,
    local: Connection,
    options: LocalOptions,
    places: Semaphore,
    replies: Replies,
    /// Whether to insist on somebody who takes the request.
    require_receiver: bool,
}

/// How a [`LocalRequestReplyClient`] works.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct LocalOptions {
    /// How long a request may take. 5 s unless told.
    pub timeout: Duration,
    /// How many requests may wait at a time. 4,096 unless told; one more is refused as `Busy`.
    pub pending: usize,
    /// Whether to find out if somebody takes the command, where the bus can tell
    /// ([`ReceiverCheck`](Capability::ReceiverCheck)); it costs one more exchange with a broker. Yes unless
    /// told. Without it, asking nobody is `TimedOut`.
    pub check_receiver: bool,
    /// The most bytes of a reply that is read. 1 MiB unless told.
    pub max_bytes: usize,
    /// Where the ids of reply topics come from.
    pub random: Arc<dyn Random>,
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(5),
            pending: 4096,
            check_receiver: true,
            max_bytes: DEFAULT_MAX_BYTES,
            random: Arc::new(OsRandom::new()),
        }
    }
}

impl LocalRequestReplyClient {
    /// A client in `realm`, on the realm's local bus.
    ///
    /// # Errors
    /// The bus refuses the subscription to replies, or can't be reached.
    pub async fn new(
        realm: RealmName,
        local: Connection,
        options: LocalOptions,
    ) -> Result<Self, TransportError> {
        let can = |capability| local.transport().capabilities().has(capability);
        let require_receiver = options.check_receiver && can(Capability::ReceiverCheck);
        let places = Semaphore::new(options.pending.min(Semaphore::MAX_PERMITS));
        let replies = if can(Capability::Wildcards) {
            Replies::shared(&realm, local.clone(), options.pending).await?
        } else {
            Replies::apart()
        };
        Ok(Self(Arc::new(Inner { realm, local, options, places, replies, require_receiver })))
    }

    /// The realm.
    #[must_use]
    pub fn realm(&self) -> &RealmName {
        &self.0.realm
    }

    /// How many requests wait, and what became of replies.
    #[must_use]
    pub fn counts(&self) -> ReplyCounts {
        let places = self.0.options.pending.min(Semaphore::MAX_PERMITS);
        let in_hand = places.saturating_sub(self.0.places.available_permits());
        self.0.replies.counts(in_hand)
    }

    /// Asks the component for `path`, within the time of the options.
    ///
    /// # Errors
    /// [`LocalError`].
    pub async fn request(
        &self,
        path: &MxPath<'_>,
        params: &RawJson<'_>,
    ) -> Result<RawJson<'static>, LocalError> {
        self.request_within(path, params, self.0.options.timeout).await
    }

    /// Asks the component for `path`, within `timeout`.
    ///
    /// # Errors
    /// [`LocalError`].
    pub async fn request_within(
        &self,
        path: &MxPath<'_>,
        params: &RawJson<'_>,
        timeout: Duration,
    ) -> Result<RawJson<'static>, LocalError> {
        let inner = &*self.0;
        if path.plane() != Plane::Accepts {
            return Err(LocalError::Plane { path: path.clone().into_owned() });
        }
        let topic = Topic::internal(&inner.realm, path)?;
        let Ok(_place) = inner.places.try_acquire() else {
            return Err(LocalError::Busy { limit: inner.options.pending });
        };
        let id = inner.options.random.reply_id();
        let reply_to = Topic::internal_reply(&inner.realm, id);
        let request = InternalRequest::new(id.to_string(), reply_to, params.borrowed());
        let message = Message::new(topic, request.encode());
        let work = inner.exchange(id, message, timeout);
        let reply = limited(&**inner.local.clock(), timeout, work).await;
        let reply = reply.unwrap_or(Err(LocalError::TimedOut))?;
        match decode_reply(reply.payload(), inner.options.max_bytes) {
            Ok(body) => Ok(body.into_owned()),
            Err(fault) => Err(LocalError::Failed(Box::new(fault.into_owned()))),
        }
    }
}

impl Inner {
    /// Publishes the request once its reply would be heard, and waits for that.
    async fn exchange(
        &self,
        id: ReplyId,
        message: Message,
        timeout: Duration,
    ) -> Result<Message, LocalError> {
        let subject = message.subject().clone();
        let mut reply = self.replies.expect(&self.realm, &self.local, id).await?;
        let options = PublishOptions { require_receiver: self.require_receiver, timeout };
        let sent = self.local.transport().publish(message, options).await;
        sent.map_err(|error| match error.kind() {
            ErrorKind::NoResponders => LocalError::NoResponders { subject },
            _ => LocalError::from(error),
        })?;
        reply.heard().await
    }
}
