//! A gateway with all that its file wants beside it, and its end.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use mesh_clock::SystemClock;
use mesh_core::guard::Policy;
use mesh_core::identity::Principal;
use mesh_core::mx::Profile;
use mesh_core::name::InstanceName;
use mesh_core::port::{Clock, Connection};
use mesh_federation::discovery::{HttpsDirect, HttpsServer};
use mesh_federation::edge::{EdgeConfig, EdgeGateway, GatewayOptions};
use mesh_federation::lease::{FederationFacade, FederationOptions, LeaseLimits, SharedOptions};
use mesh_federation::router::{RouterBridge, RouterOptions, Routes};
use mesh_federation::session::{SessionDirectory, SessionLimits, SessionsFacade};
use mesh_federation::{
    AnswerLimits, Answers, ComponentHost, HostOptions, OperatorDesk, OsRandom, RealmClient,
    RealmOptions, ResolvedClient, Sign,
};
use mesh_transport_mem::{InMemoryExactBroker, InMemoryFilterBroker};

use super::super::config::{Bus, Config, GatewayFile, Mailbox, Waits, edge_rules};
use super::super::desk::{Desk, LONGEST, Watches};
use super::super::runtime::dial;
use super::super::runtime::words;
use super::hearers::Hearers;
use super::state::Stores;
use super::told::{Closed, Ends, Serving};
use super::{finding, proving};
use crate::shell::Failure;

pub(super) struct Running {
    gateway: Arc<EdgeGateway>,
    client: RealmClient,
    facade: FederationFacade,
    /// Hold what they take until the end.
    _sessions: SessionsFacade,
    _operator: OperatorDesk,
    _desk: Desk,
    watches: Arc<Watches>,
    router: Option<RouterBridge>,
    https: Option<HttpsServer>,
    stores: Stores,
    waiting: Vec<Waits>,
    hearers: Arc<Hearers>,
    ends: Ends,
}

impl Running {
    pub(super) async fn start(file: &GatewayFile) -> Result<Self, Failure> {
        let config = &file.config;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let memory = |exact: bool| -> Result<Connection, Failure> {
            let name = config.gateway.as_deref().unwrap_or("gateway");
            let name = InstanceName::new(name).map_err(|error| {
                Failure::new(error.to_string(), "`gateway` is one word of a-z, 0-9 and -")
            })?;
            let principal = Principal::Gateway { name };
            Ok(match exact {
                true => InMemoryExactBroker::new(Arc::clone(&clock)).connect(principal),
                false => InMemoryFilterBroker::new(Arc::clone(&clock)).connect(principal),
            })
        };
        let backbone = match &config.backbone {
            Bus::Memory => memory(true)?,
            Bus::Credential(path) => dial(&file.path(path)).await?,
        };
        let local = match &config.local {
            Bus::Memory => memory(false)?,
            Bus::Credential(path) => dial(&file.path(path)).await?,
        };
        let stores = Stores::open(file, &clock).await?;
        let discovery = finding::reader(file, &clock)?;
        let signer = proving::signer(file)?;
        let waiting = proving::guards(file, discovery.as_ref(), stores.marks.as_ref(), &clock)?;

        // What other realms may ask of the realm itself is there before they are let in.
        let host = ComponentHost::new(config.realm.clone(), local.clone(), HostOptions::default());
        let hearers = Arc::new(Hearers::of(&edge_rules(config, &waiting)));
        let mut events = lease_options(config, &backbone, &stores, signer.clone());
        events.policy = Some(Arc::clone(&hearers) as Arc<dyn Policy>);
        let facade = FederationFacade::start(&host, backbone.clone(), events).await;
        let facade = facade.map_err(|error| refused("leases", &error))?;
        let limits = session_limits(config);
        let directory = SessionDirectory::open(Arc::clone(&clock), limits, stores.sessions.clone());
        let directory = Arc::new(directory.await.map_err(|error| refused("sessions", &error))?);
        let random = Arc::new(OsRandom::new());
        let (between, own) = (backbone.clone(), Arc::clone(&directory));
        let sessions = SessionsFacade::start(&host, between, own, signer.clone(), random).await;
        let sessions = sessions.map_err(|error| refused("sessions", &error))?;

        let answers = Answers::new(AnswerLimits::default());
        let mut options = GatewayOptions {
            answers: Some(answers.clone()),
            signer: signer.clone(),
            ..GatewayOptions::default()
        };
        options.legacy_raw_mailbox = config.mailboxes.get_ref().contains(&Mailbox::LegacyRaw);
        let edge = edge_config(config, &waiting);
        let gateway = EdgeGateway::start(edge, backbone.clone(), local.clone(), options).await;
        let gateway = Arc::new(gateway.map_err(|error| refused("gateway", &error))?);

        let mut outside = ResolvedClient::new(backbone.clone());
        if let Some(signer) = signer {
            outside = outside.with_signer(signer);
        }
        let direct = config.discovery.as_ref().is_some_and(|discovery| discovery.direct);
        if let Some(discovery) = discovery.filter(|_| direct) {
            outside = outside.with_direct(Arc::new(HttpsDirect::new(discovery)));
        }
        let realm = config.realm.clone();
        let options = RealmOptions { profile: config.profile.into(), ..RealmOptions::default() };
        let client = RealmClient::new(realm, outside, local.clone(), answers, options).await;
        let client = client.map_err(|error| refused("client", &error))?;
        for (realm, peer) in &config.peers {
            if let Some(profile) = peer.profile {
                client.set_profile(realm.clone(), Profile::from(profile));
            }
        }
        // An operator's calls take as long as the realms that are asked.
        let host = HostOptions { time: LONGEST + Duration::from_secs(5), ..HostOptions::default() };
        let host = ComponentHost::new(config.realm.clone(), local.clone(), host);
        let operator = OperatorDesk::start(&host, &facade, &directory).await;
        let operator = operator.map_err(|error| refused("operator", &error))?;
        let watches = Watches::new(client.clone(), host.clone());
        let desk = Desk::start(&host, &gateway, &client, &watches).await;
        let desk = desk.map_err(|error| refused("operator", &error))?;

        let router = match routes(config)? {
            None => None,
            Some(routes) => {
                let options = RouterOptions::default();
                let router = RouterBridge::start(backbone.clone(), routes, options).await;
                Some(router.map_err(|error| refused("router", &error))?)
            }
        };
        let https = finding::serve(file, &gateway, &clock).await?;
        let ends = Ends::of(&backbone, &local);
        let (_sessions, _operator, _desk) = (sessions, operator, desk);
        Ok(Self {
            gateway,
            client,
            facade,
            _sessions,
            _operator,
            _desk,
            watches,
            router,
            https,
            stores,
            waiting,
            hearers,
            ends,
        })
    }

    /// Puts the rules of a file in force.
    pub(super) fn reload(&self, config: &Config) -> Result<(), Failure> {
        let rules = edge_rules(config, &self.waiting);
        let hearers = Hearers::of(&rules);
        self.gateway.reload(rules).map_err(|error| refused("rules", &error))?;
        self.hearers.become_of(hearers);
        Ok(())
    }

    /// Where it listens.
    pub(super) fn listening(&self) -> Serving {
        let ears = self.gateway.status().ears;
        Serving::Listening {
            realm: self.client.realm().as_str().to_owned(),
            backbone: self.ends.backbone.clone(),
            local: self.ends.local.clone(),
            topics: ears.iter().map(|ear| ear.filter.as_str().to_owned()).collect(),
            https: self.https.as_ref().map(|https| https.local_addr().to_string()),
            router: self.router.is_some(),
            state: self.stores.place(),
            leases: self.facade.status().leases,
        }
    }

    /// Ends it: nothing new is taken, what is under way is finished, and told.
    pub(super) async fn close(self, timeout: Duration) -> Serving {
        if let Some(https) = self.https {
            https.close().await;
        }
        // Its watches first, while the answers of other realms are still heard.
        self.client.close(timeout).await;
        self.watches.finish(timeout).await;
        let facade = self.facade.close(timeout).await;
        let router = match self.router {
            Some(router) => Some(router.close(timeout).await),
            None => None,
        };
        let edge = self.gateway.close(timeout).await;
        self.stores.close(timeout).await;
        Serving::Closed(Closed {
            finished: edge.finished,
            given_up: edge.given_up,
            abandoned: edge.abandoned,
            events_given_up: facade.given_up,
            router_lost: router.map(|router| router.lost),
        })
    }
}

fn edge_config(config: &Config, waiting: &[Waits]) -> EdgeConfig {
    let mut edge = EdgeConfig::new(config.realm.clone());
    edge.rules = edge_rules(config, waiting);
    let limits = &config.limits;
    let set = |limit: &mut usize, asked: Option<NonZeroUsize>| {
        *limit = asked.map_or(*limit, NonZeroUsize::get);
    };
    set(&mut edge.limits.pending, limits.pending);
    set(&mut edge.limits.pending_per_realm, limits.pending_per_realm);
    set(&mut edge.limits.max_bytes, limits.max_bytes);
    set(&mut edge.limits.max_id_bytes, limits.max_id_bytes);
    edge.timeout = limits.timeout.map_or(edge.timeout, |timeout| timeout.0);
    edge.include_envelope = limits.include_envelope;
    edge
}

fn lease_options(
    config: &Config,
    backbone: &Connection,
    stores: &Stores,
    sign: Option<Arc<dyn Sign>>,
) -> FederationOptions {
    let mut limits = LeaseLimits::default();
    let leases = &config.leases;
    limits.lifetime = leases.lifetime.map_or(limits.lifetime, |span| span.0);
    limits.longest = leases.longest.map_or(limits.longest, |span| span.0);
    limits.per_realm = leases.per_realm.map_or(limits.per_realm, NonZeroUsize::get);
    limits.total = leases.total.map_or(limits.total, NonZeroUsize::get);
    let named = match backbone.principal() {
        Principal::Gateway { name } => Some(name.as_str().to_owned()),
        _ => None,
    };
    let gateway = config.gateway.clone().or(named);
    FederationOptions {
        limits,
        store: stores.leases.clone(),
        shared: SharedOptions { gateway, ..SharedOptions::default() },
        sign,
        ..FederationOptions::default()
    }
}

fn session_limits(config: &Config) -> SessionLimits {
    let mut limits = SessionLimits::default();
    let sessions = &config.sessions;
    let number = |asked: Option<NonZeroUsize>, usual: usize| asked.map_or(usual, NonZeroUsize::get);
    limits.lifetime = sessions.lifetime.map_or(limits.lifetime, |span| span.0);
    limits.per_principal = number(sessions.per_principal, limits.per_principal);
    limits.per_realm = number(sessions.per_realm, limits.per_realm);
    limits.total = number(sessions.total, limits.total);
    limits
}

fn routes(config: &Config) -> Result<Option<Routes>, Failure> {
    let Some(router) = &config.router else { return Ok(None) };
    let mut routes = Routes::new(config.realm.clone());
    let parent = router.parent.as_ref().map(|parent| parent.get_ref().clone());
    routes.set_parent(parent).map_err(|error| refused("router", &error))?;
    for child in &router.children {
        routes.add_child(child.get_ref().clone()).map_err(|error| refused("router", &error))?;
    }
    Ok(Some(routes))
}

fn refused(what: &'static str, error: &(dyn std::error::Error + 'static)) -> Failure {
    let hint = match what {
        "gateway" | "leases" | "sessions" | "operator" | "client" => {
            "what begins with mx/1/ is for the user of `local` to have, all else for the user of `backbone`: see \
             that the two are not exchanged, that `realm` is theirs, and that each has a gateway's rights, as in \
             docs/federation-server.conf"
        }
        "router" => "a router listens at mx/route/1/<realm>/00, and publishes to its neighbours'",
        _ => "MESH_LOG=debug tells more of what happened",
    };
    Failure::new(words(error), hint).at(what)
}
