//! One attempt to open one connection to the broker.

use std::net::{Shutdown, SocketAddr};

use async_compat::Compat;
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo};
use lapin::{AsyncTcpStream, Connection, ConnectionProperties};
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_tls::{Pinned, Refusals};
use parking_lot::Mutex;
use tcp_stream::RustlsConnector;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::clipped;
use crate::{AmqpOptions, Target};

type Stream = AsyncTcpStream<Compat<TcpStream>>;

/// A connection that was opened.
pub(crate) struct Dialled {
    pub(crate) connection: Connection,
    pub(crate) plug: Plug,
    /// Resolves when the client's thread has ended, for whatever reason.
    pub(crate) ended: oneshot::Receiver<()>,
}

/// The socket below the client's own. Dropped, the connection is over at once, and with it the client's
/// thread, which otherwise waits for whatever the broker says next.
#[derive(Debug)]
pub(crate) struct Plug(std::net::TcpStream);

impl Plug {
    /// Ends the connection without a word to the broker.
    pub(crate) fn pull(&self) {
        // It may be closed already.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl Drop for Plug {
    fn drop(&mut self) {
        self.pull();
    }
}

/// Tries once to reach the broker. The client's own recovery is off: a connection that is lost stays so.
///
/// The password leaves this machine only after the broker has proven that it holds the key of a pinned
/// certificate.
///
/// # Errors
/// Of [`Operation::Connect`], about the broker's address: `Invalid` for options without sense, `Denied` for
/// another certificate or a refused log-in, `NotFound` for an unknown virtual host, `TimedOut`,
/// `Disconnected`.
pub(crate) async fn dial(
    target: &Target,
    options: &AmqpOptions,
    name: &str,
) -> Result<Dialled, TransportError> {
    let told = |kind, detail: String| {
        TransportError::new(kind, Operation::Connect).about(target.to_string()).detail(detail)
    };
    options
        .check()
        .map_err(|error| told(ErrorKind::Invalid, error.to_string()).caused_by(error))?;
    let pinned = mesh_tls::client_config(target.pinned())
        .map_err(|error| told(ErrorKind::Unsupported, error.to_string()).caused_by(error))?;
    let refusals = pinned.refusals.clone();
    let opening = async {
        let (stream, plug) = reach(target, pinned).await?;
        let (connection, ended) = log_in(target, options, name, stream).await?;
        Ok(Dialled { connection, plug, ended })
    };
    let opened = timeout(options.connect_timeout, opening).await.unwrap_or(Err(Failure::TimedOut));
    opened.map_err(|failure| failure.told(target, options, &refusals))
}

/// Why an attempt came to nothing.
#[derive(Debug)]
enum Failure {
    Name(std::io::Error),
    Reach(std::io::Error),
    Tls(std::io::Error),
    Client(lapin::Error),
    TimedOut,
}

impl Failure {
    fn told(self, target: &Target, options: &AmqpOptions, refusals: &Refusals) -> TransportError {
        let told = |kind, detail: String| {
            TransportError::new(kind, Operation::Connect).about(target.to_string()).detail(detail)
        };
        if let Some(refusal) = refusals.last() {
            return told(ErrorKind::Denied, refusal.to_string()).caused_by(refusal);
        }
        match self {
            Self::Name(error) => {
                let detail = format!("the name can't be looked up: {error}");
                told(ErrorKind::Disconnected, detail).caused_by(error)
            }
            Self::Reach(error) => told(ErrorKind::Disconnected, error.to_string()).caused_by(error),
            Self::Tls(error) => {
                let detail =
                    format!("no TLS: {}; the log-in was not sent", clipped(&error.to_string()));
                told(ErrorKind::Denied, detail).caused_by(error)
            }
            Self::TimedOut => {
                let waited = options.connect_timeout;
                let detail = if refusals.presented().is_some() {
                    format!("the broker proved itself, but didn't let us in within {waited:?}")
                } else {
                    format!("nothing came from the broker within {waited:?}")
                };
                told(ErrorKind::TimedOut, detail)
            }
            Self::Client(error) => refused(target, &error),
        }
    }
}

/// What the broker said to the log-in.
fn refused(target: &Target, error: &lapin::Error) -> TransportError {
    crate::error::failed(error, Operation::Connect).about(target.to_string())
}

/// Opens the socket and shakes hands.
async fn reach(target: &Target, pinned: Pinned) -> Result<(Stream, Plug), Failure> {
    let host = target.host().to_string();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<SocketAddr> = match target.host().address() {
        Some(address) => vec![(address, target.port()).into()],
        None => {
            let found = tokio::net::lookup_host((host, target.port())).await;
            found.map_err(Failure::Name)?.collect()
        }
    };
    let stream = TcpStream::connect(addresses.as_slice()).await.map_err(Failure::Reach)?;
    stream.set_nodelay(true).map_err(Failure::Reach)?;
    let stream = stream.into_std().map_err(Failure::Reach)?;
    let plug = Plug(stream.try_clone().map_err(Failure::Reach)?);
    let stream = TcpStream::from_std(stream).map_err(Failure::Reach)?;
    let connector = RustlsConnector::from(pinned.config);
    let stream = AsyncTcpStream::Plain(Compat::new(stream));
    let stream = stream.into_rustls(&connector, host).await.map_err(Failure::Tls)?;
    Ok((stream, plug))
}

/// Logs in on `stream` and opens the virtual host.
async fn log_in(
    target: &Target,
    options: &AmqpOptions,
    name: &str,
    stream: Stream,
) -> Result<(Connection, oneshot::Receiver<()>), Failure> {
    let uri = AMQPUri {
        scheme: AMQPScheme::AMQPS,
        authority: AMQPAuthority {
            userinfo: AMQPUserInfo {
                username: target.login().user().to_owned(),
                password: target.login().password().expose().to_owned(),
            },
            host: target.host().to_string(),
            port: target.port(),
        },
        vhost: target.vhost().as_str().to_owned(),
        query: AMQPQueryString { heartbeat: options.heartbeat_seconds(), ..Default::default() },
    };
    let runtime = lapin::runtime::default_runtime().map_err(Failure::Client)?;
    let properties = ConnectionProperties::default().with_connection_name(name.into());
    let stream = Mutex::new(Some(stream));
    let (alive, ended) = oneshot::channel::<()>();
    // The client keeps the closure, and drops it when its thread ends.
    let handing = async move |_uri: AMQPUri, _runtime: _| {
        let _ = &alive;
        stream.lock().take().ok_or_else(|| {
            let once = std::io::Error::other("a connection is made once");
            lapin::Error::from(once)
        })
    };
    let connection =
        Connection::connector(uri, runtime, handing, properties).await.map_err(Failure::Client)?;
    Ok((connection, ended))
}
