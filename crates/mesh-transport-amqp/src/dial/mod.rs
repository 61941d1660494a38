//! One attempt to open one connection to the broker.

mod failure;
mod legible;
mod outlet;
mod sift;
#[cfg(test)]
mod tests;

use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;

use async_compat::Compat;
use async_rs::util::RuntimeParts;
use async_rs::{Runtime, Tokio};
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo};
use lapin::{AsyncTcpStream, Connection, ConnectionProperties};
use mesh_core::port::TransportError;
use mesh_tls::{Pinned, Refusals};
use parking_lot::Mutex;
use tcp_stream::RustlsConnector;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::publish::Returned;
use crate::{AmqpOptions, Target};

use failure::{Attempt, Failure};
use sift::{Sift, Sifting};

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
/// certificate. Of a connection that only publishes, what comes back is noted in `returned`.
///
/// # Errors
/// Of [`Operation::Connect`](mesh_core::port::Operation::Connect), about the broker's address: `Invalid` for options without sense, `Denied` for
/// another certificate or a refused log-in, `NotFound` for an unknown virtual host, `TimedOut`,
/// `Disconnected`.
pub(crate) async fn dial(
    target: &Target,
    options: &AmqpOptions,
    name: &str,
    returned: Option<Arc<Returned>>,
) -> Result<Dialled, TransportError> {
    let attempt = Attempt { target, options, refusals: Refusals::default() };
    options.check().map_err(|error| attempt.failed(Failure::Options(error)))?;
    let pinned = mesh_tls::client_config(target.pinned());
    let pinned = pinned.map_err(|error| attempt.failed(Failure::Crypto(error)))?;
    let attempt = Attempt { refusals: pinned.refusals.clone(), ..attempt };
    let opening = async {
        let (stream, plug) = reach(target, pinned).await?;
        let stream = Sift::new(stream, returned);
        let (connection, ended) = log_in(target, options, name, stream).await?;
        Ok(Dialled { connection, plug, ended })
    };
    let opened = timeout(options.connect_timeout, opening).await.unwrap_or(Err(Failure::TimedOut));
    opened.map_err(|failure| attempt.failed(failure))
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
    stream: Sift<Stream>,
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
    let tokio = Tokio::current();
    let runtime = Runtime::new(RuntimeParts::new(tokio.clone(), Sifting(tokio)));
    let properties = ConnectionProperties::default().with_connection_name(name.into());
    let stream = Mutex::new(Some(stream));
    let (alive, ended) = oneshot::channel::<()>();
    // The client keeps the closure on its thread, and drops it when that ends.
    let handing = async move |_uri: AMQPUri, _runtime: _| {
        let _ = &alive;
        hush();
        stream.lock().take().map(AsyncTcpStream::Plain).ok_or_else(|| {
            let once = std::io::Error::other("a connection is made once");
            lapin::Error::from(once)
        })
    };
    let connection =
        Connection::connector(uri, runtime, handing, properties).await.map_err(Failure::Client)?;
    Ok((connection, ended))
}

/// Keeps the client's thread, which this runs on, from logging: it logs whole messages that came back, and
/// bodies may be secret. What it has to say comes as errors and events.
fn hush() {
    let nobody = tracing::dispatcher::set_default(&tracing::Dispatch::none());
    // It is for as long as the thread lives.
    std::mem::forget(nobody);
}
