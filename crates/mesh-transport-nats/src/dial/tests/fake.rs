//! A server that greets, shakes hands and answers as it is told, and writes down what it hears.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mesh_core::credential::{Credential, Fingerprint};
use parking_lot::Mutex;
use rcgen::{Certificate, CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring::{default_provider, sign::any_supported_type};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::super::EventSink;
use crate::Target;

/// The first byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// When the server begins with TLS.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tls {
    Never,
    AfterGreeting,
    First,
}

/// What the server does.
#[derive(Clone)]
pub(super) struct Script {
    pub tls: Tls,
    /// It presents the certificate with another's key.
    pub stolen: bool,
    pub version: &'static str,
    /// To CONNECT and PING; `None` is silence.
    pub answer: Option<&'static str>,
}

impl Default for Script {
    fn default() -> Self {
        Self { tls: Tls::AfterGreeting, stolen: false, version: "2.12.6", answer: Some("PONG\r\n") }
    }
}

#[derive(Default)]
struct Log {
    accepted: AtomicUsize,
    ended: watch::Sender<usize>,
    wire: Mutex<Vec<u8>>,
    said: Mutex<String>,
}

/// Gone when it is dropped.
pub(super) struct Fake {
    pub address: SocketAddr,
    pub pin: Fingerprint,
    log: Arc<Log>,
    hang_up: watch::Sender<bool>,
    accepting: AbortHandle,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.accepting.abort();
        self.hang_up();
    }
}

/// Presents a certificate with whatever key: rustls' own builder would refuse a wrong one.
#[derive(Debug)]
struct Presents(Arc<CertifiedKey>);

impl ResolvesServerCert for Presents {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

fn identity(stolen: bool) -> (Certificate, Arc<ServerConfig>) {
    let mut key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["elsewhere.example".into()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    if stolen {
        key = KeyPair::generate().unwrap();
    }
    let key = any_supported_type(&PrivatePkcs8KeyDer::from(key.serialize_der()).into()).unwrap();
    let presented = CertifiedKey::new(vec![certificate.der().clone()], key);
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Presents(Arc::new(presented))));
    (certificate, Arc::new(config))
}

impl Fake {
    pub(super) async fn start(script: Script) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let (certificate, config) = identity(script.stolen);
        let log = Arc::new(Log::default());
        let hang_up = watch::Sender::new(false);
        let (address, heard, gone) =
            (listener.local_addr().unwrap(), Arc::clone(&log), hang_up.subscribe());
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                heard.accepted.fetch_add(1, Ordering::SeqCst);
                let session = session(stream, script.clone(), config.clone(), heard.clone());
                let (mut gone, heard) = (gone.clone(), Arc::clone(&heard));
                tokio::spawn(async move {
                    tokio::select! {
                        _ = session => {}
                        _ = gone.wait_for(|gone| *gone) => {}
                    }
                    heard.ended.send_modify(|ended| *ended += 1);
                });
            }
        });
        Self {
            address,
            pin: Fingerprint::from_bytes(Sha256::digest(certificate.der()).into()),
            log,
            hang_up,
            accepting: accepting.abort_handle(),
        }
    }

    /// Ends each connection, and goes on listening.
    pub(super) fn hang_up(&self) {
        self.hang_up.send_replace(true);
    }

    /// How many connections there were.
    pub(super) fn accepted(&self) -> usize {
        self.log.accepted.load(Ordering::SeqCst)
    }

    /// Waits until that many connections have ended, from either side.
    pub(super) async fn ended(&self, connections: usize) {
        let mut ended = self.log.ended.subscribe();
        let wanted = ended.wait_for(|ended| *ended == connections);
        timeout(Duration::from_secs(30), wanted).await.unwrap().unwrap();
    }

    /// Each byte as it came, without TLS or the beginning of its handshake.
    pub(super) fn wire(&self) -> Vec<u8> {
        self.log.wire.lock().clone()
    }

    /// What came as the protocol's text, decrypted where there is TLS.
    pub(super) fn said(&self) -> String {
        self.log.said.lock().clone()
    }

    /// What was sent in CONNECT.
    pub(super) fn connect(&self) -> serde_json::Value {
        let said = self.said();
        let line = said.lines().find_map(|line| line.strip_prefix("CONNECT ")).unwrap();
        serde_json::from_str(line).unwrap()
    }

    /// This server, for a user and password still percent-encoded, trusted for `pin`.
    pub(super) fn target(&self, userinfo: &str, pin: &Fingerprint) -> Target {
        target(&self.address.to_string(), userinfo, pin)
    }
}

/// The server at `address`.
pub(super) fn target(address: &str, userinfo: &str, pin: &Fingerprint) -> Target {
    let document = serde_json::json!({
        "url": format!("tls://{userinfo}@{address}"), "fingerprint": pin.to_string(),
        "node": "n1", "module": "mail",
    });
    Target::of(&Credential::parse(document.to_string()).unwrap()).unwrap()
}

async fn session(
    mut stream: TcpStream,
    script: Script,
    tls: Arc<ServerConfig>,
    log: Arc<Log>,
) -> std::io::Result<()> {
    let info = format!(
        "INFO {}\r\n",
        serde_json::json!({
            "server_id": "ID", "server_name": "fake", "version": script.version, "cluster": "c",
            "max_payload": 1234, "headers": true, "proto": 1, "auth_required": true,
            "tls_required": script.tls != Tls::Never,
            "connect_urls": ["192.0.2.1:4222"],
        })
    );
    if script.tls != Tls::First {
        stream.write_all(info.as_bytes()).await?;
    }
    if script.tls == Tls::Never {
        return converse(stream, &script, &log).await;
    }
    let mut first = [0; 4096];
    let length = stream.peek(&mut first).await?;
    log.wire.lock().extend_from_slice(&first[..length]);
    let mut stream = TlsAcceptor::from(tls).accept(stream).await?;
    if script.tls == Tls::First {
        stream.write_all(info.as_bytes()).await?;
    }
    converse(stream, &script, &log).await
}

async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    script: &Script,
    log: &Log,
) -> std::io::Result<()> {
    let mut bytes = [0; 4096];
    let mut answered = false;
    loop {
        let length = stream.read(&mut bytes).await?;
        if length == 0 {
            return Ok(());
        }
        if script.tls == Tls::Never {
            log.wire.lock().extend_from_slice(&bytes[..length]);
            // As nats-server does with what it can't read.
            if bytes[0] == TLS_HANDSHAKE && script.answer.is_some() {
                return stream.write_all(b"-ERR 'Unknown Protocol Operation'\r\n").await;
            }
        }
        log.said.lock().push_str(&String::from_utf8_lossy(&bytes[..length]));
        let asked = log.said.lock().contains("PING\r\n");
        if let (false, true, Some(answer)) = (answered, asked, script.answer) {
            answered = true;
            stream.write_all(answer.as_bytes()).await?;
            if answer.starts_with("-ERR") {
                stream.shutdown().await?;
                return Ok(());
            }
        }
    }
}

/// Hears the client's events; the stream of them ends with the client's task.
pub(super) fn listening() -> (EventSink, mpsc::UnboundedReceiver<async_nats::Event>) {
    let (sender, events) = mpsc::unbounded_channel();
    (Arc::new(move |event| drop(sender.send(event))), events)
}
