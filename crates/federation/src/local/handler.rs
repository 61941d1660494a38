use std::future::Future;

use async_trait::async_trait;
use mesh_core::json::RawJson;
use mesh_core::mx::Fault;

use super::Call;

/// What handles a component's command. Any `Fn(Call)` with a future of the answer is one.
///
/// An error is answered as it is, with its own code. A handler that panics or takes longer than its
/// host allows is answered with `MX.EDGE.HANDLER_ERROR`; what it said when it panicked is logged and
/// not sent.
///
/// ```
/// use mesh_core::json::RawJson;
/// use mesh_core::mx::{Fault, MxPath};
/// use mesh_federation::{Call, Handler};
///
/// let count = |call: Call| async move {
///     match call.remote {
///         Some(remote) if remote.realm.as_str() == "shop" => Ok(RawJson::NULL),
///         Some(_) => Err(Fault::new("STOCK.NOT_FOR_YOU", "only shop may count")),
///         None => Ok(RawJson::string("one of us")),
///     }
/// };
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let call = Call::new(MxPath::new("stock.accepts.count")?, RawJson::NULL);
/// assert_eq!(count.handle(call).await, Ok(RawJson::string("one of us")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// Handles one call.
    ///
    /// # Errors
    /// The fault that the asker is told.
    async fn handle(&self, call: Call) -> Result<RawJson<'static>, Fault<'static>>;
}

#[async_trait]
impl<F, A> Handler for F
where
    F: Fn(Call) -> A + Send + Sync + 'static,
    A: Future<Output = Result<RawJson<'static>, Fault<'static>>> + Send,
{
    async fn handle(&self, call: Call) -> Result<RawJson<'static>, Fault<'static>> {
        self(call).await
    }
}
