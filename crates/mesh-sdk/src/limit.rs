//! Holds others to the time that they were given: a transport that forgets its own limit must not
//! make a verb wait for ever.

use std::future::Future;
use std::time::Duration;

use mesh_core::port::{Clock, ErrorKind, Operation, TransportError};

/// How much longer than its time a call may take to give up, before it is given up here.
pub(crate) const MARGIN: Duration = Duration::from_millis(250);

/// How long the broker is waited for where nobody says otherwise, as in the ports' own options.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// What `call` gives, which was told to take `span` at most. `TimedOut` where it is not back shortly
/// after that.
pub(crate) async fn within<T>(
    clock: &dyn Clock,
    span: Duration,
    operation: Operation,
    call: impl Future<Output = Result<T, TransportError>> + Send,
) -> Result<T, TransportError> {
    let back = limited(clock, span.saturating_add(MARGIN), call).await;
    back.unwrap_or_else(|| Err(overdue(operation)))
}

/// Of a call that is not back in time.
pub(crate) fn overdue(operation: Operation) -> TransportError {
    TransportError::new(ErrorKind::TimedOut, operation)
        .detail("the transport did not keep to its time")
}

/// What `work` gives, if it does so within `span`; else it is dropped.
pub(crate) async fn limited<F: Future + Send>(
    clock: &dyn Clock,
    span: Duration,
    work: F,
) -> Option<F::Output> {
    tokio::select! {
        biased;
        done = work => Some(done),
        // Begun only where the work has to wait.
        () = async { clock.sleep(span).await } => None,
    }
}
