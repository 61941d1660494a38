//! A server that greets, shakes hands and answers as it is told, and writes down what it hears.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mesh_core::credential::{Credential, Fingerprint};
use parking_lot::Mutex;
use rcgen::{Certificate, CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::PrivatePkcs8KeyDer;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

use super::super::EventSink;
use crate::Target;

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
    pub version: &'static str,
    /// To CONNECT and PING; `None` is silence.
    pub answer: Option<&'static str>,
}

impl Default for Script {
    fn default() -> Self {
        Self { tls: Tls::AfterGreeting, version: "2.12.6", answer: Some("PONG\r\n") }
    }
}

#[derive(Default)]
struct Log {
    accepted: AtomicUsize,
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

fn identity() -> (Certificate, Arc<ServerConfig>) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["elsewhere.example".into()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    (certificate, Arc::new(config))
}

impl Fake {
    pub(super) async fn start(script: Script) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let (certificate, config) = identity();
        let log = Arc::new(Log::default());
        let hang_up = watch::Sender::new(false);
        let (address, heard, gone) =
            (listener.local_addr().unwrap(), Arc::clone(&log), hang_up.subscribe());
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                heard.accepted.fetch_add(1, Ordering::SeqCst);
                let session = session(stream, script.clone(), config.clone(), heard.clone());
                let mut gone = gone.clone();
                tokio::spawn(async move {
                    tokio::select! {
                        _ = session => {}
                        _ = gone.wait_for(|gone| *gone) => {}
                    }
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

    /// Each byte that came before TLS, handshakes included.
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

    /// A credential for `user` (still percent-encoded, with its password) that pins `pin`.
    pub(super) fn target(&self, userinfo: &str, pin: &Fingerprint) -> Target {
        let url = format!("tls://{userinfo}@{}", self.address);
        let document = format!(
            r#"{{"url": "{url}", "fingerprint": "{pin}", "node": "n1", "module": "mail"}}"#
        );
        Target::of(&Credential::parse(document).unwrap()).unwrap()
    }
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
