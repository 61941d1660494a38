use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::broker::Broker;

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
}

impl Broker {
    /// Takes nothing more, lets running handlers finish within `timeout`, gives back the rest, and
    /// leaves the broker. Closing again, or a clone, does nothing and answers an empty report.
    pub async fn close(&self, timeout: Duration) -> Closed {
        if self.0.closed.swap(true, Ordering::AcqRel) {
            return Closed::default();
        }
        let clock = self.0.connection.clock();
        let until = clock.monotonic().saturating_add(timeout);
        let workers = std::mem::take(&mut *self.0.workers.lock());
        let drained =
            futures_util::future::join_all(workers.into_iter().map(|workers| workers.stop(until)))
                .await;
        let mut closed = Closed::default();
        for drained in drained {
            closed.finished += drained.finished;
            closed.released += drained.released;
        }
        let left = until.saturating_sub(clock.monotonic()).max(Duration::from_millis(100));
        let report = self.0.connection.transport().close(left).await;
        Closed {
            finished: closed.finished + report.finished,
            released: closed.released + report.released,
            lost: report.lost,
        }
    }
}
