use std::error::Error;
use std::time::Duration;

use mesh_core::event::{Event, EventId};
use mesh_core::identity::Instance;
use mesh_core::json::JsonText;
use mesh_core::message::{HeaderName, HeaderValue, Message};
use mesh_core::name::EventName;
use mesh_core::port::AppendOptions;
use mesh_core::topology::MeshSubject;

use super::events::{handlers, settled};
use super::{FlowName, Step};
use crate::demo::raise::Raised;
use crate::demo::reader::Note;

/// A consumed event is on the broker twice, as when whoever brings it there does not hear that it has
/// arrived. Each consumer handles it once, by its id.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let Some((emitter, event, consumers)) = raised.a_consumed_event(0) else {
        return Vec::new();
    };
    let what = format!("{emitter} publishes {event}, and it is brought to the broker again");
    let expected = handlers(consumers.iter().map(Instance::to_string).collect());
    let found = match twice(raised, &emitter, &event).await {
        Err(error) => error.to_string(),
        Ok(ids) => {
            for id in &ids {
                raised.journal.wait(id, |runs| runs.len() >= consumers.len()).await;
            }
            settled(raised).await;
            let runs = ids.iter().flat_map(|id| raised.journal.of(id));
            handlers(runs.map(|run| run.at.to_string()).collect())
        }
    };
    vec![Step::new(what, expected, found)]
}

/// Publishes it, and appends the same once more. The ids that are on the broker then: one, unless the flow
/// is broken.
async fn twice(
    raised: &Raised,
    emitter: &Instance,
    event: &EventName,
) -> Result<Vec<EventId>, Box<dyn Error + Send + Sync>> {
    let broker = raised.modules.get(emitter).ok_or("its module does not run")?;
    let note = Note::new(FlowName::Duplicate);
    let first = broker.publish(event.clone(), &note).await?.id;
    let again = match raised.broken {
        Some(FlowName::Duplicate) => EventId::new(format!("{first}-another"))?,
        _ => first.clone(),
    };
    let connection = raised.ground.connect(&emitter.clone().into()).await?;
    let (node, module, now) = (&emitter.node, &emitter.module, connection.clock().now());
    let data = JsonText::from_value(&note)?;
    let copy = Event::new(again.clone(), module.clone(), node.clone(), now, data);
    let subject = MeshSubject::Event { module: module.clone(), event: event.clone() };
    let mut message = Message::new(subject.to_subject()?, copy.data().as_bytes().clone());
    for (name, value) in copy.headers() {
        message = message.with_header(HeaderName::new(name)?, HeaderValue::new(value)?);
    }
    let appended = connection.streams()?.append(message, AppendOptions::default()).await;
    connection.transport().close(Duration::from_secs(2)).await;
    appended?;
    Ok(if again == first { vec![first] } else { vec![first, again] })
}
