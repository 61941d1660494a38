use std::fs;

use mesh_core::port::DriftMode;
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer, RawNats};
use mesh_transport_nats::{NatsOptions, Source, connect};
use serde_json::{Value, json};

use crate::files::{Files, free, monitoring};

/// Somebody's server with an account of theirs, and what the mesh's owner asked them to include.
fn theirs(more: &str) -> NatsConfig {
    NatsConfig::new().jetstream().with(format!(
        "accounts {{\n  SHOP {{ jetstream: enabled, users: [ {{ user: shop, password: shop }} ] }}\n{more}\n}}"
    ))
}

async fn api(client: &mut RawNats, verb: &str, body: &Value) -> Value {
    let inbox = format!("inbox.{verb}");
    let subject = format!("$JS.API.{verb}");
    let answer = client.request(&subject, &inbox, &[], body.to_string().as_bytes()).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    assert!(answer.get("error").is_none(), "{answer}");
    answer
}

/// A stream with a consumer and five messages.
async fn shop(client: &mut RawNats) {
    let stream = json!({ "name": "ORDERS", "subjects": ["orders.*"] });
    api(client, "STREAM.CREATE.ORDERS", &stream).await;
    let consumer = json!({ "durable_name": "till", "ack_policy": "explicit" });
    let consumer = json!({ "stream_name": "ORDERS", "config": consumer });
    api(client, "CONSUMER.DURABLE.CREATE.ORDERS.till", &consumer).await;
    for number in 0..5 {
        let inbox = format!("confirmed.{number}");
        client.request("orders.new", &inbox, &[], b"an order").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn data_in_no_named_account_is_refused_and_nothing_is_written() {
    let config = NatsConfig::new().jetstream().tls(Certificate::local().unwrap());
    let server = NatsServer::launch(config).await.unwrap();
    let mut client = RawNats::connect(&server).await.unwrap();
    client.login_with(&json!({})).await.unwrap();
    shop(&mut client).await;
    let files = Files::new("account_prefix = 'M_'");
    let folder = server.config_file().parent().unwrap().to_owned();
    let (folder, store) = (folder.to_str().unwrap(), files.path("store"));
    let monitor = monitoring(&server);
    let prepare =
        ["--prepare", "--dir", folder, "--into", &monitor, "--store", store.to_str().unwrap()];
    let answer = files.adopt(&prepare);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert_eq!(answer.codes(), ["global-data", "global-clients", "anonymous"], "{answer:?}");
    let told = "1 streams with 5 messages are in no named account, but in $G";
    assert!(answer.messages().starts_with(told), "{answer:?}");
    for file in ["mesh-accounts.conf", "before-adoption.json"] {
        assert!(!std::path::Path::new(folder).join(file).exists(), "{file}");
    }
    // One that can't be seen is not adopted either.
    let nowhere = free().to_string();
    let answer = files.adopt(&[
        "--prepare",
        "--dir",
        folder,
        "--into",
        &nowhere,
        "--store",
        store.to_str().unwrap(),
    ]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(answer.stderr.contains("can't be seen"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_meshs_accounts_come_into_a_server_with_other_peoples_data_and_touch_none_of_it() {
    let certificate = Certificate::local().unwrap();
    let server = NatsServer::launch(theirs("").tls(certificate.clone())).await.unwrap();
    let mut client = RawNats::connect(&server).await.unwrap();
    client.login("shop", "shop").await.unwrap();
    shop(&mut client).await;
    client.subscribe("news", None).await.unwrap();
    client.settle().await.unwrap();

    let files = Files::new("account_prefix = 'M_'");
    let folder = server.config_file().parent().unwrap().to_owned();
    let (folder, store) = (folder.to_str().unwrap(), files.path("store"));
    let store = store.to_str().unwrap();
    let monitor = monitoring(&server);
    let owners = fs::read(server.config_file()).unwrap();
    let prepare = ["--prepare", "--dir", folder, "--into", &monitor, "--store", store];
    let answer = files.adopt(&prepare);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let steps = answer.json["next"].to_string();
    assert!(steps.contains(r#"include \"mesh-accounts.conf\""#), "{steps}");
    // Their file is as it was; the seat can't be taken before they have included ours.
    assert_eq!(fs::read(server.config_file()).unwrap(), owners);
    let credential = files.credential("controller", &server);
    let take = ["--dir", folder, "--into", &monitor, "--credential", credential.to_str().unwrap()];
    let answer = files.adopt(&take);
    assert_eq!((answer.code, answer.codes()), (Some(1), vec!["digest", "routed", "routed"]));

    // The owner adds the line, and has the server read it again.
    let pid = server.pid();
    server
        .reload(theirs("  include \"mesh-accounts.conf\"").tls(certificate.clone()))
        .await
        .unwrap();
    let owners = fs::read(server.config_file()).unwrap();
    let wrong = format!("sha256:{}", "0".repeat(64));
    let other = [&take[..], &["--digest", &wrong]].concat();
    let answer = files.adopt(&other);
    assert_eq!((answer.code, answer.codes()), (Some(1), vec!["digest"]), "{answer:?}");
    let digest = server.varz().await.unwrap()["config_digest"].as_str().unwrap().to_owned();
    let meant = [&take[..], &["--digest", &digest]].concat();
    let answer = files.adopt(&meant);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let answer = files.adopt(&take);
    assert_eq!((answer.code, answer.codes()), (Some(1), vec!["seat-taken"]), "{answer:?}");

    // The bus is raised in its accounts, and nothing is routed to it.
    let controller = connect(Source::file(&credential), NatsOptions::default()).await.unwrap();
    let topology = files.composition().topology().clone();
    controller.administration().unwrap().assert(&topology, DriftMode::Report).await.unwrap();
    let verify = ["--verify", "--dir", folder, "--into", &monitor];
    let answer = files.adopt(&verify);
    assert_eq!(answer.code, Some(0), "{answer:?}");

    // Another mesh finds the seat taken.
    let others = Files::new("name = 'other'\naccount_prefix = 'N_'");
    let elsewhere = others.path(".");
    let store = others.path("store");
    let answer = others.adopt(&[
        "--prepare",
        "--dir",
        elsewhere.to_str().unwrap(),
        "--into",
        &monitor,
        "--store",
        store.to_str().unwrap(),
    ]);
    assert_eq!((answer.code, answer.codes()), (Some(1), vec!["seat-taken"]), "{answer:?}");
    assert!(answer.messages().contains("M_BUS"), "{answer:?}");

    // Theirs is as it was: the process, the file, the connection, the stream and the consumer.
    assert_eq!(server.pid(), pid);
    assert_eq!(fs::read(server.config_file()).unwrap(), owners);
    let settled = client.settle().await.unwrap();
    assert_eq!(settled.errors, [""; 0]);
    let stream = api(&mut client, "STREAM.INFO.ORDERS", &json!({})).await;
    assert_eq!(stream["state"]["messages"], 5, "{stream}");
    let consumer = api(&mut client, "CONSUMER.INFO.ORDERS.till", &json!({})).await;
    assert_eq!(consumer["num_pending"], 5, "{consumer}");
    // They see nothing of ours: not one stream more.
    let names = api(&mut client, "STREAM.NAMES", &json!({})).await;
    assert_eq!(names["streams"], json!(["ORDERS"]));
    controller.transport().close(std::time::Duration::from_secs(10)).await;
}
