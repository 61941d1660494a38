//! A broker in as few lines as will do: one lock, one list of subscriptions, nothing clever. It can be
//! told to break one rule, which is how the suite is tested.

mod admin;
mod consumer;
mod durable;
mod link;
mod live;
mod requests;
mod rights;
mod state;
mod store;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use mesh_clock::SystemClock;
use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use mesh_core::port::{
    Capabilities, Capability, Clock, Connection, ErrorKind, Limits, Operation, TransportError,
};
use mesh_core::topology::Topology;
use mesh_testkit::clock::ManualClock;
use mesh_testkit::suite::{Bed, Harness, Hook, HookError, StartError};
use parking_lot::{Mutex, MutexGuard};

use link::Link;
use state::State;

/// A harness of the reference broker.
#[derive(Debug, Clone)]
pub struct Reference {
    capabilities: Vec<Capability>,
    breach: Option<&'static str>,
    real_time: bool,
    hooks: bool,
}

impl Reference {
    /// With every capability.
    pub fn honest() -> Self {
        Self::with(&Capability::ALL)
    }

    pub fn with(capabilities: &[Capability]) -> Self {
        Self { capabilities: capabilities.into(), breach: None, real_time: false, hooks: true }
    }

    pub fn without(mut self, capability: Capability) -> Self {
        self.capabilities.retain(|other| *other != capability);
        self
    }

    /// On the machine's clock, as a broker is that runs elsewhere.
    #[allow(dead_code, reason = "this file is part of two test binaries")]
    pub fn in_real_time(mut self) -> Self {
        self.real_time = true;
        self
    }

    /// With nothing that a harness need not be able to do.
    #[allow(dead_code, reason = "this file is part of two test binaries")]
    pub fn without_hooks(mut self) -> Self {
        self.hooks = false;
        self
    }

    /// Breaks that rule.
    pub fn breaking(mut self, breach: &'static str) -> Self {
        self.breach = Some(breach);
        self
    }
}

#[async_trait]
impl Harness for Reference {
    fn promised(&self) -> Vec<Capability> {
        self.capabilities.clone()
    }

    fn offers(&self, hook: Hook) -> bool {
        hook == Hook::SetPermissions && self.hooks
    }

    fn span(&self) -> Duration {
        Duration::from_secs(if self.real_time { 1 } else { 20 })
    }

    async fn start(&self, topology: &Topology) -> Result<Arc<dyn Bed>, StartError> {
        if self.breach == Some("does not start") {
            return Err("the port is taken".into());
        }
        let manual = ManualClock::new();
        let clock: Arc<dyn Clock> =
            if self.real_time { Arc::new(SystemClock::new()) } else { Arc::new(manual.clone()) };
        let mut declared = self.capabilities.clone();
        if self.breach == Some("declares less than it promised") {
            declared.pop();
        }
        let limits = Limits { max_payload: 64 * 1024, max_header_bytes: 8 * 1024 };
        let broker = Arc::new(Broker {
            capabilities: Capabilities::new(limits, declared),
            fewer: Capabilities::new(limits, []),
            used: AtomicBool::new(false),
            breach: self.breach,
            clock,
            manual: (!self.real_time).then_some(manual),
            state: Mutex::new(State::new(self.breach)),
        });
        broker.lock().create(topology);
        Ok(Arc::new(Running(broker)))
    }
}

#[derive(Debug)]
pub struct Broker {
    capabilities: Capabilities,
    /// What a broker that changes its mind says later.
    fewer: Capabilities,
    used: AtomicBool,
    breach: Option<&'static str>,
    clock: Arc<dyn Clock>,
    manual: Option<ManualClock>,
    state: Mutex<State>,
}

impl Broker {
    fn breaks(&self, rule: &str) -> bool {
        self.breach == Some(rule)
    }

    /// The state, with everything settled that time alone settles.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        state.dead_letters = self.gives(Capability::DeadLetters);
        state.claims_run_out = self.gives(Capability::ClaimTimeout);
        state.expire(self.clock.monotonic(), self.clock.now());
        state
    }

    /// Whether it does what the capability stands for.
    fn gives(&self, capability: Capability) -> bool {
        self.capabilities.has(capability) || self.breaks("does what it does not declare")
    }

    fn needs(&self, capability: Capability, operation: Operation) -> Result<(), TransportError> {
        if self.gives(capability) {
            Ok(())
        } else {
            Err(TransportError::new(ErrorKind::Unsupported, operation))
        }
    }

    fn declared(&self) -> &Capabilities {
        let later = self.used.load(Ordering::Relaxed);
        if later && self.breaks("changes its capabilities") {
            &self.fewer
        } else {
            &self.capabilities
        }
    }
}

struct Running(Arc<Broker>);

#[async_trait]
impl Bed for Running {
    async fn connect(
        &self,
        principal: Principal,
        permissions: Option<Permissions>,
    ) -> Result<Connection, TransportError> {
        if permissions.is_some() {
            self.0.needs(Capability::Permissions, Operation::Connect)?;
        }
        let is_controller = matches!(principal, Principal::Controller { .. });
        let may = permissions.unwrap_or_else(Permissions::everything);
        let link = Arc::new(Link::new(Arc::clone(&self.0), principal.clone(), may));
        let clock = Arc::clone(&self.0.clock);
        let mut connection = Connection::new(principal, clock, Arc::clone(&link) as _);
        if self.0.gives(Capability::DurableConsumers) {
            connection = connection.with_streams(Arc::clone(&link) as _);
            if is_controller {
                connection = connection.with_administration(Arc::clone(&link) as _);
            }
        }
        if self.0.gives(Capability::Requests) {
            connection = connection.with_requests(link);
        }
        Ok(connection)
    }

    async fn set_permissions(
        &self,
        principal: &Principal,
        permissions: &Permissions,
    ) -> Result<(), HookError> {
        self.0.lock().set_permissions(principal, permissions);
        Ok(())
    }

    async fn pass(&self, span: Duration) {
        if self.0.breaks("stops time") {
            std::future::pending::<()>().await;
        }
        match &self.0.manual {
            Some(clock) => clock.advance(span).await,
            None => self.0.clock.sleep(span).await,
        }
    }
}
