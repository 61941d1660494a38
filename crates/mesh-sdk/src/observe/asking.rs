//! Questions to tools of others.

use std::collections::HashMap;
use std::sync::Arc;

use mesh_core::manifest::ToolRef;
use mesh_core::subject::Subject;
use mesh_core::topology::{MeshSubject, Topology};
use tracing::field::Empty;

use super::Observer;
use super::sending::{Sending, Sent};

/// The tools that a module calls, by the names that its manifest has. Others have one destination together:
/// a metric must not grow with what is asked.
pub(crate) struct Requests {
    observer: Arc<Observer>,
    known: HashMap<ToolRef, Sent>,
    other: Sent,
}

impl Requests {
    pub(crate) fn new(observer: &Arc<Observer>, calls: Vec<ToolRef>) -> Self {
        let sent = |destination| Sent::to(observer, "request", destination);
        let known = calls.into_iter().filter_map(|called| {
            let ToolRef { module, tool } = called.clone();
            let subject = MeshSubject::Tool { module, tool }.to_subject().ok()?;
            Some((called, sent(subject.to_string())))
        });
        Self {
            known: known.collect(),
            other: sent(Topology::TOOLS.to_owned()),
            observer: Arc::clone(observer),
        }
    }

    pub(crate) fn begin(&self, tool: &ToolRef, subject: &Subject, bytes: usize) -> Sending<'_> {
        let span = tracing::info_span!(
            target: "mesh_sdk",
            "request",
            otel.name = format_args!("request {subject}"),
            otel.kind = "client",
            otel.status_code = Empty,
            messaging.system = self.observer.system,
            messaging.operation.name = "request",
            messaging.operation.type = "send",
            messaging.destination.name = %subject,
            messaging.message.body.size = bytes,
            error.type = Empty,
        );
        Sending::begin(&self.observer, self.known.get(tool).unwrap_or(&self.other), span)
    }
}
