//! Where a tool's calls are answered, one by one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use mesh_core::event::{self, EventId, TraceContext};
use mesh_core::json::JsonText;
use mesh_core::message::{HeaderValue, Headers, names};
use mesh_core::port::{
    Call, Calls, Clock, Incoming, Operation, Reason, ReceiveError, TransportError,
};
use mesh_core::subject::Subject;
use mesh_core::tool::{ToolFailure, codes};

use crate::limit::{PATIENCE, within};
use crate::observe::Serving;
use crate::places::Place;
use crate::tool::ToolCall;
use crate::workers::Outcome;

pub(crate) type Handler =
    dyn Fn(ToolCall) -> BoxFuture<'static, Result<JsonText, ToolFailure>> + Send + Sync;

pub(crate) struct Counter {
    pub(crate) handler: Arc<Handler>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The most bytes of an answer.
    pub(crate) most: usize,
    pub(crate) observed: Arc<Serving>,
}

impl Counter {
    /// Runs the handler and answers within the limit: an answer that can't be sent would leave its
    /// caller to wait in vain. `taken` is when the call was taken from the transport.
    pub(crate) async fn serve(&self, call: Call, taken: Duration, _place: Place) -> Outcome {
        let _in_flight = self.observed.in_flight.enter();
        let result =
            self.run(&call, taken).await.and_then(|output| match output.as_bytes().len() {
                bytes if bytes <= self.most => Ok(output),
                bytes => {
                    let most = self.most;
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
                if body.len() <= self.most {
                    body
                } else {
                    let line = Reason::new(&failure.message);
                    ToolFailure::new(failure.code, line.as_str()).encode(&mut headers)
                }
            }
        };
        self.answer(call, headers, payload).await;
        Outcome::Finished
    }

    async fn answer(&self, call: Call, headers: Headers, payload: Bytes) {
        let subject = call.message().subject().clone();
        let answering = call.answer(headers, payload);
        if let Err(error) = within(&*self.clock, PATIENCE, Operation::Answer, answering).await {
            note_lost(&self.observed, &subject, &error);
        }
    }

    /// The calls without word of answers that were lost after they had been sent, which is taken in here.
    pub(crate) fn heed(calls: Calls, observed: Arc<Serving>) -> Calls {
        Incoming::new(calls.filter_map(move |arrival| {
            let arrival = match arrival {
                Err(ReceiveError::AnswerLost { subject, error }) => {
                    note_lost(&observed, &subject, &error);
                    None
                }
                arrival => Some(arrival),
            };
            std::future::ready(arrival)
        }))
    }

    async fn run(&self, call: &Call, taken: Duration) -> Result<JsonText, ToolFailure> {
        self.observed.arrived();
        let timeout = self.time_left(call, taken)?;
        let headers = call.message().headers();
        let input = JsonText::new(call.message().payload().clone())
            .map_err(|error| ToolFailure::new(codes::BAD_REQUEST, format!("input: {error}")))?;
        let name = event::CAUSATION_ID;
        let cause = headers.value(name).and_then(|value| EventId::from_header(name, value).ok());
        let trace = TraceContext::read(headers.iter());
        let bytes = input.as_bytes().len();
        let call = ToolCall { input, caller: call.caller().cloned(), timeout };
        // The handler is called in here too: it may panic, or ask others, before it gives its future.
        let handling = async move { (self.handler)(call).await };
        self.observed.handle(cause, &trace, bytes, handling).await
    }

    /// How long the caller still waits, where it said how long it would. A failure when it has left:
    /// then nothing is to be done for it.
    fn time_left(&self, call: &Call, taken: Duration) -> Result<Option<Duration>, ToolFailure> {
        let given = call
            .message()
            .headers()
            .value(names::TIMEOUT_MS.as_str())
            .and_then(|text| text.parse().ok())
            .map(Duration::from_millis);
        let Some(given) = given else {
            return Ok(None);
        };
        let waited = self.clock.monotonic().saturating_sub(call.arrived().unwrap_or(taken));
        let left = given.saturating_sub(waited);
        if left.is_zero() {
            self.observed.expired();
            tracing::debug!(tool = %call.message().subject(), ?given, ?waited, "its time was over");
            let reason = format!("the {given:?} given were over before a handler was free");
            return Err(ToolFailure::new(codes::TIMED_OUT, reason));
        }
        Ok(Some(left))
    }
}

fn note_lost(observed: &Serving, tool: &Subject, error: &TransportError) {
    observed.lost();
    tracing::warn!(%tool, %error, "an answer did not reach its caller");
}
