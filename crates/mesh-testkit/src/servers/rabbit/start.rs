//! A start: the port mapper, the node, and the proof that it serves with all that it was given.

use std::ffi::OsStr;
use std::time::Instant;

use tokio::net::TcpStream;

use super::server::{PATIENCE, pause};
use super::{Definitions, RabbitServer};
use crate::servers::ServerError;
use crate::servers::process::Guarded;

impl RabbitServer {
    /// Starts it again, where it was and with what it stored, and returns when it serves.
    ///
    /// # Errors
    /// As [`launch`](Self::launch); [`ServerError::State`] if it runs.
    pub async fn start(&self) -> Result<(), ServerError> {
        let deadline = Instant::now() + PATIENCE;
        self.map_ports(deadline).await?;
        self.spawn()?;
        self.serves(deadline).await?;
        if !self.state.lock().loaded {
            self.verify().await?;
            // What tests remove is not to come back with the next start.
            self.site.write_config(&self.config.text(&self.site, false))?;
            self.state.lock().loaded = true;
        }
        Ok(())
    }

    /// Starts the port mapper, if it does not run, and returns when it answers.
    async fn map_ports(&self, deadline: Instant) -> Result<(), ServerError> {
        let failed = || ServerError::io("starting epmd");
        loop {
            {
                let mut state = self.state.lock();
                let running = match &mut state.epmd {
                    Some(epmd) => epmd.ended().map_err(failed())?.is_none(),
                    None => false,
                };
                if !running {
                    let address = self.site.epmd();
                    let (port, ip) = (address.port().to_string(), address.ip().to_string());
                    let arguments = ["-port", &port, "-address", &ip].map(OsStr::new);
                    let folder = self.site.epmd_folder();
                    let log = self.site.open_log()?;
                    let environment = self.site.environment();
                    let epmd =
                        Guarded::start_in(&self.home.epmd, &arguments, &log, &folder, |command| {
                            command.env_clear().envs(environment).current_dir(self.site.folder());
                        });
                    state.epmd = Some(epmd.map_err(failed())?);
                }
            }
            if TcpStream::connect(self.site.epmd()).await.is_ok() {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(self.failed("epmd does not answer".to_owned()));
            }
            pause().await;
        }
    }

    fn spawn(&self) -> Result<(), ServerError> {
        let log = self.site.open_log()?;
        let environment = self.site.environment();
        let mut state = self.state.lock();
        if state.node.is_some() {
            return Err(ServerError::State("the node runs already"));
        }
        let (program, folder) = (self.site.program(), self.site.folder());
        let node = Guarded::start_in(&program, &[], &log, folder, |command| {
            command.env_clear().envs(environment).current_dir(folder);
        });
        state.node = Some(node.map_err(ServerError::io("starting RabbitMQ"))?);
        Ok(())
    }

    /// Returns when it serves; one that ended meanwhile counts as stopped.
    async fn serves(&self, deadline: Instant) -> Result<(), ServerError> {
        let port = self.address().port().to_string();
        let listens = ["health", "checks", "port-listener", &port];
        let open = ["health", "checks", "virtual-hosts"];
        let mut last = String::new();
        while Instant::now() < deadline {
            if let Some(how) = self.ended()? {
                self.state.lock().node = None;
                return Err(self.failed(format!("RabbitMQ ended at once, {how}")));
            }
            // It listens for AMQP last, after the definitions; before, it may not know who asks.
            let told = match self.management().get(&listens).await {
                Ok(_) => self.management().get(&open).await,
                told => told,
            };
            match told {
                Ok(_) => return Ok(()),
                Err(error) => last = error.to_string(),
            }
            pause().await;
        }
        Err(self.failed(format!("RabbitMQ does not serve after {PATIENCE:?}: {last}")))
    }

    /// Whether each row of the definitions is there.
    async fn verify(&self) -> Result<(), ServerError> {
        let there = self.management().get(&["definitions"]).await?;
        let missing = self.definitions.missing_in(&there, &Definitions::sections());
        if missing.is_empty() {
            return Ok(());
        }
        Err(self.failed(format!("definitions are not there: {}", missing.join("; "))))
    }
}
