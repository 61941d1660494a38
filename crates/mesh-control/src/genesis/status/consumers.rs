use std::collections::BTreeSet;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use mesh_core::port::{Administration, ConsumerState, Held, TransportError};
use mesh_core::topology::{ConsumerRef, StreamName, Topology};

use super::super::stranger::is_unsupported;
use super::Alarm;

/// How many are asked about at a time.
const AT_A_TIME: usize = 32;

/// How a consumer is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerReport {
    /// Which.
    pub consumer: ConsumerRef,
    /// Whether it is there, or the broker has no need of it.
    pub is_there: bool,
    /// How it is; nothing where it is not there, or where the broker can't tell.
    pub state: Option<ConsumerState>,
}

pub(super) async fn look(
    administration: &dyn Administration,
    topology: &Topology,
    missing: &[Held],
) -> Result<Vec<ConsumerReport>, TransportError> {
    let missing: BTreeSet<&Held> = missing.iter().collect();
    let named = topology.consumers().iter().map(|spec| spec.reference.clone());
    let looking = named.map(|consumer| {
        let is_missing = missing.contains(&Held::Consumer(consumer.clone()));
        async move {
            if is_missing {
                return Ok(ConsumerReport { consumer, is_there: false, state: None });
            }
            let (is_there, state) = match administration.inspect_consumer(&consumer).await {
                Err(error) if is_unsupported(&error) => (true, None),
                // It may have gone meanwhile.
                state => state.map(|state| (state.is_some(), state))?,
            };
            Ok(ConsumerReport { consumer, is_there, state })
        }
    });
    let looking: Vec<_> = looking.collect();
    stream::iter(looking).buffered(AT_A_TIME).try_collect().await
}

impl ConsumerReport {
    pub(super) fn alarm(&self) -> Option<Alarm> {
        let Self { consumer, is_there, state } = self;
        if !is_there {
            return Some(Alarm::new(format!("{consumer} is missing"), "run `mesh bus genesis`"));
        }
        let state = state.as_ref()?;
        let owed = state.owed();
        if owed == 0 || state.is_read != Some(false) {
            return None;
        }
        let what = format!("{consumer} owes {owed}, and nobody reads it");
        Some(Alarm::new(what, self.reader()))
    }

    /// Who should read it.
    fn reader(&self) -> String {
        let ConsumerRef { stream, consumer } = &self.consumer;
        match (stream, consumer.module()) {
            (StreamName::Events, Some((node, module))) => {
                format!(
                    "see that {module} runs on {node}, that it can connect, and that nobody has paused the consumer"
                )
            }
            (StreamName::Nodes, _) => format!("see that the host of {consumer} runs"),
            (StreamName::Builds, _) => "see that a builder runs".to_owned(),
            _ => "see that the controller runs".to_owned(),
        }
    }
}
