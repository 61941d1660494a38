//! Keeps a session standing, each made with the credential as it is then.

use std::sync::Arc;

use mesh_core::port::TransportError;
use mesh_core::time::Backoff;

use crate::connect::Source;
use crate::link::Link;
use crate::session::Session;

/// Runs until the connection is closed.
pub(crate) async fn supervise(link: Arc<Link>, source: Source, first: Arc<Session>) {
    let backoff = Backoff { min: link.options.reconnect_min, max: link.options.reconnect_max };
    let line = Arc::clone(&link.line);
    mesh_session::supervise(line, backoff, first, |id| reopen(&link, &source, id)).await;
}

async fn reopen(link: &Link, source: &Source, id: u64) -> Result<Arc<Session>, TransportError> {
    let target = source.read_for(&link.principal)?;
    Session::open(id, &target, &link.options).await
}
