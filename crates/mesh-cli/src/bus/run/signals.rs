//! What the process is told from outside.

use mesh_control::supervisor::Order;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::shell::{Exit, Failure};

/// A signal, and what it means.
pub(super) struct Heard {
    pub(super) order: Order,
    /// With which code the program is to end.
    pub(super) exit: Option<Exit>,
}

pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    lame_duck: Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self, Failure> {
        let hear = |kind| {
            signal(kind).map_err(|error| {
                let hint = "end some programs: the system has no place for it";
                Failure::new(format!("can't listen to signals: {error}"), hint)
            })
        };
        Ok(Self {
            terminate: hear(SignalKind::terminate())?,
            interrupt: hear(SignalKind::interrupt())?,
            hang_up: hear(SignalKind::hangup())?,
            lame_duck: hear(SignalKind::user_defined2())?,
        })
    }

    /// Returns when it is to end.
    pub(super) async fn end(&mut self) -> Exit {
        tokio::select! {
            _ = self.terminate.recv() => Exit::Good,
            _ = self.interrupt.recv() => Exit::Interrupted,
        }
    }

    pub(super) async fn next(&mut self) -> Heard {
        let end = |exit| Heard { order: Order::End, exit: Some(exit) };
        tokio::select! {
            biased;
            _ = self.terminate.recv() => end(Exit::Good),
            _ = self.interrupt.recv() => end(Exit::Interrupted),
            _ = self.lame_duck.recv() => Heard { order: Order::LameDuck, exit: None },
            _ = self.hang_up.recv() => Heard { order: Order::Check, exit: None },
        }
    }
}
