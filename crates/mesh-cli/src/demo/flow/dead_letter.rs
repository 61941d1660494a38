use std::num::NonZeroUsize;

use mesh_core::identity::Instance;
use mesh_core::message::{Message, names};
use mesh_core::name::ConsumerName;
use mesh_core::port::{Capability, Connection, ConsumeOptions, Position, TransportError};
use mesh_core::topology::{ConsumerRef, ConsumerRules, MeshSubject, StreamName};

use super::{FlowName, Step};
use crate::demo::journal::{PATIENCE, pause};
use crate::demo::raise::Raised;
use crate::demo::reader::{FAILURE, Note};

/// How many dead letters are looked at, at most: as many as AMQP holds unsettled.
const MOST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(u16::MAX as usize - 1);

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
    let note = Note::new(FlowName::DeadLetter).aimed_at(failing);
    let what = format!("{emitter} publishes {event}");
    let subject = format!("mesh.events.{}.{event}", emitter.module);
    let tries = raised.tries(failing).to_string();
    let why = raised.tells_why().then_some((tries.as_str(), FAILURE));
    let expected = put_aside(&subject, &failing.to_string(), why);
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

impl Raised {
    /// Whether a dead letter of this broker tells how often it was tried, and what its handler said.
    fn tells_why(&self) -> bool {
        let controller = self.ground.controller().transport();
        controller.capabilities().has(Capability::DeadLetterReasons)
    }
}

/// The dead letter of this event, once it is there.
async fn dead_letter(raised: &Raised, id: &str) -> Result<Option<Message>, TransportError> {
    let controller = raised.ground.controller();
    if !controller.transport().capabilities().has(Capability::Sequences) {
        return looked_through(controller, id).await;
    }
    let administration = controller.administration()?;
    let Ok(subject) = MeshSubject::DeadLetter.to_subject() else {
        return Ok(None);
    };
    let looking = async {
        loop {
            let position = Position::LastOf(subject.clone());
            let stored = administration.read(StreamName::EventsDead, position).await?;
            if let Some(stored) = stored.filter(|stored| is_of(&stored.message, id)) {
                return Ok(Some(stored.message));
            }
            pause().await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap_or(Ok(None))
}

fn is_of(message: &Message, id: &str) -> bool {
    message.headers().value(names::EVENT_ID.as_str()) == Some(id)
}

/// The same where nothing is read by its number: whoever consumes the dead letters looks at each. What is
/// not settled is given back.
async fn looked_through(
    controller: &Connection,
    id: &str,
) -> Result<Option<Message>, TransportError> {
    let Ok(name) = ConsumerName::new("controller") else {
        return Ok(None);
    };
    // Whoever keeps dead letters takes one after the other; this looks at all of them.
    let all = ConsumerRules::of(StreamName::EventsDead);
    let all = ConsumerRules { max_ack_pending: MOST.get(), ..all };
    let options = ConsumeOptions { in_flight: MOST, rules: Some(all), ..ConsumeOptions::default() };
    let letters = ConsumerRef::new(StreamName::EventsDead, name);
    let mut letters = controller.streams()?.consume(letters, options).await?;
    let looking = async {
        let mut held = Vec::new();
        while let Some(next) = letters.next().await {
            let Ok(letter) = next else { continue };
            if is_of(letter.message(), id) {
                return Some(letter.message().clone());
            }
            held.push(letter);
        }
        None
    };
    Ok(tokio::time::timeout(PATIENCE, looking).await.unwrap_or(None))
}

fn describe(raised: &Raised, letter: &Message) -> String {
    let header = |name: mesh_core::message::HeaderName| {
        letter.headers().value(name.as_str()).unwrap_or("?").to_owned()
    };
    let consumer = header(names::DEAD_CONSUMER);
    let named = |at: &Instance| ConsumerName::of_module(&at.node, &at.module).as_str() == consumer;
    let gave_up = raised.modules.keys().find(|at| named(at)).map(ToString::to_string);
    let (tries, why) = (header(names::DEAD_DELIVERIES), header(names::DEAD_ERROR));
    let why = mesh_core::event::decode_header(&why);
    let why = raised.tells_why().then_some((tries.as_str(), why.as_ref()));
    put_aside(&header(names::DEAD_SUBJECT), &gave_up.unwrap_or(consumer), why)
}

fn put_aside(subject: &str, who: &str, why: Option<(&str, &str)>) -> String {
    match why {
        Some((tries, why)) => {
            format!("{who} gives up after {tries} tries ({why}); {subject} is put aside")
        }
        None => format!("{who} gives up; {subject} is put aside"),
    }
}
