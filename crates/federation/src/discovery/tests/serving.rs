use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A connection to the server, byte by byte.
async fn connect(world: &World, server: &HttpsServer) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(world.authority.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(server.local_addr()).await?;
    let name = "acme.example".try_into().unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// The status of a request, and all of the answer.
async fn ask(world: &World, server: &HttpsServer, request: &str) -> (u16, String) {
    let mut stream = connect(world, server).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    answer(&mut stream).await
}

async fn answer(stream: &mut TlsStream<TcpStream>) -> (u16, String) {
    let mut read = Vec::new();
    // A server that ends the connection without a word has still said what it said.
    let _ = stream.read_to_end(&mut read).await;
    let text = String::from_utf8_lossy(&read).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, text)
}

fn request(line: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{line} HTTP/1.1\r\nhost: acme.example\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

fn post(kind: &str, body: &str) -> String {
    request("POST /mx/1/in", &format!("content-type: {kind}\r\n"), body)
}

const JSON: &str = "application/json";

#[tokio::test]
async fn the_document_is_shown_and_replaced() {
    let world = World::new();
    let published = Published::new(&acme().with_max_age(60 * SECOND));
    let server = world.serve(routes(published.clone(), None, &RoutesOptions::default())).await;
    let (status, text) = ask(&world, &server, &request("GET /.well-known/mx", "", "")).await;
    assert_eq!(status, 200);
    assert!(text.contains("content-type: application/json\r\n"), "{text}");
    assert!(text.contains("cache-control: max-age=60\r\n"), "{text}");
    assert!(text.ends_with(&acme().with_max_age(60 * SECOND).to_json()), "{text}");

    published.replace(&acme().with_endpoint("https://x.example/in"));
    let (_, text) = ask(&world, &server, &request("GET /.well-known/mx", "", "")).await;
    assert!(text.contains("https://x.example/in"), "{text}");
    assert_eq!(ask(&world, &server, &request("POST /.well-known/mx", "", "")).await.0, 405);
    // Without an inlet there is no endpoint.
    assert_eq!(ask(&world, &server, &post(JSON, "{}")).await.0, 404);
}

#[tokio::test]
async fn what_is_posted_is_taken_or_refused_by_status() {
    let world = World::new();
    let (inlet, mut arrived) = inbox(2);
    let options = RoutesOptions { max_bytes: 10, ..RoutesOptions::default() };
    let router = routes(Published::new(&acme()), Some(Arc::new(inlet)), &options);
    let server = world.serve(router).await;
    let status = async |request: String| ask(&world, &server, &request).await.0;
    assert_eq!(status(post(JSON, "0123456789")).await, 202);
    assert_eq!(status(post("Application/JSON; charset=utf-8", "{}")).await, 202);
    // The queue is full, and nobody takes from it.
    assert_eq!(status(post(JSON, "{}")).await, 503);
    assert_eq!(arrived.recv().await, Some(Bytes::from_static(b"0123456789")));
    assert_eq!(status(post(JSON, "01234567890")).await, 413);
    let chunked = "POST /mx/1/in HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
        connection: close\r\ntransfer-encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n";
    assert_eq!(status(chunked.into()).await, 413);
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""] {
        assert_eq!(status(post(kind, "{}")).await, 415, "{kind}");
    }
    assert_eq!(status(request("GET /mx/1/in", "", "")).await, 405);
    drop(arrived);
    assert_eq!(status(post(JSON, "{}")).await, 503);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up_and_makes_room() {
    let world = World::new();
    let (inlet, mut arrived) = inbox(2);
    let options = RoutesOptions {
        body_timeout: Duration::from_millis(200),
        at_once: 1,
        ..RoutesOptions::default()
    };
    let router = routes(Published::new(&acme()), Some(Arc::new(inlet)), &options);
    let server = world.serve(router).await;
    let mut slow = connect(&world, &server).await.unwrap();
    let head = post(JSON, "{}");
    slow.write_all(head.trim_end_matches("{}").as_bytes()).await.unwrap();
    assert_eq!(answer(&mut slow).await.0, 408);
    assert_eq!(ask(&world, &server, &head).await.0, 202);
    assert!(arrived.recv().await.is_some());
}

#[tokio::test]
async fn who_says_nothing_is_put_out_and_keeps_nobody_else_waiting() {
    let world = World::new();
    let (router, _) = says("hello");
    let options = ServerOptions {
        connections: 2,
        handshake_timeout: SECOND,
        head_timeout: SECOND,
        ..ServerOptions::default()
    };
    let server = world.serve_with(router, options).await;
    // Both places are taken: one never shakes hands, one never asks.
    let mut silent = TcpStream::connect(server.local_addr()).await.unwrap();
    let mut mute = connect(&world, &server).await.unwrap();
    assert_eq!(ask(&world, &server, &request("GET /", "", "")).await.0, 200);
    let mut nothing = Vec::new();
    let _ = silent.read_to_end(&mut nothing).await;
    assert_eq!(answer(&mut mute).await.0, 0);
    // Nor does one that sends its head a byte at a time.
    let mut drip = connect(&world, &server).await.unwrap();
    let dripping = async {
        for byte in b"GET / HTTP/1.1\r\nx: ".iter().chain(std::iter::repeat(&b'y')) {
            if drip.write_all(&[*byte]).await.is_err() || drip.flush().await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(20 * SECOND, dripping).await.expect("it is put out");
}

#[tokio::test]
async fn a_connection_does_not_last_for_ever() {
    let world = World::new();
    let (router, _) = says("hello");
    let options = ServerOptions {
        connection_lifetime: Duration::from_millis(200),
        ..ServerOptions::default()
    };
    let server = world.serve_with(router, options).await;
    let mut stream = connect(&world, &server).await.unwrap();
    let kept = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    let asking = async {
        while stream.write_all(kept.as_bytes()).await.is_ok() {
            let mut chunk = [0; 4096];
            match stream.read(&mut chunk).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
    };
    tokio::time::timeout(20 * SECOND, asking).await.expect("it is ended");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let world = World::new();
    let (router, count) = says("hello");
    let server = world.serve(router).await;
    let many: String = (0..100).map(|n| format!("x-{n}: y\r\n")).collect();
    assert_eq!(ask(&world, &server, &request("GET /", &many, "")).await.0, 431);
    let large = format!("x: {}\r\n", "y".repeat(100_000));
    assert_eq!(ask(&world, &server, &request("GET /", &large, "")).await.0, 431);
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_new_certificate_is_used_without_a_restart() {
    let world = World::new();
    let (router, _) = says("hello");
    let server = world.serve(router).await;
    let shown = async || {
        let stream = connect(&world, &server).await.ok()?;
        stream.get_ref().1.peer_certificates().map(|chain| chain[0].to_vec())
    };
    let first = shown().await.unwrap();
    assert!(!server.reload().unwrap());
    world.certify("acme.example");
    assert!(server.reload().unwrap());
    let second = shown().await.unwrap();
    assert_ne!(first, second);

    // A file that can't be used changes nothing, and neither does a key of another certificate.
    let key = std::fs::read(&world.files.key).unwrap();
    std::fs::write(&world.files.key, KeyPair::generate().unwrap().serialize_pem()).unwrap();
    assert!(matches!(server.reload(), Err(ServeError::Pair)));
    std::fs::write(&world.files.key, "secret nonsense").unwrap();
    let error = server.reload().unwrap_err();
    assert!(matches!(error, ServeError::Key(_)));
    assert!(!format!("{error} {error:?}").contains("secret nonsense"));
    std::fs::remove_file(&world.files.certificate).unwrap();
    assert!(matches!(server.reload(), Err(ServeError::File { .. })));
    assert_eq!(shown().await.unwrap(), second);
    std::fs::write(&world.files.key, key).unwrap();

    // Within a minute it looks by itself.
    world.certify("acme.example");
    world.clock.advance(60 * SECOND).await;
    assert_ne!(shown().await.unwrap(), second);
}

#[tokio::test]
async fn close_lets_what_is_under_way_end_and_leaves_nothing() {
    let world = World::new();
    let (started, mut waits) = tokio::sync::mpsc::channel(1);
    let (open, gate) = tokio::sync::watch::channel(false);
    let router = Router::new().fallback(move || {
        let (started, mut gate) = (started.clone(), gate.clone());
        async move {
            started.send(()).await.unwrap();
            gate.wait_for(|open| *open).await.unwrap();
            "done"
        }
    });
    let server = world.serve(router).await;
    let address = server.local_addr();
    let mut stream = connect(&world, &server).await.unwrap();
    stream.write_all(request("GET /", "", "").as_bytes()).await.unwrap();
    waits.recv().await.unwrap();
    let closing = tokio::spawn(server.close());
    open.send_replace(true);
    let (status, text) = answer(&mut stream).await;
    assert_eq!((status, text.ends_with("done")), (200, true), "{text}");
    closing.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
    assert_eq!(world.clock.asleep(), 0);
    assert!(waits.recv().await.is_none());
}

#[tokio::test]
async fn close_ends_what_does_not_end() {
    let world = World::new();
    let (started, mut waits) = tokio::sync::mpsc::channel::<()>(1);
    let router = Router::new().fallback(move || {
        let started = started.clone();
        async move {
            started.send(()).await.unwrap();
            std::future::pending::<()>().await;
        }
    });
    let options = ServerOptions { grace: Duration::from_millis(100), ..ServerOptions::default() };
    let server = world.serve_with(router, options).await;
    let mut stream = connect(&world, &server).await.unwrap();
    stream.write_all(request("GET /", "", "").as_bytes()).await.unwrap();
    waits.recv().await.unwrap();
    server.close().await;
    assert_eq!(answer(&mut stream).await.0, 0);
    assert!(waits.recv().await.is_none());
}
