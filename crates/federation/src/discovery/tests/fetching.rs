//! A real server on loopback, which is allowed on purpose.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse as _;
use axum::routing::get;
use futures_util::StreamExt as _;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

async fn fetch_error(world: &World, router: Router) -> DiscoveryError {
    let server = world.serve(router).await;
    asked(&world.acme(&server)).await.unwrap_err()
}

#[tokio::test]
async fn a_document_is_read_over_https_and_kept_for_its_time() {
    let world = World::new();
    let document = acme().with_max_age(120 * SECOND);
    let (router, count) = says(document.to_json());
    let server = world.serve(router).await;
    let discovery = world.acme(&server);
    for _ in 0..3 {
        assert_eq!(*asked(&discovery).await.unwrap(), document);
    }
    world.clock.advance(119 * SECOND).await;
    asked(&discovery).await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 1);
    world.clock.advance(SECOND).await;
    asked(&discovery).await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn what_is_configured_is_never_asked_and_what_has_no_place_can_not_be() {
    let world = World::new();
    let (router, count) = says("");
    let server = world.serve(router).await;
    let discovery = world.discovery(world.options(&server).known(acme()));
    assert_eq!(*asked(&discovery).await.unwrap(), acme());
    let nowhere = discovery.document(&realm("shop"), Freshness::Kept).await;
    assert_eq!(nowhere, Err(DiscoveryError::Unmapped));
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_document_of_another_realm_is_refused() {
    let world = World::new();
    for other in ["acme.com", "Acme.example", "acme.example.evil"] {
        let (router, _) = says(Document::new(realm(other)).to_json());
        assert_eq!(fetch_error(&world, router).await, DiscoveryError::WrongRealm, "{other}");
    }
}

#[tokio::test]
async fn a_failure_is_remembered_for_a_while() {
    let world = World::new();
    let (router, count) = says("no document");
    let server = world.serve(router).await;
    let discovery = world.acme(&server);
    let expected = Err(DiscoveryError::Document(DocumentError::Shape));
    for _ in 0..3 {
        assert_eq!(asked(&discovery).await, expected);
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    world.clock.advance(30 * SECOND).await;
    assert_eq!(asked(&discovery).await, expected);
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let world = World::new();
    let (elsewhere, count) = says(acme().to_json());
    let elsewhere = world.serve(elsewhere).await;
    for to in [url(&elsewhere, "/x"), "http://169.254.169.254/".to_owned(), "/here".to_owned()] {
        for status in [301, 302, 303, 307, 308] {
            let to = to.clone();
            let status = StatusCode::from_u16(status).unwrap();
            let router = Router::new().fallback(move || async move {
                (status, [(header::LOCATION, to)]).into_response()
            });
            let expected = FetchError::Status(status.as_u16()).into();
            assert_eq!(fetch_error(&world, router).await, expected);
        }
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn only_status_200_brings_a_document() {
    let world = World::new();
    for status in [201, 204, 206, 404, 500] {
        let code = StatusCode::from_u16(status).unwrap();
        let router = Router::new().fallback(move || async move { (code, acme().to_json()) });
        assert_eq!(fetch_error(&world, router).await, FetchError::Status(status).into());
    }
}

#[tokio::test]
async fn too_much_is_not_read_to_its_end() {
    let world = World::new();
    let too_large = DiscoveryError::from(FetchError::TooLarge(65_536));
    let (router, _) = says("x".repeat(65_537));
    assert_eq!(fetch_error(&world, router).await, too_large);
    // Without a length, and without an end.
    let sent = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&sent);
    let router = Router::new().fallback(move || {
        let counting = Arc::clone(&counting);
        let chunk = move || {
            counting.fetch_add(4096, Ordering::SeqCst);
            Ok::<_, std::io::Error>(vec![b'x'; 4096])
        };
        async { Body::from_stream(futures_util::stream::repeat_with(chunk)) }
    });
    assert_eq!(fetch_error(&world, router).await, too_large);
    // What the limit lets through, and what lay between the two.
    assert!(sent.load(Ordering::SeqCst) < 32 << 20);
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_not_waited_for() {
    let world = World::new();
    let drip = || {
        let bytes = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' ']));
        let slowly = bytes.then(|byte| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            byte
        });
        async { Body::from_stream(slowly) }
    };
    let silence = || async { std::future::pending::<()>().await };
    let router = Router::new().route("/drip", get(drip)).route("/silence", get(silence));
    let server = world.serve(router).await;
    for path in ["/drip", "/silence"] {
        let mut options = world.options(&server);
        options.timeout = Duration::from_millis(300);
        let discovery = world.discovery(options.at(realm("acme.example"), url(&server, path)));
        assert_eq!(asked(&discovery).await, Err(FetchError::Timeout.into()), "{path}");
    }
}

#[tokio::test]
async fn who_has_no_trusted_certificate_for_the_name_is_nobody() {
    let world = World::new();
    let (router, count) = says(acme().to_json());
    let server = world.serve(router).await;
    let another = World::new();
    let mut options = world.options(&server).at(realm("acme.example"), place_at(&server));
    options.roots = Roots::pem(another.authority.pem());
    assert_eq!(asked(&world.discovery(options)).await, Err(FetchError::Tls.into()));
    // Trusted, and for another name.
    let other = format!("https://other.example:{}/", server.local_addr().port());
    let discovery = world.discovery(world.options(&server).at(realm("acme.example"), other));
    assert_eq!(asked(&discovery).await, Err(FetchError::Tls.into()));
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn nobody_listening_is_no_connection() {
    let world = World::new();
    let server = world.serve(Router::new()).await;
    let discovery = world.acme(&server);
    server.close().await;
    assert_eq!(asked(&discovery).await, Err(FetchError::Connect.into()));
}

#[tokio::test]
async fn loopback_is_refused_unless_it_is_allowed() {
    let world = World::new();
    let (router, count) = says(acme().to_json());
    let server = world.serve(router).await;
    let mut options = world.options(&server).at(realm("acme.example"), place_at(&server));
    options.egress = Egress::public().allow_port(server.local_addr().port());
    let refused = asked(&world.discovery(options.clone())).await.unwrap_err();
    let address = IpAddr::from([127, 0, 0, 1]);
    let expected = EgressError::Address { address, kind: AddressKind::Loopback };
    assert_eq!(refused, FetchError::Egress(expected).into());
    assert_eq!(count.load(Ordering::SeqCst), 0);
    options.egress = options.egress.allow_host("acme.example");
    assert_eq!(*asked(&world.discovery(options)).await.unwrap(), acme());
}

/// A name that leads somewhere else when it is asked for a second time is asked once.
#[tokio::test]
async fn a_name_is_resolved_once_for_check_and_connection() {
    let world = World::new();
    let (router, count) = says(acme().to_json());
    let server = world.serve(router).await;
    asked(&world.acme(&server)).await.unwrap();
    assert_eq!(world.resolver.asked.load(Ordering::SeqCst), 1);
    assert_eq!(count.load(Ordering::SeqCst), 1);
    // And whoever has moved inside meanwhile is refused when it is asked anew.
    *world.resolver.addresses.lock() = vec![IpAddr::from([10, 0, 0, 1])];
    let refused = asked(&world.acme(&server)).await;
    assert!(matches!(refused, Err(DiscoveryError::Fetch(FetchError::Egress(_)))), "{refused:?}");
}

#[tokio::test]
async fn names_that_strangers_invent_are_not_all_asked() {
    let world = World::new();
    let server = world.serve(Router::new()).await;
    let mut options = world.options(&server);
    options.strangers = (3, SECOND);
    *world.resolver.addresses.lock() = vec![IpAddr::from([10, 0, 0, 1])];
    let discovery = world.discovery(options);
    let mut busy = 0;
    for n in 0..10 {
        let stranger = realm(&format!("x{n}.example"));
        let result = discovery.document(&stranger, Freshness::Kept).await;
        busy += usize::from(result == Err(DiscoveryError::Busy));
    }
    assert_eq!((busy, world.resolver.asked.load(Ordering::SeqCst)), (7, 3));
}

#[test]
fn a_table_with_a_place_that_is_not_allowed_is_refused_at_the_start() {
    let options = DiscoveryOptions::default().at(realm("shop"), "http://shop.example/mx");
    let error = Discovery::new(options, Arc::new(ManualClock::new())).unwrap_err();
    let expected = SetupError::Place { realm: realm("shop"), error: EgressError::Scheme };
    assert_eq!(error, expected);
    let options = DiscoveryOptions { roots: Roots::pem("none"), ..DiscoveryOptions::default() };
    let error = Discovery::new(options, Arc::new(ManualClock::new())).unwrap_err();
    assert_eq!(error, SetupError::Roots);
}

/// The test runs itself again with proxies in the environment: it can't change its own.
#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    const CHILD: &str = "MESH_FEDERATION_TEST_OF_PROXIES";
    let world = World::new();
    if std::env::var_os(CHILD).is_some() {
        let (router, _) = says(acme().to_json());
        let server = world.serve(router).await;
        asked(&world.acme(&server)).await.unwrap();
        return;
    }
    let proxy = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let name = "discovery::tests::fetching::proxies_of_the_environment_are_not_used";
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", name]).env(CHILD, "1").stdout(std::process::Stdio::null());
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY"] {
        child.env(variable, &address);
    }
    child.env_remove("NO_PROXY").env_remove("no_proxy");
    tokio::select! {
        status = child.status() => assert!(status.unwrap().success()),
        _ = proxy.accept() => panic!("the proxy was asked"),
    }
}
