use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use mesh_core::event::{self, EventId};
use mesh_core::json::JsonText;
use mesh_core::message::{HeaderValue, Headers, names};
use mesh_core::name::ToolName;
use mesh_core::port::{Call, Operation, Reason, ServeOptions};
use mesh_core::subject::{Filter, Subject};
use mesh_core::tool::{ToolFailure, codes};
use mesh_core::topology::MeshSubject;
use serde::Serialize;

use crate::broker::Broker;
use crate::causation::caused_by;
use crate::dispatch::panic_text;
use crate::error::HandleError;
use crate::tool::ToolCall;
use crate::workers::Workers;

type Serving = dyn Fn(ToolCall) -> BoxFuture<'static, Result<JsonText, ToolFailure>> + Send + Sync;

impl Broker {
    /// Answers for a tool of this module, sharing its calls with every other process that serves it.
    ///
    /// What the handler gives is the answer; a [`ToolFailure`], a panic or an output that is no
    /// JSON or too large is answered as a failure, so the caller always hears something. A call
    /// without a proper reply address never reaches the handler. The manifest's `input`, `output` and `timeout` are not
    /// enforced: the handler checks what it is given.
    ///
    /// The tool is served until the broker is closed or its last clone is dropped.
    ///
    /// # Errors
    /// [`HandleError`]; `Denied` where the manifest has no such tool. A second handler of one tool is
    /// refused: both would get some of the calls.
    pub async fn handle<N, F, W, O>(&self, tool: N, handler: F) -> Result<(), HandleError>
    where
        N: TryInto<ToolName>,
        HandleError: From<N::Error>,
        F: Fn(ToolCall) -> W + Send + Sync + 'static,
        W: Future<Output = Result<O, ToolFailure>> + Send + 'static,
        O: Serialize + Send + Sync,
    {
        let tool = tool.try_into()?;
        let (_, module) = self.module()?;
        let subject =
            MeshSubject::Tool { module: module.clone(), tool: tool.clone() }.to_subject()?;
        if !self.0.serving.lock().insert(tool.clone()) {
            return Err(HandleError::AlreadyServed { tool });
        }
        let serving = self.serve(subject, handler).await;
        if serving.is_err() {
            self.0.serving.lock().remove(&tool);
        }
        serving
    }

    async fn serve<F, W, O>(&self, subject: Subject, handler: F) -> Result<(), HandleError>
    where
        F: Fn(ToolCall) -> W + Send + Sync + 'static,
        W: Future<Output = Result<O, ToolFailure>> + Send + 'static,
        O: Serialize + Send + Sync,
    {
        let calls = self
            .0
            .connection
            .requests()?
            .serve(Filter::from(subject.clone()), ServeOptions::default())
            .await?;
        let handler: Arc<Serving> = Arc::new(move |call| {
            let work = handler(call);
            async move {
                let output = work.await?;
                JsonText::from_value(&output)
                    .map_err(|error| ToolFailure::new(codes::FAILED, format!("output: {error}")))
            }
            .boxed()
        });
        let most = self.0.connection.transport().capabilities().limits().max_payload;
        let workers = Workers::start(
            calls,
            Arc::clone(self.0.connection.clock()),
            self.0.settings.concurrency,
            move |call| serve(Arc::clone(&handler), most, call),
            move |error| tracing::warn!(tool = %subject, %error, "while serving"),
        );
        Ok(self.0.keep(workers, Operation::Serve)?)
    }
}

/// Runs the handler and answers within `most` bytes: an answer that can't be sent would leave its
/// caller to wait in vain.
async fn serve(handler: Arc<Serving>, most: usize, call: Call) {
    let result = run(&*handler, &call).await.and_then(|output| match output.as_bytes().len() {
        bytes if bytes <= most => Ok(output),
        bytes => {
            let reason = format!("output: {bytes} bytes, and at most {most} can be sent");
            Err(ToolFailure::new(codes::FAILED, reason))
        }
    });
    let mut headers = Headers::default();
    let payload = match result {
        Ok(output) => {
            headers.set(names::CONTENT_TYPE, HeaderValue::json());
            output.into_bytes()
        }
        Err(failure) => {
            let body = failure.encode(&mut headers);
            if body.len() <= most {
                body
            } else {
                let line = Reason::new(&failure.message);
                ToolFailure::new(failure.code, line.as_str()).encode(&mut headers)
            }
        }
    };
    answer(call, headers, payload).await;
}

async fn answer(call: Call, headers: Headers, payload: Bytes) {
    let subject = call.message().subject().clone();
    if let Err(error) = call.answer(headers, payload).await {
        tracing::warn!(tool = %subject, %error, "an answer did not reach its caller");
    }
}

async fn run(handler: &Serving, call: &Call) -> Result<JsonText, ToolFailure> {
    let headers = call.message().headers();
    let input = JsonText::new(call.message().payload().clone())
        .map_err(|error| ToolFailure::new(codes::BAD_REQUEST, format!("input: {error}")))?;
    let timeout = headers
        .value(names::TIMEOUT_MS.as_str())
        .and_then(|text| text.parse().ok())
        .map(Duration::from_millis);
    let name = event::CAUSATION_ID;
    let cause = headers.value(name).and_then(|value| EventId::from_header(name, value).ok());
    let call = ToolCall { input, caller: call.caller().cloned(), timeout };
    // The handler is called in here too: it may panic, or ask others, before it gives its future.
    let handling = async move { handler(call).await };
    AssertUnwindSafe(caused_by(cause, handling))
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| Err(ToolFailure::new(codes::PANICKED, panic_text(&*panic))))
}
