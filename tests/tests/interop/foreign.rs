//! The foreign realm as a program beside the test: one command a line in, one answer a line out.

use std::process::Stdio;
use std::time::Duration;

use mesh_testkit::servers::nats::MeshServer;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::python::foreign;

/// How long one answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Foreign {
    // Ends with the test.
    _child: Child,
    _folder: TempDir,
    commands: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Foreign {
    /// Starts it as the realm of that name, with the server's user of that name, and returns when it listens.
    pub(crate) async fn start(server: &MeshServer, user: &str, realm: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ca = folder.path().join("ca.pem");
        std::fs::write(&ca, server.server().certificate().unwrap().cert_pem()).unwrap();
        let user = server.layout().user(user).unwrap();
        let config = json!({
            "realm": realm,
            "url": server.server().url(),
            "user": user.name(),
            "password": user.password().expose(),
            "ca": ca,
        });
        let file = folder.path().join("config.json");
        std::fs::write(&file, config.to_string()).unwrap();
        let mut command = Command::from(foreign("talk"));
        let mut child = command
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut foreign = Self { _child: child, _folder: folder, commands, answers };
        assert_eq!(foreign.answer().await, json!({ "ready": realm }));
        foreign
    }

    /// Has it do something, and gives what came of it.
    pub(crate) async fn has(&mut self, command: Value) -> Value {
        self.commands.write_all(format!("{command}\n").as_bytes()).await.unwrap();
        self.answer().await
    }

    /// Sends an envelope, and gives the answer to it.
    pub(crate) async fn ask(&mut self, profile: &str, uri: &str, body: &str) -> Value {
        let say = json!({ "profile": profile, "body": body });
        let sent = self.has(json!({ "do": "send", "uri": uri, "say": say })).await;
        self.has(json!({ "do": "answer", "correlationId": sent["correlationId"] })).await
    }

    async fn answer(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.answers.next_line()).await;
        let line = line.expect("no answer in time").unwrap().expect("the foreign realm ended");
        serde_json::from_str(&line).unwrap()
    }
}
