//! Raising a mesh on its ground: each module connected as itself, with handlers that do what the demo
//! wants of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::identity::Instance;
use mesh_core::identity::Principal;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::name::PersonName;
use mesh_core::tool::ToolFailure;
use mesh_core::topology::Topology;
use mesh_sdk::{Asking, Broker, Closed, RetryPolicy, ToolCall};
use serde::{Deserialize, Serialize};

use super::ground::Ground;
use super::journal::Journal;
use super::reader::Reader;
use super::story::who;
use super::vault::Vault;
use super::{DemoError, FlowName};

/// A mesh that runs.
pub(crate) struct Raised {
    pub(crate) mesh: Arc<Mesh>,
    pub(crate) broken: Option<FlowName>,
    pub(crate) topology: Topology,
    pub(crate) ground: Box<dyn Ground>,
    pub(crate) modules: BTreeMap<Instance, Broker>,
    pub(crate) people: BTreeMap<PersonName, Broker<Asking>>,
    pub(crate) journal: Arc<Journal>,
    vault: Vault,
}

/// What a tool of the demo is asked.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) flow: FlowName,
}

/// The answer of every tool in the demo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Echo {
    pub(crate) tool: String,
    /// As a reader knows them, where the broker proves it.
    pub(crate) caller: Option<String>,
}

/// Short, so that five tries take less than a second.
const RETRY: RetryPolicy =
    RetryPolicy { first: Duration::from_millis(20), longest: Duration::from_millis(200) };

pub(crate) async fn raise(
    mesh: Mesh,
    ground: Box<dyn Ground>,
    broken: Option<FlowName>,
) -> Result<Raised, DemoError> {
    let mut raised = Raised {
        topology: mesh.topology()?,
        mesh: Arc::new(mesh),
        broken,
        ground,
        modules: BTreeMap::new(),
        people: BTreeMap::new(),
        journal: Arc::default(),
        vault: Vault::default(),
    };
    let mesh = Arc::clone(&raised.mesh);
    for instance in mesh.instances() {
        raised.start(&instance).await?;
    }
    for (name, _) in mesh.people() {
        let connection = raised.ground.connect(&Principal::Person { name: name.clone() }).await?;
        raised.people.insert(name.clone(), Broker::builder(connection).build_only()?);
    }
    Ok(raised)
}

async fn serve(
    module: &Broker,
    manifest: &ModuleManifest,
    broken: Option<FlowName>,
) -> Result<(), DemoError> {
    for tool in &manifest.tools {
        let called = format!("{}.{}", manifest.name, tool.name);
        module
            .handle(tool.name.clone(), move |call: ToolCall| {
                let tool = called.clone();
                async move {
                    let asked: Ask = call.decode()?;
                    let caller = call.caller.as_ref().map(who);
                    if broken == Some(FlowName::Calls) && asked.flow == FlowName::Calls {
                        return Err(ToolFailure::new("BROKEN", "as asked with --break"));
                    }
                    Ok(Echo { tool, caller })
                }
            })
            .await?;
    }
    Ok(())
}

impl Raised {
    /// Starts a module on a node: connects as it, with handlers, tools and what it provides.
    pub(crate) async fn start(&mut self, instance: &Instance) -> Result<(), DemoError> {
        let mesh = Arc::clone(&self.mesh);
        let Some(assigned) = mesh.module(&instance.module) else {
            return Ok(());
        };
        let manifest = &assigned.manifest;
        let connection = self.ground.connect(&instance.clone().into()).await?;
        let module = Broker::builder(connection).manifest(manifest).retry(RETRY).build()?;
        let reader = Reader {
            at: instance.clone(),
            broker: module.clone(),
            mesh: Arc::clone(&self.mesh),
            broken: self.broken,
            journal: Arc::clone(&self.journal),
        };
        reader.subscribe(manifest).await?;
        serve(&module, manifest, self.broken).await?;
        if !manifest.provides.is_empty() {
            self.vault.provider(manifest, self.broken).serve(&module).await?;
        }
        self.modules.insert(instance.clone(), module);
        Ok(())
    }

    /// Everybody who may ask for something: modules and people.
    pub(crate) fn callers(&self) -> impl Iterator<Item = Broker<Asking>> {
        self.modules.values().map(Broker::only).chain(self.people.values().cloned())
    }

    /// Whom a tool is told that calls it.
    pub(crate) fn told(&self, caller: &Principal) -> Option<String> {
        self.ground.proves_callers().then(|| who(caller))
    }

    /// Leaves in good order, modules and people first, the controller last; and what is left on the
    /// broker.
    pub(crate) async fn close(self) -> (Closed, Option<String>) {
        let timeout = Duration::from_secs(2);
        let mut total = Closed::default();
        for broker in self.callers() {
            let closed = broker.close(timeout).await;
            total.finished += closed.finished;
            total.released += closed.released;
            total.lost += closed.lost;
            total.overdue |= closed.overdue;
        }
        self.ground.controller().transport().close(timeout).await;
        (total, self.ground.end().await)
    }
}
