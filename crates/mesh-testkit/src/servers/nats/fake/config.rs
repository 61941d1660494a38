use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::servers::Certificate;

/// What a [`FakeNats`](super::FakeNats) says and does.
#[derive(Clone, Debug)]
pub struct FakeConfig {
    pub(super) certificate: Option<Certificate>,
    pub(super) handshake_first: bool,
    pub(super) refusal: Option<String>,
    pub(super) pongs: u32,
    info: Value,
}

impl FakeConfig {
    /// A server of a version that serves a mesh, without TLS, that lets everybody in.
    #[must_use]
    pub fn new() -> Self {
        let info = json!({
            "server_id": "FAKE", "server_name": "fake", "version": "2.15.1", "go": "go1",
            "proto": 1, "headers": true, "max_payload": 1_048_576, "jetstream": true,
        });
        Self { certificate: None, handshake_first: false, refusal: None, pongs: u32::MAX, info }
    }

    /// The version that it claims.
    #[must_use]
    pub fn version(self, version: &str) -> Self {
        self.info("version", version)
    }

    /// Another field of INFO, or another value for one; `null` leaves it out.
    #[must_use]
    pub fn info(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        if let Some(fields) = self.info.as_object_mut() {
            if value.is_null() {
                fields.remove(name);
            } else {
                fields.insert(name.to_owned(), value);
            }
        }
        self
    }

    /// Shows this certificate after INFO, whether the key belongs to it or not. Unless
    /// [`info`](Self::info) says otherwise, INFO demands TLS.
    #[must_use]
    pub fn tls(mut self, certificate: Certificate) -> Self {
        self.certificate = Some(certificate);
        self.info("tls_required", true)
    }

    /// The handshake comes before INFO. Counts with [`tls`](Self::tls) only.
    #[must_use]
    pub fn handshake_first(mut self) -> Self {
        self.handshake_first = true;
        self
    }

    /// Answers CONNECT with `-ERR '<reason>'` and closes. A real server says
    /// `Authorization Violation`.
    #[must_use]
    pub fn refuse(mut self, reason: &str) -> Self {
        self.refusal = Some(reason.to_owned());
        self
    }

    /// Answers so many PINGs of a connection, and no more. A client's first goes with its CONNECT, so
    /// with 0 nobody's log-in is answered.
    #[must_use]
    pub fn pongs(mut self, most: u32) -> Self {
        self.pongs = most;
        self
    }

    /// The line that greets a client.
    pub(super) fn greeting(&self, address: SocketAddr) -> String {
        let mut info = self.info.clone();
        if let Some(fields) = info.as_object_mut() {
            fields.entry("host").or_insert_with(|| address.ip().to_string().into());
            fields.entry("port").or_insert_with(|| address.port().into());
        }
        format!("INFO {info}\r\n")
    }
}

impl Default for FakeConfig {
    fn default() -> Self {
        Self::new()
    }
}
