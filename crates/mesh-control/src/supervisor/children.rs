//! The processes that this one has started: waited for in one place, so that a first process of a
//! container can wait for everybody else's orphans, too, and never takes away how its own ended.

use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait, waitpid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, timeout};

/// How often it is looked whether a child has ended, besides each time the system says so.
const LOOK: Duration = Duration::from_secs(1);

/// The longest output that is kept.
const MAX_OUTPUT: u64 = 64 * 1024;

/// How a process ended.
///
/// Exhaustive: the system has no more ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl Ending {
    /// The code with which a shell would say it: 128 and the signal's number for a signal.
    #[must_use]
    pub fn code(self) -> u8 {
        let code = match self {
            Self::Code(code) => code,
            Self::Signal(signal) => signal.saturating_add(128),
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }

    fn of(status: WaitStatus) -> Option<Self> {
        let code = status.exit_status().map(Self::Code);
        code.or_else(|| status.terminating_signal().map(Self::Signal))
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "with code {code}"),
            Self::Signal(signal) => write!(f, "by signal {signal}"),
        }
    }
}

type Living = HashMap<i32, watch::Sender<Option<Ending>>>;

/// Those who live. Dropped, nobody waits for them any more.
pub(super) struct Children {
    living: Arc<Mutex<Living>>,
    reaper: JoinHandle<()>,
}

/// One of them.
pub(super) struct Process {
    pid: Pid,
    living: Arc<Mutex<Living>>,
    ended: watch::Receiver<Option<Ending>>,
}

impl Children {
    /// Waits for children from now on: for `everybody`, if this is the first process of a container.
    pub(super) fn wait_for(everybody: bool) -> io::Result<Self> {
        let mut news = signal(SignalKind::child())?;
        let living = Arc::new(Mutex::new(Living::new()));
        let ours = Arc::clone(&living);
        let reaper = tokio::spawn(async move {
            let mut look = interval(LOOK);
            look.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    _ = news.recv() => {}
                    _ = look.tick() => {}
                }
                reap(&mut ours.lock(), everybody);
            }
        });
        Ok(Self { living, reaper })
    }

    /// Starts one in a group of its own: what a terminal's Ctrl-C means is decided here.
    pub(super) fn start(&self, command: &mut Command) -> io::Result<(Child, Process)> {
        let (tell, ended) = watch::channel(None);
        // Held over both: one that ends at once is known by then.
        let mut living = self.living.lock();
        let mut child = command.process_group(0).spawn()?;
        let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other("a process without a number"));
        };
        living.insert(pid.as_raw_pid(), tell);
        drop(living);
        Ok((child, Process { pid, living: Arc::clone(&self.living), ended }))
    }

    /// Runs one to its end, and answers its exit code and what it printed.
    pub(super) async fn output(
        &self,
        mut command: Command,
        patience: Duration,
    ) -> io::Result<(Option<i32>, String)> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut child, mut living) = self.start(&mut command)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let printed = spawn_blocking(move || {
            let mut printed = Vec::new();
            // A check prints a line or two, and never enough to fill the other pipe.
            if let Some(out) = out {
                out.take(MAX_OUTPUT).read_to_end(&mut printed)?;
            }
            if let Some(err) = err {
                err.take(MAX_OUTPUT).read_to_end(&mut printed)?;
            }
            Ok(String::from_utf8_lossy(&printed).into_owned())
        });
        let Ok(ending) = timeout(patience, living.ended()).await else {
            living.signal(Signal::KILL)?;
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("not done in {patience:?}"),
            ));
        };
        let printed: io::Result<String> = printed.await.map_err(io::Error::other)?;
        let code = if let Ending::Code(code) = ending { Some(code) } else { None };
        Ok((code, printed?))
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.reaper.abort();
    }
}

impl Process {
    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_pid().unsigned_abs()
    }

    /// How it ended, once it has.
    pub(super) async fn ended(&mut self) -> Ending {
        let ending = self.ended.wait_for(Option::is_some).await.ok().and_then(|ending| *ending);
        match ending {
            Some(ending) => ending,
            // Nobody waits for children any more: the runtime ends.
            None => pending().await,
        }
    }

    /// Sends it a signal, unless it has ended: its number may be another's by then.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        let living = self.living.lock();
        if living.contains_key(&self.pid.as_raw_pid()) {
            kill_process(self.pid, signal)?;
        }
        Ok(())
    }
}

/// Takes note of all that have ended.
fn reap(living: &mut Living, everybody: bool) {
    if everybody {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            note(living, pid, status);
        }
        return;
    }
    let pids: Vec<i32> = living.keys().copied().collect();
    for pid in pids.into_iter().filter_map(Pid::from_raw) {
        if let Ok(Some((pid, status))) = waitpid(Some(pid), WaitOptions::NOHANG) {
            note(living, pid, status);
        }
    }
}

fn note(living: &mut Living, pid: Pid, status: WaitStatus) {
    if let Some((ending, tell)) = Ending::of(status).zip(living.remove(&pid.as_raw_pid())) {
        tell.send_replace(Some(ending));
    }
}
