//! What the modules of the demo do with events.

use std::sync::Arc;

use mesh_core::identity::Instance;
use mesh_core::manifest::{EventPattern, Mesh, ModuleManifest};
use mesh_sdk::{Broker, HandlerError, ReceivedEvent};
use serde::{Deserialize, Serialize};

use super::flow::chain;
use super::journal::{Handling, Journal};
use super::{DemoError, FlowName};

/// The data of the demo's events: which flow an event belongs to, and what is to become of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) flow: FlowName,
    /// The consumer, as text, whose handler is not to succeed; everybody else's does.
    pub(crate) aimed_at: Option<String>,
    /// The event and what caused it, from the first on: `<module>.<event>`.
    pub(crate) chain: Vec<String>,
}

impl Note {
    pub(crate) fn new(flow: FlowName) -> Self {
        Self { flow, aimed_at: None, chain: Vec::new() }
    }

    pub(crate) fn aimed_at(mut self, consumer: &Instance) -> Self {
        self.aimed_at = Some(consumer.to_string());
        self
    }
}

/// Why a handler fails that is to fail.
pub(crate) const FAILURE: &str = "the demo asked for a failure";

/// A module that reads.
#[derive(Clone)]
pub(crate) struct Reader {
    pub(crate) at: Instance,
    pub(crate) broker: Broker,
    pub(crate) mesh: Arc<Mesh>,
    pub(crate) broken: Option<FlowName>,
    pub(crate) journal: Arc<Journal>,
}

/// What a handler is to do with an event.
enum Turn {
    Succeeds,
    Fails,
    /// It never comes to its end.
    Stays,
}

impl Reader {
    pub(crate) async fn subscribe(&self, manifest: &ModuleManifest) -> Result<(), DemoError> {
        for filter in EventPattern::minimal_filters(&manifest.consumes) {
            let reader = self.clone();
            self.broker
                .subscribe(filter, move |event| {
                    let reader = reader.clone();
                    async move { reader.react(&event).await }
                })
                .await?;
        }
        Ok(())
    }

    /// Does what the event asks for, and writes down what it did.
    async fn react(&self, event: &ReceivedEvent) -> Result<(), HandlerError> {
        let note: Note = event.decode()?;
        if self.broken == Some(FlowName::Events) && note.flow == FlowName::Events {
            return Ok(());
        }
        let turn = self.turn(&note, event.attempt);
        let ok = matches!(turn, Turn::Succeeds);
        self.journal.write(Handling::of(event, &self.at, ok));
        match turn {
            Turn::Succeeds => self.go_on(note, event).await,
            Turn::Fails => Err(HandlerError::retry(FAILURE)),
            Turn::Stays => std::future::pending().await,
        }
    }

    fn turn(&self, note: &Note, attempt: u32) -> Turn {
        let aimed = note.aimed_at.as_deref() == Some(&self.at.to_string());
        if !aimed || self.broken == Some(note.flow) {
            return Turn::Succeeds;
        }
        match note.flow {
            FlowName::Retry if attempt == 1 => Turn::Fails,
            FlowName::DeadLetter => Turn::Fails,
            FlowName::Redelivery if attempt == 1 => Turn::Stays,
            _ => Turn::Succeeds,
        }
    }

    /// Says something of its own where the event is one of a chain. What caused it is noted by the SDK.
    async fn go_on(&self, mut note: Note, event: &ReceivedEvent) -> Result<(), HandlerError> {
        if note.flow != FlowName::Causes {
            return Ok(());
        }
        let Some(next) = chain::next(&self.mesh, &self.at, event, &note.chain) else {
            return Ok(());
        };
        note.chain.push(chain::named(&self.at.module, &next));
        if self.broken == Some(FlowName::Causes) {
            // A task of its own does not know what it is done for.
            let broker = self.broker.clone();
            tokio::spawn(async move { broker.publish(next, &note).await.map(drop) }).await??;
        } else {
            self.broker.publish(next, &note).await?;
        }
        Ok(())
    }
}
