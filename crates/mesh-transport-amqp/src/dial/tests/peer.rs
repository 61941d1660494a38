//! A peer that plays the beginning of a broker, and notes what it hears.

use std::net::SocketAddr;
use std::sync::Arc;

use mesh_testkit::servers::Certificate;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

use crate::testing::come;

/// What it plays.
#[derive(Debug, Clone)]
pub(super) enum Play {
    /// Says nothing, without TLS.
    Plain,
    /// Answers with words that are not TLS.
    Words(&'static [u8]),
    /// Shakes hands, and says nothing more.
    Secured(Certificate),
    /// Shakes hands, and answers the first words with these.
    Says(Certificate, &'static [u8]),
}

/// See the module.
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    visits: mpsc::UnboundedReceiver<Vec<u8>>,
}

impl Peer {
    pub(super) async fn start(play: Play) -> Self {
        Self::start_at("127.0.0.1:0", play).await
    }

    pub(super) async fn start_at(address: &str, play: Play) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (noted, visits) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let heard = match &play {
                    Play::Plain => hear(stream, None).await,
                    Play::Words(words) => hear(stream, Some(words)).await,
                    Play::Secured(shown) => match acceptor(shown).accept(stream).await {
                        Ok(stream) => hear(stream, None).await,
                        Err(_) => Vec::new(),
                    },
                    Play::Says(shown, words) => match acceptor(shown).accept(stream).await {
                        Ok(stream) => hear(stream, Some(words)).await,
                        Err(_) => Vec::new(),
                    },
                };
                if noted.send(heard).is_err() {
                    return;
                }
            }
        });
        Self { address, visits }
    }

    /// All that the next visitor said until it left; nothing if there was no handshake.
    pub(super) async fn visit(&mut self) -> Vec<u8> {
        come(self.visits.recv()).await.unwrap()
    }
}

/// All that is said until the other side leaves; the first of it is answered.
async fn hear(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    mut words: Option<&[u8]>,
) -> Vec<u8> {
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    // Who leaves without a goodbye has left.
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        heard.extend_from_slice(&buffer[..count]);
        if let Some(words) = words.take() {
            let _ = stream.write_all(words).await;
            let _ = stream.flush().await;
        }
    }
    heard
}

/// Shows this certificate and signs with this key, whether they belong together or not.
fn acceptor(pair: &Certificate) -> TlsAcceptor {
    let provider = Arc::new(ring::default_provider());
    let key = PrivateKeyDer::from_pem_slice(pair.key_pem().as_bytes()).unwrap();
    let key = provider.key_provider.load_private_key(key).unwrap();
    let shown = CertifiedKey::new(vec![pair.der().to_vec().into()], key);
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Always(Arc::new(shown))));
    TlsAcceptor::from(Arc::new(config))
}

#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesServerCert for Always {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}
