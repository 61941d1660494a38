//! A mesh raised from nothing by the program itself: files, `mesh perm compose`, `mesh bus run`, `mesh bus
//! genesis`.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use mesh_control::folder::BusFolder;
use mesh_control::supervisor::{Monitor, Varz};
use mesh_core::credential::{Credential, Login};
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{RawNats, find_program};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpSocket;

/// `mail` consumes what `shop` emits, calls its tool and serves one; `log` consumes all of it.
const MODULES: [(&str, &str); 3] = [
    (
        "shop",
        "name = 'shop'\nversion = '1'\nemits = ['sold', 'closed']\n\
         tools = [{ name = 'price', description = 'What it costs.' }]\n",
    ),
    ("mail", "name = 'mail'\nversion = '1'\nconsumes = ['shop.sold']\ncalls = ['shop.price']\n"),
    ("log", "name = 'log'\nversion = '1'\nconsumes = ['shop.>']\n"),
];

/// How often the supervisor looks at the composed file.
pub const INTERVAL: Duration = Duration::from_secs(1);

pub struct Ground {
    folder: TempDir,
    pub listen: SocketAddr,
    pub monitor: SocketAddr,
    certificate: Certificate,
    supervisor: Option<Child>,
    /// So that nobody else is given these ports.
    _held: [TcpSocket; 2],
}

/// The program. `cargo test` of the whole workspace has built it; `cargo build -p mesh-cli` does.
fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("MESH_PROGRAM") {
        return named.into();
    }
    let me = std::env::current_exe().unwrap();
    let program = me.parent().unwrap().parent().unwrap().join("mesh");
    assert!(program.exists(), "{} is not there: cargo build -p mesh-cli", program.display());
    program
}

fn held() -> (SocketAddr, TcpSocket) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    (socket.local_addr().unwrap(), socket)
}

impl Ground {
    /// Files alone: nothing runs.
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let ((listen, first), (monitor, second)) = (held(), held());
        let certificate = Certificate::local().unwrap();
        let ground =
            Self { folder, listen, monitor, certificate, supervisor: None, _held: [first, second] };
        fs::create_dir_all(ground.path("bus/tls")).unwrap();
        fs::create_dir_all(ground.path("credentials")).unwrap();
        fs::DirBuilder::new().mode(0o700).create(ground.path("store")).unwrap();
        fs::write(ground.path("bus/tls/cert.pem"), ground.certificate.cert_pem()).unwrap();
        fs::write(ground.path("bus/tls/key.pem"), ground.certificate.key_pem()).unwrap();
        for (name, text) in MODULES {
            ground.write(&format!("{name}.toml"), text);
        }
        ground.assign(&["shop", "mail", "log"], "");
        ground
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Writes the mesh file, with these modules on n1.
    pub fn assign(&self, modules: &[&str], more_of_bus: &str) {
        let assignments: Vec<String> = modules
            .iter()
            .map(|name| {
                format!("{{ module = '{name}', manifest = '{name}.toml', nodes = ['n1'] }}")
            })
            .collect();
        let Self { listen, monitor, .. } = self;
        self.write(
            "mesh.toml",
            &format!(
                "nodes = [{{ name = 'n1' }}]\nassignments = [{}]\n\
                 people = [{{ name = 'ada', tools = ['shop.price'] }}]\n\
                 [bus]\nname = 'ground'\nlisten = '{listen}'\nmonitor = '{monitor}'\n{more_of_bus}",
                assignments.join(", "),
            ),
        );
    }

    /// Runs the program in the folder.
    pub fn mesh(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        for name in ["MESH_LOG", "MESH_CREDENTIAL"] {
            command.env_remove(name);
        }
        command
    }

    /// The same, which answers in JSON and ends with this code.
    pub fn json(&self, arguments: &[&str], code: i32) -> Value {
        let output = self.mesh(&[arguments, &["--json"]].concat());
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{err}");
        serde_json::from_str(out.lines().next().unwrap_or_else(|| panic!("{err}"))).unwrap()
    }

    pub fn compose(&self, code: i32) -> Value {
        let arguments = [
            "perm",
            "compose",
            "--mesh",
            "mesh.toml",
            "--store",
            "store",
            "--out",
            "bus",
            "--credentials",
            "credentials",
        ];
        self.json(&arguments, code)
    }

    pub fn genesis(&self, more: &[&str], code: i32) -> Value {
        let arguments = [
            "bus",
            "genesis",
            "--mesh",
            "mesh.toml",
            "--credential",
            "credentials/controller.json",
        ];
        self.json(&[&arguments[..], more].concat(), code)
    }

    pub fn status(&self, more: &[&str], code: i32) -> Value {
        let arguments =
            ["bus", "status", "--mesh", "mesh.toml", "--credential", "credentials/controller.json"];
        self.json(&[&arguments[..], more].concat(), code)
    }

    /// Starts the server by its supervisor, and returns when it serves.
    pub async fn run(&mut self) {
        let server = find_program().unwrap();
        let interval = format!("{}ms", INTERVAL.as_millis());
        let arguments = [
            "bus",
            "run",
            "--dir",
            "bus",
            "--interval",
            &interval,
            "--server",
            server.to_str().unwrap(),
        ];
        let log = fs::File::create(self.path("run.log")).unwrap();
        let mut command = self.command(&arguments);
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.supervisor = Some(command.spawn().unwrap());
        let deadline = Instant::now() + crate::PATIENCE;
        while self.varz().await.is_none() || self.folder().report().unwrap().is_none() {
            let log = fs::read_to_string(self.path("run.log")).unwrap();
            assert!(Instant::now() < deadline, "no server: {log}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn folder(&self) -> BusFolder {
        BusFolder::at(self.path("bus"))
    }

    pub async fn varz(&self) -> Option<Varz> {
        Monitor::at(self.monitor).varz().await.ok()
    }

    pub fn credential(&self, file: &str) -> Credential {
        let text = fs::read_to_string(self.path("credentials").join(file)).unwrap();
        Credential::parse(text).unwrap()
    }

    /// What the server says to who logs in with that credential.
    pub async fn login(&self, credential: &Credential) -> Result<RawNats, String> {
        let server = credential.url().server().unwrap();
        let login: &Login = server.login().unwrap();
        let raw = RawNats::secured(self.listen, &self.certificate.fingerprint(), false).await;
        let mut raw = raw.map_err(|error| error.to_string())?;
        let done = raw.login(login.user(), login.password().expose()).await;
        done.map(|()| raw).map_err(|error| error.to_string())
    }

    pub fn file(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub fn is_there(&self, path: &str) -> bool {
        Path::exists(&self.path(path))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let Some(mut supervisor) = self.supervisor.take() else { return };
        // It ends its server first.
        let pid = supervisor.id().to_string();
        drop(Command::new("kill").args(["-TERM", &pid]).status());
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Ok(Some(_)) = supervisor.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(supervisor.kill());
        drop(supervisor.wait());
    }
}
