//! Raising a mesh on its ground: each module connected as itself, with handlers that do what the demo
//! wants of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::identity::Instance;
use mesh_core::identity::Principal;
use mesh_core::manifest::{EventPattern, Mesh, ModuleManifest};
use mesh_core::name::PersonName;
use mesh_core::tool::ToolFailure;
use mesh_core::topology::Topology;
use mesh_sdk::{Asking, Broker, Closed, HandlerError, ReceivedEvent, RetryPolicy, ToolCall};
use serde::{Deserialize, Serialize};

use super::ground::Ground;
use super::journal::{Handling, Journal};
use super::story::who;
use super::{DemoError, FlowName};

/// A mesh that runs.
pub(crate) struct Raised {
    pub(crate) mesh: Mesh,
    pub(crate) broken: Option<FlowName>,
    pub(crate) topology: Topology,
    pub(crate) ground: Box<dyn Ground>,
    pub(crate) modules: BTreeMap<Instance, Broker>,
    pub(crate) people: BTreeMap<PersonName, Broker<Asking>>,
    pub(crate) journal: Arc<Journal>,
}

/// The data of the demo's events: which flow an event belongs to, and at whom it is aimed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) flow: FlowName,
    /// The consumer, as text, whose handler is to fail; everybody else's succeeds.
    pub(crate) fails_at: Option<String>,
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

/// Why a handler fails that is to fail.
pub(crate) const FAILURE: &str = "the demo asked for a failure";

/// Short, so that five tries take less than a second.
const RETRY: RetryPolicy =
    RetryPolicy { first: Duration::from_millis(20), longest: Duration::from_millis(200) };

pub(crate) async fn raise(
    mesh: Mesh,
    ground: Box<dyn Ground>,
    broken: Option<FlowName>,
) -> Result<Raised, DemoError> {
    let journal = Arc::new(Journal::default());
    let mut modules = BTreeMap::new();
    for instance in mesh.instances() {
        let Some(assigned) = mesh.module(&instance.module) else {
            continue;
        };
        let (node, module) = (instance.node.clone(), instance.module.clone());
        let connection = ground.connect(&Principal::Module { node, module }).await?;
        let manifest = &assigned.manifest;
        let module = Broker::builder(connection).manifest(manifest).retry(RETRY).build()?;
        subscribe(&module, &instance, manifest, broken, &journal).await?;
        serve(&module, manifest, broken).await?;
        modules.insert(instance, module);
    }
    let mut people = BTreeMap::new();
    for (name, _) in mesh.people() {
        let connection = ground.connect(&Principal::Person { name: name.clone() }).await?;
        people.insert(name.clone(), Broker::builder(connection).build_only()?);
    }
    Ok(Raised { topology: mesh.topology()?, mesh, broken, ground, modules, people, journal })
}

async fn subscribe(
    module: &Broker,
    instance: &Instance,
    manifest: &ModuleManifest,
    broken: Option<FlowName>,
    journal: &Arc<Journal>,
) -> Result<(), DemoError> {
    for filter in EventPattern::minimal_filters(&manifest.consumes) {
        let (at, journal) = (instance.clone(), Arc::clone(journal));
        module
            .subscribe(filter, move |event| {
                let (at, journal) = (at.clone(), Arc::clone(&journal));
                async move { react(&at, broken, &journal, &event) }
            })
            .await?;
    }
    Ok(())
}

/// What every handler of the demo does: fails where the event says so, and writes down what it did.
fn react(
    at: &Instance,
    broken: Option<FlowName>,
    journal: &Journal,
    event: &ReceivedEvent,
) -> Result<(), HandlerError> {
    let note: Note = event.decode()?;
    if broken == Some(FlowName::Events) && note.flow == FlowName::Events {
        return Ok(());
    }
    let aimed = note.fails_at.as_deref() == Some(&at.to_string());
    let fails = aimed
        && broken != Some(note.flow)
        && match note.flow {
            FlowName::Retry => event.attempt == 1,
            FlowName::DeadLetter => true,
            _ => false,
        };
    journal.write(Handling {
        at: at.clone(),
        id: event.event.id().clone(),
        attempt: event.attempt,
        ok: !fails,
    });
    if fails { Err(HandlerError::retry(FAILURE)) } else { Ok(()) }
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
