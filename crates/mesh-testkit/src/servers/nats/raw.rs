use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;

use super::message::publication;
use super::wire::{Frame, Wire, broken};
use super::{NatsServer, RawMessage};
use crate::servers::{ServerError, tls};

/// How long one step may take, unless a test says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many messages wait for a test that asked for something else.
const MAX_WAITING: usize = 10_000;

/// A client that sends whatever a test writes, well-formed or not: for attacks that a client library
/// would not carry out. It checks nothing, keeps nothing alive but the answer to the server's PING,
/// and never reconnects. Each step fails after 10 s, or after what
/// [`with_patience`](Self::with_patience) says.
pub struct RawNats {
    patience: Duration,
    wire: Wire,
    info: Value,
    waiting: VecDeque<RawMessage>,
    subscriptions: u64,
}

/// What the server said until it had handled everything that was sent before.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Settled {
    /// Each `-ERR`, without its quotes: a denied publish or subscribe is one.
    pub errors: Vec<String>,
    /// Messages that came meanwhile or waited before.
    pub messages: Vec<RawMessage>,
}

impl RawNats {
    /// Reaches a private server as its configuration wants it, TLS included, and does not log in.
    ///
    /// # Errors
    /// [`ServerError::Io`], if it is down.
    pub async fn connect(server: &NatsServer) -> Result<Self, ServerError> {
        match server.fingerprint() {
            None => Self::plain(server.address()).await,
            Some(pin) => Self::secured(server.address(), &pin, server.handshake_first()).await,
        }
    }

    /// Reaches a server without TLS, and reads its INFO line.
    ///
    /// # Errors
    /// [`ServerError::Io`], if there is none.
    pub async fn plain(address: SocketAddr) -> Result<Self, ServerError> {
        let greeted = async { Self::greeted(Wire::new(TcpStream::connect(address).await?)).await };
        within(PATIENCE, "connecting", greeted).await
    }

    /// Reaches a server over TLS, either at once or after its INFO line. It must have the certificate
    /// of this fingerprint; name, dates and issuer don't matter.
    ///
    /// # Errors
    /// [`ServerError::Io`], if there is none, or another.
    pub async fn secured(
        address: SocketAddr,
        fingerprint: &str,
        handshake_first: bool,
    ) -> Result<Self, ServerError> {
        let reached = async {
            let connector = tls::connector(fingerprint)?;
            let name = ServerName::from(address.ip());
            let stream = TcpStream::connect(address).await?;
            if handshake_first {
                return Self::greeted(Wire::new(connector.connect(name, stream).await?)).await;
            }
            let plain = Self::greeted(Wire::new(stream)).await?;
            let stream = plain.wire.into_stream()?;
            let wire = Wire::new(connector.connect(name, stream).await?);
            Ok(Self::over(wire, plain.info))
        };
        within(PATIENCE, "connecting with TLS", reached).await
    }

    /// Reads the INFO line that comes first.
    async fn greeted(mut wire: Wire) -> io::Result<Self> {
        let frame = next_frame(&mut wire).await?;
        let (verb, rest) = frame.split();
        if verb != "INFO" {
            return Err(broken(&format!("not INFO came first, but {}", frame.line)));
        }
        Ok(Self::over(wire, serde_json::from_str(rest)?))
    }

    fn over(wire: Wire, info: Value) -> Self {
        Self { patience: PATIENCE, wire, info, waiting: VecDeque::new(), subscriptions: 0 }
    }

    /// The same with another time for each step.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// What the server said of itself last.
    #[must_use]
    pub fn info(&self) -> &Value {
        &self.info
    }

    /// Logs in, and returns when the server has let this user in.
    ///
    /// # Errors
    /// [`ServerError::Answer`] with the server's reason, if it has not.
    pub async fn login(&mut self, user: &str, password: &str) -> Result<(), ServerError> {
        self.login_with(&json!({ "user": user, "pass": password })).await
    }

    /// Logs in with these fields of CONNECT; headers and 503 for nobody there are on unless they say
    /// otherwise.
    ///
    /// # Errors
    /// As [`login`](Self::login).
    pub async fn login_with(&mut self, fields: &Value) -> Result<(), ServerError> {
        let mut connect = json!({
            "verbose": false, "pedantic": false, "headers": true, "no_responders": true,
            "lang": "raw", "version": "0", "protocol": 1,
        });
        if let (Some(connect), Some(fields)) = (connect.as_object_mut(), fields.as_object()) {
            connect.extend(fields.clone());
        }
        self.send(format!("CONNECT {connect}\r\n")).await?;
        match self.settle().await?.errors.pop() {
            None => Ok(()),
            Some(reason) => Err(ServerError::Answer(reason)),
        }
    }

    /// Sends these bytes and nothing else.
    ///
    /// # Errors
    /// [`ServerError::Io`], if the connection is closed or takes nothing.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]> + Send) -> Result<(), ServerError> {
        within(self.patience, "sending", self.wire.write(bytes.as_ref())).await
    }

    /// Publishes; the server's objection, if it has one, comes with [`settle`](Self::settle).
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn publish(
        &mut self,
        subject: &str,
        reply: Option<&str>,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<(), ServerError> {
        self.send(publication(subject, reply, headers, body)).await
    }

    /// Subscribes, and answers the number that its messages have.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn subscribe(
        &mut self,
        subject: &str,
        group: Option<&str>,
    ) -> Result<u64, ServerError> {
        self.subscriptions += 1;
        let number = self.subscriptions;
        let group = group.map_or(String::new(), |group| format!("{group} "));
        self.send(format!("SUB {subject} {group}{number}\r\n")).await?;
        Ok(number)
    }

    /// Publishes with `inbox` as the reply, and answers the first message that comes there.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn request(
        &mut self,
        subject: &str,
        inbox: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<RawMessage, ServerError> {
        let number = self.subscribe(inbox, None).await?;
        self.publish(subject, Some(inbox), headers, body).await?;
        let patience = self.patience;
        let answered = async {
            loop {
                if let Some(place) =
                    self.waiting.iter().position(|message| message.subscription == number)
                {
                    return Ok(self.waiting.remove(place).unwrap_or_default());
                }
                match self.heard().await? {
                    Heard::Message(message) => self.keep(message)?,
                    Heard::Error(reason) => return Err(io::Error::other(reason)),
                    Heard::Pong => {}
                }
            }
        };
        let answer = within(patience, "waiting for an answer", answered).await?;
        self.send(format!("UNSUB {number}\r\n")).await?;
        Ok(answer)
    }

    /// The next message.
    ///
    /// # Errors
    /// [`ServerError::Io`], if the server says `-ERR` or closes, or none comes in 10 s.
    pub async fn next(&mut self) -> Result<RawMessage, ServerError> {
        if let Some(message) = self.waiting.pop_front() {
            return Ok(message);
        }
        let patience = self.patience;
        let next = async {
            loop {
                match self.heard().await? {
                    Heard::Message(message) => return Ok(message),
                    Heard::Error(reason) => return Err(io::Error::other(reason)),
                    Heard::Pong => {}
                }
            }
        };
        within(patience, "waiting for a message", next).await
    }

    /// Sends PING, and answers what came before its PONG. The server handles one client's lines in
    /// their order: what it refused of them, it has said by then, and what it delivered of them to
    /// this connection has come, JetStream aside.
    ///
    /// # Errors
    /// [`ServerError::Answer`] with the last `-ERR`, if the server then closes instead;
    /// [`ServerError::Io`], if it just closes, or says nothing for 10 s.
    pub async fn settle(&mut self) -> Result<Settled, ServerError> {
        let mut settled = Settled { messages: self.waiting.drain(..).collect(), ..<_>::default() };
        let patience = self.patience;
        let told = async {
            self.wire.write(b"PING\r\n").await?;
            loop {
                match self.heard().await? {
                    Heard::Pong => return Ok(()),
                    Heard::Error(reason) => settled.errors.push(reason),
                    Heard::Message(message) => settled.messages.push(message),
                }
                if settled.messages.len() + settled.errors.len() > MAX_WAITING {
                    return Err(broken("too much was said before a PONG"));
                }
            }
        };
        match within(patience, "waiting for a PONG", told).await {
            Ok(()) => Ok(settled),
            Err(error) => Err(settled.errors.pop().map_or(error, ServerError::Answer)),
        }
    }

    /// Sends all of these together, and answers for each what [`settle`](Self::settle) would after it
    /// alone: one round trip for many tries.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub async fn each(&mut self, acts: &[Vec<u8>]) -> Result<Vec<Settled>, ServerError> {
        let mut bytes = Vec::new();
        for act in acts {
            bytes.extend_from_slice(act);
            bytes.extend_from_slice(b"PING\r\n");
        }
        self.send(bytes).await?;
        let mut settled = Vec::new();
        let patience = self.patience;
        let told = async {
            let mut one = Settled::default();
            while settled.len() < acts.len() {
                match self.heard().await? {
                    Heard::Pong => settled.push(std::mem::take(&mut one)),
                    Heard::Error(reason) => one.errors.push(reason),
                    Heard::Message(message) => one.messages.push(message),
                }
            }
            Ok(())
        };
        within(patience, "waiting for the answers", told).await?;
        Ok(settled)
    }

    /// Reads to the end of the connection, and answers the errors that the server gave before.
    ///
    /// # Errors
    /// [`ServerError::Io`], if the server does not close within 10 s.
    pub async fn closed(&mut self) -> Result<Vec<String>, ServerError> {
        let mut errors = Vec::new();
        let patience = self.patience;
        let ended = async {
            while errors.len() < MAX_WAITING {
                match self.heard().await {
                    Ok(Heard::Error(reason)) => errors.push(reason),
                    Ok(_) => {}
                    // A reset is an end as well.
                    Err(_) => return Ok(()),
                }
            }
            Err(broken("too many errors"))
        };
        within(patience, "waiting for the end", ended).await?;
        Ok(errors)
    }

    fn keep(&mut self, message: RawMessage) -> io::Result<()> {
        if self.waiting.len() == MAX_WAITING {
            return Err(broken("too many messages that nobody asked for"));
        }
        self.waiting.push_back(message);
        Ok(())
    }

    /// The next thing that is for the test.
    async fn heard(&mut self) -> io::Result<Heard> {
        loop {
            let frame = next_frame(&mut self.wire).await?;
            let (verb, rest) = frame.split();
            match verb.as_str() {
                "MSG" | "HMSG" => return Ok(Heard::Message(RawMessage::delivered(&frame)?)),
                "-ERR" => return Ok(Heard::Error(rest.trim_matches('\'').to_owned())),
                "PONG" => return Ok(Heard::Pong),
                "PING" => self.wire.write(b"PONG\r\n").await?,
                "INFO" => self.info = serde_json::from_str(rest)?,
                "+OK" => {}
                _ => return Err(broken(&format!("no line of a server: {}", frame.line))),
            }
        }
    }
}

enum Heard {
    Message(RawMessage),
    Error(String),
    Pong,
}

async fn next_frame(wire: &mut Wire) -> io::Result<Frame> {
    let closed = || io::Error::new(io::ErrorKind::UnexpectedEof, "the server has closed");
    wire.frame().await?.ok_or_else(closed)
}

async fn within<T>(
    patience: Duration,
    doing: &str,
    step: impl Future<Output = io::Result<T>> + Send,
) -> Result<T, ServerError> {
    let done = match timeout(patience, step).await {
        Ok(done) => done,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, format!("not in {patience:?}"))),
    };
    done.map_err(ServerError::io(doing))
}

impl fmt::Debug for RawNats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawNats")
            .field("info", &self.info)
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}
