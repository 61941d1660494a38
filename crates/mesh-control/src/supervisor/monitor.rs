//! What a nats-server tells of itself on its monitoring port.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::folder::Digest;

/// How long one question may take, unless told.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer that is read.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// A nats-server's monitoring port: plain HTTP, which only loopback is meant to reach.
///
/// ```no_run
/// # async fn run() -> Result<(), mesh_control::supervisor::MonitorError> {
/// use mesh_control::supervisor::Monitor;
///
/// let monitor = Monitor::at(([127, 0, 0, 1], 8222).into());
/// let varz = monitor.varz().await?;
/// println!("{} runs with {:?}", varz.server_name, varz.config_digest);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monitor {
    address: SocketAddr,
    patience: Duration,
}

/// Why a monitoring port gave no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MonitorError {
    /// It can't be reached, or not in time.
    #[error("asking the nats-server at {address} for {path}: {source}")]
    Unreachable {
        /// Where it was looked for.
        address: SocketAddr,
        /// What it was asked.
        path: String,
        /// Why it failed.
        source: io::Error,
    },

    /// It answers something else.
    #[error("the answer of {address} to {path}: {problem}")]
    Answer {
        /// Who answered.
        address: SocketAddr,
        /// What it was asked.
        path: String,
        /// What is wrong with the answer.
        problem: String,
    },
}

/// What of `/varz` a supervisor and a status need.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Varz {
    /// Who it is: another at each start.
    pub server_id: String,
    /// Its name.
    pub server_name: String,
    /// Which nats-server it is.
    pub version: String,
    /// When it started, in RFC 3339.
    pub start: String,
    /// Since when it runs, as the server says it: `1d2h3m4s`.
    pub uptime: String,
    /// When it has read its file, in RFC 3339: later than before after each reload.
    pub config_load_time: String,
    /// Of what it has read there.
    #[serde(default)]
    pub config_digest: Option<Digest>,
    /// How many clients are connected.
    pub connections: u64,
}

impl Monitor {
    /// The one at this address.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        Self { address, patience: PATIENCE }
    }

    /// The same, with another time than 10 s for each question.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server's variables.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn varz(&self) -> Result<Varz, MonitorError> {
        self.get("/varz").await
    }

    /// What is answered to `GET path`, with a query if one is wanted: `/jsz?accounts=true`.
    ///
    /// # Errors
    /// [`MonitorError::Unreachable`], [`MonitorError::Answer`].
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, MonitorError> {
        let answer = timeout(self.patience, self.ask(path)).await;
        let late =
            || io::Error::new(io::ErrorKind::TimedOut, format!("not in {:?}", self.patience));
        let unreachable = |source| MonitorError::Unreachable {
            address: self.address,
            path: path.to_owned(),
            source,
        };
        let (status, body) = answer.unwrap_or_else(|_| Err(late())).map_err(unreachable)?;
        let wrong = |problem| MonitorError::Answer {
            address: self.address,
            path: path.to_owned(),
            problem,
        };
        if status != StatusCode::OK {
            return Err(wrong(status.to_string()));
        }
        serde_json::from_slice(&body).map_err(|error| wrong(error.to_string()))
    }

    async fn ask(&self, path: &str) -> io::Result<(StatusCode, Bytes)> {
        let stream = TokioIo::new(TcpStream::connect(self.address).await?);
        let (mut sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
        let request = Request::get(path)
            .header(HOST, self.address.to_string())
            .body(Empty::<Bytes>::new())
            .map_err(io::Error::other)?;
        let answered = async {
            let answer = sender.send_request(request).await.map_err(io::Error::other)?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
            Ok((status, body.map_err(io::Error::other)?.to_bytes()))
        };
        // The connection does the work of both; when the answer is there, it is dropped.
        let mut connection = std::pin::pin!(connection);
        let mut answered = std::pin::pin!(answered);
        tokio::select! {
            answer = &mut answered => answer,
            ended = &mut connection => {
                ended.map_err(io::Error::other)?;
                answered.await
            }
        }
    }
}
