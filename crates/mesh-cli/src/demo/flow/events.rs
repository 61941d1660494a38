use mesh_core::port::ConsumerRef;
use mesh_core::topology::StreamName;

use super::{FlowName, Step};
use crate::demo::journal::{Handling, PATIENCE};
use crate::demo::raise::{Note, Raised};

/// Each event that a module emits is published once from each node that runs it. Whoever consumes
/// it handles it once, and nobody else does.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let mut published = Vec::new();
    for (instance, broker) in &raised.modules {
        let Some(module) = raised.mesh.module(&instance.module) else {
            continue;
        };
        for event in &module.manifest.emits {
            let note = Note {
                flow: FlowName::Events,
                fails_at: None,
            };
            let expected: Vec<String> = raised
                .mesh
                .consumers_of(&instance.module, event)
                .map(|consumer| consumer.to_string())
                .collect();
            let what = format!("{instance} publishes {event}");
            let result = broker.publish(event.clone(), &note).await;
            published.push((what, expected, result));
        }
    }
    let mut steps = Vec::new();
    for (what, expected, result) in published {
        let found = match result {
            Err(error) => format!("not published: {error}"),
            Ok(event) => {
                let enough = |runs: &[Handling]| runs.len() >= expected.len();
                raised.journal.wait(&event.id, enough).await;
                settled(raised).await;
                let runs = raised.journal.of(&event.id);
                list(
                    runs.iter()
                        .map(|handling| handling.at.to_string())
                        .collect(),
                )
            }
        };
        steps.push(Step::new(what, list(expected), found));
    }
    steps
}

/// Waits until no consumer owes anything, so that a copy too many would have been handled by now.
async fn settled(raised: &Raised) {
    let idle = async {
        loop {
            let mut owed = 0;
            for instance in raised.modules.keys() {
                owed += owed_by(raised, instance).await;
            }
            if owed == 0 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    drop(tokio::time::timeout(PATIENCE, idle).await);
}

async fn owed_by(raised: &Raised, instance: &mesh_core::provision::Consumer) -> u64 {
    let name = mesh_core::name::ConsumerName::of_module(&instance.node, &instance.module);
    let reference = ConsumerRef::new(StreamName::Events, name);
    let Ok(administration) = raised.controller.administration() else {
        return 0;
    };
    match administration.inspect_consumer(&reference).await {
        Ok(Some(state)) => state.pending + state.in_flight,
        _ => 0,
    }
}

fn list(mut names: Vec<String>) -> String {
    names.sort();
    match names.is_empty() {
        true => "handled by nobody".to_owned(),
        false => format!("handled by {}", names.join(", ")),
    }
}
