use std::fs;
use std::time::{Duration, Instant};

use mesh_control::compose::Place;
use mesh_core::message::Message;
use mesh_core::port::{AppendOptions, Connection, DriftMode};
use mesh_core::subject::Subject;
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use mesh_transport_nats::{NatsOptions, Source, connect};
use serde_json::json;

use crate::files::{Files, free, monitoring};
use crate::traffic::Traffic;

const LONG: Duration = Duration::from_secs(30);

/// The mesh's own server, from what is composed of its files.
async fn raised(files: &Files) -> NatsServer {
    let (composition, verifiers) = (files.composition(), files.verifiers().clone());
    let compose = move |place: &mesh_testkit::servers::nats::Place| {
        let (cert, key) = place.certificate.clone().unwrap();
        let shown = |path: std::path::PathBuf| path.display().to_string();
        let place = Place {
            listen: Some(place.client),
            monitor: Some(place.monitoring),
            tls: Some((shown(cert), shown(key))),
            store_dir: Some(shown(place.store.clone())),
            ..Place::default()
        };
        composition.nats(&verifiers, &place).unwrap()
    };
    let certificate = Certificate::local().unwrap();
    NatsServer::launch(NatsConfig::composed(compose).tls(certificate)).await.unwrap()
}

async fn dialled(files: &Files, user: &str, server: &NatsServer) -> Connection {
    let credential = Source::file(files.credential(user, server));
    connect(credential, NatsOptions::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mesh_on_amqp_adopts_its_bus_beside_it_and_stays_where_it_is() {
    let files = Files::new("");
    let traffic = Traffic::begin(files.composition().mesh()).await;
    let dir = files.path("bus");
    let dir = dir.to_str().unwrap();
    let certificate = Certificate::local().unwrap();
    fs::create_dir_all(files.path("bus/tls")).unwrap();
    fs::write(files.path("bus/tls/cert.pem"), certificate.cert_pem()).unwrap();
    fs::write(files.path("bus/tls/key.pem"), certificate.key_pem()).unwrap();

    // The ports of the broker that is there are not the bus's.
    let amqp = traffic.server.server().address();
    files.bus(&format!("listen = '{amqp}'\nmonitor = '{}'", free()));
    let answer = files.adopt(&["--prepare", "--dir", dir]);
    assert_eq!((answer.code, answer.codes()), (Some(1), vec!["port-taken"]), "{answer:?}");
    assert!(answer.messages().contains(&amqp.to_string()), "{answer:?}");
    // Nor is a folder that another server stores in.
    let own = format!("listen = '{}'\nmonitor = '{}'", free(), free());
    fs::create_dir_all(files.path("bus/jetstream/jetstream")).unwrap();
    files.bus(&own);
    let answer = files.adopt(&["--prepare", "--dir", dir]);
    assert_eq!((answer.code, answer.codes()), (Some(1), vec!["store-taken"]), "{answer:?}");
    fs::remove_dir_all(files.path("bus/jetstream")).unwrap();
    let answer = files.adopt(&["--prepare", "--dir", dir]);
    assert_eq!(answer.code, Some(0), "{answer:?}");

    // What isn't there yet can't be seen, and so is not adopted.
    let answer = files.adopt(&["--verify", "--dir", dir]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(answer.stderr.contains("can't be seen"), "{answer:?}");

    let server = raised(&files).await;
    files.bus(&format!("listen = '{}'\nmonitor = '{}'", server.address(), monitoring(&server)));
    let controller = dialled(&files, "controller", &server).await;
    let topology = files.composition().topology().clone();
    controller.administration().unwrap().assert(&topology, DriftMode::Report).await.unwrap();
    let answer = files.adopt(&["--verify", "--dir", dir]);
    assert_eq!((answer.code, answer.codes()), (Some(1), vec!["no-seat"]), "{answer:?}");

    let credential = files.credential("controller", &server);
    let take = ["--dir", dir, "--credential", credential.to_str().unwrap()];
    let answer = files.adopt(&take);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.json["seat"].as_str().unwrap().starts_with("nats on n1 of the mesh bus"));
    // Once: neither this mesh nor another takes it again.
    let answer = files.adopt(&take);
    assert_eq!((answer.code, answer.codes()), (Some(1), vec!["seat-taken"]), "{answer:?}");
    files.bus(&format!(
        "name = 'other'\nlisten = '{}'\nmonitor = '{}'",
        server.address(),
        monitoring(&server)
    ));
    let answer = files.adopt(&take);
    assert_eq!((answer.code, answer.codes()), (Some(1), vec!["seat-taken"]), "{answer:?}");
    assert!(answer.messages().contains("nats on n1 of the mesh bus"), "{answer:?}");
    files.bus(&format!("listen = '{}'\nmonitor = '{}'", server.address(), monitoring(&server)));
    // It holds what it was raised with, and nothing is routed to it.
    let drift = controller.administration().unwrap().assert(&topology, DriftMode::Report);
    assert_eq!(drift.await.unwrap(), []);
    let verify = ["--verify", "--dir", dir];
    let answer = files.adopt(&verify);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    // Genesis has nothing to say of the seat.
    let look = ["--credential", credential.to_str().unwrap(), "--report-only"];
    let answer = files.bus_verb("genesis", &look);
    assert_eq!((answer.code, &answer.json["strangers"]), (Some(0), &json!([])), "{answer:?}");

    // Every node was on AMQP throughout, and nothing of theirs was lost.
    assert!(traffic.end().await > 10);

    // Whoever comes before it is time is seen, and what they did stays seen.
    let mail = dialled(&files, "mail.n1", &server).await;
    let answer = files.adopt(&verify);
    assert_eq!((answer.code, answer.codes()), (Some(1), vec!["routed"]), "{answer:?}");
    assert!(answer.messages().contains("mail.n1 is connected to EDGE"), "{answer:?}");
    let event = Message::new(Subject::new("mesh.events.mail.sent").unwrap(), "1");
    mail.streams().unwrap().append(event, AppendOptions::default()).await.unwrap();
    mail.transport().close(LONG).await;
    let due = Instant::now() + LONG;
    let answer = loop {
        let answer = files.adopt(&verify);
        if !answer.messages().contains("is connected") || Instant::now() > due {
            break answer;
        }
    };
    assert_eq!((answer.code, answer.codes()), (Some(1), vec!["routed"]), "{answer:?}");
    assert_eq!(answer.messages(), "BUS/EVENTS was given 1 messages\n");
    controller.transport().close(LONG).await;
}
