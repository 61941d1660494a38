use std::sync::Arc;

use mesh_core::port::{ErrorKind, TransportError};
use tokio::sync::{Notify, watch};

use crate::observe::{Metric, tell_bound};

/// How a subscription, or a tool that is served, stands with the broker.
///
/// Why nothing arrives is the [kind](TransportError::kind) of the error: `NotFound`, the controller
/// retired the consumer; `Denied`, the right was taken; `Disconnected`, the connection is lost;
/// `Closed`, this side closed it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Binding {
    /// The broker delivers.
    Bound,
    /// Nothing arrives, for this reason. It is tried again, by itself, until it is bound or over.
    Lost(TransportError),
    /// Nothing will arrive any more, for this reason.
    Over(TransportError),
}

impl Binding {
    /// Whether the broker delivers.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        matches!(self, Self::Bound)
    }

    /// Why nothing arrives, if so.
    #[must_use]
    pub fn error(&self) -> Option<&TransportError> {
        match self {
            Self::Bound => None,
            Self::Lost(error) | Self::Over(error) => Some(error),
        }
    }

    /// Lost, or over where another try can't help. A consumer may be made again and a right given
    /// back, so the kind's own word on retries does not count for those.
    pub(crate) fn after(error: TransportError) -> Self {
        match error.kind() {
            ErrorKind::Closed | ErrorKind::Unsupported | ErrorKind::Invalid => Self::Over(error),
            ErrorKind::Disconnected if !error.may_retry() => Self::Over(error),
            _ => Self::Lost(error),
        }
    }
}

/// What a reading task tells of its binding, and how it is told to hurry. Clones are the same line.
#[derive(Debug, Clone)]
pub(crate) struct Line(Arc<Ends>);

#[derive(Debug)]
struct Ends {
    binding: watch::Sender<Binding>,
    hurry: Notify,
    measured: Metric,
}

impl Line {
    /// Of one that is bound, which is told as `measured`.
    pub(crate) fn new(measured: Metric) -> Self {
        tell_bound(&measured, true);
        let binding = watch::Sender::new(Binding::Bound);
        Self(Arc::new(Ends { binding, hurry: Notify::new(), measured }))
    }

    pub(crate) fn binding(&self) -> Binding {
        self.0.binding.borrow().clone()
    }

    pub(crate) fn set(&self, binding: Binding) {
        tell_bound(&self.0.measured, binding.is_bound());
        self.0.binding.send_replace(binding);
    }

    /// Nothing more is read, for this reason. What ended it before stays.
    pub(crate) fn end(&self, error: TransportError) {
        tell_bound(&self.0.measured, false);
        self.0.binding.send_if_modified(|binding| {
            let open = !matches!(binding, Binding::Over(_));
            if open {
                *binding = Binding::Over(error);
            }
            open
        });
    }

    /// Returns when somebody is waiting for the next try.
    pub(crate) async fn hurried(&self) {
        self.0.hurry.notified().await;
    }

    /// Returns once it is bound. Where it is lost it is tried at once, and what comes of that is the
    /// answer.
    pub(crate) async fn bound(&self) -> Result<(), TransportError> {
        let mut binding = self.0.binding.subscribe();
        let now = binding.borrow_and_update().clone();
        let now = match now {
            Binding::Lost(_) => {
                self.0.hurry.notify_one();
                // Its sender is here, so it can't be gone.
                let _ = binding.changed().await;
                binding.borrow().clone()
            }
            settled => settled,
        };
        match now.error() {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }
}
