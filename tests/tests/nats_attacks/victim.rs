//! `svc` as the SDK runs it, and the events that it is given.

use mesh_core::port::Connection;
use mesh_sdk::{Broker, ReceivedEvent, SubscribeError, ToolCall};
use mesh_testkit::fixtures::filter;
use mesh_testkit::servers::nats::RawNats;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::split::{Bed, Started};
use crate::steps::{in_time, until};

/// A module that runs for as long as this lives.
pub struct Victim {
    pub connection: Connection,
    _broker: Broker,
}

/// `svc` with a handler of `evil`'s events: what it was given.
pub async fn handling(bed: &Bed) -> Started<(Victim, UnboundedReceiver<ReceivedEvent>)> {
    let (sender, handled) = unbounded_channel();
    let connection = bed.connect("svc.n1").await?;
    let broker = Broker::builder(connection.clone())
        .consumes([filter("evil.>"), filter("mute.y")])
        .build()?;
    broker.handle("echo", |call: ToolCall| async move { call.decode::<Value>() }).await?;
    for pattern in ["evil.>", "mute.y"] {
        until("a subscription", async || subscribe(&broker, pattern, &sender).await).await?;
    }
    Ok((Victim { connection, _broker: broker }, handled))
}

/// Nothing where the connection was lost meanwhile.
async fn subscribe(
    broker: &Broker,
    pattern: &str,
    sender: &UnboundedSender<ReceivedEvent>,
) -> Started<Option<()>> {
    let sender = sender.clone();
    let handler = move |event| {
        let sent = sender.send(event);
        async move { Ok(sent.map_err(std::io::Error::other)?) }
    };
    match broker.subscribe(pattern, handler).await {
        Err(SubscribeError::Transport(error)) if error.may_retry() => Ok(None),
        subscribed => Ok(Some(subscribed?)),
    }
}

/// An event of `evil`'s as it should be, but for its source.
pub async fn emit(raw: &mut RawNats, source: &str, id: &str, more: &[(&str, &str)]) -> Started<()> {
    emit_as(raw, "mesh.events.evil.x", source, id, more).await
}

/// The same as another's event.
pub async fn emit_as(
    raw: &mut RawNats,
    subject: &str,
    source: &str,
    id: &str,
    more: &[(&str, &str)],
) -> Started<()> {
    let mut headers = event_headers(source, id).to_vec();
    headers.extend_from_slice(more);
    raw.publish(subject, None, &headers, b"{}").await?;
    match raw.settle().await?.errors.as_slice() {
        [] => Ok(()),
        errors => Err(format!("{errors:?}").into()),
    }
}

/// What an event has to say of itself.
pub const fn event_headers<'a>(source: &'a str, id: &'a str) -> [(&'a str, &'a str); 5] {
    [
        ("x-event-id", id),
        ("x-source", source),
        ("x-node", "n1"),
        ("x-time", "2026-01-02T03:04:05.678Z"),
        ("content-type", "application/json"),
    ]
}

/// The next event that the handler is given.
pub async fn given(handled: &mut UnboundedReceiver<ReceivedEvent>) -> Started<String> {
    let event = in_time("an event", handled.recv()).await?.ok_or("the handler is gone")?;
    Ok(event.event.id().to_string())
}

/// The body of a message as the server's API gives it.
pub fn body_of(stored: &Value) -> Started<Vec<u8>> {
    base64(&stored["data"])
}

/// Its headers, as one block.
pub fn header_of(stored: &Value) -> Started<Vec<u8>> {
    base64(&stored["hdrs"])
}

fn base64(text: &Value) -> Started<Vec<u8>> {
    use base64::Engine as _;
    Ok(base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap_or_default())?)
}
