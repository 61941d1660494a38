//! Dialling servers of all kinds: real ones, and one that plays what no real one does.

mod environment;
mod login;
mod real;
mod session;
mod trust;

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Event;
use mesh_core::credential::Credential;
use mesh_core::port::{ErrorKind, TransportError};
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{FakeConfig, FakeNats, Heard};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{Dialled, EventSink, dial};
use crate::{NatsOptions, Target};

/// A server with TLS, its greeting first.
fn secured() -> FakeConfig {
    FakeConfig::new().tls(Certificate::local().unwrap())
}

async fn fake(config: FakeConfig) -> FakeNats {
    FakeNats::start(config).await.unwrap()
}

/// The server at `address`, for a user and password still percent-encoded, trusted for `pin`.
fn target(address: &dyn Display, userinfo: &str, pin: &str) -> Target {
    let url = format!("tls://{userinfo}@{address}");
    let document =
        format!(r#"{{"url": "{url}", "fingerprint": "{pin}", "node": "n1", "module": "mail"}}"#);
    Target::of(&Credential::parse(document).unwrap()).unwrap()
}

/// The fake server, trusted for what it shows.
fn target_of(fake: &FakeNats) -> Target {
    target(&fake.address(), "u:hunter2", fake.fingerprint().unwrap())
}

/// Dials with the options' defaults, and leaves events unheard.
async fn dialled(target: &Target) -> Result<Dialled, TransportError> {
    dial(target, &NatsOptions::default(), listening().0).await
}

/// Dials with `options`; it must come to nothing, with such an error, which must not tell the password.
async fn refused(
    target: &Target,
    options: &NatsOptions,
    kind: ErrorKind,
    may_retry: bool,
) -> String {
    let Err(error) = dial(target, options, listening().0).await else {
        panic!("connected");
    };
    assert_eq!((error.kind(), error.may_retry()), (kind, may_retry), "{error}");
    let password = target.login().password().expose();
    assert!(!format!("{error:?} {error}").contains(password), "{error}");
    error.to_string()
}

/// What the fake's next visitor did, who must not have logged in.
async fn heard_no_log_in(fake: &FakeNats) -> Vec<Heard> {
    let visit = fake.whole_visit().await.unwrap();
    assert!(!visit.iter().any(|heard| matches!(heard, Heard::Connect(_))), "{visit:?}");
    visit
}

/// For servers that never answer; long enough for a handshake on a machine that is busy.
fn impatient() -> NatsOptions {
    NatsOptions { connect_timeout: Duration::from_secs(3), ..NatsOptions::default() }
}

fn tls_first() -> NatsOptions {
    NatsOptions { tls_first: true, ..NatsOptions::default() }
}

/// Hears the client's events, which end with the client's task.
fn listening() -> (EventSink, mpsc::UnboundedReceiver<Event>) {
    let (sender, events) = mpsc::unbounded_channel();
    (Arc::new(move |event| drop(sender.send(event))), events)
}

/// Waits for what must come.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(30), future).await.unwrap()
}
