//! Two connections, one to publish on and one to read on: a broker that runs out of memory or disk stops a
//! publishing connection whole, acknowledgements included. Neither is ever mended: when one is lost the
//! session is over, and the supervisor makes a new one.

use std::sync::Arc;
use std::time::Duration;

use lapin::Channel;
use lapin::types::ShortString;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_session::Session as _;
use tokio::time::{Instant, timeout_at};

use crate::error::{lost, timed_out};
use crate::fate::Fate;
use crate::publish::{Publisher, Returned};
use crate::requests::Asking;
use crate::wire::Wire;
use crate::{AmqpOptions, Target};

/// How long after a lost connection a refusal may pass.
const LEADERLESS: Duration = Duration::from_secs(30);

/// See the module. Dropped by the last who uses it, its connections end.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: u64,
    made: Instant,
    /// The user that it is logged in as: what the broker lets a message say of its sender.
    pub(crate) user: ShortString,
    pub(crate) publishing: Wire,
    pub(crate) publisher: Publisher,
    pub(crate) reading: Wire,
    pub(crate) asking: Asking,
    pub(crate) fate: Arc<Fate>,
    target: Target,
    options: AmqpOptions,
}

impl mesh_session::Session for Session {
    fn id(&self) -> u64 {
        self.id
    }

    fn stands(&self) -> bool {
        self.fate.stands()
    }

    async fn over(&self) -> TransportError {
        self.fate.over().await
    }

    /// Without a word to the broker.
    fn end(&self, why: &TransportError) {
        self.fate.end(why.clone());
        self.asking.end();
        self.publishing.pull();
        self.reading.pull();
    }
}

impl Session {
    /// Dials both connections.
    pub(crate) async fn open(
        id: u64,
        target: &Target,
        options: &AmqpOptions,
    ) -> Result<Arc<Self>, TransportError> {
        let user = ShortString::try_new(target.login().user()).map_err(|error| {
            TransportError::new(ErrorKind::Invalid, Operation::Connect).detail(error.to_string())
        })?;
        let fate = Arc::new(Fate::new(options.publish_window.get()));
        let returned = Arc::new(Returned::default());
        let (reads, publishes) =
            (format!("{} reads", target.principal()), format!("{} publishes", target.principal()));
        let (reading, publishing) = tokio::try_join!(
            Wire::open(target, options, &reads, &fate, None),
            Wire::open(target, options, &publishes, &fate, Some(Arc::clone(&returned))),
        )?;
        let publisher = Publisher::new(id, returned);
        let asking = Asking::default();
        Ok(Arc::new(Self {
            id,
            made: Instant::now(),
            user,
            publishing,
            publisher,
            reading,
            asking,
            fate,
            target: target.clone(),
            options: options.clone(),
        }))
    }

    /// One more connection of the same account, that may be lost without the session: it has a `fate` of its
    /// own.
    pub(crate) async fn beside(
        &self,
        purpose: &str,
        fate: &Arc<Fate>,
    ) -> Result<Wire, TransportError> {
        let name = format!("{} {purpose}", self.target.principal());
        Wire::open(&self.target, &self.options, &name, fate, None).await
    }

    /// Why it is over.
    pub(crate) fn why(&self) -> TransportError {
        self.fate.why()
    }

    /// Whether queues may be without a leader yet: a broker that restarts lets one in before it has made all
    /// of them work, and refuses what is for the others with the word that it has for a full queue.
    pub(crate) fn may_lack_leaders(&self) -> bool {
        self.id > 1 && self.made.elapsed() < LEADERLESS
    }

    /// Why the broker takes no messages for now, if it doesn't.
    pub(crate) fn blocked(&self) -> Option<String> {
        self.fate.blocked()
    }

    /// Gives it up for this reason, so that another is made.
    pub(crate) fn abandon(&self, why: &'static str) {
        self.end(&TransportError::new(ErrorKind::Disconnected, Operation::Connect).detail(why));
    }

    /// Says goodbye on both connections, and ends them.
    pub(crate) async fn close(&self, due: Instant) {
        self.fate.end(
            TransportError::new(ErrorKind::Closed, Operation::Connect).detail("it was closed"),
        );
        self.asking.end();
        // After a goodbye the client forgets what it has not sent yet, and whoever waits for that. Where the
        // connection is lost it tells them all.
        if !self.fate.is_idle() {
            self.publishing.pull();
        }
        tokio::join!(self.publishing.close(due), self.reading.close(due));
    }

    /// A channel to consume and settle on. It lasts until it is dropped with all that it gave, or the
    /// broker closes it.
    pub(crate) async fn reading_channel(
        &self,
        operation: Operation,
        due: Instant,
    ) -> Result<Channel, TransportError> {
        self.reading.channel(operation, due).await
    }

    /// Does what the broker may refuse, on a channel of its own: a refusal closes that channel and harms
    /// nobody else (case A7). `act` must do one thing after the other.
    ///
    /// # Errors
    /// The broker's refusal as [`failed`] reads it, `TimedOut`, `Disconnected`.
    pub(crate) async fn try_out<T, F>(
        &self,
        operation: Operation,
        due: Instant,
        act: impl FnOnce(Channel) -> F,
    ) -> Result<T, TransportError>
    where
        F: Future<Output = lapin::Result<T>>,
    {
        let channel = self.reading.channel(operation, due).await?;
        let act = act(channel.clone());
        self.answered(operation, due, act).await
    }

    /// What the broker answers, unless the session or the time is over before.
    ///
    /// # Errors
    /// As [`try_out`](Self::try_out).
    pub(crate) async fn answered<T>(
        &self,
        operation: Operation,
        due: Instant,
        asking: impl Future<Output = lapin::Result<T>>,
    ) -> Result<T, TransportError> {
        let asking = async {
            tokio::select! {
                done = asking => done.map_err(|error| self.fate.failed(&error, operation)),
                why = self.fate.over() => Err(lost(operation, why)),
            }
        };
        timeout_at(due, asking).await.unwrap_or_else(|_| Err(timed_out(operation)))
    }
}
