use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Router, response::Response};
use bytes::Bytes;
use mesh_core::mx::DEFAULT_MAX_BYTES;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::{Inlet, Published};

/// The limits of an endpoint.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RoutesOptions {
    /// The most bytes of an envelope. 1 MiB unless told.
    pub max_bytes: usize,
    /// How long the body of a request may take to arrive. 10 s unless told.
    pub body_timeout: Duration,
    /// Bodies that are read at once; the next one is answered 503. 64 unless told.
    pub at_once: usize,
}

impl Default for RoutesOptions {
    fn default() -> Self {
        Self { max_bytes: DEFAULT_MAX_BYTES, body_timeout: Duration::from_secs(10), at_once: 64 }
    }
}

/// The routes of MXDISC/1 (protocol §8), for a server of one's own: `GET /.well-known/mx`, and with an
/// `inlet` also `POST /mx/1/in`.
///
/// A post is answered:
///
/// | status | |
/// |---|---|
/// | 202 | the envelope is taken, and nothing is said of it: the guards come after, and the answer of a component goes to the sender's mailbox |
/// | 408 | the body took too long |
/// | 413 | it is too large |
/// | 415 | `Content-Type` is not `application/json`: no web page of another origin can send that unasked |
/// | 503 | there is no room |
pub fn routes(
    document: Published,
    inlet: Option<Arc<dyn Inlet>>,
    options: &RoutesOptions,
) -> Router {
    let shown = Router::new().route("/.well-known/mx", get(show)).with_state(document);
    let Some(inlet) = inlet else {
        return shown;
    };
    let endpoint = Arc::new(Endpoint {
        inlet,
        max_bytes: options.max_bytes,
        body_timeout: options.body_timeout,
        room: Semaphore::new(options.at_once),
    });
    shown.merge(Router::new().route("/mx/1/in", post(take)).with_state(endpoint))
}

struct Endpoint {
    inlet: Arc<dyn Inlet>,
    max_bytes: usize,
    body_timeout: Duration,
    room: Semaphore,
}

async fn show(State(document): State<Published>) -> Response {
    let served = document.served();
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, served.cache_control.as_str()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, served.json.clone()).into_response()
}

async fn take(State(endpoint): State<Arc<Endpoint>>, headers: HeaderMap, body: Body) -> StatusCode {
    if !is_json(&headers) {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE;
    }
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let length = length.and_then(|text| text.parse::<u64>().ok());
    if length.is_some_and(|length| length > endpoint.max_bytes as u64) {
        return StatusCode::PAYLOAD_TOO_LARGE;
    }
    let Ok(_place) = endpoint.room.try_acquire() else {
        return StatusCode::SERVICE_UNAVAILABLE;
    };
    let read = timeout(endpoint.body_timeout, to_bytes(body, endpoint.max_bytes)).await;
    match read {
        Err(_) => StatusCode::REQUEST_TIMEOUT,
        // Or the connection broke, and nobody reads the status.
        Ok(Err(_)) => StatusCode::PAYLOAD_TOO_LARGE,
        Ok(Ok(envelope)) => accept(&endpoint, envelope),
    }
}

fn accept(endpoint: &Endpoint, envelope: Bytes) -> StatusCode {
    match endpoint.inlet.take(envelope) {
        Ok(()) => StatusCode::ACCEPTED,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = value.split(';').next().unwrap_or("").trim();
    kind.eq_ignore_ascii_case("application/json")
}
