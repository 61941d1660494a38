//! Appending: confirmed by the broker, and published again until the time is over.

use std::sync::Arc;
use std::time::Duration;

use lapin::types::ShortString;
use mesh_core::message::Message;
use mesh_core::port::{AppendOptions, Appended, ErrorKind, Operation, TransportError};
use tokio::time::Instant;

use crate::counters::count;
use crate::link::{Link, deadline};
use crate::publish::{Confirmed, Outgoing};

const OPERATION: Operation = Operation::Append;

/// Before a queue that may have no leader is asked again.
const AGAIN: Duration = Duration::from_millis(50);

/// Appends `message`; returns when the broker has it.
pub(crate) async fn append(
    link: &Arc<Link>,
    message: &Message,
    options: &AppendOptions,
) -> Result<Appended, TransportError> {
    let under_way = link.line.accepted().begin();
    let about = |error: TransportError| error.about(message.subject());
    under_way.end(stored(link, message, options).await.map_err(about))
}

async fn stored(
    link: &Arc<Link>,
    message: &Message,
    options: &AppendOptions,
) -> Result<Appended, TransportError> {
    let unsupported =
        |what| Err(TransportError::new(ErrorKind::Unsupported, OPERATION).detail(what));
    if options.require_deduplication {
        return unsupported("RabbitMQ knows no message again");
    }
    if options.expected_last.is_some() {
        return unsupported("RabbitMQ numbers no messages");
    }
    let route = link.routes.of(message.subject(), OPERATION)?;
    let Some(stream) = route.stream else {
        return Err(TransportError::new(ErrorKind::NotFound, OPERATION)
            .detail("no stream takes this subject"));
    };
    // For people who look at a queue: nothing reads it, since everyone could have sent it.
    let id = options.id.as_ref().and_then(|id| ShortString::try_new(id.as_str()).ok());
    let due = deadline(options.timeout);
    loop {
        let session = link.line.session(OPERATION, due).await?;
        let made = || {
            named(Outgoing::on(&route, message, &session), id.as_ref())
                .mandatory_if(route.mandatory)
        };
        match session.publish(OPERATION, &route, made, due).await {
            Ok(Confirmed::Taken) => {
                return Ok(Appended { stream, sequence: None, duplicate: false });
            }
            Ok(Confirmed::Unroutable) => {
                return Err(
                    TransportError::new(ErrorKind::NotFound, OPERATION).detail("no queue takes it")
                );
            }
            Ok(Confirmed::Refused) => {
                if session.may_lack_leaders() && Instant::now() + AGAIN < due {
                    tokio::time::sleep(AGAIN).await;
                    count(&link.counters.resent);
                    continue;
                }
                return Err(TransportError::new(ErrorKind::Full, OPERATION)
                    .detail("a queue refused it, or could not keep it"));
            }
            Err(error) if error.kind() == ErrorKind::Disconnected && Instant::now() < due => {
                count(&link.counters.resent);
            }
            Err(error) => return Err(error),
        }
    }
}

fn named(outgoing: Outgoing, id: Option<&ShortString>) -> Outgoing {
    match id {
        Some(id) => {
            Outgoing { properties: outgoing.properties.with_message_id(id.clone()), ..outgoing }
        }
        None => outgoing,
    }
}
