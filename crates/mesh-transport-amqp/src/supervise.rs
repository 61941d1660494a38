//! Keeps a session standing: when one is lost, dials the next, with pauses that grow and differ from
//! client to client, and with the credential as it is then.

use std::sync::Arc;

use mesh_core::port::{Operation, TransportError};
use mesh_core::time::Backoff;
use tokio::time::Instant;

use crate::connect::Source;
use crate::link::{Link, Phase, runtime_ended};
use crate::session::Session;

/// Runs until the connection is closed.
pub(crate) async fn supervise(link: Arc<Link>, source: Source, first: Arc<Session>) {
    let _end = End(Arc::clone(&link));
    let mut session = first;
    let mut id = session.id;
    let mut attempt = 0;
    loop {
        let began = Instant::now();
        tokio::select! {
            _ = session.over() => {}
            () = link.phase_closed() => return,
        }
        if !step(&link, Phase::Down(session.why())) {
            return;
        }
        drop(session);
        // A session that was lost as soon as it was made is no reason to hurry.
        if began.elapsed() >= backoff(&link).longest(attempt) {
            attempt = 0;
        }
        session = loop {
            let pause = backoff(&link).pause(attempt, rand::random());
            attempt = attempt.saturating_add(1);
            id += 1;
            let opening = async {
                tokio::time::sleep(pause).await;
                reopen(&link, &source, id).await
            };
            let opened = tokio::select! {
                opened = opening => opened,
                () = link.phase_closed() => return,
            };
            match opened {
                Ok(session) => break session,
                Err(error) => {
                    tracing::warn!(%error, attempt, "no connection to the broker yet");
                    if !step(&link, Phase::Down(error)) {
                        return;
                    }
                }
            }
        };
        tracing::info!(attempt, "connected to the broker again");
        if !step(&link, Phase::Up(Arc::clone(&session))) {
            return;
        }
    }
}

/// Without a supervisor there is no connection: a runtime that ends closes it.
struct End(Arc<Link>);

impl Drop for End {
    fn drop(&mut self) {
        let standing = self.0.session_now();
        step(&self.0, Phase::Closed);
        // Nobody is left who would hear the answers to what is under way, in another runtime.
        if let Some(session) = standing {
            session.end(runtime_ended(Operation::Connect));
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
    let target = source.read_for(&link.principal)?;
    Session::open(id, &target, &link.options).await
}

fn backoff(link: &Link) -> Backoff {
    Backoff { min: link.options.reconnect_min, max: link.options.reconnect_max }
}

impl Link {
    async fn phase_closed(&self) {
        let mut phase = self.phase.subscribe();
        let _ = phase.wait_for(|phase| matches!(phase, Phase::Closed)).await;
    }
}
