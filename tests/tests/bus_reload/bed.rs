//! A nats-server that a supervisor runs from a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_clock::SystemClock;
use mesh_control::folder::{BusFolder, Digest, Outcome, ReloadReport};
use mesh_control::supervisor::{
    Ended, LogSink, Monitor, Order, Program, Settings, StartError, Supervisor, Varz,
};
use mesh_core::credential::{Credential, Fingerprint, Fingerprints};
use mesh_core::port::Connection;
use mesh_testkit::servers::nats::{Layout, RawNats, find_program};
use mesh_testkit::servers::{Certificate, Port, ServerError};
use mesh_transport_nats::{NatsOptions, Target, connect};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with what a server's file names: ports, a certificate, a place for streams.
pub struct Site {
    pub folder: BusFolder,
    pub place: TempDir,
    client: Port,
    monitor: Port,
    certificate: Certificate,
}

/// A site where a supervisor works.
pub struct Bed {
    pub site: Site,
    pub layout: Layout,
    pub orders: mpsc::Sender<Order>,
    running: JoinHandle<Ended>,
    log: Arc<Mutex<String>>,
}

impl Site {
    pub fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let certificate = Certificate::local().unwrap();
        fs::write(place.path().join("c.pem"), certificate.cert_pem()).unwrap();
        fs::write(place.path().join("c.key"), certificate.key_pem()).unwrap();
        Self {
            folder: BusFolder::at(place.path().join("bus")),
            place,
            client: Port::reserve().unwrap(),
            monitor: Port::reserve().unwrap(),
            certificate,
        }
    }

    /// The whole file for these users.
    pub fn text(&self, layout: &Layout) -> String {
        self.text_of(&layout.lines().unwrap())
    }

    /// The whole file with these accounts.
    pub fn text_of(&self, accounts: &str) -> String {
        let place = self.place.path().display();
        format!(
            "server_name: \"bus\"\nlisten: \"{}\"\nhttp: \"{}\"\nauthorization {{ timeout: 10 }}\n\
             tls {{ cert_file: \"{place}/c.pem\", key_file: \"{place}/c.key\", timeout: 5 }}\n\
             jetstream {{ store_dir: \"{place}/js\", max_memory_store: 64MB, max_file_store: 4GB }}\n\
             {accounts}",
            self.client.address(),
            self.monitor.address(),
        )
    }

    pub fn write(&self, layout: &Layout) -> Digest {
        self.folder.write(&self.text(layout)).unwrap().digest
    }

    pub fn composed(&self) -> PathBuf {
        self.folder.composed_file()
    }

    pub fn settings(&self, interval: Duration) -> Settings {
        let program = Program::find(Some(&find_program().unwrap())).unwrap();
        let mut settings = Settings::new(self.folder.clone(), program);
        settings.interval = interval;
        settings.log = LogSink::new(|_| ());
        settings
    }

    /// What the server's own check says of the composed file.
    pub fn passes_the_servers_check(&self, text: &str) -> bool {
        let file = self.place.path().join("checked.conf");
        fs::write(&file, text).unwrap();
        let mut check = std::process::Command::new(find_program().unwrap());
        check.args(["-t", "-c"]).arg(file).current_dir(self.place.path());
        check.output().unwrap().status.success()
    }

    pub async fn start(
        self,
        layout: Layout,
        interval: Duration,
    ) -> Result<Bed, (Self, StartError)> {
        let settings = self.settings(interval);
        self.start_with(layout, settings).await
    }

    pub async fn start_with(
        self,
        layout: Layout,
        mut settings: Settings,
    ) -> Result<Bed, (Self, StartError)> {
        let log = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&log);
        settings.log =
            LogSink::new(move |line| kept.lock().push_str(&String::from_utf8_lossy(line)));
        match Supervisor::start(settings, Arc::new(SystemClock::new()), drop).await {
            Err(error) => Err((self, error)),
            Ok(supervisor) => {
                let (orders, given) = mpsc::channel(8);
                let running = tokio::spawn(supervisor.run(given));
                Ok(Bed { site: self, layout, orders, running, log })
            }
        }
    }
}

impl Bed {
    /// A supervisor at work with these users.
    pub async fn raise(layout: Layout, interval: Duration) -> Self {
        let site = Site::new();
        site.write(&layout);
        site.start(layout, interval).await.map_err(|(_, error)| error).unwrap()
    }

    /// Composes these users, and answers how to know the file.
    pub fn write(&mut self, layout: Layout) -> Digest {
        self.layout = layout;
        self.site.write(&self.layout)
    }

    /// What was made of the file of this digest.
    pub async fn judged(&self, file: Digest) -> ReloadReport {
        self.report(|report| report.file == Some(file)).await
    }

    /// The first report that is so.
    pub async fn report(&self, is: impl Fn(&ReloadReport) -> bool) -> ReloadReport {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let report = self.site.folder.report().unwrap();
            if let Some(report) = report.clone().filter(&is) {
                return report;
            }
            assert!(Instant::now() < deadline, "last: {report:?}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub async fn outcome(&self, file: Digest) -> Outcome {
        self.judged(file).await.outcome
    }

    pub fn monitor(&self) -> Monitor {
        Monitor::at(self.site.monitor.address())
    }

    pub async fn varz(&self) -> Varz {
        self.monitor().varz().await.unwrap()
    }

    /// All that the server has logged.
    pub fn log(&self) -> String {
        self.log.lock().clone()
    }

    /// How often the server has read its file again.
    pub fn reloads(&self) -> usize {
        self.log().matches("Reloaded server configuration").count()
    }

    /// A raw client that tries to log in.
    pub async fn raw(&self, user: &str) -> Result<RawNats, ServerError> {
        let user = self.layout.user(user).unwrap();
        self.login(user.name(), user.password().expose()).await
    }

    pub async fn login(&self, name: &str, password: &str) -> Result<RawNats, ServerError> {
        let print = self.site.certificate.fingerprint();
        let mut client = RawNats::secured(self.site.client.address(), &print, false).await?;
        client.login(name, password).await?;
        Ok(client)
    }

    /// The same again and again, until it is let in: that its user is live is what is waited for.
    pub async fn admitted(&self, user: &str) -> RawNats {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.raw(user).await {
                Ok(client) => return client,
                Err(error) => assert!(Instant::now() < deadline, "{user}: {error}\n{}", self.log()),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// A connection of our own adapter.
    pub async fn connect(&self, user: &str) -> Connection {
        let user = self.layout.user(user).unwrap();
        let (name, password) = (user.name(), user.password().expose());
        let url = format!("tls://{name}:{password}@{}", self.site.client.address());
        let print: Fingerprint = self.site.certificate.fingerprint().parse().unwrap();
        let pinned = Fingerprints::new(vec![print]).unwrap();
        let principal = user.principal.clone();
        let credential = Credential::new(principal, url.parse().unwrap(), pinned).unwrap();
        connect(Target::of(&credential).unwrap(), NatsOptions::default()).await.unwrap()
    }

    /// Ends it, and answers how it ended.
    pub async fn end(self) -> Ended {
        self.orders.send(Order::End).await.unwrap();
        self.ended().await.0
    }

    /// How it has ended, and its place.
    pub async fn ended(self) -> (Ended, Site) {
        let ended = tokio::time::timeout(PATIENCE, self.running).await.unwrap().unwrap();
        (ended, self.site)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.site.folder.path().join(name)
    }
}

/// Puts a file in the place of another at once, as careful writers do.
pub fn replace(file: &Path, text: &str) {
    let beside = file.with_extension("beside");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, file).unwrap();
}
