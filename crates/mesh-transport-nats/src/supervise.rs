//! Keeps a session standing: when one is lost, dials the next, with pauses that grow and differ from
//! client to client, and with the credential as it is then.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::{ErrorKind, Operation, TransportError};
use rand::Rng;

use crate::connect::Source;
use crate::link::{Link, Phase};
use crate::session::Session;

/// Runs until the connection is closed.
pub(crate) async fn supervise(link: Arc<Link>, source: Source, first: Arc<Session>) {
    let mut session = first;
    let mut id = session.id;
    loop {
        tokio::select! {
            () = session.lost() => {}
            () = link.phase_closed() => return,
        }
        let lost = TransportError::new(ErrorKind::Disconnected, Operation::Connect)
            .detail("the connection was lost");
        if !step(&link, Phase::Down(lost)) {
            return;
        }
        drop(session);
        let mut attempt = 0;
        session = loop {
            tokio::time::sleep(pause(&link, attempt)).await;
            attempt += 1;
            id += 1;
            let opening = reopen(&link, &source, id);
            let opened = tokio::select! {
                opened = opening => opened,
                () = link.phase_closed() => return,
            };
            match opened {
                Ok(session) => break session,
                Err(error) => {
                    tracing::warn!(%error, attempt, "no connection to the server yet");
                    if !step(&link, Phase::Down(error)) {
                        return;
                    }
                }
            }
        };
        tracing::info!(attempt, "connected to the server again");
        if !step(&link, Phase::Up(Arc::clone(&session))) {
            return;
        }
    }
}

/// Goes on to the next phase, unless the connection was closed meanwhile.
fn step(link: &Link, next: Phase) -> bool {
    let open = link.phase.send_if_modified(|phase| {
        let open = !matches!(phase, Phase::Closed);
        if open {
            *phase = next;
        }
        open
    });
    link.tell_state();
    open
}

async fn reopen(link: &Link, source: &Source, id: u64) -> Result<Arc<Session>, TransportError> {
    let target = source.target(&link.principal)?;
    Session::open(id, &target, &link.options, &link.inbox, &link.counters).await
}

/// The pause before an attempt: from nothing to a bound that doubles each time, chosen at random so that
/// those who lost the server together don't come back together.
fn pause(link: &Link, attempt: u32) -> Duration {
    let (min, max) = (link.options.reconnect_min, link.options.reconnect_max);
    let bound = min.saturating_mul(1_u32.checked_shl(attempt).unwrap_or(u32::MAX)).min(max);
    rand::rng().random_range(Duration::ZERO..=bound)
}

impl Link {
    async fn phase_closed(&self) {
        let mut phase = self.phase.subscribe();
        let _ = phase.wait_for(|phase| matches!(phase, Phase::Closed)).await;
    }
}
