use mesh_core::identity::Instance;
use mesh_core::message::{Message, names};
use mesh_core::name::ConsumerName;
use mesh_core::port::{Position, TransportError};
use mesh_core::topology::{MeshSubject, StreamName};

use super::{FlowName, Step};
use crate::demo::journal::{PATIENCE, pause};
use crate::demo::raise::{FAILURE, Note, Raised};

/// The last consumer of a consumed event fails every time. When its tries are used up the event is
/// among the dead letters, as it was, with who failed, how often and why.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let Some((emitter, event, consumers)) = raised.a_consumed_event(1) else {
        return Vec::new();
    };
    let Some(broker) = raised.modules.get(&emitter) else {
        return Vec::new();
    };
    let Some(failing) = consumers.last() else {
        return Vec::new();
    };
    let tries = raised.tries(failing);
    let note = Note { flow: FlowName::DeadLetter, fails_at: Some(failing.to_string()) };
    let what = format!("{emitter} publishes {event}");
    let subject = format!("mesh.events.{}.{event}", emitter.module);
    let expected = put_aside(&subject, &failing.to_string(), &tries.to_string(), FAILURE);
    let found = match broker.publish(event, &note).await {
        Err(error) => format!("not published: {error}"),
        Ok(published) => match dead_letter(raised, published.id.as_str()).await {
            Ok(Some(letter)) => describe(raised, &letter),
            Ok(None) => "no dead letter".to_owned(),
            Err(error) => error.to_string(),
        },
    };
    vec![Step::new(what, expected, found)]
}

/// The last dead letter, once it is that of this event.
async fn dead_letter(raised: &Raised, id: &str) -> Result<Option<Message>, TransportError> {
    let administration = raised.ground.controller().administration()?;
    let Ok(subject) = MeshSubject::DeadLetter.to_subject() else {
        return Ok(None);
    };
    let looking = async {
        loop {
            let position = Position::LastOf(subject.clone());
            let stored = administration.read(StreamName::EventsDead, position).await?;
            let ours =
                |message: &Message| message.headers().value(names::EVENT_ID.as_str()) == Some(id);
            if let Some(stored) = stored.filter(|stored| ours(&stored.message)) {
                return Ok(Some(stored.message));
            }
            pause().await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap_or(Ok(None))
}

fn describe(raised: &Raised, letter: &Message) -> String {
    let header = |name: mesh_core::message::HeaderName| {
        letter.headers().value(name.as_str()).unwrap_or("?").to_owned()
    };
    let consumer = header(names::DEAD_CONSUMER);
    let named = |at: &Instance| ConsumerName::of_module(&at.node, &at.module).as_str() == consumer;
    let gave_up = raised.modules.keys().find(|at| named(at)).map(ToString::to_string);
    put_aside(
        &header(names::DEAD_SUBJECT),
        &gave_up.unwrap_or(consumer),
        &header(names::DEAD_DELIVERIES),
        &mesh_core::event::decode_header(&header(names::DEAD_ERROR)),
    )
}

fn put_aside(subject: &str, who: &str, tries: &str, why: &str) -> String {
    format!("{who} gives up after {tries} tries ({why}); {subject} is put aside")
}
