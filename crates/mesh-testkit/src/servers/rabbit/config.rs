use std::fmt::{self, Write as _};

use super::Definitions;
use super::place::Site;
use crate::servers::Certificate;

/// What a node is to run with. Ports, folders and the management API are the harness's. Without more
/// it has a certificate of its own, and nothing in it: no virtual host, no user, not even `guest`.
#[derive(Clone, Default)]
pub struct RabbitConfig {
    certificate: Option<Certificate>,
    definitions: Definitions,
    lines: String,
}

impl RabbitConfig {
    /// An empty node.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows this certificate.
    #[must_use]
    pub fn tls(mut self, certificate: Certificate) -> Self {
        self.certificate = Some(certificate);
        self
    }

    /// Is started with these; the file is read at the first start only, since later ones would bring
    /// back what a test has removed.
    #[must_use]
    pub fn definitions(mut self, definitions: Definitions) -> Self {
        self.definitions = definitions;
        self
    }

    /// More of `rabbitmq.conf`: `consumer_timeout = 5000`.
    #[must_use]
    pub fn with(mut self, lines: impl AsRef<str>) -> Self {
        self.lines.push_str(lines.as_ref());
        self.lines.push('\n');
        self
    }

    pub(super) fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    pub(super) fn wanted(&self) -> &Definitions {
        &self.definitions
    }

    /// The whole `rabbitmq.conf`, with or without the definitions.
    pub(super) fn text(&self, site: &Site, load: bool) -> String {
        let (certificate, key) = site.certificate_files();
        let mut text = format!(
            "listeners.tcp = none\n\
             listeners.ssl.1 = {}\n\
             ssl_options.certfile = {}\n\
             ssl_options.keyfile = {}\n\
             ssl_options.verify = verify_none\n\
             ssl_options.fail_if_no_peer_cert = false\n\
             ssl_options.versions.1 = tlsv1.3\n\
             ssl_options.versions.2 = tlsv1.2\n\
             auth_mechanisms.1 = PLAIN\n\
             management.tcp.ip = {}\n\
             management.tcp.port = {}\n\
             collect_statistics_interval = 1000\n\
             disk_free_limit.absolute = 50MB\n\
             vm_memory_high_watermark.absolute = 512MB\n\
             log.file.level = info\n",
            site.amqp(),
            certificate.display(),
            key.display(),
            site.management().ip(),
            site.management().port(),
        );
        if load {
            _ = writeln!(text, "load_definitions = {}", site.definitions_file().display());
        }
        text + &self.lines
    }
}

/// Lines may hold secrets, so they are not shown.
impl fmt::Debug for RabbitConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RabbitConfig")
            .field("certificate", &self.certificate)
            .field("definitions", &self.definitions)
            .finish_non_exhaustive()
    }
}
