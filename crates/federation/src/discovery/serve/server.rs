use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use mesh_core::port::Clock;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::tls::{self, Certificate};
use super::{ServeError, TlsFiles};

/// The limits of an [`HttpsServer`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Connections at once; more wait until one ends. 256 unless told.
    pub connections: usize,
    /// How long a handshake may take. 5 s unless told.
    pub handshake_timeout: Duration,
    /// How long the head of a request may take, and how long a connection may be idle between two. 10 s
    /// unless told.
    pub head_timeout: Duration,
    /// How long a connection lasts at most. 5 min unless told: so that nobody keeps one for ever.
    pub connection_lifetime: Duration,
    /// How often the files are looked at for a new certificate. 60 s unless told.
    pub reload_every: Duration,
    /// How long [`close`](HttpsServer::close) lets requests under way take. 5 s unless told.
    pub grace: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connections: 256,
            handshake_timeout: seconds(5),
            head_timeout: seconds(10),
            connection_lifetime: seconds(300),
            reload_every: seconds(60),
            grace: seconds(5),
        }
    }
}

/// Serves [`routes`](super::routes), or any others, over HTTPS: HTTP/1.1, TLS 1.2 and 1.3, a certificate from
/// files that is renewed when they are. For a realm that has no web server of its own.
///
/// Dropped, it ends at once, and whatever is under way with it.
///
/// ```
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// use mesh_core::name::RealmName;
/// use mesh_federation::discovery::{
///     Document, HttpsServer, Published, RoutesOptions, ServerOptions, TlsFiles, inbox, routes,
/// };
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let made = rcgen::generate_simple_self_signed(["acme.com".to_owned()])?;
/// # let folder = tempfile::tempdir()?;
/// # let files = TlsFiles { certificate: folder.path().join("c"), key: folder.path().join("k") };
/// # std::fs::write(&files.certificate, made.cert.pem())?;
/// # std::fs::write(&files.key, made.signing_key.serialize_pem())?;
/// // In earnest the inlet is the gateway's: `EdgeGateway::inlet`.
/// let (inlet, _envelopes) = inbox(64);
/// let document = Document::new(RealmName::new("acme.com")?).with_endpoint("https://acme.com/mx/1/in");
/// let shown = Published::new(&document);
///
/// let router = routes(shown, Some(Arc::new(inlet)), &RoutesOptions::default());
/// let clock = Arc::new(mesh_clock::SystemClock::new());
/// let address = "127.0.0.1:0".parse()?;
/// let server = HttpsServer::bind(address, files, router, ServerOptions::default(), clock).await?;
/// assert_ne!(server.local_addr().port(), 0);
/// server.close().await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct HttpsServer {
    address: SocketAddr,
    certificate: Arc<Certificate>,
    closing: watch::Sender<bool>,
    grace: Duration,
    accepting: JoinHandle<()>,
    renewing: JoinHandle<()>,
}

impl HttpsServer {
    /// Listens at `address`; returns once connections are taken.
    ///
    /// # Errors
    /// [`ServeError`].
    pub async fn bind(
        address: SocketAddr,
        files: TlsFiles,
        router: Router,
        options: ServerOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ServeError> {
        let certificate = Arc::new(Certificate::load(files)?);
        let acceptor = TlsAcceptor::from(Arc::new(tls::config(Arc::clone(&certificate))?));
        let listener = TcpListener::bind(address).await.map_err(ServeError::Listen)?;
        let address = listener.local_addr().map_err(ServeError::Listen)?;
        let (closing, closed) = watch::channel(false);
        let renewing = tokio::spawn(renew(Arc::clone(&certificate), options.reload_every, clock));
        let grace = options.grace;
        let serving = Serving { acceptor, router, options, closed };
        let accepting = tokio::spawn(serving.accept(listener));
        Ok(Self { address, certificate, closing, grace, accepting, renewing })
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Looks at the files now, and tells whether there was a new certificate in them.
    ///
    /// # Errors
    /// [`ServeError`]: the certificate that is in use stays.
    pub fn reload(&self) -> Result<bool, ServeError> {
        self.certificate.reload()
    }

    /// Takes no more connections, lets what is under way end for [`grace`](ServerOptions::grace), then ends
    /// it.
    pub async fn close(mut self) {
        self.closing.send_replace(true);
        if timeout(self.grace, &mut self.accepting).await.is_err() {
            self.accepting.abort();
            let _ = (&mut self.accepting).await;
        }
    }
}

impl Drop for HttpsServer {
    fn drop(&mut self) {
        self.accepting.abort();
        self.renewing.abort();
    }
}

async fn renew(certificate: Arc<Certificate>, every: Duration, clock: Arc<dyn Clock>) {
    loop {
        clock.sleep(every).await;
        match certificate.reload() {
            Ok(true) => tracing::info!("a new certificate is in use"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "the certificate in use stays"),
        }
    }
}

#[derive(Clone)]
struct Serving {
    acceptor: TlsAcceptor,
    router: Router,
    options: ServerOptions,
    closed: watch::Receiver<bool>,
}

impl Serving {
    /// Until the server closes; then until the connections have ended. Aborted, it takes them along.
    async fn accept(mut self, listener: TcpListener) {
        let room = Arc::new(Semaphore::new(self.options.connections));
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                _ = self.closed.wait_for(|closed| *closed) => break,
                Some(_) = connections.join_next() => continue,
                accepted = next(&listener, Arc::clone(&room)) => accepted,
            };
            match accepted {
                Ok((stream, place)) => {
                    connections.spawn(self.clone().serve(stream, place));
                }
                // Too many open files, or a connection that was gone before it was taken.
                Err(error) => {
                    tracing::debug!(%error, "a connection was not taken");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }

    async fn serve(mut self, stream: TcpStream, _place: OwnedSemaphorePermit) {
        let handshake = timeout(self.options.handshake_timeout, self.acceptor.accept(stream));
        let Ok(Ok(stream)) = handshake.await else {
            return;
        };
        let service = TowerToHyperService::new(self.router);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.options.head_timeout)
            .max_headers(64)
            .max_header_size(16 * 1024)
            .max_buf_size(64 * 1024)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let over = async {
            let closed = self.closed.wait_for(|closed| *closed);
            let _ = timeout(self.options.connection_lifetime, closed).await;
        };
        tokio::select! {
            _ = &mut connection => return,
            () = over => connection.as_mut().graceful_shutdown(),
        }
        let _ = timeout(self.options.grace, connection).await;
    }
}

/// The next connection, once there is room for it.
async fn next(
    listener: &TcpListener,
    room: Arc<Semaphore>,
) -> std::io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = room.acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}
