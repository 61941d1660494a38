use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt as _;
use mesh_core::json::JsonText;
use mesh_core::name::ToolName;
use mesh_core::port::{
    Call, Capability, Clock, ErrorKind, Operation, Requests, ServeOptions, TransportError,
};
use mesh_core::subject::{Filter, Subject};
use mesh_core::tool::{ToolFailure, codes};
use mesh_core::topology::MeshSubject;
use parking_lot::Mutex;
use serde::Serialize;
use tracing::Instrument as _;

use crate::binding::{Binding, Line};
use crate::broker::Broker;
use crate::counter::{Counter, Handler};
use crate::error::HandleError;
use crate::limit::within;
use crate::observe::{Serving, noted};
use crate::places::Room;
use crate::reading::{Opener, Source};
use crate::reserved::controllers;
use crate::scope::{Has, Tools};
use crate::tool::ToolCall;
use crate::workers::Workers;

impl<S: Has<Tools>> Broker<S> {
    /// Answers for a tool of this module, sharing its calls with every other process that serves it.
    ///
    /// What the handler gives is the answer; a [`ToolFailure`], a panic or an output that is no
    /// JSON or too large is answered as a failure, so the caller always hears something. A call
    /// without a proper reply address never reaches the handler, and neither does one whose time was
    /// over before a handler was free: that is answered as timed out, and counted in
    /// [`Health::expired_calls`](crate::Health::expired_calls). An answer that did not reach its caller,
    /// because the broker refused it, is logged and counted in
    /// [`Health::lost_answers`](crate::Health::lost_answers). The manifest's `input`, `output` and
    /// `timeout` are not enforced: the handler checks what it is given.
    ///
    /// The tool is served until the broker is closed or its last clone is dropped. Where that is
    /// interrupted, because the right was taken, it is served again as soon as that can be;
    /// [`health`](Self::health) tells of it.
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
        let handler: Arc<Handler> = Arc::new(move |call| {
            let work = handler(call);
            async move {
                let output = work.await?;
                JsonText::from_value(&output)
                    .map_err(|error| ToolFailure::new(codes::FAILED, format!("output: {error}")))
            }
            .boxed()
        });
        self.serve_all([(tool.try_into()?, handler)]).await
    }

    /// Serves all of these tools, or none of them.
    pub(crate) async fn serve_all<const N: usize>(
        &self,
        tools: [(ToolName, Arc<Handler>); N],
    ) -> Result<(), HandleError> {
        let module = &self.part::<Tools>().here.module;
        let mut served = Vec::with_capacity(N);
        for (tool, handler) in tools {
            let named = MeshSubject::Tool { module: module.clone(), tool: tool.clone() };
            let reserved = Reserved::take(&self.0.serving, tool)?;
            let subject = named.to_subject()?;
            let span = self.0.observer.offering(&subject);
            let serving = self.serve(subject, handler).instrument(span.clone()).await;
            let (workers, line) = noted(&span, serving, HandleError::kind)?;
            served.push((reserved, workers, line));
        }
        for (reserved, workers, line) in served {
            self.0.keep(workers, Operation::Serve)?;
            if !reserved.fill(line) {
                return Err(TransportError::new(ErrorKind::Closed, Operation::Serve).into());
            }
        }
        Ok(())
    }

    async fn serve(
        &self,
        subject: Subject,
        handler: Arc<Handler>,
    ) -> Result<(Workers, Line), HandleError> {
        let connection = &self.0.connection;
        let clock = connection.clock();
        let (observer, counts) = (Arc::clone(&self.0.observer), Arc::clone(&self.0.counts));
        let observed = Arc::new(Serving::new(observer, subject.clone(), counts));
        let name = subject.to_string();
        let requests = Arc::clone(&self.part::<Tools>().asking.requests);
        let scoped = connection.transport().capabilities().has(Capability::ScopedReplies);
        let open = opener(Arc::clone(clock), requests, subject, scoped, Arc::clone(&observed));
        let source = Source::open(name, Operation::Serve, open, observed.bound()).await?;
        let counter = Arc::new(Counter {
            handler,
            clock: Arc::clone(clock),
            most: connection.transport().capabilities().limits().max_payload,
            observed,
        });
        let handlers = self.0.settings.concurrency;
        let room = Room { handlers, retries: 0, unhandled: 0, holds: false };
        Ok(Workers::start(source, Arc::clone(clock), room, move |call, place| {
            let (counter, taken) = (Arc::clone(&counter), counter.clock.monotonic());
            async move { counter.serve(call, taken, place).await }
        }))
    }
}

fn opener(
    clock: Arc<dyn Clock>,
    requests: Arc<dyn Requests>,
    subject: Subject,
    scoped: bool,
    observed: Arc<Serving>,
) -> Opener<Call> {
    let filter = Filter::from(subject);
    Box::new(move || {
        let (clock, requests) = (Arc::clone(&clock), Arc::clone(&requests));
        let (filter, observed) = (filter.clone(), Arc::clone(&observed));
        async move {
            let options = ServeOptions::default();
            let span = options.timeout;
            let serving = requests.serve(filter, options);
            let calls = within(&*clock, span, Operation::Serve, serving).await?;
            Ok(controllers(Counter::heed(calls, observed), scoped))
        }
        .boxed()
    })
}

type Places = Mutex<BTreeMap<ToolName, Option<Line>>>;

/// The place of a tool that is about to be served; free again when it is dropped without a line.
struct Reserved<'a> {
    tools: &'a Places,
    tool: Option<ToolName>,
}

impl<'a> Reserved<'a> {
    fn take(tools: &'a Places, tool: ToolName) -> Result<Self, HandleError> {
        let mut known = tools.lock();
        match known.get(&tool).map(|line| line.as_ref().map(Line::binding)) {
            None => {
                known.insert(tool.clone(), None);
                Ok(Self { tools, tool: Some(tool) })
            }
            Some(Some(Binding::Over(error))) => Err(error.into()),
            Some(_) => Err(HandleError::AlreadyServed { tool }),
        }
    }

    /// Says whether it was still there: a broker that has closed meanwhile has no tools any more.
    fn fill(mut self, line: Line) -> bool {
        let mut tools = self.tools.lock();
        let place = self.tool.take().and_then(|tool| tools.get_mut(&tool));
        place.map(|place| *place = Some(line)).is_some()
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if let Some(tool) = self.tool.take() {
            self.tools.lock().remove(&tool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Metric;

    fn line() -> Line {
        Line::new(Metric::from_name("mesh.bound"))
    }

    #[test]
    fn a_tool_whose_broker_has_closed_before_it_was_listed_is_not_listed() {
        let (tools, tool) = (Places::default(), mesh_testkit::fixtures::tool_name("send"));
        let reserved = Reserved::take(&tools, tool.clone()).unwrap();
        tools.lock().clear();
        assert!(!reserved.fill(line()));
        assert!(tools.lock().is_empty());
        assert!(Reserved::take(&tools, tool).unwrap().fill(line()));
        assert_eq!(tools.lock().len(), 1);
    }
}
