//! Whether somebody reads a queue, and whether one may publish there: asked before a question that would
//! otherwise wait for whoever comes next.
//!
//! Many who ask at once share a look: one that begins after a question was asked is as good as its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use lapin::Channel;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::{FieldTable, ShortString};
use mesh_core::port::{ErrorKind, TransportError};
use rustc_hash::FxHashMap;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::OPERATION;
use super::scout::Scout;
use crate::error::{passive, timed_out};
use crate::kept::Kept;
use crate::publish::{Outgoing, Route};
use crate::session::Session;
use crate::wire::Wire;

/// How many queues that are absent may be looked at on the session's own connection. Each takes two numbers
/// of channels that this connection never has again.
const FEW: u32 = 128;

/// The channel that looks go over, until the broker closes it because a queue is absent, and the looks at
/// each queue that somebody waits for.
#[derive(Debug, Default)]
pub(super) struct Looks {
    channel: Kept<Channel>,
    at: parking_lot::Mutex<FxHashMap<ShortString, Arc<Look>>>,
    /// How many queues were absent.
    absent: AtomicU32,
    scout: Kept<Scout>,
}

/// The looks at one queue, one after the other.
#[derive(Debug, Default)]
struct Look {
    begun: AtomicU64,
    /// Which one was the last to be answered, and how. Held by whoever looks.
    last: Mutex<(u64, Option<u32>)>,
}

impl Looks {
    /// The session is over.
    pub(super) fn end(&self) {
        self.scout.let_go();
    }

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

    /// Whoever asks on and on for what is absent uses up a connection of its own, and not the one that others
    /// read on.
    async fn alone(
        &self,
        session: &Session,
        queue: &ShortString,
        due: Instant,
    ) -> Result<Option<u32>, TransportError> {
        if let Some(scout) = self.scout(session, due).await
            && let Ok(found) = found(session, (&scout.wire, &scout.channel), queue, due).await
        {
            return Ok(found);
        }
        let found = found(session, (&session.reading, &self.channel), queue, due).await?;
        if found.is_none() {
            self.absent.fetch_add(1, Ordering::Relaxed);
        }
        Ok(found)
    }

    /// Nothing where few were absent, and where the broker gives the account no connection more.
    async fn scout(&self, session: &Session, due: Instant) -> Option<Arc<Scout>> {
        if self.absent.load(Ordering::Relaxed) < FEW {
            return None;
        }
        match self.scout.or_made(OPERATION, due, || Scout::sent_out(session)).await {
            Ok(scout) => Some(scout),
            Err(error) => {
                tracing::debug!(%error, "there is no connection to look for absent tools on");
                // Not tried again for each.
                self.absent.store(0, Ordering::Relaxed);
                None
            }
        }
    }
}

/// Looks on a connection: on the channel that is shared there, and where that is closed on one of its own.
async fn found(
    session: &Session,
    (wire, shared): (&Wire, &Kept<Channel>),
    queue: &ShortString,
    due: Instant,
) -> Result<Option<u32>, TransportError> {
    let open = || async { wire.channel(OPERATION, due).await.map(Arc::new) };
    let channel = shared.or_made(OPERATION, due, open).await?;
    let look = |channel: Channel| {
        let queue = queue.clone();
        async move { channel.queue_declare(queue, passive(), FieldTable::default()).await }
    };
    if let Ok(found) = session.answered(OPERATION, due, look(Channel::clone(&channel))).await {
        return Ok(Some(found.consumer_count()));
    }
    // It may be another's queue that is absent.
    let alone = wire.channel(OPERATION, due).await?;
    match session.answered(OPERATION, due, look(alone)).await {
        Ok(found) => Ok(Some(found.consumer_count())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
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
    // The broker closes the channel of each that is tried.
    if session.lets_through(route) {
        return Ok(());
    }
    let channel = session.publishing.channel(OPERATION, due).await?;
    let properties = outgoing.properties.with_expiration(NO_EXPIRATION.into());
    let publishing = async {
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let (exchange, key) = (route.exchange.as_str().into(), route.key.clone());
        let options = BasicPublishOptions::default();
        channel.basic_publish(exchange, key, options, &[], properties).await?.await
    };
    match session.answered(OPERATION, due, publishing).await {
        Err(error) if error.kind() == ErrorKind::Broker => {
            session.learn(route);
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use mesh_session::Session as _;

    use super::*;
    use crate::AmqpOptions;
    use crate::publish::Routes;
    use crate::testing::{Bed, come, message, soon};

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

    /// More than a connection has numbers for channels, in looks and in refusals.
    const OFTEN: usize = 2_300;

    #[tokio::test]
    async fn whoever_asks_an_absent_tool_on_and_on_costs_no_session() {
        let bed = Bed::new().await;
        let target = bed.target("n1.mail");
        let session = Session::open(1, &target, &AmqpOptions::default()).await.unwrap();
        let (looks, absent) = (&session.asking.looks, ShortString::from("absent"));
        for number in 0..OFTEN {
            let found = looks.readers(&session, &absent, soon()).await;
            assert_eq!(found.unwrap(), None, "{number}");
        }
        bed.queue("absent", serde_json::json!({})).await;
        assert_eq!(looks.readers(&session, &absent, soon()).await.unwrap(), Some(0));
        // Whatever becomes of the connection beside the session.
        let scout = looks.scout(&session, soon()).await.unwrap();
        scout.wire.pull();
        assert_eq!(looks.readers(&session, &absent, soon()).await.unwrap(), Some(0));
        assert!(session.stands());
        session.abandon("the test says so");
        assert!(looks.scout(&session, soon()).await.is_none());
    }

    #[tokio::test]
    async fn whoever_asks_a_tool_that_nobody_reads_on_and_on_costs_no_session() {
        let bed = Bed::new().await;
        bed.exchange("mesh.rpc").await;
        bed.queue("serve.mail.send", serde_json::json!({})).await;
        let target = bed.target("n1.mail");
        let session = Session::open(1, &target, &AmqpOptions::default()).await.unwrap();
        let said = message("mesh.tools.mail.send", "?");
        let routes = Routes::default();
        let route = routes.of(said.subject(), OPERATION).unwrap();
        for _ in 0..OFTEN {
            let outgoing = Outgoing::on(&route, &said, &session);
            permitted(&session, &route, outgoing, soon()).await.unwrap();
        }
        assert!(session.stands());
    }
}
