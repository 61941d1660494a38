use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tracing::Instrument as _;

use crate::broker::{Broker, Inner, Life};
use crate::limit::{MARGIN, limited};
use crate::scope::Scope;
use crate::workers::Workers;

/// What became of everything that was under way when a broker was closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closed {
    /// Handlers that were running and finished, and messages brought to the broker.
    pub finished: u64,
    /// Events and calls given back unhandled; events come again, to another or later.
    pub released: u64,
    /// Messages that were accepted and could not be brought to the broker.
    pub lost: u64,
    /// The transport did not say in time what became of the rest, so the counts may be too low.
    pub overdue: bool,
}

impl<S: Scope> Broker<S> {
    /// Takes nothing more, lets running handlers finish within `timeout`, gives back the rest, and
    /// leaves the broker. What only waits, for its next try or for a handler, goes back at once.
    ///
    /// Once begun it is brought to its end, also when nobody waits for it any more: a handler that
    /// closes its own broker is itself given back. Closing again, or a clone, does nothing and answers
    /// an empty report.
    pub async fn close(&self, timeout: Duration) -> Closed {
        let workers = {
            let mut life = self.0.life.lock();
            let Life::Open(workers) = &mut *life else {
                return Closed::default();
            };
            let workers = std::mem::take(workers);
            *life = Life::Draining;
            workers
        };
        let until = self.0.connection.clock().monotonic().saturating_add(timeout);
        let span = self.0.observer.closing();
        let closing = close(Arc::clone(&self.0), workers, until).instrument(span);
        match Handle::try_current() {
            Ok(runtime) => runtime.spawn(closing).await.unwrap_or_default(),
            Err(_) => closing.await,
        }
    }
}

async fn close(broker: Arc<Inner>, workers: Vec<Workers>, until: Duration) -> Closed {
    let clock = broker.connection.clock();
    let stopping = workers.into_iter().map(|workers| workers.stop(until));
    let drained = futures_util::future::join_all(stopping).await;
    let mut closed = Closed::default();
    for drained in drained {
        closed.finished += drained.finished;
        closed.released += drained.released;
    }
    if let Some(consuming) = broker.consuming.get() {
        consuming.dispatcher.handlers().close();
    }
    let left = until.saturating_sub(clock.monotonic()).max(Duration::from_millis(100));
    let leaving = broker.connection.transport().close(left);
    match limited(&**clock, left.saturating_add(MARGIN), leaving).await {
        Some(report) => {
            closed.finished += report.finished;
            closed.released += report.released;
            closed.lost = report.lost;
        }
        None => closed.overdue = true,
    }
    broker.serving.lock().clear();
    *broker.life.lock() = Life::Closed;
    closed
}
