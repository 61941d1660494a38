use std::ffi::OsStr;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::process::Signal;
use tokio::time::sleep;

use super::place::Site;
use super::{NatsConfig, program};
use crate::servers::process::Guarded;
use crate::servers::{Certificate, ServerError};

/// How long a start, a stop or a reload may take, on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How often other ports are tried where they can't be held.
const TRIES: usize = 5;

const DOWN: ServerError = ServerError::State("the server does not run");

/// A real nats-server with ports and a folder of its own. It is gone when this is dropped, and so is
/// what it stored; if the test's process is killed, too.
///
/// It stays at its ports when it starts again. Methods take `&self`: one task may stop the server that
/// others use. All of them need a tokio runtime whose time is not paused.
pub struct NatsServer {
    // Dropped first: the process ends before its folder goes.
    state: Mutex<State>,
    program: PathBuf,
    site: Site,
}

struct State {
    process: Option<Guarded>,
    config: NatsConfig,
}

impl NatsServer {
    /// Starts one, and returns when it serves.
    ///
    /// # Errors
    /// [`ServerError::NoProgram`] if the machine has none, never a silent skip;
    /// [`ServerError::Refused`] for a configuration that fails the server's own check;
    /// [`ServerError::Failed`], with the log, if it ends or does not serve within 30 s.
    pub async fn launch(config: NatsConfig) -> Result<Self, ServerError> {
        let mut tries = 1;
        loop {
            let server = Self::at(Site::reserve("mesh-test")?, &config)?;
            match server.start().await {
                Err(ServerError::Failed { log, .. })
                    if tries < TRIES && log.contains("address already in use") =>
                {
                    tries += 1;
                }
                started => return started.map(|()| server),
            }
        }
    }

    /// One that does not run yet, with its file written.
    pub(super) fn at(site: Site, config: &NatsConfig) -> Result<Self, ServerError> {
        let state = Mutex::new(State { process: None, config: config.clone() });
        let server = Self { state, program: program::find()?, site };
        server.write(config)?;
        Ok(server)
    }

    /// Starts it again, where it was and with what it stored, and returns when it serves.
    ///
    /// # Errors
    /// As [`launch`](Self::launch); [`ServerError::State`] if it runs.
    pub async fn start(&self) -> Result<(), ServerError> {
        self.spawn()?;
        self.serves().await
    }

    /// Starts it, and does not wait.
    pub(super) fn spawn(&self) -> Result<(), ServerError> {
        let log = self.site.open_log()?;
        let file = self.config_file();
        let mut state = self.state.lock();
        if state.process.is_some() {
            return Err(ServerError::State("the server runs already"));
        }
        let arguments = [OsStr::new("-c"), file.as_os_str()];
        let process = Guarded::start(&self.program, &arguments, &log, self.site.folder())
            .map_err(ServerError::io("starting nats-server"))?;
        state.process = Some(process);
        Ok(())
    }

    /// Returns when it serves; one that ended meanwhile counts as stopped.
    pub(super) async fn serves(&self) -> Result<(), ServerError> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(how) = self.ended()? {
                self.state.lock().process = None;
                return Err(self.failed(format!("nats-server ended at once, {how}")));
            }
            // Healthy is who listens. No client is needed to know, and none is left behind.
            if self.healthy().await {
                return self.is_here().await;
            }
            pause().await;
        }
        Err(self.failed(format!("nats-server does not serve after {PATIENCE:?}")))
    }

    /// Whether clients find it where they look for it.
    async fn is_here(&self) -> Result<(), ServerError> {
        let varz = self.varz().await?;
        let (host, port) = (varz["host"].as_str().unwrap_or_default(), &varz["port"]);
        if host == self.address().ip().to_string() && *port == self.address().port() {
            return Ok(());
        }
        Err(self.failed(format!("nats-server listens at {host}:{port}, not at {}", self.address())))
    }

    /// Asks it to end in good order, and returns when it has.
    ///
    /// # Errors
    /// [`ServerError::State`] if it does not run; [`ServerError::Failed`] if it takes over 30 s, after
    /// which it is killed.
    pub async fn stop(&self) -> Result<(), ServerError> {
        self.signal(Signal::TERM)?;
        // One that is paused would not hear of it.
        self.signal(Signal::CONT)?;
        let deadline = Instant::now() + PATIENCE;
        let mut ended = self.ended()?;
        while ended.is_none() && Instant::now() < deadline {
            pause().await;
            ended = self.ended()?;
        }
        self.state.lock().process = None;
        match ended {
            Some(_) => Ok(()),
            None => Err(self.failed(format!("nats-server did not stop in {PATIENCE:?}"))),
        }
    }

    /// Has it retire: it takes nobody new and ends its streams at once, tells its clients so, and ends
    /// their connections one after the other after its `lame_duck_grace_period`, then itself. Returns at
    /// once; [`stop`](Self::stop) ends it sooner, or finds it ended.
    ///
    /// # Errors
    /// [`ServerError::State`] if it does not run.
    pub fn retire(&self) -> Result<(), ServerError> {
        self.signal(Signal::USR2)
    }

    /// Kills it, as a crash would, and returns when it is gone. What it had not written is lost.
    ///
    /// # Errors
    /// [`ServerError::State`] if it does not run.
    pub fn kill(&self) -> Result<(), ServerError> {
        self.state.lock().process.take().map(drop).ok_or(DOWN)
    }

    /// [`stop`](Self::stop) and [`start`](Self::start).
    ///
    /// # Errors
    /// As those.
    pub async fn restart(&self) -> Result<(), ServerError> {
        self.stop().await?;
        self.start().await
    }

    /// Stops time for it: its connections stay open, and nothing is answered. Returns when no thread
    /// of it runs any more.
    ///
    /// # Errors
    /// [`ServerError::State`] if it does not run.
    pub fn pause(&self) -> Result<(), ServerError> {
        let state = self.state.lock();
        let process = state.process.as_ref().ok_or(DOWN)?;
        process.pause().map_err(ServerError::io("pausing nats-server"))
    }

    /// Lets it go on after [`pause`](Self::pause).
    ///
    /// # Errors
    /// [`ServerError::State`] if it does not run.
    pub fn resume(&self) -> Result<(), ServerError> {
        self.signal(Signal::CONT)
    }

    /// The name that it is to have: `mesh-test`, or in a cluster `n1` to `n3`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.site.name()
    }

    /// Where clients reach it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.site.client()
    }

    /// `tls://` or `nats://`, and the address.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_with("")
    }

    /// The same with a user and a password, percent-encoded.
    #[must_use]
    pub fn url_of(&self, user: &str, password: &str) -> String {
        let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
        self.url_with(&format!("{}:{}@", encoded(user), encoded(password)))
    }

    fn url_with(&self, userinfo: &str) -> String {
        let scheme = if self.certificate().is_some() { "tls" } else { "nats" };
        format!("{scheme}://{userinfo}{}", self.address())
    }

    /// Where it tells of itself, `http://` and the address.
    #[must_use]
    pub fn monitoring(&self) -> String {
        format!("http://{}", self.site.monitoring())
    }

    /// The process, if it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.state.lock().process.as_ref().map(Guarded::pid)
    }

    /// All that it has logged, over all its starts.
    #[must_use]
    pub fn log(&self) -> String {
        self.site.log()
    }

    /// The certificate that it shows, with its key.
    #[must_use]
    pub fn certificate(&self) -> Option<Certificate> {
        self.state.lock().config.certificate().cloned()
    }

    /// What a credential is to pin; nothing without TLS.
    #[must_use]
    pub fn fingerprint(&self) -> Option<String> {
        self.certificate().map(|pair| pair.fingerprint())
    }

    /// Whether clients may, or must, begin with the TLS handshake.
    #[must_use]
    pub fn handshake_first(&self) -> bool {
        self.state.lock().config.shakes_first()
    }

    /// Its configuration, for tests that write it themselves and send their own signals.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.site.config_file()
    }

    pub(super) fn site(&self) -> &Site {
        &self.site
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn set_config(&self, config: NatsConfig) {
        self.state.lock().config = config;
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<(), ServerError> {
        let state = self.state.lock();
        let process = state.process.as_ref().ok_or(DOWN)?;
        process.signal(signal).map_err(ServerError::io("sending nats-server a signal"))
    }

    pub(super) fn failed(&self, what: String) -> ServerError {
        ServerError::Failed { what, log: self.log() }
    }

    fn ended(&self) -> Result<Option<std::process::ExitStatus>, ServerError> {
        let mut state = self.state.lock();
        let process = state.process.as_mut().ok_or(DOWN)?;
        process.ended().map_err(ServerError::io("looking after nats-server"))
    }
}

impl fmt::Debug for NatsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsServer")
            .field("url", &self.url())
            .field("pid", &self.pid())
            .finish_non_exhaustive()
    }
}

/// Between two looks at something that will come.
pub(super) async fn pause() {
    sleep(Duration::from_millis(5)).await;
}
