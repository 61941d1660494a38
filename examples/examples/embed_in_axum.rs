//! A web service that is a module of the mesh: it publishes, asks a tool, tells its health, and leaves in
//! an orderly way.
//!
//! It asks itself over a real socket. Run it with `cargo run -p mesh-examples --example embed_in_axum`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::port::ErrorKind;
use mesh_core::tool::ToolFailure;
use mesh_sdk::{Broker, PublishError, RequestError, ToolCall, ToolRequest};
use mesh_transport_mem::InMemoryMesh;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const SHOP: &str = "
name = 'shop'
version = '1.0.0'
emits = ['order.placed']
calls = ['stock.left']";

const STOCK: &str = "
name = 'stock'
version = '1.0.0'
consumes = ['shop.order.*']
tools = [{ name = 'left', description = 'How many there are of an article.' }]";

/// The service. Its state is the broker, which is cheap to clone.
fn service(shop: Broker) -> Router {
    Router::new()
        .route("/healthz", get(health))
        .route("/orders", post(order))
        .route("/stock/{article}", get(stock))
        .with_state(shop)
}

/// Well, or why not. It asks nobody, so a probe may call it as often as it likes.
async fn health(State(shop): State<Broker>) -> Response {
    let health = shop.health();
    let status = if health.is_well() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let told = json!({"connected": health.is_connected(), "draining": health.draining});
    (status, Json(told)).into_response()
}

/// Answers once the broker has the event: whatever happens to this process then, it is not lost.
async fn order(State(shop): State<Broker>, Json(order): Json<Value>) -> Response {
    match shop.publish("order.placed", &order).await {
        Ok(_) => StatusCode::ACCEPTED.into_response(),
        Err(error) => refusal(publish_status(&error), &error),
    }
}

async fn stock(State(shop): State<Broker>, Path(article): Path<String>) -> Response {
    match left(&shop, &article).await {
        Ok(left) => Json(left).into_response(),
        Err(error) => refusal(request_status(&error), &error),
    }
}

/// Asks for two seconds: whoever asks us waits no longer.
async fn left(shop: &Broker, article: &str) -> Result<Value, RequestError> {
    let tool = ToolRequest::try_from(("stock", "left"))?.timeout(Duration::from_secs(2));
    shop.request(tool, article).await
}

fn publish_status(error: &PublishError) -> StatusCode {
    match error {
        PublishError::Transport(error) => match error.kind() {
            ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            // It may be on the broker or not: who asks again gets the order twice, with another id.
            ErrorKind::TimedOut | ErrorKind::Disconnected => StatusCode::GATEWAY_TIMEOUT,
            _ if error.may_retry() => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        },
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn request_status(error: &RequestError) -> StatusCode {
    match error {
        RequestError::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        RequestError::TimedOut(_) => StatusCode::GATEWAY_TIMEOUT,
        RequestError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        RequestError::Tool(failure) if failure.code == "NO_SUCH_ARTICLE" => StatusCode::NOT_FOUND,
        RequestError::Tool(_) => StatusCode::BAD_GATEWAY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn refusal(status: StatusCode, error: &dyn Error) -> Response {
    (status, Json(json!({"error": error.to_string()}))).into_response()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let files =
        [ModuleManifest::parse("shop.toml", SHOP)?, ModuleManifest::parse("stock.toml", STOCK)?];
    let node = "n1".parse()?;
    let mesh = InMemoryMesh::raise(Mesh::on_one_node(&node, files.clone())?).await?;
    let shop = Broker::builder(mesh.module(&node, &files[0].name)?).build()?;
    let stock = mesh.module(&node, &files[1].name)?;
    let stock = Broker::builder(stock).manifest(&files[1]).build()?;

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = axum::serve(listener, service(shop.clone()))
        .with_graceful_shutdown(async { drop(stopped.await) }); // in earnest: `tokio::signal::ctrl_c()`
    let serving = tokio::spawn(serving.into_future());

    ask(address, "GET", "/healthz", "").await?;
    ask(address, "GET", "/stock/tea", "").await?; // nobody serves the tool yet
    stock.handle("left", count).await?;
    ask(address, "GET", "/stock/tea", "").await?;
    ask(address, "GET", "/stock/gold", "").await?;
    let (took, mut taken) = tokio::sync::mpsc::channel(1);
    let take = move |event: mesh_sdk::ReceivedEvent| {
        let took = took.clone();
        async move { Ok(took.send(event.event.data().as_str().to_owned()).await?) }
    };
    stock.subscribe("shop.order.placed", take).await?;
    ask(address, "POST", "/orders", r#"{"article":"tea"}"#).await?;
    println!("stock was told of {}", taken.recv().await.ok_or("it ended")?);

    // First no more questions from outside, then what the broker has begun.
    drop(stop);
    serving.await??;
    let closed = shop.close(Duration::from_secs(5)).await;
    println!("closed, {} lost, well: {}", closed.lost, shop.health().is_well());
    Ok(())
}

async fn count(call: ToolCall) -> Result<u32, ToolFailure> {
    match call.decode::<String>()?.as_str() {
        "tea" => Ok(12),
        other => Err(ToolFailure::new("NO_SUCH_ARTICLE", format!("there is no {other}"))),
    }
}

/// As much HTTP as it takes to ask; prints the status and the body of the answer.
async fn ask(to: SocketAddr, method: &str, path: &str, body: &str) -> Result<(), Box<dyn Error>> {
    let mut stream = TcpStream::connect(to).await?;
    let length = body.len();
    let kind = "Content-Type: application/json";
    let head =
        format!("{method} {path} HTTP/1.0\r\nHost: {to}\r\n{kind}\r\nContent-Length: {length}");
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
    let status = head.lines().next().and_then(|line| line.split_once(' ')).ok_or("no status")?.1;
    println!("{method} {path}: {status} {body}");
    Ok(())
}
