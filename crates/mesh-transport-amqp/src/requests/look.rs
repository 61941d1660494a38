//! Whether somebody reads a queue, and whether one may publish there: asked before a question that would
//! otherwise wait for whoever comes next.

use lapin::Channel;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::{FieldTable, ShortString};
use mesh_core::port::{ErrorKind, TransportError};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::OPERATION;
use crate::error::{passive, timed_out};
use crate::publish::Outgoing;
use crate::session::Session;

/// The channel that looks go over, until the broker closes it because a queue is absent.
#[derive(Debug, Default)]
pub(super) struct Looks(Mutex<Option<Channel>>);

impl Looks {
    /// How many read that queue now, or nothing if it is absent. Nobody's earlier answer will do.
    pub(super) async fn readers(
        &self,
        session: &Session,
        queue: &ShortString,
        due: Instant,
    ) -> Result<Option<u32>, TransportError> {
        let channel = self.channel(session, due).await?;
        let look = |channel: Channel| {
            let queue = queue.clone();
            async move { channel.queue_declare(queue, passive(), FieldTable::default()).await }
        };
        if let Ok(found) = session.answered(OPERATION, due, look(channel)).await {
            return Ok(Some(found.consumer_count()));
        }
        // It may be another's queue that is absent.
        match session.try_out(OPERATION, due, look).await {
            Ok(found) => Ok(Some(found.consumer_count())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn channel(&self, session: &Session, due: Instant) -> Result<Channel, TransportError> {
        // Whoever holds it may have more time.
        let known = timeout_at(due, self.0.lock()).await;
        let mut known = known.map_err(|_| timed_out(OPERATION))?;
        if let Some(channel) = known.as_ref().filter(|channel| channel.status().connected()) {
            return Ok(channel.clone());
        }
        let channel = session.reading_channel(OPERATION, due).await?;
        *known = Some(channel.clone());
        Ok(channel)
    }
}

/// What the broker refuses after it has looked at the rights, whoever sends it.
const NO_EXPIRATION: &str = "none";

/// Whether the broker would let this account publish that. It is told by a message that the broker never
/// takes: its expiration is no number.
///
/// # Errors
/// `Denied`, `TimedOut`, `Disconnected`.
pub(super) async fn permitted(
    session: &Session,
    outgoing: &Outgoing,
    due: Instant,
) -> Result<(), TransportError> {
    let channel = session.publishing.channel(OPERATION, due).await?;
    let properties = outgoing.properties.clone().with_expiration(NO_EXPIRATION.into());
    let publishing = async {
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let (exchange, key) = (outgoing.exchange.as_str().into(), outgoing.key.clone());
        let options = BasicPublishOptions::default();
        channel.basic_publish(exchange, key, options, &[], properties).await?.await
    };
    match session.answered(OPERATION, due, publishing).await {
        Err(error) if matches!(error.kind(), ErrorKind::Broker | ErrorKind::NotFound) => Ok(()),
        done => done.map(drop),
    }
}
