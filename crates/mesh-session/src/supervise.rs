//! Keeps a session standing: when one is lost, makes the next, with pauses that grow and differ from client to
//! client.

use std::sync::Arc;

use mesh_core::port::{Operation, TransportError};
use mesh_core::time::Backoff;
use tokio::time::Instant;

use crate::line::runtime_ended;
use crate::{Line, Phase, Session};

/// Runs until the connection is closed. `open` makes the session of that number, in one attempt.
///
/// Dropped before, which a runtime that ends does too, it closes the connection and ends its session: without
/// a supervisor there is none.
pub async fn supervise<S: Session, F>(
    line: Arc<Line<S>>,
    backoff: Backoff,
    first: Arc<S>,
    open: impl Fn(u64) -> F + Send + Sync,
) where
    F: Future<Output = Result<Arc<S>, TransportError>> + Send,
{
    let _end = End(Arc::clone(&line));
    let mut session = first;
    let mut id = session.id();
    let mut attempt = 0;
    loop {
        let began = Instant::now();
        let why = tokio::select! {
            why = session.over() => why,
            () = line.closed() => return,
        };
        if !line.step(Phase::Down(why)) {
            return;
        }
        drop(session);
        // A session that was lost as soon as it was made is no reason to hurry.
        if began.elapsed() >= backoff.longest(attempt) {
            attempt = 0;
        }
        session = loop {
            let pause = backoff.pause(attempt, rand::random());
            attempt = attempt.saturating_add(1);
            id += 1;
            let opening = async {
                tokio::time::sleep(pause).await;
                open(id).await
            };
            let opened = tokio::select! {
                opened = opening => opened,
                () = line.closed() => return,
            };
            match opened {
                Ok(session) => break session,
                Err(error) => {
                    tracing::warn!(%error, attempt, "no connection to the broker yet");
                    if !line.step(Phase::Down(error)) {
                        return;
                    }
                }
            }
        };
        tracing::info!(attempt, "connected to the broker again");
        if !line.step(Phase::Up(Arc::clone(&session))) {
            return;
        }
    }
}

struct End<S: Session>(Arc<Line<S>>);

impl<S: Session> Drop for End<S> {
    fn drop(&mut self) {
        let standing = self.0.session_now();
        self.0.step(Phase::Closed);
        // Nobody is left who would hear the answers to what is under way, in another runtime.
        if let Some(session) = standing {
            session.end(&runtime_ended(Operation::Connect));
        }
    }
}
