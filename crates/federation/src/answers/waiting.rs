use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::table::Table;
use super::{AnswersClosed, Reply};

/// Who waits for the answer to one question: a future of the [`Reply`]. It has no time limit of its own.
/// Dropped, it takes the question out of the table; an answer that comes later is `Unknown`.
///
/// It fails with [`AnswersClosed`] when nobody listens for answers any more.
#[must_use = "dropped, it gives the question up"]
pub struct Waiting {
    table: Arc<Table>,
    id: Arc<str>,
    number: u64,
    answer: oneshot::Receiver<Reply>,
}

impl Waiting {
    pub(super) fn new(
        table: Arc<Table>,
        id: Arc<str>,
        number: u64,
        answer: oneshot::Receiver<Reply>,
    ) -> Self {
        Self { table, id, number, answer }
    }

    /// The question's `correlationId`.
    #[must_use]
    pub fn correlation_id(&self) -> &str {
        &self.id
    }
}

impl Future for Waiting {
    type Output = Result<Reply, AnswersClosed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.answer).poll(context).map_err(|_| AnswersClosed)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.table.forget(&self.id, self.number);
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("correlation_id", &self.id).finish_non_exhaustive()
    }
}
