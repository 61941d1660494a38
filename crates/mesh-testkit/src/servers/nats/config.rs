use std::fmt::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Place;
use crate::servers::Certificate;

/// When the server expects the TLS handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HandshakeFirst {
    /// After its INFO line, as clients expect by default.
    #[default]
    No,
    /// Before anything else.
    Yes,
    /// First, unless the client stays silent for so long.
    Within(Duration),
}

type Compose = Arc<dyn Fn(&Place) -> String + Send + Sync>;

/// What a server is to run with. Ports, folder and monitoring are the harness's; without more it is a
/// plain server that lets everybody do everything, and stores nothing.
#[derive(Clone, Default)]
pub struct NatsConfig {
    certificate: Option<Certificate>,
    handshake_first: HandshakeFirst,
    jetstream: bool,
    lenient: bool,
    max_payload: Option<u64>,
    lines: String,
    compose: Option<Compose>,
}

impl NatsConfig {
    /// A plain server.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A file that somebody else composes. It must listen at [`Place::client`] and have its
    /// monitoring at [`Place::monitoring`]. Of this value's other settings only these count:
    /// [`tls`](Self::tls), whose files are written before, and
    /// [`handshake_first`](Self::handshake_first), which says how to reach it.
    #[must_use]
    pub fn composed(compose: impl Fn(&Place) -> String + Send + Sync + 'static) -> Self {
        Self { compose: Some(Arc::new(compose)), ..Self::default() }
    }

    /// TLS with this certificate, and nothing else, on the client port.
    #[must_use]
    pub fn tls(mut self, certificate: Certificate) -> Self {
        self.certificate = Some(certificate);
        self
    }

    /// When the handshake comes. Counts with [`tls`](Self::tls) only.
    #[must_use]
    pub fn handshake_first(mut self, when: HandshakeFirst) -> Self {
        self.handshake_first = when;
        self
    }

    /// JetStream, which stores in the server's own folder.
    #[must_use]
    pub fn jetstream(mut self) -> Self {
        self.jetstream = true;
        self
    }

    /// JetStream that takes requests with fields it does not know: its strict mode is off. Counts with
    /// [`jetstream`](Self::jetstream) only.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// The longest message, in bytes.
    #[must_use]
    pub fn max_payload(mut self, bytes: u64) -> Self {
        self.max_payload = Some(bytes);
        self
    }

    /// More of the file, as nats-server reads it: accounts, users, limits.
    #[must_use]
    pub fn with(mut self, lines: impl AsRef<str>) -> Self {
        self.lines.push_str(lines.as_ref());
        self.lines.push('\n');
        self
    }

    pub(super) fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    /// Whether a client may begin with the TLS handshake.
    pub(super) fn shakes_first(&self) -> bool {
        self.certificate.is_some() && self.handshake_first != HandshakeFirst::No
    }

    /// The whole file.
    pub(super) fn text(&self, place: &Place) -> String {
        if let Some(compose) = &self.compose {
            return compose(place);
        }
        let mut text = format!(
            "server_name: {}\nlisten: \"{}\"\nhttp: \"{}\"\n",
            quoted(&place.name),
            place.client,
            place.monitoring
        );
        if let Some(bytes) = self.max_payload {
            _ = writeln!(text, "max_payload: {bytes}");
        }
        if let Some((certificate, key)) = &place.certificate {
            _ = writeln!(
                text,
                "tls {{ cert_file: {}, key_file: {}, min_version: \"1.2\", timeout: 5{} }}",
                quoted_path(certificate),
                quoted_path(key),
                match self.handshake_first {
                    HandshakeFirst::No => String::new(),
                    HandshakeFirst::Yes => ", handshake_first: true".to_owned(),
                    HandshakeFirst::Within(wait) =>
                        format!(", handshake_first: \"{}ms\"", wait.as_millis()),
                }
            );
        }
        if self.jetstream {
            _ = writeln!(
                text,
                "jetstream {{ store_dir: {}, max_memory_store: 64MB, max_file_store: 8GB{} }}",
                quoted_path(&place.store),
                if self.lenient { ", strict: false" } else { "" }
            );
        }
        if !place.routes.is_empty() {
            let routes: Vec<_> =
                place.routes.iter().map(|route| format!("\"nats-route://{route}\"")).collect();
            _ = writeln!(
                text,
                "cluster {{ name: \"mesh-test\", listen: \"{}\", routes: [{}] }}",
                place.cluster,
                routes.join(", ")
            );
        }
        text + &self.lines
    }
}

fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// A string that the server reads as this text.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            _ => quoted.push(letter),
        }
    }
    quoted + "\""
}

/// Lines may hold passwords, so they are not shown.
impl fmt::Debug for NatsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsConfig")
            .field("certificate", &self.certificate)
            .field("handshake_first", &self.handshake_first)
            .field("jetstream", &self.jetstream)
            .field("max_payload", &self.max_payload)
            .finish_non_exhaustive()
    }
}
