use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures_util::{FutureExt as _, StreamExt as _};
use mesh_core::identity::Principal;
use mesh_core::json::JsonText;
use mesh_core::name::ToolName;
use mesh_core::port::{
    Call, Calls, Capability, Connection, ErrorKind, Incoming, Operation, ServeOptions,
    TransportError,
};
use mesh_core::provision::is_reserved_tool;
use mesh_core::subject::{Filter, Subject};
use mesh_core::tool::{ToolFailure, codes};
use mesh_core::topology::MeshSubject;
use parking_lot::Mutex;
use serde::Serialize;

use crate::binding::{Binding, Line};
use crate::broker::Broker;
use crate::counter::{Counter, Handler};
use crate::error::HandleError;
use crate::limit::within;
use crate::places::Room;
use crate::reading::{Opener, Source};
use crate::tool::ToolCall;
use crate::workers::Workers;

impl Broker {
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
        let (_, module) = self.module()?;
        let mut served = Vec::with_capacity(N);
        for (tool, handler) in tools {
            let named = MeshSubject::Tool { module: module.clone(), tool: tool.clone() };
            let reserved = Reserved::take(&self.0.serving, tool)?;
            let (workers, line) = self.serve(named.to_subject()?, handler).await?;
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
        let lost = Arc::clone(&self.0.lost_answers);
        let name = subject.to_string();
        let open = opener(connection.clone(), subject, Arc::clone(&lost));
        let source = Source::open(name, Operation::Serve, open).await?;
        let counter = Arc::new(Counter {
            handler,
            clock: Arc::clone(clock),
            most: connection.transport().capabilities().limits().max_payload,
            expired: Arc::clone(&self.0.expired),
            lost,
        });
        let handlers = self.0.settings.concurrency;
        let room = Room { handlers, retries: 0, unhandled: 0, holds: false };
        Ok(Workers::start(source, Arc::clone(clock), room, move |call, place| {
            let (counter, taken) = (Arc::clone(&counter), counter.clock.monotonic());
            async move { counter.serve(call, taken, place).await }
        }))
    }
}

fn opener(connection: Connection, subject: Subject, lost: Arc<AtomicU64>) -> Opener<Call> {
    let filter = Filter::from(subject);
    let scoped = connection.transport().capabilities().has(Capability::ScopedReplies);
    Box::new(move || {
        let (connection, filter) = (connection.clone(), filter.clone());
        let lost = Arc::clone(&lost);
        async move {
            let options = ServeOptions::default();
            let span = options.timeout;
            let serving = connection.requests()?.serve(filter, options);
            let calls = within(&**connection.clock(), span, Operation::Serve, serving).await?;
            Ok(controllers(Counter::heed(calls, lost), scoped))
        }
        .boxed()
    })
}

/// The calls without those of the two tools that only the controller calls, where it is not the
/// controller that calls: by the broker's proof, or by a reply address that the transport has checked
/// (`scoped`). The others are dropped: nothing is answered to whom nobody knows (protocol §4).
fn controllers(calls: Calls, scoped: bool) -> Calls {
    Incoming::new(calls.filter_map(move |arrival| {
        let admitted = match arrival {
            Ok(call) if !may_ask(&call, scoped) => {
                let (tool, caller) = (call.message().subject(), call.caller());
                tracing::warn!(%tool, ?caller, "not the controller's: dropped");
                None
            }
            arrival => Some(arrival),
        };
        std::future::ready(admitted)
    }))
}

fn may_ask(call: &Call, scoped: bool) -> bool {
    let tool = call.message().subject().tokens().last();
    match call.caller() {
        _ if !tool.is_some_and(is_reserved_tool) => true,
        Some(caller) => matches!(caller, Principal::Controller { .. }),
        None => scoped,
    }
}

type Tools = Mutex<BTreeMap<ToolName, Option<Line>>>;

/// The place of a tool that is about to be served; free again when it is dropped without a line.
struct Reserved<'a> {
    tools: &'a Tools,
    tool: Option<ToolName>,
}

impl<'a> Reserved<'a> {
    fn take(tools: &'a Tools, tool: ToolName) -> Result<Self, HandleError> {
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
    use async_trait::async_trait;
    use bytes::Bytes;
    use mesh_core::message::{Headers, Message};
    use mesh_core::port::Answer;
    use mesh_testkit::fixtures::{controller, host, module, person, tool};

    use super::*;

    struct Unanswered;

    #[async_trait]
    impl Answer for Unanswered {
        async fn send(self: Box<Self>, _: Headers, _: Bytes) -> Result<(), TransportError> {
            panic!("nothing is answered");
        }
    }

    #[test]
    fn the_controllers_tools_are_run_for_whom_a_proof_or_the_transport_says_to_be_the_controller() {
        let may = |name: &str, caller: Option<Principal>, scoped: bool| {
            let message = Message::new(tool("ledger", name), "{}");
            may_ask(&Call::new(message, caller, Box::new(Unanswered)), scoped)
        };
        for name in ["provision_grant", "provision_withdraw"] {
            for scoped in [false, true] {
                assert!(may(name, Some(controller()), scoped));
                for other in [module("n1", "mail"), host("n1"), person("alice")] {
                    assert!(!may(name, Some(other), scoped));
                }
            }
            assert!(may(name, None, true) && !may(name, None, false));
        }
        assert!(may("balance", None, false) && may("balance", Some(module("n1", "mail")), false));
    }

    #[test]
    fn a_tool_whose_broker_has_closed_before_it_was_listed_is_not_listed() {
        let (tools, tool) = (Tools::default(), mesh_testkit::fixtures::tool_name("send"));
        let reserved = Reserved::take(&tools, tool.clone()).unwrap();
        tools.lock().clear();
        assert!(!reserved.fill(Line::new()));
        assert!(tools.lock().is_empty());
        assert!(Reserved::take(&tools, tool).unwrap().fill(Line::new()));
        assert_eq!(tools.lock().len(), 1);
    }
}
