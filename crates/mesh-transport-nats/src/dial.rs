//! One attempt to reach the server.

mod once;
#[cfg(test)]
mod tests;
mod version;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, ServerAddr};
use futures_util::FutureExt;
use mesh_core::port::TransportError;
use mesh_core::topology::Inbox;
use mesh_tls::Refusals;
use tokio::time::timeout;

pub(crate) use once::Lost;
pub(crate) use version::{Version, VersionError};

use crate::error::{Attempt, Failure};
use crate::proof::Proof;
use crate::{NatsOptions, Target};

/// Who hears what the client says outside any call. It must return at once: it is called between two
/// events, and the client throws away what it has no room for.
pub(crate) type EventSink = Arc<dyn Fn(Event) + Send + Sync>;

/// A server that was reached.
pub(crate) struct Dialled {
    pub client: Client,
    pub server: ServerFacts,
    pub lost: Lost,
}

/// What the server says of itself. Without `tls_first` it says so before there is TLS, so it is a
/// claim; nothing here is trusted for more than a limit or a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerFacts {
    pub version: Version,
    /// In bytes, headers included.
    pub max_payload: usize,
    pub server_id: String,
    pub server_name: String,
    pub cluster: Option<String>,
}

/// Tries once to reach the server. The client that comes out of it never connects again: when its
/// connection is gone, its subscriptions end and [`Lost`] resolves.
///
/// The password leaves this machine only after the server has proven that it holds the key of a
/// pinned certificate.
///
/// # Errors
/// Of [`Operation::Connect`](mesh_core::port::Operation::Connect), about the server's address:
/// `Invalid` for options without sense, `Denied` for another certificate or a refused log-in,
/// `TimedOut`, `Disconnected`, and `Unsupported` for a server that is too old.
pub(crate) async fn dial(
    target: &Target,
    options: &NatsOptions,
    events: EventSink,
) -> Result<Dialled, TransportError> {
    let attempt = Attempt { target, options, refusals: Refusals::default() };
    options.check().map_err(|error| attempt.failed(Failure::Options(error)))?;
    let pinned = target.pinned().map(mesh_tls::client_config).transpose();
    let pinned = pinned.map_err(|error| attempt.failed(Failure::Tls(error)))?;
    let refusals = pinned.as_ref().map(|pinned| pinned.refusals.clone()).unwrap_or_default();
    let attempt = Attempt { refusals, ..attempt };

    let connecting = async {
        let addresses = look_up(target).await.map_err(Failure::Name)?;
        let server = target.to_string().parse::<ServerAddr>().map_err(Failure::Address)?;
        let mut connect = configured(target, options, events)
            .connection_timeout(options.connect_timeout / addresses.max(1));
        if let Some(pinned) = pinned {
            connect = connect.require_tls(true).tls_client_config(pinned.config);
            if options.tls_first {
                connect = connect.tls_first();
            }
        }
        let (connect, pool, lost) = once::only_once(connect, server).map_err(Failure::Address)?;
        let client = connect.connect(pool.as_slice()).await.map_err(Failure::Connect)?;
        Ok((client, lost))
    };
    // The client panics at words that no server says, and whoever is on the way says what he likes until
    // there is TLS.
    let connecting = AssertUnwindSafe(connecting).catch_unwind();
    let (client, lost) = timeout(options.connect_timeout, connecting)
        .await
        .map_err(|_elapsed| attempt.failed(Failure::TimedOut))?
        .map_err(|_panic| attempt.failed(Failure::Panicked))?
        .map_err(|failure| attempt.failed(failure))?;

    let info = client.server_info();
    if target.pinned().is_some() && !info.auth_required {
        tracing::warn!(server = %target, "the server asks nobody to log in: whoever reaches it may do anything");
    }
    let version =
        version::check(&info.version).map_err(|error| attempt.failed(Failure::Version(error)))?;
    let server = ServerFacts {
        version,
        max_payload: info.max_payload,
        server_id: info.server_id,
        server_name: info.server_name,
        cluster: info.cluster,
    };
    Ok(Dialled { client, server, lost })
}

/// How many addresses the server's name has.
async fn look_up(target: &Target) -> std::io::Result<u32> {
    if target.host().address().is_some() {
        return Ok(1);
    }
    let host = target.host().to_string();
    let addresses = tokio::net::lookup_host((host, target.port())).await?;
    Ok(u32::try_from(addresses.count()).unwrap_or(u32::MAX))
}

/// Everything but TLS and time.
fn configured(target: &Target, options: &NatsOptions, events: EventSink) -> ConnectOptions {
    let login = target.login();
    let (user, secret) = (login.user().to_owned(), login.password().expose().to_owned());
    let connect = match target.proof() {
        Proof::Password => ConnectOptions::new().user_and_password(user, secret),
        Proof::NKey => ConnectOptions::new().nkey(secret),
    };
    connect
        .name(target.principal())
        .custom_inbox_prefix(format!("{}.ack", Inbox::of(target.principal())))
        .ignore_discovered_servers()
        .ping_interval(options.ping_interval)
        .client_capacity(options.client_capacity.get())
        .subscription_capacity(options.subscription_capacity.get())
        .read_buffer_capacity(options.read_buffer_capacity.get())
        .reconnect_delay_callback(|_| Duration::ZERO)
        .event_callback(move |event| {
            events(event);
            std::future::ready(())
        })
}
