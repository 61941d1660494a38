use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::account::secret;
use super::home::Home;
use super::plugins;
use crate::servers::port::Port;
use crate::servers::{Certificate, ServerError};

/// The node's name in its own port mapper, which knows no other.
const NODE: &str = "mesh-test@localhost";

/// Whose file nobody but Erlang and its owner may read.
const COOKIE: &str = ".erlang.cookie";

/// A folder and ports that are one node's for as long as this lives.
#[derive(Debug)]
pub(super) struct Site {
    folder: TempDir,
    amqp: Port,
    management: Port,
    distribution: Port,
    epmd: Port,
}

impl Site {
    pub(super) fn reserve() -> Result<Self, ServerError> {
        let port = || Port::reserve().map_err(ServerError::io("reserving a port"));
        let folder = tempfile::Builder::new()
            .prefix("mesh-rabbit-")
            .tempdir()
            .map_err(ServerError::io("making a folder for RabbitMQ"))?;
        Ok(Self {
            folder,
            amqp: port()?,
            management: port()?,
            distribution: port()?,
            epmd: port()?,
        })
    }

    /// Lays out what is the same at each start: scripts, plugins, cookie and certificate.
    pub(super) fn lay_out(&self, home: &Home, shown: &Certificate) -> Result<(), ServerError> {
        let cookie = secret()?;
        let laid_out = || {
            for name in ["data", "epmd", "rabbitmq", "rabbitmq/sbin", "rabbitmq/plugins"] {
                fs::create_dir(self.file(name))?;
            }
            // The scripts take the folder that they are in for the installation's. Copied, they find
            // the few plugins that are linked: all of them would cost seconds at each start.
            for script in fs::read_dir(home.folder.join("sbin"))? {
                let script = script?;
                fs::copy(script.path(), self.file("rabbitmq/sbin").join(script.file_name()))?;
            }
            let needed = plugins::needed(&home.folder.join("plugins"))?;
            for plugin in needed {
                if let Some(name) = plugin.file_name() {
                    symlink(&plugin, self.file("rabbitmq/plugins").join(name))?;
                }
            }
            write_private(&self.file(COOKIE), &cookie)?;
            fs::write(self.file("enabled_plugins"), "[rabbitmq_management].\n")?;
            fs::write(self.file("advanced.config"), "[].\n")?;
            let (certificate, key) = self.certificate_files();
            fs::write(certificate, shown.cert_pem())?;
            write_private(&key, shown.key_pem())
        };
        laid_out().map_err(ServerError::io("laying out RabbitMQ's folder"))
    }

    pub(super) fn write_definitions(&self, json: &Value) -> Result<(), ServerError> {
        write_private(&self.definitions_file(), &json.to_string())
            .map_err(ServerError::io("writing the definitions"))
    }

    pub(super) fn write_config(&self, text: &str) -> Result<(), ServerError> {
        fs::write(self.file("rabbitmq.conf"), text)
            .map_err(ServerError::io("writing the configuration"))
    }

    /// What the node and its port mapper read: nothing of the machine's RabbitMQ, nor of the caller's
    /// home.
    pub(super) fn environment(&self) -> Vec<(&'static str, OsString)> {
        let file = |name: &str| self.file(name).into_os_string();
        let port = |port: &Port| OsString::from(port.address().port().to_string());
        vec![
            ("PATH", env::var_os("PATH").unwrap_or_default()),
            ("HOME", self.folder().as_os_str().to_owned()),
            ("LANG", "C.UTF-8".into()),
            ("ERL_EPMD_PORT", port(&self.epmd)),
            ("ERL_EPMD_ADDRESS", self.epmd.address().ip().to_string().into()),
            ("ERL_CRASH_DUMP", file("erl_crash.dump")),
            ("RABBITMQ_CONF_ENV_FILE", file("none")),
            ("RABBITMQ_NODENAME", NODE.into()),
            ("RABBITMQ_DIST_PORT", port(&self.distribution)),
            ("RABBITMQ_CONFIG_FILE", file("rabbitmq.conf")),
            ("RABBITMQ_ADVANCED_CONFIG_FILE", file("advanced.config")),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", file("enabled_plugins")),
            ("RABBITMQ_PLUGINS_EXPAND_DIR", file("data/plugins")),
            ("RABBITMQ_MNESIA_BASE", file("data")),
            ("RABBITMQ_MNESIA_DIR", file("data/db")),
            ("RABBITMQ_FEATURE_FLAGS_FILE", file("data/feature_flags")),
            ("RABBITMQ_GENERATED_CONFIG_DIR", file("data/config")),
            ("RABBITMQ_LOG_BASE", file("data/log")),
            ("RABBITMQ_LOGS", "-".into()),
            (
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "-start_epmd false +S 2:2 -kernel inet_dist_use_interface {127,0,0,1}".into(),
            ),
            // The script then becomes the node, so that its process is the one that is known.
            ("RUNNING_UNDER_SYSTEMD", "true".into()),
        ]
    }

    pub(super) fn program(&self) -> PathBuf {
        self.file("rabbitmq/sbin/rabbitmq-server")
    }

    pub(super) fn amqp(&self) -> SocketAddr {
        self.amqp.address()
    }

    pub(super) fn management(&self) -> SocketAddr {
        self.management.address()
    }

    pub(super) fn epmd(&self) -> SocketAddr {
        self.epmd.address()
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The port mapper's own, so that its watchdog does not remove what the node writes to.
    pub(super) fn epmd_folder(&self) -> PathBuf {
        self.file("epmd")
    }

    pub(super) fn definitions_file(&self) -> PathBuf {
        self.file("definitions.json")
    }

    /// The certificate's file, and its key's.
    pub(super) fn certificate_files(&self) -> (PathBuf, PathBuf) {
        (self.file("cert.pem"), self.file("key.pem"))
    }

    /// The log, to write at its end.
    pub(super) fn open_log(&self) -> Result<File, ServerError> {
        let path = self.file("rabbitmq.log");
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        opened.map_err(ServerError::io(format!("opening {path:?}")))
    }

    /// All that the node and its port mapper have logged; nothing before the first start.
    pub(super) fn log(&self) -> String {
        let bytes = fs::read(self.file("rabbitmq.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }
}

/// Writes what only its owner may read.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    io::Write::write_all(&mut file, text.as_bytes())
}
