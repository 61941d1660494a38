use axum::http::StatusCode;
use axum::routing::post;
use bytes::Bytes;

use super::*;
use crate::{Direct as _, DirectErrorKind};

const SECOND: Duration = Duration::from_secs(1);

/// The direct way to `acme.example`, whose document names this endpoint.
fn direct(world: &World, server: &HttpsServer, endpoint: &str) -> HttpsDirect {
    let document = acme().with_endpoint(endpoint);
    HttpsDirect::new(world.discovery(world.options(server).known(document)))
}

async fn send(direct: &HttpsDirect) -> Result<(), DirectErrorKind> {
    let envelope = Bytes::from_static(b"{}");
    direct.send(&realm("acme.example"), envelope).await.map_err(|error| error.kind())
}

#[tokio::test]
async fn an_envelope_arrives_as_it_was_sent() {
    let world = World::new();
    let (inlet, mut arrived) = inbox(4);
    let document = Published::new(&acme());
    let router = routes(document, Some(Arc::new(inlet)), &RoutesOptions::default());
    let server = world.serve(router).await;
    let direct = direct(&world, &server, &url(&server, "/mx/1/in"));
    let envelope = Bytes::from_static(br#"{"any": 1e400 }"#);
    direct.send(&realm("acme.example"), envelope.clone()).await.unwrap();
    assert_eq!(arrived.recv().await, Some(envelope));
}

#[tokio::test]
async fn each_status_says_whether_the_message_may_have_been_taken() {
    let world = World::new();
    for (status, expected) in [
        (202, Ok(())),
        (200, Ok(())),
        (302, Err(DirectErrorKind::Failed)),
        (400, Err(DirectErrorKind::Failed)),
        (413, Err(DirectErrorKind::TooLarge)),
        (429, Err(DirectErrorKind::Failed)),
        (500, Err(DirectErrorKind::InDoubt)),
        (502, Err(DirectErrorKind::InDoubt)),
        (503, Err(DirectErrorKind::Failed)),
        (504, Err(DirectErrorKind::InDoubt)),
    ] {
        let code = StatusCode::from_u16(status).unwrap();
        let server = world.serve(Router::new().fallback(move || async move { code })).await;
        let direct = direct(&world, &server, &url(&server, "/in"));
        assert_eq!(send(&direct).await, expected, "{status}");
    }
}

#[tokio::test]
async fn an_endpoint_that_failed_is_left_alone_for_a_while() {
    let world = World::new();
    let count = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&count);
    let router =
        Router::new().fallback(move || {
            let before = counting.fetch_add(1, Ordering::SeqCst);
            async move {
                if before == 0 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::ACCEPTED }
            }
        });
    let server = world.serve(router).await;
    let direct = direct(&world, &server, &url(&server, "/in"));
    assert_eq!(send(&direct).await, Err(DirectErrorKind::Failed));
    for _ in 0..3 {
        assert_eq!(send(&direct).await, Err(DirectErrorKind::NoWay));
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    world.clock.advance(5 * SECOND).await;
    assert_eq!(send(&direct).await, Ok(()));
}

#[tokio::test]
async fn an_endpoint_inside_is_no_way() {
    let world = World::new();
    let (router, count) = says("");
    let server = world.serve(router).await;
    for endpoint in ["https://10.0.0.1/in", "https://localhost:9/in", "http://acme.example/in", "x"]
    {
        let direct = direct(&world, &server, endpoint);
        assert_eq!(send(&direct).await, Err(DirectErrorKind::NoWay), "{endpoint}");
    }
    // A name that leads inside is found out before anything is sent.
    *world.resolver.addresses.lock() = vec![IpAddr::from([169, 254, 169, 254])];
    let direct = direct(&world, &server, &url(&server, "/in"));
    assert_eq!(send(&direct).await, Err(DirectErrorKind::Failed));
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_first_endpoint_that_is_allowed_is_taken() {
    let world = World::new();
    let server = world.serve(Router::new().route("/in", post(|| async { "" }))).await;
    let document = acme().with_endpoint("https://10.0.0.1/in").with_endpoint(url(&server, "/in"));
    let direct = HttpsDirect::new(world.discovery(world.options(&server).known(document)));
    assert_eq!(send(&direct).await, Ok(()));
}

#[tokio::test]
async fn a_realm_without_a_document_or_an_endpoint_has_no_way() {
    let world = World::new();
    let server = world.serve(Router::new()).await;
    let direct = HttpsDirect::new(world.discovery(world.options(&server).known(acme())));
    assert_eq!(send(&direct).await, Err(DirectErrorKind::NoWay));
    let unknown = direct.send(&realm("shop"), Bytes::new()).await.unwrap_err();
    assert_eq!(unknown.kind(), DirectErrorKind::NoWay);
}

#[tokio::test]
async fn silence_leaves_it_in_doubt_and_nobody_listening_does_not() {
    let world = World::new();
    let silence = || async { std::future::pending::<()>().await };
    let server = world.serve(Router::new().fallback(silence)).await;
    let document = acme().with_endpoint(url(&server, "/in"));
    let mut options = world.options(&server).known(document);
    options.timeout = Duration::from_millis(300);
    let direct = HttpsDirect::new(world.discovery(options));
    assert_eq!(send(&direct).await, Err(DirectErrorKind::InDoubt));
    drop(server);
    world.clock.advance(5 * SECOND).await;
    // The runtime ends what was dropped when it gets to it.
    loop {
        match send(&direct).await {
            Err(DirectErrorKind::Failed) => break,
            Err(DirectErrorKind::InDoubt) => world.clock.advance(5 * SECOND).await,
            other => panic!("{other:?}"),
        }
    }
}
