use std::future::Future;

use tokio::task::JoinHandle;

/// A task that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Task(JoinHandle<()>);

impl Task {
    pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }

    /// Returns when it has ended.
    pub(crate) async fn ended(&mut self) {
        // A panic was told by the runtime; either way it has ended.
        let _ = (&mut self.0).await;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
