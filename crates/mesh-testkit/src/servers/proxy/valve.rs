//! What a test has asked of the way, seen by every pump at once.

use std::time::Duration;

use tokio::sync::watch;

use super::Direction;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    ways: [Way; 2],
    pub(super) delay: Duration,
    /// How often all connections were cut.
    pub(super) cuts: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    pub(super) stalled: bool,
    /// How often this direction was ended. A connection counts what it has seen happen.
    pub(super) closed: u64,
}

impl State {
    pub(super) fn way(&mut self, direction: Direction) -> &mut Way {
        &mut self.ways[direction as usize]
    }
}

pub(super) struct Valve {
    state: watch::Sender<State>,
}

/// One direction of one connection.
pub(super) struct Gate {
    state: watch::Receiver<State>,
    direction: Direction,
    closed_before: u64,
}

/// What a pump is to do with the next bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Passing<T> {
    /// They may pass, and this came of it.
    Done(T),
    /// Look again later.
    Stalled,
    /// This direction has ended.
    Closed,
}

impl Valve {
    pub(super) fn open() -> Self {
        Self { state: watch::Sender::new(State::default()) }
    }

    /// Returns when no pump moves bytes by the old state: each moves them while it looks at it.
    pub(super) fn change(&self, change: impl FnOnce(&mut State)) {
        self.state.send_modify(change);
    }

    /// Ends at the next cut.
    pub(super) fn cut(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut state = self.state.subscribe();
        let before = state.borrow().cuts;
        async move {
            // Without a valve nothing is cut any more.
            if state.wait_for(|state| state.cuts != before).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    pub(super) fn gate(&self, direction: Direction) -> Gate {
        let state = self.state.subscribe();
        let closed_before = state.borrow().ways[direction as usize].closed;
        Gate { state, direction, closed_before }
    }
}

impl Gate {
    /// Does `step`, which does not wait, if bytes may pass, and keeps the state as it is meanwhile.
    pub(super) fn pass<T>(&mut self, step: impl FnOnce() -> T) -> Passing<T> {
        let state = self.state.borrow_and_update();
        let way = state.ways[self.direction as usize];
        if way.closed != self.closed_before {
            Passing::Closed
        } else if way.stalled {
            Passing::Stalled
        } else {
            Passing::Done(step())
        }
    }

    pub(super) fn delay(&self) -> Duration {
        self.state.borrow().delay
    }

    /// Returns when the state has changed since [`pass`](Self::pass) looked at it. Without a valve
    /// nothing changes any more.
    pub(super) async fn changed(&mut self) {
        if self.state.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
