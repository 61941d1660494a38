//! Raising a mesh: what is missing is made, what differs is judged.

use std::collections::BTreeSet;

use mesh_core::name::ModuleName;
use mesh_core::port::{
    Administration, Capability, Connection, Drift, DriftMode, ErrorKind, Held, Operation,
    TransportError,
};
use mesh_core::time::Timestamp;
use mesh_core::topology::{StreamName, Topology};

use super::judge::{Accepted, Judge, Judgement, conclude};
use super::order::{CLOSED, closed, steps};
use super::presence::{Presence, is_there, named, nothing};
use super::raised::{Mode, Raised, Stopped};
use super::stranger::{Stranger, is_unsupported};

/// Makes a broker hold what a mesh needs.
///
/// ```
/// use std::sync::Arc;
///
/// use mesh_clock::SystemClock;
/// use mesh_control::genesis::{Genesis, Mode};
/// use mesh_core::identity::Principal;
/// use mesh_core::permissions::Permissions;
/// use mesh_core::topology::Topology;
/// use mesh_transport_mem::InMemoryDurableBroker;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let broker = InMemoryDurableBroker::builder(Arc::new(SystemClock::new())).build();
/// let principal = Principal::Controller { name: "c1".parse()? };
/// let controller = broker.connect(principal, Permissions::everything())?;
///
/// let topology = Topology::new();
/// let raised = Genesis::of(&topology).run(&controller, Mode::Raise).await;
/// assert!(raised.is_good());
/// assert_eq!(raised.made.len(), 9);                  // six streams, three consumers
///
/// let again = Genesis::of(&topology).run(&controller, Mode::Mend).await;
/// assert!(again.made.is_empty() && again.drift.is_empty());
/// assert_eq!(again.epoch, raised.epoch);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Genesis<'a> {
    topology: &'a Topology,
    accepted: Vec<Accepted>,
    refused: BTreeSet<ModuleName>,
}

/// A raising that is under way.
struct Run<'a> {
    genesis: &'a Genesis<'a>,
    administration: &'a dyn Administration,
    mode: Mode,
    /// Whether the broker changes what is there, so that EVENTS can be opened later.
    mends: bool,
    now: Timestamp,
    /// What there is, once it was looked at.
    presence: Option<Presence>,
    raised: Raised,
}

const LOOKING: &str = "looking at what there is";
const MAKING: &str = "making what is missing";
const MENDING: &str = "putting right what differs";
const OPENING: &str = "opening EVENTS, which takes nothing until its consumers are there";

type Broken = Stopped;

fn broken(doing: &'static str) -> impl FnOnce(TransportError) -> Broken {
    move |error| Stopped { doing, error }
}

impl<'a> Genesis<'a> {
    /// Of this topology.
    #[must_use]
    pub fn of(topology: &'a Topology) -> Self {
        Self { topology, accepted: Vec::new(), refused: BTreeSet::new() }
    }

    /// The same, with what the operator accepts.
    #[must_use]
    pub fn accepting(self, accepted: impl IntoIterator<Item = Accepted>) -> Self {
        Self { accepted: accepted.into_iter().collect(), ..self }
    }

    /// The same, with the modules that the mesh names and whose manifests were refused: their consumers are
    /// not strangers.
    #[must_use]
    pub fn with_refused(self, modules: impl IntoIterator<Item = ModuleName>) -> Self {
        Self { refused: modules.into_iter().collect(), ..self }
    }

    /// Looks, makes and puts right, as the controller. Run again, it goes on where it was, and changes nothing
    /// where nothing differs.
    pub async fn run(&self, connection: &Connection, mode: Mode) -> Raised {
        let mut raised = Raised {
            made: Vec::new(),
            missing: Vec::new(),
            found: 0,
            drift: Vec::new(),
            strangers: Vec::new(),
            epoch: None,
            unseen: Vec::new(),
            stopped: None,
        };
        let administration = match connection.administration() {
            Ok(administration) => administration,
            Err(error) => {
                raised.stopped = Some(Stopped { doing: LOOKING, error });
                return raised;
            }
        };
        let mut run = Run {
            genesis: self,
            administration: &**administration,
            mode,
            mends: connection.transport().capabilities().has(Capability::Mending),
            now: connection.clock().now(),
            presence: None,
            raised,
        };
        run.raised.stopped = run.go().await.err();
        if let Some(presence) = &run.presence {
            run.raised.missing = named(self.topology).filter(|held| !presence.has(held)).collect();
        }
        run.raised
    }

    pub(super) fn topology(&self) -> &'a Topology {
        self.topology
    }

    fn is_of_refused(&self, held: &Held) -> bool {
        match held {
            Held::Consumer(consumer) => {
                consumer.consumer.module().is_some_and(|(_, module)| self.refused.contains(&module))
            }
            Held::Stream(_) | Held::Other(_) => false,
        }
    }
}

impl Run<'_> {
    async fn go(&mut self) -> Result<(), Broken> {
        let topology = self.genesis.topology;
        let presence = Presence::look(self.administration, topology).await;
        let presence = presence.map_err(broken(LOOKING))?;
        self.raised.found = named(topology).filter(|held| presence.has(held)).count();
        let opened = self.is_open(&presence).await.map_err(broken(LOOKING))?;
        let there = presence.part_of(topology);
        let strangers = presence.strangers(topology);
        if !presence.is_whole {
            self.raised.unseen.push("what nobody asked for: this broker lists nothing");
        }
        self.presence = Some(presence);
        self.differences(&there, opened).await?;
        if self.mode != Mode::Look {
            let working = if self.mends && !opened { closed(topology) } else { topology.clone() };
            self.make(&working).await?;
            if self.mends && !opened {
                self.open().await?;
            }
        }
        for held in strangers {
            let is_of_refused = self.genesis.is_of_refused(&held);
            let stranger = Stranger::look(self.administration, held, is_of_refused).await;
            self.raised.strangers.push(stranger.map_err(broken(LOOKING))?);
        }
        self.epoch().await.map_err(broken(LOOKING))
    }

    /// Whether EVENTS is there and takes events.
    async fn is_open(&self, presence: &Presence) -> Result<bool, TransportError> {
        if !self.mends || !presence.has_stream(StreamName::Events) {
            return Ok(false);
        }
        let state = self.administration.inspect(StreamName::Events).await?;
        Ok(state.is_some_and(|state| state.max_bytes != Some(CLOSED)))
    }

    /// What differs in what is there, judged, and put right if that is asked for.
    async fn differences(&mut self, there: &Topology, opened: bool) -> Result<(), Broken> {
        if self.mode == Mode::Look && !self.mends {
            // Asking for the differences would make exchanges and bindings.
            self.raised
                .unseen
                .push("what differs: this broker tells it only while it is told what should be");
            return Ok(());
        }
        let found = self.administration.assert(there, DriftMode::Report).await;
        let mut found = found.map_err(broken(LOOKING))?;
        let is_opened_later = self.mends && !opened && self.mode != Mode::Look;
        found.retain(|drift| !(is_opened_later && is_closing(drift)));
        let judge = Judge {
            administration: self.administration,
            topology: self.genesis.topology,
            accepted: &self.genesis.accepted,
            now: self.now,
        };
        let mut judged = Vec::new();
        for drift in found {
            let judgement = judge.judge(&drift).await;
            judged.push((drift, judgement));
        }
        let chosen: Vec<Drift> = judged
            .iter()
            .filter(|(_, judgement)| matches!(judgement, Judgement::Mend { .. }))
            .map(|(drift, _)| drift.clone())
            .collect();
        let mut mended: Option<Vec<Drift>> = None;
        if self.mode == Mode::Mend && !chosen.is_empty() {
            let done = self.administration.mend(there, &chosen).await;
            mended = Some(done.map_err(broken(MENDING))?);
        }
        self.raised.drift = judged
            .into_iter()
            .map(|(drift, judgement)| conclude(drift, judgement, mended.as_deref()))
            .collect();
        Ok(())
    }

    /// Makes what is missing, step by step; after each it is known what is there.
    async fn make(&mut self, working: &Topology) -> Result<(), Broken> {
        let Some(presence) = &mut self.presence else { return Ok(()) };
        for step in steps(working, |held| !presence.has(held)) {
            let made = self.administration.assert(&step.topology, DriftMode::Report).await;
            let new: Vec<Held> = step.objects().filter(|held| !presence.has(held)).collect();
            for held in new {
                let is_there = match &made {
                    Ok(_) => true,
                    Err(_) => is_there(self.administration, &held).await.unwrap_or(false),
                };
                if is_there {
                    presence.note(held.clone());
                    self.raised.made.push(held);
                }
            }
            made.map_err(broken(MAKING))?;
        }
        Ok(())
    }

    /// Gives EVENTS its size.
    async fn open(&self) -> Result<(), Broken> {
        let Some(events) = self.genesis.topology.stream(StreamName::Events) else { return Ok(()) };
        let events = nothing().with_stream(events.clone());
        let found = self.administration.assert(&events, DriftMode::Report).await;
        let mut closing = found.map_err(broken(OPENING))?;
        closing.retain(is_closing);
        let opened = self.administration.mend(&events, &closing).await.map_err(broken(OPENING))?;
        match opened.iter().find(|drift| is_closing(drift) && !drift.mended) {
            None => Ok(()),
            Some(drift) => {
                let Drift { field, found, .. } = drift;
                let error = TransportError::new(ErrorKind::Broker, Operation::Assert);
                let error = error.about(StreamName::Events.as_str());
                Err(broken(OPENING)(error.detail(format!("its {field} stays {found}"))))
            }
        }
    }

    async fn epoch(&mut self) -> Result<(), TransportError> {
        let state = match self.administration.inspect(StreamName::Nodes).await {
            Err(error) if is_unsupported(&error) => None,
            state => state?,
        };
        self.raised.epoch = state.and_then(|state| state.created);
        let has_nodes = self.presence.as_ref().is_some_and(|it| it.has_stream(StreamName::Nodes));
        if self.raised.epoch.is_none() && has_nodes {
            self.raised
                .unseen
                .push("when NODES was created: the controller mints an epoch of its own");
        }
        Ok(())
    }
}

fn is_closing(drift: &Drift) -> bool {
    drift.object == StreamName::Events.as_str() && drift.field == "max_bytes"
}
