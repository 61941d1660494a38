mod config;
mod session;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, broadcast, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::RawMessage;
use crate::servers::{ServerError, tls};

pub use config::FakeConfig;

/// How long a test waits for the next thing.
const PATIENCE: Duration = Duration::from_secs(10);

/// How much is kept for a test that does not ask. A client that says more waits.
const MAX_HEARD: usize = 1024;

/// What a client did, in its order. Holds what it sent, passwords included.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Heard {
    /// It is there. Each connection has another number, from 1 on.
    Opened(u64),
    /// The TLS handshake has succeeded.
    Secured,
    /// The TLS handshake has failed: the reason, as this side has it.
    Unsecured(String),
    /// It introduced itself: the fields of CONNECT.
    Connect(Value),
    /// It published.
    Publish(RawMessage),
    /// Any other line, such as `SUB a 1`; PING and PONG are left out.
    Line(String),
    /// It went, or broke off.
    Closed(u64),
}

/// Plays a server: says what a test wants, and keeps what clients do. For what a real server can't
/// show: another version, a stolen certificate, no TLS where TLS was agreed on, a password on its way.
///
/// It answers PING, and stores and delivers nothing. It ends when it is dropped.
pub struct FakeNats {
    address: SocketAddr,
    fingerprint: Option<String>,
    heard: Mutex<mpsc::Receiver<Heard>>,
    said: broadcast::Sender<Vec<u8>>,
    hung_up: watch::Sender<()>,
    task: JoinHandle<()>,
}

struct Shared {
    config: FakeConfig,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    heard: mpsc::Sender<Heard>,
    said: broadcast::Sender<Vec<u8>>,
    hung_up: watch::Receiver<()>,
}

impl FakeNats {
    /// Listens on a free loopback port.
    ///
    /// # Errors
    /// [`ServerError::Io`], if there is none, or the certificate can't be used.
    pub async fn start(config: FakeConfig) -> Result<Self, ServerError> {
        Self::listen(config).await.map_err(ServerError::io("starting a fake nats-server"))
    }

    async fn listen(config: FakeConfig) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (tell, heard) = mpsc::channel(MAX_HEARD);
        let (said, _) = broadcast::channel(MAX_HEARD);
        let fingerprint = config.certificate.as_ref().map(|pair| pair.fingerprint());
        let acceptor = config.certificate.as_ref().map(tls::acceptor).transpose()?;
        let (hung_up, hear) = watch::channel(());
        let shared =
            Shared { config, address, acceptor, heard: tell, said: said.clone(), hung_up: hear };
        let task = tokio::spawn(accept(listener, Arc::new(shared)));
        Ok(Self { address, fingerprint, heard: Mutex::new(heard), said, hung_up, task })
    }

    /// Where clients are to dial.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// SHA-256 of the certificate that it shows.
    #[must_use]
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// The next thing that a client does.
    ///
    /// # Errors
    /// [`ServerError::Io`], if nothing happens within 10 s.
    pub async fn heard(&self) -> Result<Heard, ServerError> {
        let next = async { self.heard.lock().await.recv().await };
        match timeout(PATIENCE, next).await {
            Ok(Some(heard)) => Ok(heard),
            Ok(None) | Err(_) => Err(ServerError::io("listening to clients")(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("nothing in {PATIENCE:?}"),
            ))),
        }
    }

    /// The fields of the next CONNECT; what comes before is passed over.
    ///
    /// # Errors
    /// As [`heard`](Self::heard).
    pub async fn connect_fields(&self) -> Result<Value, ServerError> {
        loop {
            if let Heard::Connect(fields) = self.heard().await? {
                return Ok(fields);
            }
        }
    }

    /// All that the next connection does, up to its end: what it said before it went.
    ///
    /// # Errors
    /// As [`heard`](Self::heard); also if more than 1024 things come first.
    pub async fn whole_visit(&self) -> Result<Vec<Heard>, ServerError> {
        let mut visit = Vec::new();
        while visit.len() < MAX_HEARD {
            let heard = self.heard().await?;
            let ended = matches!(heard, Heard::Closed(_));
            visit.push(heard);
            if ended {
                return Ok(visit);
            }
        }
        Err(ServerError::State("the client says too much to be a visit"))
    }

    /// Sends these bytes to every client that is there, as soon as it is greeted: an `-ERR`, another
    /// INFO, a message. Answers how many there are.
    #[must_use = "nobody may be there to be told"]
    pub fn say(&self, bytes: impl Into<Vec<u8>>) -> usize {
        // An error says that there is nobody.
        self.said.send(bytes.into()).unwrap_or(0)
    }

    /// Ends each connection that is there, as a server that goes away would, and goes on listening.
    pub fn hang_up(&self) {
        self.hung_up.send_replace(());
    }
}

impl Drop for FakeNats {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for FakeNats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeNats")
            .field("address", &self.address)
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut open = JoinSet::new();
    for number in 1.. {
        let stream = loop {
            match listener.accept().await {
                Ok((stream, _)) => break stream,
                // The process has no more files, perhaps; it may have some again.
                Err(_) => sleep(Duration::from_millis(5)).await,
            }
        };
        while open.try_join_next().is_some() {}
        open.spawn(session::run(stream, number, Arc::clone(&shared)));
    }
}
