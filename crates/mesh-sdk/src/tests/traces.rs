//! The trace that goes from message to message.

use std::collections::HashMap;

use mesh_core::event::TraceContext;
use mesh_core::identity::Responder;
use mesh_core::json::JsonText;
use mesh_core::message::{HeaderName, HeaderValue};
use mesh_core::tool::ToolFailure;
use mesh_core::topology::MeshSubject;

use super::*;
use crate::{Emission, Propagator, ReceivedEvent, ToolCall, ToolRequest};

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const STATE: &str = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";
const BAGGAGE: &str = "tenant=a%20b;ttl=1";

fn came() -> TraceContext {
    TraceContext::read([("traceparent", TRACE), ("tracestate", STATE), ("baggage", BAGGAGE)])
}

fn shown(trace: &TraceContext) -> String {
    let shown = |of: &Option<String>| of.clone().unwrap_or_else(|| "-".to_owned());
    format!("{} {} {}", shown(&trace.traceparent), shown(&trace.tracestate), shown(&trace.baggage))
}

/// `mail` serves `send`, and writes down the trace of what it is asked; `audit` publishes and asks when it
/// hears of `mail.sent`.
struct Scene {
    bed: Bed,
    mail: Broker,
    notes: Notes,
}

impl Scene {
    async fn set(propagator: Option<Arc<dyn Propagator>>) -> Self {
        let bed = Bed::new().await;
        let mail = bed.connect(module("n1", "mail"), Permissions::everything());
        let mut audit = bed
            .connect(module("n1", "audit"), Permissions::everything())
            .consumes([filter("mail.>")]);
        if let Some(propagator) = propagator {
            audit = audit.propagator(propagator);
        }
        let (mail, audit, notes) =
            (mail.build().unwrap(), audit.build().unwrap(), Notes::default());
        let (speaker, heard) = (audit.clone(), notes.clone());
        let handler = move |event: ReceivedEvent| {
            let (speaker, heard) = (speaker.clone(), heard.clone());
            async move {
                heard.write(format!("handled {}", shown(event.event.trace())));
                if event.name.as_str() == "sent" {
                    speaker.publish("seen", &()).await?;
                    speaker.request::<_, _, ()>(("mail", "send"), &()).await?;
                }
                Ok(())
            }
        };
        audit.subscribe("mail.>", handler).await.unwrap();
        let speaker = mail.clone();
        let answer = move |_: ToolCall| {
            let speaker = speaker.clone();
            async move {
                let told = speaker.publish("done", &()).await;
                told.map_err(|error| ToolFailure::new("PUBLISH", error.to_string()))?;
                Ok(())
            }
        };
        mail.handle("send", answer).await.unwrap();
        Self { bed, mail, notes }
    }

    /// What `audit` said when it had heard of it.
    async fn said(&self) -> TraceContext {
        let administration = self.bed.controller.administration().unwrap();
        loop {
            let position = Position::LastOf(event("audit", "seen"));
            match administration.read(StreamName::Events, position).await.unwrap() {
                Some(stored) => return TraceContext::read(stored.message.headers().iter()),
                None => tokio::task::yield_now().await,
            }
        }
    }
}

#[tokio::test]
async fn what_a_handler_sends_continues_the_trace_that_it_handles() {
    let scene = Scene::set(None).await;
    scene.mail.publish(Emission::new(event_name("sent")).traced(came()), &()).await.unwrap();
    let notes = scene.notes.wait(2).await;
    let ids = |trace: &TraceContext| {
        let parent = trace.parent().unwrap();
        assert_eq!(parent.trace_id(), came().parent().unwrap().trace_id());
        assert!(parent.is_sampled());
        assert_eq!(
            (trace.tracestate.as_deref(), trace.baggage.as_deref()),
            (Some(STATE), Some(BAGGAGE))
        );
        parent.span_id()
    };
    // Each message has a span of its own: as it was given, as it came, as it went on, by way of the tool.
    let said = scene.said().await;
    let mut spans = vec![ids(&came()), ids(&said)];
    for note in &notes {
        let mut parts = note.split(' ').skip(1);
        let headers =
            ["traceparent", "tracestate", "baggage"].map(|name| (name, parts.next().unwrap()));
        spans.push(ids(&TraceContext::read(headers)));
    }
    spans.sort();
    spans.dedup();
    assert_eq!(spans.len(), 4, "{notes:?}");
}

#[tokio::test]
async fn without_a_trace_none_is_begun_and_outside_a_handler_none_is_known() {
    let scene = Scene::set(None).await;
    scene.mail.publish("sent", &()).await.unwrap();
    assert_eq!(scene.notes.wait(2).await, ["handled - - -"; 2]);
    assert!(scene.said().await.is_empty());
}

/// An event with any headers beside its own.
fn with(bed: &Bed, id: &str, headers: &[(&'static str, String)]) -> Message {
    let mut message = bed.written_by("mail", id);
    for (name, value) in headers {
        let value = HeaderValue::new(value.clone()).unwrap();
        message = message.with_header(HeaderName::new(*name).unwrap(), value);
    }
    message
}

#[tokio::test]
async fn a_trace_that_is_none_refuses_no_event_and_goes_no_further() {
    let scene = Scene::set(None).await;
    for (number, headers) in [
        vec![("traceparent", "00-0-0-00".to_owned()), ("tracestate", STATE.to_owned())],
        vec![("traceparent", TRACE.to_uppercase())],
        vec![("traceparent", TRACE.replace("00f067aa0ba902b7", &"0".repeat(16)))],
        vec![("tracestate", STATE.to_owned()), ("baggage", "no pair".to_owned())],
        vec![("baggage", format!("k={}", "v".repeat(9000)))],
    ]
    .into_iter()
    .enumerate()
    {
        scene.bed.append(with(&scene.bed, &format!("e{number}"), &headers)).await;
        scene.notes.wait(2 * number + 2).await;
        assert!(scene.said().await.is_empty(), "{headers:?}");
    }
    // What is sound goes on without the rest.
    let headers = [("traceparent", TRACE.to_owned()), ("tracestate", "a=b=c".to_owned())];
    scene.bed.append(with(&scene.bed, "last", &headers)).await;
    scene.notes.wait(12).await;
    let said = scene.said().await;
    assert_eq!(said.parent().unwrap().trace_id(), came().parent().unwrap().trace_id());
    assert_eq!(said.tracestate, None);
}

#[tokio::test]
async fn a_call_carries_the_trace_that_it_is_given_and_a_broken_one_fails_none() {
    let scene = Scene::set(None).await;
    let request = ToolRequest::new(module_name("mail"), tool_name("send"));
    let () = scene.mail.request(request.clone().traced(came()), &()).await.unwrap();
    let notes = scene.notes.wait(1).await;
    assert!(notes[0].contains("4bf92f3577b34da6a3ce929d0e0e4736"), "{notes:?}");
    assert!(notes[0].ends_with(&format!("{STATE} {BAGGAGE}")), "{notes:?}");
    let requests = scene.bed.controller.requests().unwrap();
    let tool = MeshSubject::Tool { module: module_name("mail"), tool: tool_name("send") };
    let broken =
        Message::new(tool.to_subject().unwrap(), JsonText::new("null").unwrap().into_bytes())
            .with_header(
                HeaderName::new("traceparent").unwrap(),
                HeaderValue::new("00-x").unwrap(),
            );
    let responder = Responder::Module(module_name("mail"));
    let answer = requests.request(responder, broken, SECOND).await.unwrap();
    assert_eq!(answer.payload().as_ref(), b"null");
    assert_eq!(scene.notes.wait(2).await[1], "handled - - -");
}

#[tokio::test]
async fn a_trace_that_is_given_and_is_none_fails_no_publish() {
    let scene = Scene::set(None).await;
    let bad =
        TraceContext::read([("traceparent", "x"), ("tracestate", "é"), ("baggage", " a=b\t")]);
    scene.mail.publish(Emission::new(event_name("sent")).traced(bad), &()).await.unwrap();
    assert_eq!(scene.notes.wait(1).await[0], "handled - - a=b");
}

/// A tracer that notes what it is told, and has a trace of its own where it says so.
#[derive(Default)]
struct Tracer {
    notes: Notes,
    own: HashMap<&'static str, &'static str>,
}

impl Propagator for Tracer {
    fn extract(&self, came: &TraceContext, _: &tracing::Span) {
        self.notes.write(shown(came));
    }

    fn inject(&self, _: &tracing::Span) -> TraceContext {
        TraceContext::read(self.own.iter().map(|(name, value)| (*name, *value)))
    }
}

#[tokio::test]
async fn a_tracers_trace_goes_before_that_of_the_sdk() {
    let own = "00-0000000000000000000000000000000a-000000000000000b-00";
    let tracer = Tracer { own: HashMap::from([("traceparent", own)]), ..Tracer::default() };
    let heard = tracer.notes.clone();
    let scene = Scene::set(Some(Arc::new(tracer))).await;
    scene.mail.publish(Emission::new(event_name("sent")).traced(came()), &()).await.unwrap();
    let said = scene.said().await;
    assert_eq!(shown(&said), format!("{own} - {BAGGAGE}"), "baggage that it does not have goes on");
    let extracted = heard.wait(1).await;
    assert!(extracted[0].contains("4bf92f3577b34da6a3ce929d0e0e4736"), "{extracted:?}");
    assert!(extracted[0].ends_with(&format!("{STATE} {BAGGAGE}")));
}

#[tokio::test]
async fn where_a_tracer_has_no_trace_the_sdk_passes_it_on() {
    let scene = Scene::set(Some(Arc::new(Tracer::default()))).await;
    scene.mail.publish(Emission::new(event_name("sent")).traced(came()), &()).await.unwrap();
    let said = scene.said().await;
    assert_eq!(said.parent().unwrap().trace_id(), came().parent().unwrap().trace_id());
}

/// A tracer that panics at all that it is asked.
struct Panicking;

impl Propagator for Panicking {
    fn extract(&self, _: &TraceContext, _: &tracing::Span) {
        panic!("no tracer is installed");
    }

    fn inject(&self, _: &tracing::Span) -> TraceContext {
        panic!("no tracer is installed");
    }
}

#[tokio::test]
async fn a_tracer_that_panics_keeps_no_event_from_its_handler_and_no_trace_from_going_on() {
    let scene = Scene::set(Some(Arc::new(Panicking))).await;
    scene.mail.publish(Emission::new(event_name("sent")).traced(came()), &()).await.unwrap();
    let heard = tokio::time::timeout(Duration::from_secs(30), scene.notes.wait(1)).await;
    assert!(heard.is_ok(), "its handler does not run");
    let said = scene.said().await;
    assert_eq!(said.parent().unwrap().trace_id(), came().parent().unwrap().trace_id());
}
