//! The module, and who uses it. Nothing here knows what carries it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use mesh_clock::SystemClock;
use mesh_core::event::TraceContext;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::port::{Clock, Connection};
use mesh_core::time::Timestamp;
use mesh_core::tool::ToolFailure;
use mesh_sdk::{
    Broker, Emission, HandlerError, ReceivedEvent, RequestError, ToolCall, ToolRequest,
};
use mesh_testkit::fixtures::{event_name, module_name, node, tool_name};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::unbounded_channel;

use crate::captured::Captured;
use crate::soon;

pub(crate) const MAIL: &str = r#"
name = "mail"
version = "1"
emits = ["letter.sent", "answered"]
tools = [
    { name = "send", description = "Sends a letter." },
    { name = "later", description = "Is announced, and not served yet." },
]
"#;

pub(crate) const AUDIT: &str = r#"
name = "audit"
version = "1"
emits = ["seen"]
consumes = ["mail.letter.>"]
calls = ["mail.send", "mail.later"]
"#;

pub(crate) fn mesh() -> Mesh {
    let manifests = [("mail.toml", MAIL), ("audit.toml", AUDIT)];
    let manifests = manifests.map(|(file, text)| ModuleManifest::parse(file, text).unwrap());
    Mesh::on_one_node(&node("n1"), manifests).unwrap()
}

/// A broker that carries the mesh, with somebody who captures what it carries.
#[async_trait]
pub(crate) trait Ground: Sync + Sized {
    async fn raise(mesh: &Mesh) -> Self;

    /// A connection of that module on `n1`, with the rights that follow from the files.
    async fn connect(&self, module: &str) -> Connection;

    /// A connection of the controller's, beside the modules.
    async fn controller(&self) -> Connection;

    /// All that was carried until now: events, and calls with their answers.
    async fn captured(self) -> Vec<Captured>;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Letter {
    to: String,
    lines: Vec<String>,
    size: f64,
}

/// What the modules saw.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    /// At which attempt the letter was handled, and where it came from.
    attempts: Vec<(u32, String, Letter)>,
    answer: Letter,
    failure: (String, String),
    absent: String,
    lost: u64,
}

/// A clock that stands, for what is stamped; spans are measured as ever. So what is written is the same
/// each time.
#[derive(Debug)]
struct Standing(SystemClock);

#[async_trait]
impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_767_323_045_678)
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }

    async fn sleep(&self, duration: Duration) {
        self.0.sleep(duration).await;
    }
}

pub(crate) async fn broker(
    ground: &impl Ground,
    module: &str,
    manifest: &str,
    seed: u64,
) -> Broker {
    let connection = ground.connect(module).await;
    let clock = Arc::new(Standing(SystemClock::new()));
    let transport = Arc::clone(connection.transport());
    let connection = Connection::new(connection.principal().clone(), clock, transport)
        .with_system(connection.system())
        .with_streams(Arc::clone(connection.streams().unwrap()))
        .with_requests(Arc::clone(connection.requests().unwrap()));
    let manifest = ModuleManifest::parse("module.toml", manifest).unwrap();
    Broker::builder(connection).manifest(&manifest).seed(seed).build().unwrap()
}

/// The trace that the module is called in.
pub(crate) const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
pub(crate) const TRACESTATE: &str = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";
pub(crate) const BAGGAGE: &str = "tenant=caf%C3%A9;ttl=1, level = 3";

fn trace() -> TraceContext {
    let headers = [("traceparent", TRACEPARENT), ("tracestate", TRACESTATE), ("baggage", BAGGAGE)];
    TraceContext::read(headers)
}

pub(crate) async fn run(ground: &impl Ground) -> Seen {
    let mail = broker(ground, "mail", MAIL, 1).await;
    let audit = broker(ground, "audit", AUDIT, 2).await;
    let letter = Letter { to: "zoë".into(), lines: vec!["a\"b".into(), "\0".into()], size: 1.5 };

    // An event, handled at the second attempt, whose handler says something of its own.
    let (saw, mut seen) = unbounded_channel();
    let (speaker, tries) = (audit.clone(), Arc::new(AtomicU32::new(0)));
    let handler = move |event: ReceivedEvent| {
        let (saw, speaker, tries) = (saw.clone(), speaker.clone(), Arc::clone(&tries));
        async move {
            let letter: Letter = event.decode()?;
            saw.send((event.attempt, event.module.to_string(), letter)).unwrap();
            if tries.fetch_add(1, Ordering::SeqCst) == 0 {
                return Err(HandlerError::retry_after("not yet", Duration::from_millis(20)));
            }
            speaker.publish("seen", "ok").await.map_err(|e| HandlerError::reject(e.to_string()))?;
            Ok(())
        }
    };
    soon(audit.subscribe("mail.letter.sent", handler)).await.unwrap();
    let sent = Emission::new(event_name("letter.sent")).schema("2").traced(trace());
    soon(mail.publish(sent, &letter)).await.unwrap();
    let attempts = vec![soon(seen.recv()).await.unwrap(), soon(seen.recv()).await.unwrap()];

    // A tool that answers, and fails, and one that nobody serves.
    let speaker = mail.clone();
    let send = move |call: ToolCall| {
        let speaker = speaker.clone();
        async move {
            let letter: Letter = call.decode()?;
            if letter.to.is_empty() {
                return Err(ToolFailure::new("mail.nobody", "nobody is addressed: \u{e9}"));
            }
            let told = speaker.publish("answered", &letter.to).await;
            told.map_err(|error| ToolFailure::new("mail.mute", error.to_string()))?;
            Ok(Letter { size: letter.size * 2.0, ..letter })
        }
    };
    soon(mail.handle("send", send)).await.unwrap();
    let tool = ToolRequest::new(module_name("mail"), tool_name("send")).traced(trace());
    let asked = soon(audit.request(tool, &letter)).await;
    let answer: Letter = asked.unwrap();
    let nobody = Letter { to: String::new(), ..letter.clone() };
    let failed: Result<Letter, RequestError> = soon(audit.request(("mail", "send"), &nobody)).await;
    let failure = match failed.unwrap_err() {
        RequestError::Tool(failure) => (failure.code, failure.message),
        other => panic!("{other}"),
    };
    let absent: Result<Letter, RequestError> =
        soon(audit.request(("mail", "later"), &letter)).await;
    let absent = match absent.unwrap_err() {
        RequestError::Unavailable(_) => "unavailable".to_owned(),
        other => other.to_string(),
    };
    let mut lost = 0;
    for module in [mail, audit] {
        lost += soon(module.close(Duration::from_secs(10))).await.lost;
    }
    Seen { attempts, answer, failure, absent, lost }
}
