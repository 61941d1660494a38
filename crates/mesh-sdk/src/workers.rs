//! Tasks that handle what arrives on one subscription: bounded in number, and drained at the end.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::{Clock, Incoming, ReceiveError};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// How long a handler that is to stop is waited for: one that never gives way can't be stopped.
const GRACE: Duration = Duration::from_millis(100);

/// A running subscription: it can be told to stop, and then says what became of its work.
pub(crate) struct Workers {
    stop: watch::Sender<Option<Duration>>,
    task: JoinHandle<Drained>,
}

/// What became of the work that was under way at the stop.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Drained {
    pub(crate) finished: u64,
    pub(crate) released: u64,
}

impl Workers {
    /// Handles each arrival in a task of its own, at most `limit` at a time; while all are busy
    /// nothing more is taken. A notice that is no arrival goes to `notice`.
    pub(crate) fn start<T, F, W>(
        mut incoming: Incoming<T>,
        clock: Arc<dyn Clock>,
        limit: usize,
        handle: F,
        notice: impl Fn(ReceiveError) + Send + 'static,
    ) -> Self
    where
        T: Send + 'static,
        F: Fn(T) -> W + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let (stop, mut stopped) = watch::channel(None);
        let task = tokio::spawn(async move {
            let mut tasks = JoinSet::new();
            loop {
                tokio::select! {
                    biased;
                    _ = stopped.changed() => break,
                    Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
                    arrival = incoming.next(), if tasks.len() < limit => match arrival {
                        Some(Ok(arrival)) => { tasks.spawn(handle(arrival)); }
                        Some(Err(error)) => notice(error),
                        None => break,
                    },
                }
            }
            // What has arrived and was not begun goes back with the subscription.
            drop(incoming);
            drain(tasks, clock, stopped).await
        });
        Self { stop, task }
    }

    /// Takes nothing more and waits for what is under way, until `until` on the clock.
    pub(crate) async fn stop(self, until: Duration) -> Drained {
        self.stop.send_replace(Some(until));
        self.task.await.unwrap_or_default()
    }
}

async fn drain(
    mut tasks: JoinSet<()>,
    clock: Arc<dyn Clock>,
    mut stopped: watch::Receiver<Option<Duration>>,
) -> Drained {
    let mut drained = Drained::default();
    let deadline = async {
        // The subscription may have ended by itself: the stop, and with it the time, is to come.
        let until = match stopped.wait_for(Option::is_some).await {
            Ok(until) => *until,
            Err(_) => None,
        };
        match until {
            Some(until) => clock.sleep(until.saturating_sub(clock.monotonic())).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(deadline);
    loop {
        tokio::select! {
            biased;
            ended = tasks.join_next() => match ended {
                Some(_) => drained.finished += 1,
                None => return drained,
            },
            () = &mut deadline => break,
        }
    }
    tasks.abort_all();
    let grace = clock.sleep(GRACE);
    tokio::pin!(grace);
    loop {
        tokio::select! {
            biased;
            ended = tasks.join_next() => match ended {
                Some(Ok(())) => drained.finished += 1,
                Some(Err(_)) => drained.released += 1,
                None => return drained,
            },
            () = &mut grace => {
                // What they hold goes back with the connection.
                drained.released += tasks.len() as u64;
                return drained;
            }
        }
    }
}
