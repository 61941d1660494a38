//! Whether somebody reads a queue, and whether one may publish there: asked before a question that would
//! otherwise wait for whoever comes next.
//!
//! Many who ask at once share a look: one that begins after a question was asked is as good as its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lapin::Channel;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::{FieldTable, ShortString};
use mesh_core::port::{ErrorKind, TransportError};
use rustc_hash::FxHashMap;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::OPERATION;
use crate::error::{passive, timed_out};
use crate::kept::Kept;
use crate::publish::{Outgoing, Route};
use crate::session::Session;

/// The channel that looks go over, until the broker closes it because a queue is absent, and the looks at
/// each queue that somebody waits for.
#[derive(Debug, Default)]
pub(super) struct Looks {
    channel: Kept<Channel>,
    at: parking_lot::Mutex<FxHashMap<ShortString, Arc<Look>>>,
}

/// The looks at one queue, one after the other.
#[derive(Debug, Default)]
struct Look {
    begun: AtomicU64,
    /// Which one was the last to be answered, and how. Held by whoever looks.
    last: Mutex<(u64, Option<u32>)>,
}

impl Looks {
    /// How many read that queue now, or nothing if it is absent. No answer will do to a look that had begun
    /// before.
    pub(super) async fn readers(
        &self,
        session: &Session,
        queue: &ShortString,
        due: Instant,
    ) -> Result<Option<u32>, TransportError> {
        let look = Arc::clone(self.at.lock().entry(queue.clone()).or_default());
        let waits = Waits { looks: self, queue, look };
        self.shared(&waits.look, session, queue, due).await
    }

    async fn shared(
        &self,
        look: &Look,
        session: &Session,
        queue: &ShortString,
        due: Instant,
    ) -> Result<Option<u32>, TransportError> {
        let wanted = look.begun.load(Ordering::SeqCst) + 1;
        // Whoever looks may have more time.
        let last = timeout_at(due, look.last.lock()).await;
        let mut last = last.map_err(|_| timed_out(OPERATION))?;
        if last.0 >= wanted {
            return Ok(last.1);
        }
        let number = look.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let found = self.alone(session, queue, due).await?;
        *last = (number, found);
        Ok(found)
    }

    async fn alone(
        &self,
        session: &Session,
        queue: &ShortString,
        due: Instant,
    ) -> Result<Option<u32>, TransportError> {
        let open = || async { session.reading_channel(OPERATION, due).await.map(Arc::new) };
        let channel = self.channel.or_made(OPERATION, due, open).await?;
        let look = |channel: Channel| {
            let queue = queue.clone();
            async move { channel.queue_declare(queue, passive(), FieldTable::default()).await }
        };
        if let Ok(found) = session.answered(OPERATION, due, look(Channel::clone(&channel))).await {
            return Ok(Some(found.consumer_count()));
        }
        // It may be another's queue that is absent.
        match session.try_out(OPERATION, due, look).await {
            Ok(found) => Ok(Some(found.consumer_count())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// One who waits for a look. Dropped, also midway, it leaves nothing behind.
struct Waits<'a> {
    looks: &'a Looks,
    queue: &'a ShortString,
    look: Arc<Look>,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut at = self.looks.at.lock();
        // Under the lock, so that of two who leave at once one is the last.
        drop(std::mem::take(&mut self.look));
        if at.get(self.queue).is_some_and(|look| Arc::strong_count(look) == 1) {
            at.remove(self.queue);
        }
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
    route: &Route,
    outgoing: Outgoing,
    due: Instant,
) -> Result<(), TransportError> {
    let channel = session.publishing.channel(OPERATION, due).await?;
    let properties = outgoing.properties.with_expiration(NO_EXPIRATION.into());
    let publishing = async {
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let (exchange, key) = (route.exchange.as_str().into(), route.key.clone());
        let options = BasicPublishOptions::default();
        channel.basic_publish(exchange, key, options, &[], properties).await?.await
    };
    match session.answered(OPERATION, due, publishing).await {
        Err(error) if matches!(error.kind(), ErrorKind::Broker | ErrorKind::NotFound) => Ok(()),
        done => done.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use super::*;
    use crate::AmqpOptions;
    use crate::testing::{Bed, come, soon};

    #[tokio::test]
    async fn looks_that_are_given_up_leave_nothing_behind_and_nobody_waiting() {
        let bed = Bed::new().await;
        let target = bed.target("n1.mail");
        let session = Session::open(1, &target, &AmqpOptions::default()).await.unwrap();
        let (looks, there) = (Looks::default(), ShortString::from("there"));
        bed.queue("there", serde_json::json!({})).await;
        for number in 0..100 {
            let queue = ShortString::from(format!("q{number}"));
            assert!(looks.readers(&session, &queue, soon()).now_or_never().is_none());
        }
        assert!(looks.at.lock().is_empty());
        // The one who looks for all of them is dropped, with the look under way.
        let mut first = Box::pin(looks.readers(&session, &there, soon()));
        assert!((&mut first).now_or_never().is_none());
        let mut others: Vec<_> =
            (0..20).map(|_| Box::pin(looks.readers(&session, &there, soon()))).collect();
        assert!(others.iter_mut().all(|other| other.now_or_never().is_none()));
        drop(first);
        others.truncate(15);
        drop(others.remove(0));
        for found in come(join_all(others)).await {
            assert_eq!(found.unwrap(), Some(0));
        }
        assert!(looks.at.lock().is_empty());
    }
}
