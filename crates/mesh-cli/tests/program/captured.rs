//! What a real nats-server carries, explained: every subject, every reply address, every message.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::name::InstanceName;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Connection, DriftMode};
use mesh_core::time::Timestamp;
use mesh_sdk::{Broker, HandlerError, ReceivedEvent, RequestError, ToolCall};
use mesh_testkit::servers::nats::{Account, Layout, MeshServer, RawMessage, RawNats, User};
use mesh_transport_nats::{DeadLetterKeeper, NatsOptions, Target, connect};
use serde_json::Value;
use tokio::time::timeout;

use super::{Folder, program, text};

/// How long one thing may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

const MAIL: &str = "name = 'mail'\nversion = '1'\nemits = ['letter.sent', 'letter.lost']
[[tools]]\nname = 'send'\ndescription = 'Sends a letter.'\n";
const AUDIT: &str = "name = 'audit'\nversion = '1'\nconsumes = ['mail.>']\ncalls = ['mail.send']\n";

fn manifest(text: &str) -> ModuleManifest {
    ModuleManifest::parse("module.toml", text).unwrap()
}

async fn dial(server: &MeshServer, user: &str) -> Connection {
    let target = Target::of(&server.credential(user).unwrap()).unwrap();
    connect(target, NatsOptions::default()).await.unwrap()
}

async fn broker(server: &MeshServer, text: &str) -> Broker {
    let manifest = manifest(text);
    let connection = dial(server, &format!("{}.n1", manifest.name)).await;
    Broker::builder(connection).manifest(&manifest).build().unwrap()
}

/// A client that hears everything in its account.
async fn tap(server: &MeshServer, name: &str) -> RawNats {
    let mut tap = server.raw(name).await.unwrap();
    tap.subscribe(">", None).await.unwrap();
    assert!(tap.settle().await.unwrap().errors.is_empty());
    tap
}

/// Runs an event that is handled, one that is given up, a call that is answered and one that fails,
/// and gives all that both accounts carried.
async fn carried() -> Vec<RawMessage> {
    let mesh = Mesh::on_one_node(&"n1".parse().unwrap(), [MAIL, AUDIT].map(manifest)).unwrap();
    let owner = || Principal::Controller { name: InstanceName::new("tap").unwrap() };
    let user =
        |name, account| User::named(name, account, owner(), Permissions::everything()).unwrap();
    let layout = Layout::split(&mesh)
        .unwrap()
        .with_user(user("tap-bus", Account::Bus))
        .with_user(user("tap-edge", Account::Edge));
    let server = MeshServer::launch(layout).await.unwrap();
    let mut taps = [tap(&server, "tap-bus").await, tap(&server, "tap-edge").await];
    let controller = dial(&server, "controller").await;
    let administration = controller.administration().unwrap();
    administration.assert(&mesh.topology().unwrap(), DriftMode::Report).await.unwrap();
    let keeper = DeadLetterKeeper::start(&controller, Timestamp::from_millis(1)).await.unwrap();

    let mail = broker(&server, MAIL).await;
    let audit = broker(&server, AUDIT).await;
    let handler = |event: ReceivedEvent| async move {
        match event.name.as_str() {
            "letter.sent" => Ok(()),
            _ => Err(HandlerError::reject("no room for it")),
        }
    };
    audit.subscribe("mail.>", handler).await.unwrap();
    let send = |call: ToolCall| async move { call.decode::<Vec<u8>>().map(|letter| letter.len()) };
    mail.handle("send", send).await.unwrap();
    mail.publish("letter.sent", &"é").await.unwrap();
    mail.publish("letter.lost", &1).await.unwrap();
    let answer: Result<usize, RequestError> = audit.request(("mail", "send"), &[7, 7]).await;
    assert_eq!(answer.unwrap(), 2);
    let failure: Result<usize, RequestError> = audit.request(("mail", "send"), &"no list").await;
    assert!(matches!(failure, Err(RequestError::Tool(_))));

    let mut all = Vec::new();
    let is_dead = |message: &RawMessage| message.subject == "mesh.events.dead";
    timeout(PATIENCE, async {
        while !all.iter().any(is_dead) {
            for tap in &mut taps {
                all.extend(tap.settle().await.unwrap().messages);
            }
        }
    })
    .await
    .unwrap();
    for module in [mail, audit] {
        module.close(Duration::from_secs(10)).await;
    }
    drop(keeper);
    for tap in &mut taps {
        all.extend(tap.settle().await.unwrap().messages);
    }
    all
}

/// As `nats sub` prints it.
fn printed(number: usize, message: &RawMessage) -> String {
    let mut out = format!("[#{number}] Received on \"{}\"", message.subject);
    if let Some(reply) = &message.reply {
        write!(out, " with reply \"{reply}\"").unwrap();
    }
    out.push('\n');
    for (name, value) in &message.headers {
        writeln!(out, "{name}: {value}").unwrap();
    }
    if !message.headers.is_empty() {
        out.push('\n');
    }
    out.push_str(std::str::from_utf8(&message.body).unwrap());
    out.push_str("\n\n");
    out
}

/// The server has notices that the mesh doesn't keep.
fn is_other_notice(subject: &str) -> bool {
    let rest = subject.strip_prefix("$JS.EVENT.ADVISORY.");
    rest.is_some_and(|rest| !rest.contains("MAX_DELIVERIES") && !rest.contains("MSG_TERMINATED"))
}

#[tokio::test]
async fn all_that_a_mesh_on_a_nats_server_sends_is_explained() {
    let all = carried().await;
    let subjects: BTreeSet<&str> = all
        .iter()
        .flat_map(|message| [Some(message.subject.as_str()), message.reply.as_deref()])
        .flatten()
        .collect();
    for kind in ["mesh.events.mail.letter.sent", "mesh.events.dead", "mesh.tools.mail.send"] {
        assert!(subjects.contains(kind), "{kind} of {subjects:?}");
    }
    for start in ["$JS.ACK.", "$JS.API.", "$JS.EVENT.ADVISORY.", "_INBOX.", "_R_."] {
        assert!(subjects.iter().any(|subject| subject.starts_with(start)), "{start}");
    }
    for subject in &subjects {
        let run = program().args(["topic", "explain", subject]).output().unwrap();
        let good = !is_other_notice(subject);
        assert_eq!(run.status.code() == Some(0), good, "{subject}: {}", text(&run.stdout));
    }

    let known = |message: &&RawMessage| {
        let api = message.subject.starts_with("$JS.API.");
        let others = is_other_notice(&message.subject);
        // What passes from account to account has an address that says nothing of it.
        let passing = message.subject.starts_with("_R_.");
        !api && !others && !passing && message.status.is_none()
    };
    let known: Vec<&RawMessage> = all.iter().filter(known).collect();
    let messages = known.iter().enumerate().map(|(index, message)| printed(index + 1, message));
    let folder = Folder::new("captured");
    let file = folder.write("capture", messages.collect::<String>());
    let run = program().args(["envelope", "explain", &file, "--json"]).output().unwrap();
    let told: Vec<Value> =
        text(&run.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (message, told) in known.iter().zip(&told) {
        assert_eq!(told["subject"], *message.subject);
        assert_eq!(told["good"], true, "{told}\n{}", printed(0, message));
    }
    let summary = told.last().unwrap();
    assert_eq!(summary["messages"], known.len());
    for kind in
        ["event", "dead-letter", "call", "call-answer", "acknowledgement", "confirmation", "notice"]
    {
        assert!(summary["kinds"][kind].is_u64(), "{kind} of {summary}");
    }
}
