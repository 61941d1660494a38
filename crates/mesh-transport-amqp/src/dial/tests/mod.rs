//! Dialling brokers of all kinds: a real one, and peers that do what no real one does.

mod hostile;
mod outgoing;
mod peer;
mod real;
mod sifting;
mod trust;
mod urls;

use std::fmt::Display;
use std::time::Duration;

use mesh_core::credential::Credential;
use mesh_core::port::{ErrorKind, TransportError};

use super::{Dialled, dial};
use crate::testing::come;
use crate::{AmqpOptions, Target};

/// The broker at `address`, for a user and password still percent-encoded, trusted for `pin`.
fn target(address: &dyn Display, userinfo: &str, pin: &str) -> Target {
    of_url(&format!("amqps://{userinfo}@{address}/mesh"), pin)
}

fn of_url(url: &str, pin: &str) -> Target {
    let document =
        format!(r#"{{"url": "{url}", "fingerprint": "{pin}", "node": "n1", "module": "mail"}}"#);
    Target::of(&Credential::parse(document).unwrap()).unwrap()
}

async fn dialled(target: &Target) -> Result<Dialled, TransportError> {
    come(dial(target, &AmqpOptions::default(), "a test", None)).await
}

/// It must come to nothing, with such an error, which must not tell the password.
async fn refused(
    target: &Target,
    options: &AmqpOptions,
    kind: ErrorKind,
    may_retry: bool,
) -> String {
    let Err(error) = come(dial(target, options, "a test", None)).await else { panic!("connected") };
    assert_eq!((error.kind(), error.may_retry()), (kind, may_retry), "{error}");
    let password = target.login().password().expose();
    assert!(!format!("{error:?} {error}").contains(password), "{error}");
    error.to_string()
}

/// For peers that never answer; long enough for a handshake on a machine that is busy.
fn impatient() -> AmqpOptions {
    AmqpOptions { connect_timeout: Duration::from_secs(3), ..AmqpOptions::default() }
}
