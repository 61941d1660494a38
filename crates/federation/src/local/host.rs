use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::mx::{DEFAULT_MAX_BYTES, MxPath, Plane, Topic};
use mesh_core::name::RealmName;
use mesh_core::port::{Capability, Connection, PublishOptions, QueueGroup, SubscribeOptions};
use parking_lot::Mutex;

use super::registration::Counts;
use super::serving::Serving;
use super::{Handler, HostError, Listening, Registration};

/// Where components of a realm live: it takes commands for them, and says their events (protocol §8,
/// "Inside a realm"). Clones are the same host.
///
/// Each command is a subscription to exactly `mx/1/<realm>/<path>`; nothing else is listened to. Where
/// the local bus has queue groups, several hosts that accept the same path share its calls. Where it has
/// none each of them handles every call, and the first answer counts.
///
/// Only a well-formed reply topic of this realm, `mx/1/<realm>/_reply.<32 hex digits>`, is ever answered
/// to: a request that names another is counted, and no handler runs for it.
///
/// ```
/// # use std::sync::Arc;
/// # use mesh_core::identity::Principal;
/// # use mesh_core::name::InstanceName;
/// use mesh_core::json::RawJson;
/// use mesh_core::mx::MxPath;
/// use mesh_core::name::RealmName;
/// use mesh_federation::{Call, ComponentHost, HostOptions};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let clock = Arc::new(mesh_clock::SystemClock::new());
/// # let broker = mesh_transport_mem::InMemoryFilterBroker::new(clock);
/// # let connection = broker.connect(Principal::Gateway { name: InstanceName::new("g1")? });
/// let host = ComponentHost::new(RealmName::new("shop")?, connection, HostOptions::default());
/// let count = |_: Call| async { Ok(RawJson::new("[1, 2]").unwrap_or(RawJson::NULL)) };
/// let counting = host.accept(MxPath::new("stock.accepts.count")?, count).await?;
///
/// host.emit(&MxPath::new("stock.emits.changed")?, &RawJson::new(r#"{"n": 1}"#)?).await?;
/// drop(counting); // Nobody takes the command any more.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ComponentHost(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    realm: RealmName,
    local: Connection,
    options: HostOptions,
    taken: Arc<Taken>,
}

/// The paths that have a handler here.
pub(super) type Taken = Mutex<HashSet<MxPath<'static>>>;

/// How a [`ComponentHost`] works.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct HostOptions {
    /// How many calls of one path are handled at a time. 64 unless told. The next ones wait on the bus.
    pub concurrency: NonZeroUsize,
    /// How many calls of one path may wait. Those beyond are lost, and counted: their askers time out.
    /// 1,024 unless told.
    pub buffer: NonZeroUsize,
    /// How long a handler may take. 30 s unless told. Then it is given up, and the asker told.
    pub time: Duration,
    /// With whom calls are shared, where the bus has queue groups: `serve` unless told.
    pub group: Option<QueueGroup>,
    /// The most bytes of a request that is read. 1 MiB unless told.
    pub max_bytes: usize,
}

impl Default for HostOptions {
    fn default() -> Self {
        let subscribe = SubscribeOptions::default();
        Self {
            concurrency: NonZeroUsize::MIN.saturating_add(63),
            buffer: subscribe.buffer,
            time: Duration::from_secs(30),
            group: Some(QueueGroup::serve()),
            max_bytes: DEFAULT_MAX_BYTES,
        }
    }
}

impl ComponentHost {
    /// A host of `realm`'s components, on the realm's local bus.
    #[must_use]
    pub fn new(realm: RealmName, local: Connection, options: HostOptions) -> Self {
        Self(Arc::new(Inner { realm, local, options, taken: Arc::default() }))
    }

    /// The realm.
    #[must_use]
    pub fn realm(&self) -> &RealmName {
        &self.0.realm
    }

    /// The local bus.
    #[must_use]
    pub fn local(&self) -> &Connection {
        &self.0.local
    }

    /// Takes the command `path` from now on, until the registration is dropped.
    ///
    /// # Errors
    /// [`HostError`]: no `accepts` path, a handler is there already, a topic that is too long, or the
    /// bus refuses it.
    pub async fn accept(
        &self,
        path: MxPath<'static>,
        handler: impl Handler,
    ) -> Result<Registration, HostError> {
        let Inner { realm, local, options, taken } = &*self.0;
        let topic = topic(realm, &path, Plane::Accepts)?;
        let place = Place::take(taken, &path)?;
        let counts = Arc::new(Counts::default());
        let can_share = local.transport().capabilities().has(Capability::QueueGroups);
        let subscribe = SubscribeOptions {
            group: options.group.clone().filter(|_| can_share),
            buffer: options.buffer,
            ..SubscribeOptions::default()
        };
        let listening = Listening::open(local.clone(), topic.into(), subscribe).await?;
        let serving = Serving {
            connection: local.clone(),
            realm: realm.clone(),
            path,
            time: options.time,
            max_bytes: options.max_bytes,
            handler: Arc::new(handler),
            counts,
        };
        Ok(Registration::start(serving, listening, options.concurrency, place))
    }

    /// Says an event: publishes the bare body to `mx/1/<realm>/<path>`. Returns when the bus has it;
    /// nobody need listen.
    ///
    /// # Errors
    /// [`HostError`]: no `emits` path, a topic that is too long, or the bus refuses it.
    pub async fn emit(&self, path: &MxPath<'_>, body: &RawJson<'_>) -> Result<(), HostError> {
        let topic = topic(&self.0.realm, path, Plane::Emits)?;
        let message = Message::new(topic, body.as_str().to_owned());
        let transport = self.0.local.transport();
        Ok(transport.publish(message, PublishOptions::default()).await?)
    }
}

fn topic(
    realm: &RealmName,
    path: &MxPath<'_>,
    expected: Plane,
) -> Result<mesh_core::subject::Subject, HostError> {
    if path.plane() != expected {
        return Err(HostError::Plane { path: path.clone().into_owned(), expected });
    }
    Ok(Topic::internal(realm, path)?)
}

/// A path's place among those that have a handler.
#[derive(Debug)]
pub(super) struct Place {
    taken: Arc<Taken>,
    path: MxPath<'static>,
}

impl Place {
    fn take(taken: &Arc<Taken>, path: &MxPath<'static>) -> Result<Self, HostError> {
        if !taken.lock().insert(path.clone()) {
            return Err(HostError::Taken { path: path.clone() });
        }
        Ok(Self { taken: Arc::clone(taken), path: path.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.lock().remove(&self.path);
    }
}
