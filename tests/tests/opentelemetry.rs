//! A service with OpenTelemetry's tracer: what two modules do for one order is one trace.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::event::TraceContext;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::tool::ToolFailure;
use mesh_sdk::{Broker, HandlerError, Propagator};
use mesh_testkit::fixtures::{module_name, node};
use mesh_transport_mem::InMemoryMesh;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Status, TracerProvider as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{InMemorySpanExporterBuilder, SdkTracerProvider, SpanData};
use tracing::Instrument as _;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;

const MAIL: &str = "name = 'mail'\nversion = '1'\nemits = ['sent', 'counted']
                    tools = [{ name = 'count', description = 'How many.' }]";
const AUDIT: &str =
    "name = 'audit'\nversion = '1'\nconsumes = ['mail.sent']\ncalls = ['mail.count']";

struct OpenTelemetry(TraceContextPropagator);

impl Propagator for OpenTelemetry {
    fn extract(&self, came: &TraceContext, span: &tracing::Span) {
        let carrier = came.headers().map(|(name, value)| (name.to_owned(), value.to_owned()));
        // It fails where the span is of no interest to the tracer.
        let _ = span.set_parent(self.0.extract(&carrier.collect::<HashMap<_, _>>()));
    }

    fn inject(&self, span: &tracing::Span) -> TraceContext {
        let mut carrier = HashMap::<String, String>::new();
        self.0.inject_context(&span.context(), &mut carrier);
        TraceContext::read(carrier.iter().map(|(name, value)| (&**name, &**value)))
    }
}

async fn broker(mesh: &InMemoryMesh, manifest: &ModuleManifest) -> Broker {
    let connection = mesh.module(&node("n1"), &module_name(manifest.name.as_str())).unwrap();
    let propagator = Arc::new(OpenTelemetry(TraceContextPropagator::new()));
    Broker::builder(connection).manifest(manifest).propagator(propagator).build().unwrap()
}

/// What two modules do, the handler failing once.
async fn order() {
    let files = [("mail", MAIL), ("audit", AUDIT)];
    let [mail, audit] = files.map(|(file, text)| ModuleManifest::parse(file, text).unwrap());
    let files = [mail.clone(), audit.clone()];
    let mesh = InMemoryMesh::raise(Mesh::on_one_node(&node("n1"), files).unwrap()).await.unwrap();
    let (mail, audit) = (broker(&mesh, &mail).await, broker(&mesh, &audit).await);
    let speaker = mail.clone();
    mail.handle("count", move |_| {
        let speaker = speaker.clone();
        async move {
            let told = speaker.publish("counted", &1).await;
            told.map_err(|error| ToolFailure::new("MUTE", error.to_string()))?;
            Ok(1)
        }
    })
    .await
    .unwrap();
    let (done, mut is_done) = tokio::sync::mpsc::unbounded_channel();
    let speaker = audit.clone();
    audit
        .subscribe("mail.sent", move |event| {
            let (speaker, done) = (speaker.clone(), done.clone());
            async move {
                if event.attempt == 1 {
                    return Err(HandlerError::retry_after("not yet", Duration::from_millis(1)));
                }
                let count: u32 = speaker.request(("mail", "count"), &()).await?;
                done.send(count)?;
                Ok(())
            }
        })
        .await
        .unwrap();
    let placed = tracing::info_span!("order placed");
    mail.publish("sent", "bob").instrument(placed).await.unwrap();
    assert_eq!(
        tokio::time::timeout(Duration::from_secs(30), is_done.recv()).await.unwrap(),
        Some(1)
    );
    for broker in [audit, mail] {
        broker.close(Duration::from_secs(10)).await;
    }
}

#[tokio::test]
async fn what_modules_do_for_one_order_is_one_trace() {
    let exporter = InMemorySpanExporterBuilder::new().build();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();
    order().await;
    provider.force_flush().unwrap();
    let spans = exporter.get_finished_spans().unwrap();
    let root = spans.iter().find(|span| span.name == "order placed").unwrap();
    let trace = root.span_context.trace_id();
    let of_trace: Vec<&SpanData> =
        spans.iter().filter(|span| span.span_context.trace_id() == trace).collect();
    let names: HashMap<_, _> =
        of_trace.iter().map(|span| (span.span_context.span_id(), span.name.to_string())).collect();
    let failed = |span: &SpanData| matches!(span.status, Status::Error { .. });
    let mut lines: Vec<_> = of_trace
        .iter()
        .map(|span| {
            let parent = names.get(&span.parent_span_id).map_or("-", String::as_str);
            let end = if failed(span) { ", failed" } else { "" };
            format!("{} ({:?}{end}) of {parent}", span.name, span.span_kind)
        })
        .collect();
    lines.sort();
    let expected = [
        "handle mesh.tools.mail.count (Server) of request mesh.tools.mail.count",
        "order placed (Internal) of -",
        "process mesh.events.mail.sent (Consumer) of publish mesh.events.mail.sent",
        "process mesh.events.mail.sent (Consumer, failed) of publish mesh.events.mail.sent",
        "publish mesh.events.mail.counted (Producer) of handle mesh.tools.mail.count",
        "publish mesh.events.mail.sent (Producer) of order placed",
        "request mesh.tools.mail.count (Client) of process mesh.events.mail.sent",
    ];
    assert_eq!(lines, expected);
}
