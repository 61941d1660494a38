use std::time::Duration;

use mesh_core::event::TraceContext;
use mesh_core::identity::Responder;
use mesh_core::json::JsonText;
use mesh_core::manifest::ToolRef;
use mesh_core::message::{HeaderValue, Message, names};
use mesh_core::name::{ModuleName, NameError, ToolName};
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::subject::Subject;
use mesh_core::tool::{ToolFailure, codes};
use mesh_core::topology::MeshSubject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::Instrument as _;

use crate::broker::Broker;
use crate::causation::cause;
use crate::error::RequestError;
use crate::limit::within;
use crate::publish::traced;
use crate::scope::{Asking, Has};

/// Which tool is asked, and for how long. A pair `("mail", "send")` is one with 30 s.
#[derive(Debug, Clone)]
pub struct ToolRequest {
    tool: ToolRef,
    timeout: Duration,
    trace: Option<TraceContext>,
}

impl ToolRequest {
    /// The tool `tool` of `module`, with 30 s to answer.
    #[must_use]
    pub fn new(module: ModuleName, tool: ToolName) -> Self {
        Self { tool: ToolRef { module, tool }, timeout: Duration::from_secs(30), trace: None }
    }

    /// How long to wait for the answer.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// In this trace, with a span of its own; what W3C does not allow is left out. Inside a handler it is
    /// that of what is handled, unless told here.
    #[must_use]
    pub fn traced(mut self, trace: TraceContext) -> Self {
        self.trace = Some(trace);
        self
    }
}

impl TryFrom<(&str, &str)> for ToolRequest {
    type Error = NameError;
    fn try_from((module, tool): (&str, &str)) -> Result<Self, NameError> {
        Ok(Self::new(ModuleName::new(module)?, ToolName::new(tool)?))
    }
}

impl<S: Has<Asking>> Broker<S> {
    /// Asks another's tool and waits for its answer.
    ///
    /// # Errors
    /// [`RequestError`]: denied, unavailable, timed out, too large and a tool that fails are told
    /// apart, each as soon as it is known. The time is the [`ToolRequest`]'s: the manifest's `timeout`
    /// is not looked up.
    pub async fn request<Q, I, O>(&self, tool: Q, input: &I) -> Result<O, RequestError>
    where
        Q: TryInto<ToolRequest>,
        RequestError: From<Q::Error>,
        I: Serialize + ?Sized + Sync,
        O: DeserializeOwned,
    {
        let tool = tool.try_into()?;
        let input = JsonText::from_value(input).map_err(RequestError::Input)?;
        self.ask(tool, input).await?.decode().map_err(RequestError::OutputShape)
    }

    /// The same with JSON that is written already, and its answer as it came.
    pub(crate) async fn ask(
        &self,
        ToolRequest { tool, timeout, trace }: ToolRequest,
        input: JsonText,
    ) -> Result<JsonText, RequestError> {
        let subject = MeshSubject::Tool { module: tool.module.clone(), tool: tool.tool.clone() }
            .to_subject()?;
        let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        let mut message = Message::new(subject.clone(), input.into_bytes())
            .with_header(names::CONTENT_TYPE, HeaderValue::json())
            .with_header(names::TIMEOUT_MS, HeaderValue::from(millis));
        if let Some(cause) = cause() {
            message =
                message.with_header(names::CAUSATION_ID, HeaderValue::new(cause.to_header())?);
        }
        let sending = self.0.asking.begin(&tool, &subject, message.payload().len());
        let message = traced(message, &sending.trace(trace))?;
        let asking = self.asked(Responder::Module(tool.module), subject, message, timeout);
        let answered = asking.instrument(sending.span()).await;
        sending.end(answered.as_ref().err().map(RequestError::kind));
        answered
    }

    async fn asked(
        &self,
        responder: Responder,
        subject: Subject,
        message: Message,
        timeout: Duration,
    ) -> Result<JsonText, RequestError> {
        let asking = self.part::<Asking>().requests.request(responder, message, timeout);
        let clock = self.0.connection.clock();
        let answer = within(&**clock, timeout, Operation::Request, asking).await?;
        match ToolFailure::decode(answer.headers(), answer.payload()) {
            None => {}
            Some(late) if late.code == codes::TIMED_OUT => {
                let error = TransportError::new(ErrorKind::TimedOut, Operation::Request);
                return Err(RequestError::TimedOut(error.about(subject).detail(late.message)));
            }
            Some(failure) => return Err(RequestError::Tool(failure)),
        }
        JsonText::new(answer.payload().clone()).map_err(RequestError::Output)
    }
}
