use std::fmt;
use std::net::SocketAddr;
use std::process::ExitStatus;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::Signal;
use tokio::sync::OnceCell;
use tokio::time::sleep;

use super::account::secret;
use super::home::{Home, Search};
use super::hosts::url;
use super::place::Site;
use super::users::Users;
use super::{Account, Definitions, Management, RabbitConfig, VirtualHost};
use crate::servers::process::Guarded;
use crate::servers::{Certificate, ServerError};

/// How long a start or a stop may take, on a busy machine; idle, a start takes 7 s.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// How often other ports are tried where they can't be held.
const TRIES: usize = 5;

/// Who asks the management API.
const ADMINISTRATOR: &str = "mesh-test";

const DOWN: ServerError = ServerError::State("the node does not run");

/// A real RabbitMQ node with TLS alone, on loopback alone, with an Erlang port mapper, ports, folders
/// and a certificate of its own. It is gone when this is dropped, and so is what it stored; if the
/// test's process is killed, too.
///
/// A start takes some seconds. A test that does not stop or kill the node takes a [`VirtualHost`] of
/// the [`shared`] one instead.
///
/// It stays at its ports when it starts again. Methods take `&self`: one task may stop the node that
/// others use. All of them need a tokio runtime whose time is not paused.
pub struct RabbitServer {
    // Dropped first: the processes end before their folder goes.
    pub(super) state: Mutex<State>,
    pub(super) home: Home,
    certificate: Certificate,
    pub(super) config: RabbitConfig,
    /// The configuration's, and the administrator.
    pub(super) definitions: Definitions,
    management: Management,
    users: Users,
    pub(super) site: Site,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) node: Option<Guarded>,
    pub(super) epmd: Option<Guarded>,
    /// Whether the definitions are in.
    pub(super) loaded: bool,
}

/// The one node of this process, for tests that share it: each makes a [`VirtualHost`] of its own. It
/// is started by the first who asks, and ends with the process.
///
/// # Errors
/// As [`RabbitServer::launch`]; the next who asks tries again.
pub async fn shared() -> Result<&'static RabbitServer, ServerError> {
    static SHARED: OnceCell<RabbitServer> = OnceCell::const_new();
    SHARED.get_or_try_init(|| RabbitServer::launch(RabbitConfig::new())).await
}

impl RabbitServer {
    /// Starts one, and returns when it serves and each row of the definitions is there.
    ///
    /// # Errors
    /// [`ServerError::NoProgram`] if the machine has no RabbitMQ, never a silent skip;
    /// [`ServerError::Failed`], with the log, if it ends, does not serve within 120 s, or lacks rows of
    /// the definitions, which it does not tell by itself.
    pub async fn launch(config: RabbitConfig) -> Result<Self, ServerError> {
        let home = find()?;
        let mut tries = 1;
        loop {
            let server = Self::laid_out(home.clone(), config.clone())?;
            match server.start().await {
                Err(ServerError::Failed { log, .. })
                    if tries < TRIES && log.contains("eaddrinuse") =>
                {
                    tries += 1;
                }
                started => return started.map(|()| server),
            }
        }
    }

    fn laid_out(home: Home, config: RabbitConfig) -> Result<Self, ServerError> {
        let site = Site::reserve()?;
        let certificate = config.certificate().cloned().map_or_else(Certificate::local, Ok)?;
        let password = secret()?;
        let administrator = Account::new(ADMINISTRATOR, &password).tags("administrator");
        // First, so that it is there even if the node stops at a row.
        let definitions = config.wanted().after(Definitions::new().account("", &administrator));
        site.lay_out(&home, &certificate)?;
        site.write_definitions(&definitions.to_json())?;
        site.write_config(&config.text(&site, true))?;
        Ok(Self {
            state: Mutex::default(),
            home,
            certificate,
            management: Management::new(site.management(), ADMINISTRATOR, &password),
            users: Users::of(&definitions),
            config,
            definitions,
            site,
        })
    }

    /// Asks it to end in good order, and returns when it has.
    ///
    /// # Errors
    /// [`ServerError::State`] if it does not run; [`ServerError::Failed`] if it takes over 120 s, after
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
        self.state.lock().node = None;
        match ended {
            Some(_) => Ok(()),
            None => Err(self.failed(format!("RabbitMQ did not stop in {PATIENCE:?}"))),
        }
    }

    /// Kills it, as a crash would, and returns when it is gone. What it had not written is lost.
    ///
    /// # Errors
    /// [`ServerError::State`] if it does not run.
    pub fn kill(&self) -> Result<(), ServerError> {
        self.state.lock().node.take().map(drop).ok_or(DOWN)
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
        let node = state.node.as_ref().ok_or(DOWN)?;
        node.pause().map_err(ServerError::io("pausing RabbitMQ"))
    }

    /// Lets it go on after [`pause`](Self::pause).
    ///
    /// # Errors
    /// [`ServerError::State`] if it does not run.
    pub fn resume(&self) -> Result<(), ServerError> {
        self.signal(Signal::CONT)
    }

    /// A new virtual host with nothing in it, for one test.
    ///
    /// # Errors
    /// [`ServerError::Io`] if the node is down; [`ServerError::Status`] if it refuses.
    pub async fn virtual_host(&self) -> Result<VirtualHost, ServerError> {
        VirtualHost::make(self.address(), self.management.clone(), self.users.clone()).await
    }

    /// Its HTTP API, as its administrator.
    #[must_use]
    pub fn management(&self) -> &Management {
        &self.management
    }

    /// Where AMQP clients reach it, with TLS.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.site.amqp()
    }

    /// `amqps://`, the account, the address and the virtual host, percent-encoded.
    #[must_use]
    pub fn url_of(&self, user: &str, password: &str, vhost: &str) -> String {
        url(self.address(), user, password, vhost)
    }

    /// The node's process, if it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.state.lock().node.as_ref().map(Guarded::pid)
    }

    /// The version that runs, `3.10.8`.
    #[must_use]
    pub fn version(&self) -> String {
        self.home.version.to_string()
    }

    /// All that it has logged, over all its starts.
    #[must_use]
    pub fn log(&self) -> String {
        self.site.log()
    }

    /// The certificate that it shows, with its key.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// What a credential is to pin.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.certificate.fingerprint()
    }

    /// Where all its files are.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        self.site.folder()
    }

    fn signal(&self, signal: Signal) -> Result<(), ServerError> {
        let state = self.state.lock();
        let node = state.node.as_ref().ok_or(DOWN)?;
        node.signal(signal).map_err(ServerError::io("sending RabbitMQ a signal"))
    }

    pub(super) fn failed(&self, what: String) -> ServerError {
        ServerError::Failed { what, log: self.log() }
    }

    pub(super) fn ended(&self) -> Result<Option<ExitStatus>, ServerError> {
        let mut state = self.state.lock();
        let node = state.node.as_mut().ok_or(DOWN)?;
        node.ended().map_err(ServerError::io("looking after RabbitMQ"))
    }
}

impl fmt::Debug for RabbitServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RabbitServer")
            .field("address", &self.address())
            .field("pid", &self.pid())
            .finish_non_exhaustive()
    }
}

/// The installation to test with, looked for once.
fn find() -> Result<Home, ServerError> {
    static FOUND: OnceLock<Home> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Ok(found.clone());
    }
    let found = Search::of_this_process().find().map_err(ServerError::NoProgram)?;
    Ok(FOUND.get_or_init(|| found).clone())
}

/// Between two looks at something that will come.
pub(super) async fn pause() {
    sleep(Duration::from_millis(25)).await;
}
