//! Tasks that handle what arrives on one subscription: bounded in number, and drained at the end.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::Clock;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::binding::Line;
use crate::places::{Place, Places, Room, Stopped};
use crate::reading::{Source, read};

/// How long a handler that is to stop is waited for: one that never gives way can't be stopped.
const GRACE: Duration = Duration::from_millis(100);

/// A running subscription: it can be told to stop, and then says what became of its work.
pub(crate) struct Workers {
    stop: watch::Sender<Option<Duration>>,
    task: JoinHandle<Drained>,
}

/// What became of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its handlers have had their say.
    Finished,
    /// It was given back before its time.
    Released,
}

/// What became of the work that was under way at the stop.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Drained {
    pub(crate) finished: u64,
    pub(crate) released: u64,
}

impl Workers {
    /// Handles each arrival in a task of its own; while there is no room nothing more is taken. A
    /// subscription that is lost is opened again.
    pub(crate) fn start<T, F, W>(
        source: Source<T>,
        clock: Arc<dyn Clock>,
        room: Room,
        handle: F,
    ) -> (Self, Line)
    where
        T: Send + 'static,
        F: Fn(T, Place) -> W + Send + Sync + 'static,
        W: Future<Output = Outcome> + Send + 'static,
    {
        let (stop, mut stopped) = watch::channel(None);
        let line = source.line().clone();
        let task = tokio::spawn(async move {
            let mut tasks = JoinSet::new();
            let (told, left) = watch::channel(None);
            read(source, &*clock, Places::new(room, left), handle, &mut tasks, &mut stopped).await;
            let told = pass_on(stopped.clone(), told);
            let drained = drain(tasks, room.holds, &*clock, stopped);
            tokio::join!(drained, told).0
        });
        (Self { stop, task }, line)
    }

    /// Takes nothing more and waits for what is under way, until `until` on the clock.
    pub(crate) async fn stop(self, until: Duration) -> Drained {
        self.stop.send_replace(Some(until));
        self.task.await.unwrap_or_default()
    }
}

/// Tells of the stop those who only wait. The subscription is gone by then, so what they give back goes to
/// others and not here once more.
async fn pass_on(mut stopped: Stopped, told: watch::Sender<Option<Duration>>) {
    // An error says that the other end is gone, and so is this one then.
    let until = stopped.wait_for(Option::is_some).await.map_or(None, |until| *until);
    if until.is_some() {
        told.send_replace(until);
    }
}

/// `holds`: each task has a delivery, which the connection gives back and counts if the task never does.
async fn drain(
    mut tasks: JoinSet<Outcome>,
    holds: bool,
    clock: &dyn Clock,
    mut stopped: Stopped,
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
                Some(Ok(Outcome::Released)) => drained.released += 1,
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
                Some(Ok(Outcome::Finished)) => drained.finished += 1,
                Some(_) => drained.released += 1,
                None => return drained,
            },
            () = &mut grace => {
                // What they hold goes back with the connection.
                if !holds {
                    drained.released += tasks.len() as u64;
                }
                return drained;
            }
        }
    }
}
