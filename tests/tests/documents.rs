//! What `docs/nats.md` has an operator do, done on a server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

use std::time::Duration;

use mesh_core::credential::{ControllerKey, Credential, EnrolmentToken, Secret};
use mesh_core::identity::Principal;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::message::Message;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Connection, DriftMode, ErrorKind};
use mesh_core::subject::Subject;
use mesh_core::tool::ToolFailure;
use mesh_core::topology::StreamName;
use mesh_sdk::{Broker, RequestError};
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{
    Account, Layout, MeshServer, NatsConfig, NatsServer, Place, User,
};
use mesh_transport_nats::{NatsOptions, Target, connect};

const FILE: &str = include_str!("../../docs/nats-server.conf");

const MAIL: &str = "name = 'mail'\nversion = '1'\nemits = ['sent']\ncalls = ['audit.count']";
const AUDIT: &str = "name = 'audit'\nversion = '1'\nconsumes = ['mail.*']
                     tools = [{ name = 'count', description = 'How many letters it saw.' }]";

fn files() -> [ModuleManifest; 2] {
    [("mail", MAIL), ("audit", AUDIT)]
        .map(|(name, text)| ModuleManifest::parse(name, text).unwrap())
}

/// The mesh that the file is for.
fn mesh() -> Mesh {
    Mesh::on_one_node(&"n1".parse().unwrap(), files()).unwrap()
}

/// Without comments, and with one space where there is any.
fn words(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

fn password(user: &str) -> String {
    format!("changeme-{user}")
}

#[test]
fn the_documented_server_file_has_the_accounts_of_the_layout() {
    let layout = Layout::split(&mesh()).unwrap();
    let mut wanted = layout.lines().unwrap();
    for user in layout.users() {
        // Whoever takes the file writes passwords into it, or hashes of them, each of its own.
        let login = format!("user: \"{}\", password: \"", user.name());
        let start = wanted.find(&login).unwrap() + login.len();
        let end = start + wanted[start..].find('"').unwrap();
        wanted.replace_range(start..end, &password(user.name()));
    }
    let accounts = &FILE[FILE.find("system_account:").unwrap()..];
    assert_eq!(
        words(accounts),
        words(&wanted),
        "the accounts of docs/nats-server.conf should be\n{wanted}"
    );
}

/// A server that runs with the file as it stands, but for its ports and paths.
async fn documented() -> NatsServer {
    let compose = |place: &Place| {
        let (certificate, key) = place.certificate.clone().unwrap();
        let mut text = FILE.to_owned();
        for (from, to) in [
            ("0.0.0.0:4222", place.client.to_string()),
            ("127.0.0.1:8222", place.monitoring.to_string()),
            ("/etc/nats/cert.pem", certificate.display().to_string()),
            ("/etc/nats/key.pem", key.display().to_string()),
            ("/var/lib/nats", place.store.display().to_string()),
        ] {
            assert_eq!(text.matches(from).count(), 1, "{from}");
            text = text.replace(from, &to);
        }
        text
    };
    let config = NatsConfig::composed(compose).tls(Certificate::local().unwrap());
    NatsServer::launch(config).await.unwrap()
}

async fn dial(server: &NatsServer, user: &str, who: &str) -> Connection {
    let (url, pin) = (server.url_of(user, &password(user)), server.fingerprint().unwrap());
    let document = format!(r#"{{"url": "{url}", "fingerprint": "{pin}", {who}}}"#);
    let target = Target::of(&Credential::parse(document).unwrap()).unwrap();
    connect(target, NatsOptions::default()).await.unwrap()
}

#[tokio::test]
async fn a_mesh_lives_on_a_server_with_the_documented_file() {
    let server = documented().await;
    let controller = dial(&server, "controller", r#""kind": "controller", "name": "c1""#).await;
    let administration = controller.administration().unwrap();
    let topology = mesh().topology().unwrap();
    assert_eq!(administration.assert(&topology, DriftMode::Mend).await.unwrap(), []);

    let [mail_file, audit_file] = files();
    let module = |module: &str| format!(r#""node": "n1", "module": "{module}""#);
    let mail = dial(&server, "mail.n1", &module("mail")).await;
    let mail = Broker::builder(mail).manifest(&mail_file).build().unwrap();
    let audit = dial(&server, "audit.n1", &module("audit")).await;
    let audit = Broker::builder(audit).manifest(&audit_file).build().unwrap();
    let (saw, mut seen) = tokio::sync::mpsc::unbounded_channel::<String>();
    let hear = move |event: mesh_sdk::ReceivedEvent| {
        let _ = saw.send(event.event.data().as_str().to_owned());
        std::future::ready(Ok(()))
    };
    audit.subscribe("mail.sent", hear).await.unwrap();
    audit.handle("count", |_| async { Ok::<_, ToolFailure>(1) }).await.unwrap();

    mail.publish("sent", "bob").await.unwrap();
    assert_eq!(seen.recv().await.unwrap(), "\"bob\"");
    assert_eq!(mail.request::<_, _, u32>(("audit", "count"), &()).await.unwrap(), 1);
    let denied: Result<(), _> = mail.request(("vault", "open"), &()).await;
    assert!(matches!(denied, Err(RequestError::Denied(_))), "{denied:?}");
    audit.close(Duration::from_secs(30)).await;
    let state = administration.inspect(StreamName::Events).await.unwrap().unwrap();
    assert_eq!(state.messages, 1);
}

#[tokio::test]
async fn whoever_holds_an_enrolment_token_may_enrol_and_nothing_else() {
    let token = Principal::Enrolment { token: "t1".parse().unwrap() };
    let rights = Permissions::of_enrolment(&"t1".parse().unwrap());
    let user = User::new(Account::Edge, token.clone(), rights).unwrap();
    let secret = Secret::new(user.password().expose());
    let server = MeshServer::launch(Layout::split(&mesh()).unwrap().with_user(user)).await.unwrap();
    let target = Target::of(&server.credential("controller").unwrap()).unwrap();
    let controller = connect(target, NatsOptions::default()).await.unwrap();
    let topology = mesh().topology().unwrap();
    controller.administration().unwrap().assert(&topology, DriftMode::Mend).await.unwrap();

    let token = EnrolmentToken::new(
        "t1".parse().unwrap(),
        secret,
        "n2".parse().unwrap(),
        format!("tls://{}", server.server().address()).parse().unwrap(),
        server
            .server()
            .fingerprint()
            .unwrap()
            .parse::<mesh_core::credential::Fingerprint>()
            .unwrap()
            .into(),
        ControllerKey::from_bytes([9; 32]),
    )
    .unwrap();
    // As it is handed over.
    let token = EnrolmentToken::parse(token.to_text().unwrap().expose()).unwrap();
    let target = Target::of_enrolment(&token).unwrap();
    let newcomer = connect(target, NatsOptions::default()).await.unwrap();
    let append = |subject: &str| {
        let message = Message::new(Subject::new(subject.to_owned()).unwrap(), "{}");
        newcomer.streams().unwrap().append(message, <_>::default())
    };
    assert_eq!(append("mesh.control.enrol").await.unwrap().stream, StreamName::Control);
    for other in ["mesh.control.n2.report", "mesh.events.mail.sent"] {
        assert_eq!(append(other).await.unwrap_err().kind(), ErrorKind::Denied, "{other}");
    }
}
