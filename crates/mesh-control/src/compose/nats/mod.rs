//! The configuration of a nats-server.

mod accounts;
mod quote;

use std::fmt::Write as _;
use std::net::SocketAddr;

use mesh_core::manifest::Bus;

pub use accounts::Accounts;
use quote::quoted;

use super::{ComposeError, Composition, Danger, Place, Verifiers};

/// The first server with `feature_flags` (measured: 2.14.0 takes them, 2.12.8 refuses the whole file).
const KNOWS_FLAGS: (u32, u32, u32) = (2, 14, 0);

/// The whole file of a composition's server.
pub(super) fn file(
    composition: &Composition,
    verifiers: &dyn Verifiers,
    place: &Place,
) -> Result<String, ComposeError> {
    let bus = composition.bus();
    Danger::monitoring(place.monitor.unwrap_or(bus.monitor))?;
    let accounts = accounts(composition, verifiers)?;
    Ok(head(bus, place, &accounts)? + &accounts.block()?)
}

/// Everybody, each in their account.
pub(super) fn accounts(
    composition: &Composition,
    verifiers: &dyn Verifiers,
) -> Result<Accounts, ComposeError> {
    let bus = composition.bus();
    Danger::nobody(composition.users())?;
    let mut accounts = Accounts::of(bus);
    let mut without = Vec::new();
    for user in composition.users() {
        match verifiers.verifier(user.name()) {
            Some(verifier) => {
                let (name, account) = (user.name(), user.account());
                accounts = accounts.with(name, account, &user.permissions(), &verifier)?;
            }
            None => without.push(user.name().to_owned()),
        }
    }
    if !without.is_empty() {
        return Err(ComposeError::NoVerifier(without));
    }
    Ok(accounts)
}

/// All but accounts and users. The system account is named first: with a file that is cut off before its
/// accounts no server starts, where it would otherwise let in everybody.
fn head(bus: &Bus, place: &Place, accounts: &Accounts) -> Result<String, ComposeError> {
    let listen = place.listen.unwrap_or(bus.listen);
    let monitor = place.monitor.unwrap_or(bus.monitor);
    let at_home = |field: &str, own: Option<&str>, told: &str| match own {
        Some(path) => quoted(field, path),
        None => quoted(field, &below(place.folder.as_deref(), told)),
    };
    let tls = place.tls.as_ref().map(|(cert, key)| (cert.as_str(), key.as_str())).unzip();
    let limits = &bus.limits;
    let mut text = String::from(
        "# Composed from the files of a mesh: what is changed here is lost when they are composed again.\n",
    );
    _ = writeln!(text, "server_name: {}", quoted("bus.name", bus.name.as_str())?);
    text.push_str(&accounts.system()?);
    _ = writeln!(text, "listen: {}", address(listen)?);
    _ = writeln!(text, "http: {}", address(monitor)?);
    _ = writeln!(
        text,
        "tls {{ cert_file: {}, key_file: {}, min_version: \"1.2\", timeout: 5 }}",
        at_home("bus.tls.cert", tls.0, bus.tls.cert.as_str())?,
        at_home("bus.tls.key", tls.1, bus.tls.key.as_str())?,
    );
    _ = writeln!(text, "max_connections: {}", limits.connections);
    _ = writeln!(text, "max_subscriptions: {}", limits.subscriptions);
    _ = writeln!(text, "max_payload: {}", limits.max_payload);
    text.push_str("ping_interval: \"20s\"\nwrite_deadline: \"10s\"\n");
    _ = writeln!(text, "authorization {{ timeout: {} }}", bus.authorization_timeout.as_secs_f64());
    _ = writeln!(
        text,
        "jetstream {{ store_dir: {}, max_memory_store: {}, max_file_store: {}, strict: true }}",
        at_home("bus.store_dir", place.store_dir.as_deref(), bus.store_dir.as_str())?,
        limits.memory_store,
        limits.file_store,
    );
    if place.server.is_some_and(|version| version >= KNOWS_FLAGS) {
        text.push_str("feature_flags { js_ack_fc_v2: false }\n");
    }
    Ok(text)
}

fn address(address: SocketAddr) -> Result<String, ComposeError> {
    quoted("an address", &address.to_string())
}

/// A relative path begins at the folder, where there is one.
fn below(folder: Option<&str>, path: &str) -> String {
    match folder {
        Some(folder) if !path.starts_with('/') => {
            format!("{}/{path}", folder.trim_end_matches('/'))
        }
        _ => path.to_owned(),
    }
}
