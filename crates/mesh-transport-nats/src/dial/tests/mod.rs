//! Dialling a server that does what a test needs.

mod environment;
mod fake;
mod login;
mod session;
mod trust;

use std::time::Duration;

use mesh_core::port::TransportError;

use super::{Dialled, dial};
use crate::{NatsOptions, Target};

/// Dials with the options' defaults.
async fn dialled(target: &Target) -> Result<Dialled, TransportError> {
    dial(target, &NatsOptions::default(), fake::listening().0).await
}

/// Dials with `options`; it must come to nothing, and the error must not tell the password.
async fn refused(target: &Target, options: &NatsOptions) -> TransportError {
    let Err(error) = dial(target, options, fake::listening().0).await else {
        panic!("connected");
    };
    let password = target.login().password().expose();
    assert!(!format!("{error:?} {error}").contains(password), "{error}");
    error
}

/// For servers that never answer; long enough for a handshake on a machine that is busy.
fn impatient() -> NatsOptions {
    NatsOptions { connect_timeout: Duration::from_secs(3), ..NatsOptions::default() }
}
