//! As much AMQP 0-9-1 as it takes to see who is let in and what is allowed.

use std::net::SocketAddr;
use std::sync::Arc;

use mesh_testkit::expect::expect_soon;
use mesh_testkit::servers::Certificate;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// `capabilities: { authentication_failure_close: true }`, so that a refusal says why.
const PROPERTIES: &[u8] = b"\x0ccapabilitiesF\x00\x00\x00\x1f\x1cauthentication_failure_closet\x01";

/// A connection that was let in.
pub struct Amqp {
    stream: TlsStream<TcpStream>,
    channel: u16,
}

type Method = (u16, u16, Vec<u8>);

impl Amqp {
    /// Shakes hands with who has this certificate and its key, and logs in; or the code that refuses.
    pub async fn login(
        address: SocketAddr,
        certificate: &Certificate,
        (user, password): (&str, &str),
        vhost: &str,
    ) -> Result<Self, u16> {
        expect_soon("a login", Self::enter(address, certificate, user, password, vhost)).await
    }

    async fn enter(
        address: SocketAddr,
        certificate: &Certificate,
        user: &str,
        password: &str,
        vhost: &str,
    ) -> Result<Self, u16> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().to_vec().into()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::from(address.ip());
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        let mut client = Self { stream, channel: 0 };
        client.stream.write_all(b"AMQP\x00\x00\x09\x01").await.unwrap();
        let start = client.answer().await;
        assert_eq!((start.0, start.1), (10, 10));
        let response = format!("\0{user}\0{password}");
        let mut start = long(PROPERTIES);
        start.extend([short("PLAIN"), long(response.as_bytes()), short("en_US")].concat());
        client.send(0, 10, 11, &start).await;
        match client.answer().await {
            // Takes all limits, and no heartbeat.
            (10, 30, limits) => {
                client.send(0, 10, 31, &[&limits[..6], &[0, 0]].concat()).await;
            }
            closed => return Err(code(&closed)),
        }
        client.send(0, 10, 40, &[short(vhost), vec![0, 0]].concat()).await;
        match client.answer().await {
            (10, 41, _) => Ok(client),
            closed => Err(code(&closed)),
        }
    }

    /// Declares a durable queue on a channel of its own, or only asks whether it is there; or the code
    /// that closes the channel.
    pub async fn declare(&mut self, queue: &str, passive: bool) -> Result<(), u16> {
        self.channel += 1;
        let channel = self.channel;
        self.send(channel, 20, 10, &[0]).await;
        let opened = self.answer().await;
        assert_eq!((opened.0, opened.1), (20, 11));
        let flags = if passive { 0b11 } else { 0b10 };
        let declare = [vec![0, 0], short(queue), vec![flags, 0, 0, 0, 0]].concat();
        self.send(channel, 50, 10, &declare).await;
        match self.answer().await {
            (50, 11, _) => Ok(()),
            closed => {
                self.send(channel, 20, 41, &[]).await;
                Err(code(&closed))
            }
        }
    }

    /// The code with which the node closes this connection.
    pub async fn closed(&mut self) -> u16 {
        code(&self.answer().await)
    }

    async fn send(&mut self, channel: u16, class: u16, method: u16, arguments: &[u8]) {
        let length = u32::try_from(arguments.len() + 4).unwrap();
        let mut frame = vec![1];
        frame.extend(channel.to_be_bytes());
        frame.extend(length.to_be_bytes());
        frame.extend([class.to_be_bytes(), method.to_be_bytes()].concat());
        frame.extend(arguments);
        frame.push(0xce);
        self.stream.write_all(&frame).await.unwrap();
    }

    async fn answer(&mut self) -> Method {
        expect_soon("a frame", async {
            let mut head = [0; 7];
            self.stream.read_exact(&mut head).await.unwrap();
            let length = u32::from_be_bytes(head[3..].try_into().unwrap());
            let mut body = vec![0; usize::try_from(length).unwrap() + 1];
            self.stream.read_exact(&mut body).await.unwrap();
            assert_eq!((head[0], body.pop()), (1, Some(0xce)));
            let number = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
            (number(0), number(2), body[4..].to_vec())
        })
        .await
    }
}

/// What a close of a connection or of a channel says.
fn code((class, method, arguments): &Method) -> u16 {
    assert!(matches!((class, method), (10, 50) | (20, 40)), "{class} {method}");
    u16::from_be_bytes([arguments[0], arguments[1]])
}

fn short(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

fn long(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
}
