//! The nats-server that runs.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::children::{Children, Ending, Process};
use super::monitor::{Monitor, Varz};
use super::program::Program;
use crate::folder::Digest;

/// Between two looks at something that will come.
const LOOK: Duration = Duration::from_millis(10);

/// How long a start may take: a server with much in its streams reads them first.
const START: Duration = Duration::from_secs(120);

/// How long a server has to end in good order before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// The longest line of the server's log that is kept in one piece.
const MAX_LINE: u64 = 64 * 1024;

/// How the log says that a reload was refused.
const REFUSED: &str = "[ERR] Failed to reload server configuration: ";

/// How the log says who the server is, before it listens anywhere.
const ID: &str = "[INF]   ID:";

/// Takes each line of the server's log, with its end.
#[derive(Clone)]
pub struct LogSink(Arc<TakeLine>);

type TakeLine = dyn Fn(&[u8]) + Send + Sync;

impl LogSink {
    /// What is done with each line. It is called from a thread of its own, and may block: the server then
    /// waits, as it would for a terminal.
    pub fn new(take: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// To this process's own stderr.
    #[must_use]
    pub fn stderr() -> Self {
        // Nothing is left to tell where stderr is gone.
        Self::new(|line| drop(io::stderr().write_all(line)))
    }
}

impl fmt::Debug for LogSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogSink")
    }
}

/// The server.
pub(super) struct Server {
    process: Process,
    monitor: Monitor,
    /// What its log has said.
    said: watch::Receiver<Said>,
}

/// What counts of a server's log.
#[derive(Default)]
struct Said {
    /// How many reloads it has refused, and why the last one.
    refused: u64,
    why: String,
    /// Who it is: whoever else answers on its monitoring port is somebody else.
    id: Option<String>,
}

/// Why a reload is not known to be done.
pub(super) enum NotReloaded {
    /// The server has refused it, with these words.
    Refused(String),
    /// It said nothing in time.
    Silence,
    /// It has ended.
    Ended(Ending),
}

impl Server {
    /// Starts it with this file. Paths in the file are those of `folder`.
    pub(super) fn start(
        program: &Program,
        file: &Path,
        folder: &Path,
        monitor: Monitor,
        children: &Children,
        log: LogSink,
    ) -> io::Result<Self> {
        let mut command = Command::new(program.path());
        // Nothing else on the command line: a reload would forget some of it.
        command.arg("-c").arg(file).current_dir(folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let (mut child, process) = children.start(&mut command)?;
        let (tell, said) = watch::channel(Said::default());
        if let Some(stderr) = child.stderr.take() {
            thread::Builder::new()
                .name("nats-server's log".to_owned())
                .spawn(move || pass_on(stderr, &log, &tell))?;
        }
        Ok(Self { process, monitor, said })
    }

    /// Returns when it serves; or why it does not.
    pub(super) async fn serves(&mut self) -> Result<Varz, String> {
        let monitor = self.monitor;
        let said = self.said.clone();
        let healthy = async {
            loop {
                if monitor.get::<serde_json::Value>("/healthz").await.is_ok() {
                    match monitor.varz().await {
                        Ok(varz) if is_it(&said, &varz) => return Ok(varz),
                        // Somebody else has its port: it will end.
                        Ok(_) => {}
                        Err(error) => return Err(error.to_string()),
                    }
                }
                sleep(LOOK).await;
            }
        };
        tokio::select! {
            healthy = timeout(START, healthy) => {
                healthy.unwrap_or_else(|_| Err(format!("it does not serve after {START:?}")))
            }
            ending = self.process.ended() => Err(format!("it ended at once, {ending}")),
        }
    }

    /// Has it read its file again, and returns when it says that it runs with the one of this digest.
    pub(super) async fn reload(
        &mut self,
        digest: Digest,
        patience: Duration,
    ) -> Result<Varz, NotReloaded> {
        let monitor = self.monitor;
        let before = match monitor.varz().await {
            Ok(varz) => varz.config_load_time,
            // It is busy, or dead: the rest will show.
            Err(_) => String::new(),
        };
        let known = self.said.borrow_and_update().refused;
        let said = self.said.clone();
        if self.process.signal(Signal::HUP).is_err() {
            return Err(NotReloaded::Silence);
        }
        let confirmed = async {
            loop {
                if let Ok(varz) = monitor.varz().await
                    && is_it(&said, &varz)
                    && varz.config_digest == Some(digest)
                    && varz.config_load_time != before
                {
                    return varz;
                }
                sleep(LOOK).await;
            }
        };
        tokio::select! {
            confirmed = timeout(patience, confirmed) => confirmed.map_err(|_| NotReloaded::Silence),
            Ok(said) = self.said.wait_for(|said| said.refused > known) => {
                Err(NotReloaded::Refused(said.why.clone()))
            }
            ending = self.process.ended() => Err(NotReloaded::Ended(ending)),
        }
    }

    /// Asks it once whether it runs with the file of this digest.
    pub(super) async fn runs_with(&self, digest: Digest) -> bool {
        let varz = self.monitor.varz().await;
        varz.is_ok_and(|varz| is_it(&self.said, &varz) && varz.config_digest == Some(digest))
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(super) fn monitor(&self) -> Monitor {
        self.monitor
    }

    pub(super) async fn ended(&mut self) -> Ending {
        self.process.ended().await
    }

    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        self.process.signal(signal)
    }

    /// Ends it, and answers how it ended, and whether in good order. INT, not TERM: a server that is a lame
    /// duck already does nothing on TERM.
    pub(super) async fn end(&mut self) -> (Ending, bool) {
        // Fails for one that has ended, which the next step sees.
        let _ = self.process.signal(Signal::INT);
        if let Ok(ending) = timeout(GRACE, self.process.ended()).await {
            return (ending, true);
        }
        let _ = self.process.signal(Signal::KILL);
        (self.process.ended().await, false)
    }
}

impl Drop for Server {
    /// Nobody looks after it any more. One that has ended is not signalled.
    fn drop(&mut self) {
        let _ = self.process.signal(Signal::INT);
    }
}

/// Whether this was said by the server whose log that is.
fn is_it(said: &watch::Receiver<Said>, varz: &Varz) -> bool {
    said.borrow().id.as_ref() == Some(&varz.server_id)
}

/// Passes the log on, line by line, and takes note of who the server is and of each refused reload.
fn pass_on(stderr: ChildStderr, log: &LogSink, tell: &watch::Sender<Said>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    // An error is the end, too: the server's side is closed.
    while matches!((&mut reader).take(MAX_LINE).read_until(b'\n', &mut line), Ok(read) if read > 0)
    {
        let text = String::from_utf8_lossy(&line);
        if let Some(reason) = after(REFUSED, &text) {
            tell.send_modify(|said| {
                said.refused += 1;
                reason.clone_into(&mut said.why);
            });
        } else if let Some(id) = after(ID, &text) {
            // The first line counts: it comes before anybody is connected.
            tell.send_modify(|said| {
                said.id.get_or_insert_with(|| id.to_owned());
            });
        }
        (log.0)(&line);
        line.clear();
    }
}

/// What a line says after these words, such as why a reload was refused. What clients say can stand in the log,
/// too, but not at the beginning of a line, after nothing but a process's number and the time.
fn after<'l>(words: &str, line: &'l str) -> Option<&'l str> {
    let (before, rest) = line.split_once(words)?;
    let is_plain = |c: char| c.is_ascii_digit() || matches!(c, '[' | ']' | '/' | ':' | '.' | ' ');
    before.chars().all(is_plain).then_some(rest.trim())
}

#[cfg(test)]
mod tests {
    use super::{ID, REFUSED, after};

    #[test]
    fn a_refused_reload_is_heard_and_not_what_a_client_makes_of_it() {
        let told = "[26290] 2026/11/30 19:04:23.419734 [ERR] Failed to reload server configuration: \
                    config reload not supported for Port: old=1, new=2\n";
        let reason = "config reload not supported for Port: old=1, new=2";
        assert_eq!(after(REFUSED, told), Some(reason));
        assert_eq!(
            after(REFUSED, "[1] [ERR] Failed to reload server configuration: x\n"),
            Some("x")
        );
        let made = told.replacen("[ERR]", "[DBG] 127.0.0.1:5 - cid:7 - \"a [ERR]", 1);
        assert_eq!(after(REFUSED, &made), None);
        let id = "[1] 2026/11/30 20:40:19.463554 [INF]   ID:       NB5V3FY52M\n";
        assert_eq!(after(ID, id), Some("NB5V3FY52M"));
    }
}
