use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::{MxPath, Profile};
use mesh_core::name::RealmName;
use mesh_core::port::{Connection, TransportError};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use super::profiles::Profiles;
use super::{RealmOptions, ResolvedClient, StartError};
use crate::edge::{EdgeConfig, EdgeGateway, EdgeReport, GatewayOptions};
use crate::lease::{FederationFacade, FederationOptions, FederationStatus};
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
///
/// ```
/// # use std::sync::Arc;
/// # use mesh_core::identity::Principal;
/// # use mesh_core::name::InstanceName;
/// # use mesh_transport_mem::{InMemoryExactBroker, InMemoryFilterBroker};
/// use mesh_core::json::RawJson;
/// use mesh_core::mx::{MxPath, Profile};
/// use mesh_core::name::RealmName;
/// use mesh_federation::edge::EdgeConfig;
/// use mesh_federation::{Call, RealmClient, RealmOptions, RemoteError, ResolvedClient, Seen};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// # let clock = Arc::new(mesh_clock::SystemClock::new());
/// # let backbone = InMemoryExactBroker::new(clock.clone());
/// # let connections = || -> Result<_, mesh_core::name::NameError> {
/// #     let gateway = Principal::Gateway { name: InstanceName::new("g1")? };
/// #     let local = InMemoryFilterBroker::new(clock.clone()).connect(gateway.clone());
/// #     Ok((backbone.connect(gateway), local))
/// # };
/// let (backbone, local) = connections()?;
/// let config = EdgeConfig::new(RealmName::new("shop.example")?);
/// let outside = ResolvedClient::new(backbone);
/// let shop = RealmClient::start(config, outside, local, RealmOptions::default()).await?;
/// let count = MxPath::new("stock.accepts.count")?;
/// let _counting = shop.accept(count, |call: Call| async { Ok(call.params) }).await?;
///
/// // Elsewhere.
/// let (backbone, local) = connections()?;
/// let config = EdgeConfig::new(RealmName::new("home.example")?);
/// let outside = ResolvedClient::new(backbone);
/// let home = RealmClient::start(config, outside, local, RealmOptions::default()).await?;
///
/// let body = RawJson::new(r#"{"of": "apples"}"#)?;
/// let uri = "matrix://shop.example/stock.accepts.count";
/// assert_eq!(home.call(uri, &body).await?, body);
/// home.set_profile(shop.realm().clone(), Profile::Legacy);
/// assert_eq!(home.call(uri, &body).await?, body);
/// let nobody = home.call("matrix://away.example/a.accepts.b", &body).await;
/// assert!(matches!(nobody, Err(RemoteError::Unavailable(_))));
///
/// let mut sales = home.watch("matrix://shop.example/stock.emits.sold").await?;
/// shop.emit(&MxPath::new("stock.emits.sold")?, &body).await?;
/// assert!(matches!(sales.next().await, Seen::Event(sold) if sold == body));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RealmClient(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) realm: RealmName,
    pub(super) outside: ResolvedClient,
    pub(super) answers: Answers,
    pub(super) host: ComponentHost,
    pub(super) inside: LocalRequestReplyClient,
    pub(super) profiles: Profiles,
    pub(super) options: RealmOptions,
    pub(super) watches: Arc<Semaphore>,
    closing: watch::Sender<bool>,
    /// Taken when it is closed.
    facade: Mutex<Option<FederationFacade>>,
    gateway: Option<EdgeGateway>,
}

/// A semaphore can hand out all of them at once.
const MOST_WATCHES: usize = 1 << 20;

impl RealmClient {
    /// A realm of its own, with a gateway of its own: `config` says what that lets in, `outside` is how
    /// other realms are reached, and `local` the realm's own bus. When this returns, the realm can be
    /// called, and its events be watched.
    ///
    /// Several instances of one realm share its mailboxes where the backbone can do that, and then need
    /// one local bus: an answer may come to another instance than asked, which hands it over there.
    ///
    /// # Errors
    /// [`StartError`]: the configuration makes no sense, or a bus refuses what is needed.
    pub async fn start(
        config: EdgeConfig,
        outside: ResolvedClient,
        local: Connection,
        options: RealmOptions,
    ) -> Result<Self, StartError> {
        let answers = Answers::new(options.answers);
        let realm = config.realm.clone();
        let backbone = outside.backbone().clone();
        let host = ComponentHost::new(realm.clone(), local.clone(), options.host.clone());
        // Whoever is let in finds the commands there.
        let facade = match options.events.clone() {
            Some(events) => {
                let sign = events.sign.clone().or_else(|| outside.signer().cloned());
                // Who may not reach a path hears nothing of it either.
                let policy = events.policy.clone().or_else(|| config.rules.enforced_policy());
                let events = FederationOptions { sign, policy, ..events };
                Some(FederationFacade::start(&host, backbone.clone(), events).await?)
            }
            None => None,
        };
        // Who proves what it sends proves what it answers.
        let signer = options.gateway.signer.clone().or_else(|| outside.signer().cloned());
        let answers_to = Some(answers.clone());
        let how = GatewayOptions { answers: answers_to, signer, ..options.gateway.clone() };
        let gateway = EdgeGateway::start(config, backbone, local, how).await?;
        Ok(Self::make(host, outside, answers, options, facade, Some(gateway)).await?)
    }

    /// A client beside a gateway that is run elsewhere in this process: that one is given the same
    /// `answers` and the same `local` bus.
    ///
    /// # Errors
    /// The local bus can't be listened to.
    pub async fn new(
        realm: RealmName,
        outside: ResolvedClient,
        local: Connection,
        answers: Answers,
        options: RealmOptions,
    ) -> Result<Self, TransportError> {
        let host = ComponentHost::new(realm, local, options.host.clone());
        Self::make(host, outside, answers, options, None, None).await
    }

    async fn make(
        host: ComponentHost,
        outside: ResolvedClient,
        answers: Answers,
        options: RealmOptions,
        facade: Option<FederationFacade>,
        gateway: Option<EdgeGateway>,
    ) -> Result<Self, TransportError> {
        let (realm, local) = (host.realm().clone(), host.local().clone());
        let inside = LocalRequestReplyClient::new(realm.clone(), local, options.local.clone());
        Ok(Self(Arc::new(Inner {
            realm,
            outside,
            answers,
            host,
            inside: inside.await?,
            profiles: Profiles::new(options.profile),
            watches: Arc::new(Semaphore::new(options.watches.min(MOST_WATCHES))),
            closing: watch::Sender::new(false),
            options,
            facade: Mutex::new(facade),
            gateway,
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

    /// The gateway, where it is this client's own.
    #[must_use]
    pub fn gateway(&self) -> Option<&EdgeGateway> {
        self.0.gateway.as_ref()
    }

    /// How it stands with those who watch this realm, where this client sees to that.
    #[must_use]
    pub fn watched(&self) -> Option<FederationStatus> {
        self.0.facade.lock().as_ref().map(FederationFacade::status)
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

    /// Ends all watches, and waits for that; then tells who watches this realm that it ends; then closes the
    /// gateway, and lets components finish what came in; then tells who waits for an answer that there will
    /// be none. Each of the three waits takes `timeout` at most. Nothing more can be asked afterwards. The
    /// buses are their owner's to close.
    pub async fn close(&self, timeout: Duration) -> EdgeReport {
        let inner = &*self.0;
        inner.closing.send_replace(true);
        let all = inner.options.watches.min(MOST_WATCHES);
        let all = u32::try_from(all).unwrap_or(u32::MAX);
        let clock = Arc::clone(inner.outside.backbone().clock());
        // Each watch has a place until it has ended.
        let places = async { drop(inner.watches.acquire_many(all).await) };
        limited(&*clock, timeout, places).await;
        inner.watches.close();
        let facade = inner.facade.lock().take();
        if let Some(facade) = facade {
            facade.close(timeout).await;
        }
        let report = match &inner.gateway {
            Some(gateway) => gateway.close(timeout).await,
            None => EdgeReport::default(),
        };
        inner.answers.close();
        report
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
}
