//! What the process is told from outside.

use std::time::Duration;

use crate::shell::{Exit, Failure};

/// How often the gateway's file is looked at.
const LOOK: Duration = Duration::from_secs(1);

pub(super) enum Signal {
    /// It is to end so.
    End(Exit),
    /// It is to read its file.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no SIGHUP"))]
    Reload,
    /// It is time to look whether its file has changed.
    Nothing,
}

#[cfg(unix)]
pub(super) struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn new() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
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
        })
    }

    /// Returns when it is to end.
    pub(super) async fn end(&mut self) -> Exit {
        tokio::select! {
            _ = self.terminate.recv() => Exit::Good,
            _ = self.interrupt.recv() => Exit::Interrupted,
        }
    }

    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => Signal::End(Exit::Good),
            _ = self.interrupt.recv() => Signal::End(Exit::Interrupted),
            _ = self.hang_up.recv() => Signal::Reload,
            () = tokio::time::sleep(LOOK) => Signal::Nothing,
        }
    }
}

#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it may fail")]
    pub(super) fn new() -> Result<Self, Failure> {
        Ok(Self)
    }

    /// Returns when it is to end.
    pub(super) async fn end(&mut self) -> Exit {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Exit::Interrupted
    }

    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            end = self.end() => Signal::End(end),
            () = tokio::time::sleep(LOOK) => Signal::Nothing,
        }
    }
}
