use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::manifest::{EventPattern, ModuleManifest, Provision, ToolRef};
use mesh_core::name::{EventName, ProvisionName, ToolName};
use mesh_core::port::{Connection, ErrorKind, Operation, TransportError};
use mesh_core::store::HandledStore;
use mesh_core::subject::Filter;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::binding::Line;
use crate::error::BuildError;
use crate::handled::MemoryHandled;
use crate::ids::Ids;
use crate::observe::{Counts, Observer, Propagator, Publishing, Requests, describe_metrics};
use crate::retry::RetryPolicy;
use crate::scope::{Has, Scope, Whole};
use crate::subscribe::Consuming;
use crate::workers::Workers;

/// A place on the mesh: five verbs over one connection. Cheap to clone; every clone is the same place.
///
/// | verb | | [`Whole`] | [`Events`](crate::Events) | [`Tools`](crate::Tools) | [`Asking`](crate::Asking) |
/// |---|---|---|---|---|---|
/// | [`publish`](Self::publish) | says that something has happened | ✓ | ✓ | | |
/// | [`subscribe`](Self::subscribe) | reacts to what others say | ✓ | ✓ | | |
/// | [`request`](Self::request) | asks another's tool | ✓ | | ✓ | ✓ |
/// | [`handle`](Self::handle) | answers for a tool of its own | ✓ | | ✓ | |
/// | [`close`](Self::close) | finishes what was begun and leaves | ✓ | ✓ | ✓ | ✓ |
///
/// A `Broker` is a module's and has all of them. One that is built for less
/// ([`build_only`](BrokerBuilder::build_only)) has the verbs of its column, and using another does not
/// compile:
///
/// ```compile_fail
/// # use mesh_sdk::{Asking, Broker, PublishError};
/// async fn person(alice: Broker<Asking>) -> Result<(), PublishError> {
///     alice.publish("sent", "bob").await?;
///     Ok(())
/// }
/// ```
///
/// How it stands is [`health`](Self::health)'s to say. No verb waits longer than its time and half a
/// second, whatever the transport does; `subscribe` and `handle` have 5 s.
///
/// Who it is comes from the connection, which was dialled with a credential, and from nowhere else.
///
/// Its handlers live as long as it does: once the last clone is dropped they are given nothing more,
/// and those that run already go on to their end. A handler that holds a clone keeps it alive until
/// `close`.
#[derive(Clone)]
pub struct Broker<S: Scope = Whole>(pub(crate) Arc<Inner>, S);

pub(crate) struct Inner {
    pub(crate) connection: Connection,
    pub(crate) settings: Settings,
    pub(crate) ids: Arc<Ids>,
    pub(crate) observer: Arc<Observer>,
    pub(crate) publishing: Publishing,
    pub(crate) asking: Requests,
    pub(crate) handled: Arc<dyn HandledStore>,
    /// Reads the module's consumer from the first `subscribe` on.
    pub(crate) consuming: tokio::sync::OnceCell<Consuming>,
    /// The tools that it serves; without a line while that begins.
    pub(crate) serving: Mutex<BTreeMap<ToolName, Option<Line>>>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) life: Mutex<Life>,
}

/// How far a broker has come.
pub(crate) enum Life {
    /// With what reads for it.
    Open(Vec<Workers>),
    /// It was told to close.
    Draining,
    /// It has closed.
    Closed,
}

pub(crate) struct Settings {
    pub(crate) consumes: Vec<Filter>,
    pub(crate) provides: Vec<Provision>,
    pub(crate) requires: Vec<ProvisionName>,
    pub(crate) retry: RetryPolicy,
    pub(crate) concurrency: usize,
    pub(crate) publish_timeout: Duration,
}

/// Makes a [`Broker`]; see [`Broker::builder`].
pub struct BrokerBuilder {
    connection: Connection,
    settings: Settings,
    handled: Option<Arc<dyn HandledStore>>,
    propagator: Option<Arc<dyn Propagator>>,
    emits: Vec<EventName>,
    calls: Vec<ToolRef>,
    seed: Option<u64>,
}

impl Broker {
    /// A broker over `connection`, with what may be changed left as it is: no events consumed, 16
    /// handlers at a time, the default [`RetryPolicy`], 10 s to publish.
    #[must_use]
    pub fn builder(connection: Connection) -> BrokerBuilder {
        BrokerBuilder {
            connection,
            settings: Settings {
                consumes: Vec::new(),
                provides: Vec::new(),
                requires: Vec::new(),
                retry: RetryPolicy::default(),
                concurrency: 16,
                publish_timeout: Duration::from_secs(10),
            },
            handled: None,
            propagator: None,
            emits: Vec::new(),
            calls: Vec::new(),
            seed: None,
        }
    }
}

impl<S: Scope> Broker<S> {
    /// Who this broker is.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        self.0.connection.principal()
    }

    /// The same place with fewer verbs, to be handed to what needs no more. Like a clone, it keeps the
    /// broker alive and can close it.
    #[must_use]
    pub fn only<T: Scope>(&self) -> Broker<T>
    where
        S: Has<T>,
    {
        Broker(Arc::clone(&self.0), self.part().clone())
    }

    /// The part of the connection that a verb is about.
    pub(crate) fn part<T: Scope>(&self) -> &T
    where
        S: Has<T>,
    {
        self.1.part()
    }
}

impl Inner {
    /// Keeps workers until the close; where that has begun they stop at once.
    pub(crate) fn keep(
        &self,
        workers: Workers,
        operation: Operation,
    ) -> Result<(), TransportError> {
        match &mut *self.life.lock() {
            Life::Open(kept) => {
                kept.push(workers);
                Ok(())
            }
            Life::Draining | Life::Closed => Err(TransportError::new(ErrorKind::Closed, operation)),
        }
    }
}

impl BrokerBuilder {
    /// What the module's manifest says it consumes, provides and requires. The names of what it emits and
    /// calls are those that metrics tell apart. What it says of its tools is not looked at.
    #[must_use]
    pub fn manifest(mut self, manifest: &ModuleManifest) -> Self {
        self.emits.clone_from(&manifest.emits);
        self.calls.clone_from(&manifest.calls);
        self.settings.provides.clone_from(&manifest.provides);
        let required = manifest.requires.iter().map(|required| required.provision.clone());
        self.settings.requires = required.collect();
        self.consumes(EventPattern::minimal_filters(&manifest.consumes))
    }

    /// What the module consumes, as filters over `<module>.<event>`: [`Broker::subscribe`] takes
    /// patterns that these cover and no others.
    #[must_use]
    pub fn consumes(mut self, filters: impl IntoIterator<Item = Filter>) -> Self {
        self.settings.consumes = filters.into_iter().collect();
        self
    }

    /// How a failed event is tried again.
    #[must_use]
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.settings.retry = policy;
        self
    }

    /// How many events, and how many calls of each tool, are handled at a time. At least 1.
    #[must_use]
    pub fn concurrency(mut self, handlers: usize) -> Self {
        self.settings.concurrency = handlers.clamp(1, Semaphore::MAX_PERMITS);
        self
    }

    /// How long `publish` goes on trying to bring an event to the broker. It returns a quarter of a
    /// second after that at the latest, whatever the transport does.
    #[must_use]
    pub fn publish_timeout(mut self, timeout: Duration) -> Self {
        self.settings.publish_timeout = timeout;
        self
    }

    /// Where it is kept which events were handled. In memory unless told ([`MemoryHandled`]): "once" then
    /// holds while the process lives. A store in a file, as `mesh-store` has it, carries it across a kill,
    /// and marks an event whose handler was cut off by one
    /// ([`interrupted`](crate::ReceivedEvent::interrupted)). Several brokers may share a store. It must
    /// remember for [`RetryPolicy::SPAN`]. Where it fails or gives no answer in 10 s, the event is tried
    /// again after the longest wait of the [`RetryPolicy`].
    #[must_use]
    pub fn handled(mut self, store: Arc<dyn HandledStore>) -> Self {
        self.handled = Some(store);
        self
    }

    /// What joins the trace of messages with a tracer's. Without one the SDK passes a trace on by itself.
    #[must_use]
    pub fn propagator(mut self, propagator: Arc<dyn Propagator>) -> Self {
        self.propagator = Some(propagator);
        self
    }

    /// Makes ids from this seed, for tests that must repeat. From the operating system unless told.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The broker of a module, with all verbs. Nothing is sent before the first of them.
    ///
    /// # Errors
    /// [`BuildError`] where the connection is not a module's, or its transport lacks what a verb needs;
    /// and where an event could be tried again after it was forgotten that it had been handled.
    pub fn build(self) -> Result<Broker, BuildError> {
        self.build_only()
    }

    /// A broker with fewer verbs: for a person, who only asks, or over a transport that lacks what the
    /// others need.
    ///
    /// ```
    /// use mesh_core::identity::Principal;
    /// use mesh_core::manifest::Mesh;
    /// use mesh_sdk::{Asking, Broker, RequestError};
    /// use mesh_transport_mem::InMemoryMesh;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mesh = InMemoryMesh::raise(Mesh::on_one_node(&"n1".parse()?, [])?).await?;
    /// let alice = mesh.connect(Principal::Person { name: "alice".parse()? })?;
    /// assert!(Broker::builder(alice.clone()).build().is_err()); // no module
    /// let alice = Broker::builder(alice).build_only::<Asking>()?;
    /// let denied: Result<(), _> = alice.request(("vault", "open"), &()).await;
    /// assert!(matches!(denied, Err(RequestError::Denied(_))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`build`](Self::build), for what is asked for.
    pub fn build_only<S: Scope>(self) -> Result<Broker<S>, BuildError> {
        let scope = S::of(&self.connection)?;
        let clock = Arc::clone(self.connection.clock());
        let asked = self.settings.retry.longest;
        if asked > RetryPolicy::LONGEST {
            return Err(BuildError::RetryTooLong { asked, longest: RetryPolicy::LONGEST });
        }
        let handled = self.handled.unwrap_or_else(|| Arc::new(MemoryHandled::new(clock)));
        let (window, needed) = (handled.window(), RetryPolicy::SPAN);
        if window < needed {
            return Err(BuildError::WindowTooShort { window, needed });
        }
        describe_metrics();
        let ids = Arc::new(Ids::new(self.seed));
        let observer = Observer::new(&self.connection, Arc::clone(&ids), self.propagator);
        let observer = Arc::new(observer);
        let module = match self.connection.principal() {
            Principal::Module { module, .. } => Some(module),
            _ => None,
        };
        let inner = Inner {
            handled,
            publishing: Publishing::new(&observer, module, self.emits),
            asking: Requests::new(&observer, self.calls),
            ids,
            observer,
            connection: self.connection,
            settings: self.settings,
            consuming: tokio::sync::OnceCell::new(),
            serving: Mutex::default(),
            counts: Arc::default(),
            life: Mutex::new(Life::Open(Vec::new())),
        };
        Ok(Broker(Arc::new(inner), scope))
    }
}

impl<S: Scope> fmt::Debug for Broker<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker").field("principal", self.principal()).finish_non_exhaustive()
    }
}

impl fmt::Debug for BrokerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerBuilder")
            .field("principal", self.connection.principal())
            .finish_non_exhaustive()
    }
}
