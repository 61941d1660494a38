use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::task::JoinSet;

use super::outbound::send;
use super::shared::{Phase, Shared};
use super::{EdgeGateway, Tasks};

/// What became of what a gateway had begun when it was closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EdgeReport {
    /// Requests that got their answer meanwhile.
    pub finished: u64,
    /// Requests whose component had not replied by then: their askers were told `MX.EDGE.TIMEOUT`, or
    /// were to be.
    pub given_up: u64,
    /// Messages and answers that were not brought to an end, and are lost.
    pub abandoned: u64,
}

impl EdgeGateway {
    /// Ends it: takes nothing more from the mailboxes but what has arrived, waits up to `timeout` for
    /// what components still work on, refuses the rest, and says what became of it all. The connections
    /// stay open: they are their owner's. A second call answers an empty report.
    ///
    /// A broker that takes no answers delays it by [`patience`](super::GatewayOptions::patience) at most.
    pub async fn close(&self, timeout: Duration) -> EdgeReport {
        let Some(Tasks { mut mailboxes, mut others }) = self.tasks.lock().take() else {
            return EdgeReport::default();
        };
        let shared = &self.shared;
        let before = shared.edge.counters();
        shared.enter(Phase::Draining);
        let mut report = EdgeReport::default();
        let clock = Arc::clone(shared.backbone.clock());
        let all_done = async {
            ended(&mut mailboxes).await;
            shared.edge.pending.idle().await;
        };
        let in_time = tokio::select! {
            () = all_done => true,
            () = clock.sleep(timeout) => false,
        };
        if !in_time {
            report.given_up = refuse_rest(shared).await;
            // What still hangs is on its way in, or waits for a broker that takes nothing.
            report.abandoned = shared.edge.under_way().0 as u64 + shared.edge.waiting() as u64;
        }
        shared.enter(Phase::Over);
        if in_time {
            ended(&mut others).await;
        }
        mailboxes.shutdown().await;
        others.shutdown().await;
        let after = shared.edge.counters();
        report.finished = (after.replied - before.replied) + (after.timed_out - before.timed_out);
        report.finished = report.finished.saturating_sub(report.given_up);
        report
    }
}

async fn ended(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

/// Tells those whose component has not replied that it won't.
async fn refuse_rest(shared: &Arc<Shared>) -> u64 {
    let mut told = FuturesUnordered::new();
    while let Some(answer) = shared.edge.give_up(shared.now()) {
        told.push(send(shared, answer));
    }
    let given_up = told.len() as u64;
    while told.next().await.is_some() {}
    given_up
}

impl Drop for EdgeGateway {
    fn drop(&mut self) {
        self.shared.enter(Phase::Over);
    }
}
