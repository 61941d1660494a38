use mesh_core::event::EventId;
use mesh_core::topology::{ConsumerRef, StreamName};
use mesh_sdk::PublishError;

use super::{FlowName, Step};
use crate::demo::journal::{PATIENCE, pause};
use crate::demo::raise::Raised;
use crate::demo::reader::Note;
use crate::demo::story::list;

/// Each event that a module emits is published once from each node that runs it. Whoever consumes
/// it handles it once, and nobody else does.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let mut published = Vec::new();
    for (instance, broker) in &raised.modules {
        let Some(module) = raised.mesh.module(&instance.module) else {
            continue;
        };
        for event in &module.manifest.emits {
            let note = Note::new(FlowName::Events);
            let expected: Vec<String> = raised
                .mesh
                .consumers_of(&instance.module, event)
                .map(|consumer| consumer.to_string())
                .collect();
            let what = format!("{instance} publishes {event}");
            let result = broker.publish(event.clone(), &note).await.map(|published| published.id);
            published.push(Published { what, expected, result });
        }
    }
    handled(raised, &published).await;
    settled(raised).await;
    published
        .into_iter()
        .map(|Published { what, expected, result }| {
            let found = match result {
                Err(error) => format!("not published: {error}"),
                Ok(id) => {
                    let runs = raised.journal.of(&id);
                    handlers(runs.iter().map(|handling| handling.at.to_string()).collect())
                }
            };
            Step::new(what, handlers(expected), found)
        })
        .collect()
}

struct Published {
    what: String,
    expected: Vec<String>,
    result: Result<EventId, PublishError>,
}

/// Waits until each event was handled as often as expected; all together no longer than patience.
async fn handled(raised: &Raised, published: &[Published]) {
    let all = async {
        for Published { expected, result, .. } in published {
            if let Ok(id) = result {
                raised.journal.wait(id, |runs| runs.len() >= expected.len()).await;
            }
        }
    };
    drop(tokio::time::timeout(PATIENCE, all).await);
}

/// Waits until no consumer owes anything, so that a copy too many would have been handled by now.
pub(super) async fn settled(raised: &Raised) {
    let idle = async {
        loop {
            let mut owed = 0;
            for instance in raised.modules.keys() {
                owed += owed_by(raised, instance).await;
            }
            if owed == 0 {
                return;
            }
            pause().await;
        }
    };
    drop(tokio::time::timeout(PATIENCE, idle).await);
}

async fn owed_by(raised: &Raised, instance: &mesh_core::identity::Instance) -> u64 {
    let name = mesh_core::name::ConsumerName::of_module(&instance.node, &instance.module);
    let reference = ConsumerRef::new(StreamName::Events, name);
    let Ok(administration) = raised.ground.controller().administration() else {
        return 0;
    };
    match administration.inspect_consumer(&reference).await {
        Ok(Some(state)) => state.owed(),
        _ => 0,
    }
}

pub(super) fn handlers(mut names: Vec<String>) -> String {
    names.sort();
    match names.is_empty() {
        true => "handled by nobody".to_owned(),
        false => format!("handled by {}", list(names)),
    }
}
