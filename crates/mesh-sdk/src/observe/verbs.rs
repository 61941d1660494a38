//! The verbs that bring nothing from one module to another.

use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::Topology;
use tracing::Span;
use tracing::field::Empty;

use super::Observer;
use super::sending::failed;

impl Observer {
    pub(crate) fn subscribing(&self, pattern: &Filter) -> Span {
        tracing::info_span!(
            target: "mesh_sdk",
            "subscribe",
            otel.kind = "internal",
            otel.status_code = Empty,
            messaging.system = self.system,
            messaging.operation.name = "subscribe",
            messaging.destination.template = %Topology::events(pattern),
            error.type = Empty,
        )
    }

    /// A tool is about to be served.
    pub(crate) fn offering(&self, tool: &Subject) -> Span {
        tracing::info_span!(
            target: "mesh_sdk",
            "serve",
            otel.kind = "internal",
            otel.status_code = Empty,
            messaging.system = self.system,
            messaging.operation.name = "serve",
            messaging.destination.name = %tool,
            error.type = Empty,
        )
    }

    pub(crate) fn closing(&self) -> Span {
        tracing::info_span!(
            target: "mesh_sdk",
            "close",
            otel.kind = "internal",
            messaging.system = self.system,
            messaging.operation.name = "close",
        )
    }
}

/// What a verb gave, its failure noted on its span.
pub(crate) fn noted<T, E>(
    span: &Span,
    result: Result<T, E>,
    kind: impl FnOnce(&E) -> &'static str,
) -> Result<T, E> {
    result.inspect_err(|error| failed(span, kind(error)))
}
