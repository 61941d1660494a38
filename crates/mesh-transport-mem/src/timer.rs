use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::select;
use mesh_core::port::Clock;
use mesh_core::topology::ConsumerRef;
use parking_lot::Mutex;
use tokio::runtime::{self, Handle};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::broker::Broker;

/// When which consumer is to be looked at. On each runtime that the broker is used on, one task waits
/// for the earliest point in time: whichever wakes first looks, so none is missed on a runtime that
/// stands idle or is gone. None runs longer than the broker.
#[derive(Debug)]
pub(crate) struct Timer {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    agenda: Mutex<Agenda>,
    /// An earlier point in time has come in, or the broker is gone.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Agenda {
    due: BTreeSet<(Duration, ConsumerRef)>,
    tasks: Vec<(runtime::Id, JoinHandle<()>)>,
    over: bool,
}

impl Timer {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            shared: Arc::new(Shared { clock, agenda: Mutex::default(), changed: Notify::new() }),
        }
    }

    /// Waits on this runtime too, from now on.
    pub(crate) fn wait_on(&self, runtime: &Handle, broker: &Weak<Broker>) {
        let mut agenda = self.shared.agenda.lock();
        // A task ends before its broker only with its runtime.
        agenda.tasks.retain(|(_, task)| !task.is_finished());
        let id = runtime.id();
        if !agenda.tasks.iter().any(|(known, _)| *known == id) {
            let run = run(Arc::clone(&self.shared), Weak::clone(broker));
            agenda.tasks.push((id, runtime.spawn(run)));
        }
    }

    /// Has `broker` look at this consumer then.
    pub(crate) fn add(&self, due: Duration, consumer: ConsumerRef, broker: &Weak<Broker>) {
        if let Ok(runtime) = Handle::try_current() {
            self.wait_on(&runtime, broker);
        }
        let mut agenda = self.shared.agenda.lock();
        let earliest = agenda.due.first().is_none_or(|(at, _)| due < *at);
        agenda.due.insert((due, consumer));
        drop(agenda);
        if earliest {
            self.shared.changed.notify_waiters();
        }
    }

    /// How many points in time it waits for.
    pub(crate) fn len(&self) -> usize {
        self.shared.agenda.lock().due.len()
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.agenda.lock().over = true;
        self.shared.changed.notify_waiters();
    }
}

async fn run(shared: Arc<Shared>, broker: Weak<Broker>) {
    loop {
        // Begun before the look, so that no change after it is missed.
        let changed = shared.changed.notified();
        let now = shared.clock.monotonic();
        let wait = {
            let mut agenda = shared.agenda.lock();
            if agenda.over {
                return;
            }
            match agenda.due.first() {
                None => None,
                Some((due, _)) if *due > now => Some(*due),
                Some(_) => {
                    let Some((_, consumer)) = agenda.due.pop_first() else {
                        continue;
                    };
                    drop(agenda);
                    match broker.upgrade() {
                        Some(broker) => broker.look(&consumer),
                        None => return,
                    }
                    continue;
                }
            }
        };
        match wait {
            None => changed.await,
            Some(due) => {
                let due = std::pin::pin!(sleep_until(&*shared.clock, due));
                select(std::pin::pin!(changed), due).await;
            }
        }
    }
}

/// Returns at this point in time, also if the clock was moved there while the wait began.
pub(crate) async fn sleep_until(clock: &dyn Clock, due: Duration) {
    let mut sleep = clock.sleep(due.saturating_sub(clock.monotonic()));
    poll_fn(|context| match sleep.as_mut().poll(context) {
        Poll::Pending if clock.monotonic() < due => Poll::Pending,
        _ => Poll::Ready(()),
    })
    .await;
}
