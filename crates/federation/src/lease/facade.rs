use std::fmt;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::guard::Policy;
use mesh_core::port::Connection;
use mesh_core::store::{KeyValue, StoreError};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::counts::{Counts, ours};
use super::desk::LeaseDesk;
use super::hearing::{BUFFER, Hearings};
use super::inner::{Inner, State};
use super::outbox::{OutboxLimits, Outboxes, Setup};
use super::shared::{Shared, SharedOptions};
use super::{EndReason, FederationCounts, Lease, LeaseId, LeaseLimits, LeaseTable, NoticeKind};
use crate::local::{Task, limited};
use crate::{Call, ComponentHost, HostError, OsRandom, Random, Registration, Sign};

/// Lets other realms hear this realm's events: takes `_federation.accepts.subscribe`, `refresh` and
/// `unsubscribe`, and forwards what is emitted for as long as a lease lasts (protocol §8).
///
/// - Each distinct source is listened to once, from before its first lease is answered until its last has
///   ended. So what is emitted after the answer is forwarded.
/// - An event goes to each lease's realm as an `Evt` in the profile that the lease was asked for in; the
///   body is the text that was emitted. The order of a source's events is kept.
/// - What can't be forwarded is counted, and the sink is told that something is missing; a lease that ends
///   against its owner's will is told with the reason ([`Notice`](super::Notice)).
/// - With a [`store`](FederationOptions::store) leases outlive the process, and gateways share them: each
///   lease is kept by one gateway, which alone forwards its events, and by another when that is gone.
///
/// ```
/// # use std::sync::Arc;
/// # use mesh_core::identity::Principal;
/// # use mesh_core::name::InstanceName;
/// use mesh_core::name::RealmName;
/// use mesh_federation::lease::{FederationFacade, FederationOptions};
/// use mesh_federation::{ComponentHost, HostOptions};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let clock = Arc::new(mesh_clock::SystemClock::new());
/// # let me = || Ok::<_, mesh_core::name::NameError>(Principal::Gateway { name: InstanceName::new("g1")? });
/// # let local = mesh_transport_mem::InMemoryFilterBroker::new(clock.clone()).connect(me()?);
/// # let backbone = mesh_transport_mem::InMemoryExactBroker::new(clock).connect(me()?);
/// let host = ComponentHost::new(RealmName::new("home.example")?, local, HostOptions::default());
/// let options = FederationOptions::default();
/// let facade = FederationFacade::start(&host, backbone, options).await?;
/// assert_eq!(facade.status().leases, 0);
/// facade.close(std::time::Duration::from_secs(5)).await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FederationFacade {
    inner: Arc<Inner>,
    registrations: Vec<Registration>,
    tasks: Vec<Task>,
}

/// How a [`FederationFacade`] works.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct FederationOptions {
    /// How long leases last, and how many there may be.
    pub limits: LeaseLimits,
    /// How much may wait for the backbone.
    pub outbox: OutboxLimits,
    /// How many events of one source may wait to be looked at. 4,096 unless told.
    pub buffer: NonZeroUsize,
    /// Where leases are kept beyond this process, and shared with the realm's other gateways. Without one
    /// they end with the process.
    pub store: Option<Arc<dyn KeyValue>>,
    /// How the store is used.
    pub shared: SharedOptions,
    /// What proves this realm to others, where they want that.
    pub sign: Option<Arc<dyn Sign>>,
    /// Which realm may hear which events: at each `subscribe` and `refresh` it is asked about a command of
    /// that realm to the path of the source, which is never `proven` there. Without one every realm may hear what is not closed.
    pub policy: Option<Arc<dyn Policy>>,
    /// Where ids come from.
    pub random: Arc<dyn Random>,
}

impl Default for FederationOptions {
    fn default() -> Self {
        Self {
            limits: LeaseLimits::default(),
            outbox: OutboxLimits::default(),
            buffer: BUFFER,
            store: None,
            shared: SharedOptions::default(),
            sign: None,
            policy: None,
            random: Arc::new(OsRandom::new()),
        }
    }
}

/// How a facade stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FederationStatus {
    /// Leases known, those of other gateways included.
    pub leases: usize,
    /// Bytes that they take.
    pub bytes: usize,
    /// Sources listened to.
    pub sources: usize,
    /// Events and notices that wait for the backbone.
    pub waiting: usize,
    /// Realms that they wait for.
    pub waiting_realms: usize,
    /// Whether this gateway forwards: without a store always, with one while it can reach it.
    pub forwarding: bool,
    /// What it did so far.
    pub counts: FederationCounts,
}

/// What became of what waited when a facade was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "one count and no more")]
pub struct FederationReport {
    /// Events and notices that were given up.
    pub given_up: usize,
}

/// Why a facade can't be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FederationError {
    /// The local bus does not take the commands.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The store of leases can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The gateway's name is no part of a store's key.
    #[error("the gateway's name: {0}")]
    Name(#[from] mesh_core::store::StoreKeyError),
}

impl FederationFacade {
    /// A facade of the host's realm, live when this returns: it reads the store, if there is one, takes over
    /// what nobody keeps, and then takes commands.
    ///
    /// # Errors
    /// [`FederationError`].
    pub async fn start(
        host: &ComponentHost,
        backbone: Connection,
        options: FederationOptions,
    ) -> Result<Self, FederationError> {
        let FederationOptions { limits, outbox, buffer, store, shared, sign, policy, random } =
            options;
        let counts = Arc::<Counts>::default();
        let shared = match store {
            Some(store) => Some(Shared::new(store, shared, Arc::clone(&random), limits)?),
            None => None,
        };
        let me = shared.as_ref().map_or_else(|| "here".to_owned(), Shared::keeper);
        let setup = Setup {
            realm: host.realm().clone(),
            backbone,
            random,
            sign,
            limits: outbox,
            counts: Arc::clone(&counts),
        };
        let table = LeaseTable::new(limits, &me);
        let inner = Arc::new(Inner {
            realm: host.realm().clone(),
            local: host.local().clone(),
            clock: Arc::clone(host.local().clock()),
            buffer,
            state: Mutex::new(State { table, hearings: Hearings::default() }),
            outboxes: Outboxes::new(setup),
            counts,
            sooner: Notify::new(),
            policy,
            shared,
        });
        // From here on a failure stops what was begun.
        let mut facade = Self { inner, registrations: Vec::new(), tasks: Vec::new() };
        if facade.inner.shared.is_some() {
            facade.tasks = Shared::start(&facade.inner).await?;
        }
        facade.tasks.push(Task::spawn(Arc::clone(&facade.inner).expire()));
        facade.accept(host, "subscribe", Inner::subscribe).await?;
        facade.accept(host, "refresh", Inner::refresh).await?;
        facade.accept(host, "unsubscribe", Inner::unsubscribe).await?;
        Ok(facade)
    }

    async fn accept<A>(
        &mut self,
        host: &ComponentHost,
        command: &str,
        handle: impl Fn(Arc<Inner>, Call) -> A + Send + Sync + 'static,
    ) -> Result<(), HostError>
    where
        A: Future<
                Output = Result<mesh_core::json::RawJson<'static>, mesh_core::mx::Fault<'static>>,
            > + Send
            + 'static,
    {
        let inner = Arc::clone(&self.inner);
        let handler = move |call: Call| handle(Arc::clone(&inner), call);
        let path = ours(&format!("accepts.{command}"));
        self.registrations.push(host.accept(path, handler).await?);
        Ok(())
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> FederationStatus {
        let (waiting, waiting_realms) = self.inner.outboxes.waiting();
        let state = self.inner.state.lock();
        FederationStatus {
            leases: state.table.len(),
            bytes: state.table.bytes(),
            sources: state.hearings.len(),
            waiting,
            waiting_realms,
            forwarding: self.inner.may_forward(self.inner.now()),
            counts: self.inner.counts.snapshot(),
        }
    }

    /// The lease of this id.
    #[must_use]
    pub fn lease(&self, id: LeaseId) -> Option<Lease> {
        self.inner.state.lock().table.lease(id)
    }

    /// Ends a lease as an operator, and tells its sink. `false`: there is none, or the store could not be
    /// told.
    pub async fn evict(&self, id: LeaseId) -> bool {
        self.inner.end(id, EndReason::Evicted).await
    }

    /// Takes no more commands, tells the sinks whose leases end with it, hands the others over, and sends
    /// what waits, within `timeout`.
    pub async fn close(mut self, timeout: Duration) -> FederationReport {
        let clock = Arc::clone(&self.inner.clock);
        let until = clock.monotonic().saturating_add(timeout);
        let left = || until.saturating_sub(clock.monotonic());
        for registration in self.registrations.drain(..) {
            registration.close(left()).await;
        }
        self.tasks.clear();
        self.inner.state.lock().hearings.stop();
        match &self.inner.shared {
            // Others forward its leases from now on, or this one when it is started again.
            Some(shared) => {
                limited(&*clock, left(), shared.leave(&self.inner)).await;
            }
            None => self.end_all(),
        }
        limited(&*clock, left(), self.inner.outboxes.drained()).await;
        FederationReport { given_up: self.inner.outboxes.stop() }
    }

    fn end_all(&self) {
        let inner = &self.inner;
        loop {
            let page: Vec<Lease> =
                inner.state.lock().table.page(0, 256).map(|(_, lease)| lease).collect();
            if page.is_empty() {
                return;
            }
            for lease in page {
                inner.state.lock().table.remove(lease.id());
                inner.outboxes.tell(&lease, NoticeKind::Ended(EndReason::ShuttingDown));
            }
        }
    }

    /// What an operator may see and do.
    pub(crate) fn desk(&self) -> LeaseDesk {
        LeaseDesk(Arc::clone(&self.inner))
    }
}

impl Drop for FederationFacade {
    fn drop(&mut self) {
        // Each task holds what this holds.
        self.registrations.clear();
        self.tasks.clear();
        self.inner.state.lock().hearings.stop();
        self.inner.outboxes.stop();
    }
}

impl fmt::Debug for FederationFacade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FederationFacade")
            .field("realm", &self.inner.realm)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
