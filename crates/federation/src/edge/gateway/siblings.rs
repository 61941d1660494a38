//! Other gateways of the realm. They share its mailboxes, so an answer may come to one that has not
//! asked: it is handed over on the realm's own bus, once.

use std::sync::Arc;

use mesh_core::message::{HeaderName, HeaderValue, Message};
use mesh_core::mx::{MxPath, Topic, TopicError, decode};
use mesh_core::name::RealmName;
use mesh_core::port::PublishOptions;
use mesh_core::subject::Subject;

use super::super::tally::count;
use super::lane::Work;
use super::shared::Shared;
use crate::Settled;

/// Names the gateway that hands over.
const HEADER: &str = "x-mx-edge";

/// Where answers are handed over. Closed to other realms, as is all that begins with `_`.
pub(super) fn topic(realm: &RealmName) -> Result<Subject, TopicError> {
    Topic::internal(realm, &MxPath::new("_edge.emits.answer")?)
}

/// Hands over an answer that nobody here waits for. It has passed the guards.
pub(super) async fn hand_over(shared: &Shared, answer: &Message) {
    if !shared.options.hand_over {
        count(&shared.edge.tally.unknown_answers);
        return;
    }
    let Ok(subject) = topic(&shared.edge.realm) else { return };
    let mut message = Message::new(subject, answer.payload().clone());
    if let (Ok(name), Ok(value)) = (HeaderName::new(HEADER), HeaderValue::new(shared.id.clone())) {
        message = message.with_header(name, value);
    }
    let published = shared.local.transport().publish(message, PublishOptions::default()).await;
    match published {
        Ok(()) => count(&shared.edge.tally.handed_over),
        Err(error) => {
            count(&shared.edge.tally.unknown_answers);
            tracing::warn!(%error, "an answer could not be handed over");
        }
    }
}

/// Takes what another gateway handed over.
pub(super) fn take_over(shared: &Arc<Shared>, message: Message) -> Work {
    let shared = Arc::clone(shared);
    Box::pin(async move {
        if message.headers().value(HEADER) == Some(&*shared.id) {
            return;
        }
        let Some(answers) = &shared.options.answers else { return };
        let decoded = decode(message.payload(), shared.edge.limits.max_bytes);
        let answer = decoded.ok().and_then(|decoded| decoded.as_answer());
        let settled = answer.map(|answer| answers.settle(&answer));
        count(match settled {
            Some(Settled::Matched) => &shared.edge.tally.taken_over,
            _ => &shared.edge.tally.unknown_answers,
        });
    })
}
