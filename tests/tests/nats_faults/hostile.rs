//! Whoever answers at the server's address says what no server says. Before there is TLS that may be anybody
//! on the way; the client library panics at some of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use mesh_core::port::{Connection, ErrorKind};
use mesh_testkit::fixtures::{message, module};
use mesh_testkit::servers::Proxy;
use mesh_testkit::servers::nats::{FakeConfig, FakeNats, Heard, NatsServer};
use mesh_transport_nats::{NatsOptions, connect};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::bed::{self, States};

/// At these the client library panics.
const PANICS: [&str; 3] = [
    "-ERR\r\n",
    "MSG a 1 18446744073709551615\r\n",
    "HMSG a 1 18446744073709551600 18446744073709551610\r\n",
];

/// Greets everybody with these bytes, and says nothing more.
async fn greeter(greeting: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            // The client may be gone before it has heard all.
            let _ = stream.write_all(&greeting).await;
            open.push(stream);
        }
    });
    address
}

fn greetings() -> Vec<Vec<u8>> {
    let info =
        |more: &str| format!("INFO {{\"server_id\":\"X\",\"version\":\"2.15.1\"{more}}}\r\n");
    let words = [
        "\r\n",
        "-ERR 'Authorization Violation'\r\n",
        "INFO \r\n",
        "INFO []\r\n",
        "INFO {\"max_payload\":-1}\r\n",
        "INFO {\"max_payload\":99999999999999999999999}\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}",
    ];
    let texts = words.into_iter().chain(PANICS).map(str::to_owned);
    let after = PANICS.map(|words| info("") + words);
    let long =
        ["x", "[", "\\\""].map(|part| info(&format!(",\"go\":\"{}\"", part.repeat(1 << 20))));
    let deep = format!("INFO {}\r\n", "[".repeat(100_000));
    texts
        .chain(after)
        .chain(long)
        .chain([deep])
        .map(String::into_bytes)
        .chain([vec![0; 1 << 20], b"-ERR '\xff'\r\n".to_vec(), b"INFO \xff\r\n".to_vec()])
        .collect()
}

#[tokio::test]
async fn odd_greetings_are_errors_and_no_panic() {
    let options = NatsOptions { connect_timeout: Duration::from_millis(500), ..bed::quick() };
    let trying = greetings().into_iter().map(|greeting| {
        let options = options.clone();
        async move {
            let told = String::from_utf8_lossy(&greeting[..greeting.len().min(80)]).into_owned();
            let address = greeter(greeting).await;
            let plain = bed::target(address, module("n1", "mail"), bed::USER);
            let pinned = bed::pinned(address, "mail", bed::PASSWORD, &[&"ab".repeat(32)]);
            for target in [plain, pinned] {
                let error = connect(target, options.clone()).await.expect_err(&told);
                let kinds = [ErrorKind::Disconnected, ErrorKind::TimedOut, ErrorKind::Denied];
                assert!(kinds.contains(&error.kind()), "{told}: {error}");
                assert!(error.to_string().len() < 1000, "{told}: {error}");
            }
        }
    });
    join_all(trying).await;
}

#[tokio::test]
async fn an_odd_greeting_is_no_end_of_reconnecting() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let proxy = Proxy::before(server.address()).await.unwrap();
    let target = bed::target(proxy.address(), module("n1", "mail"), bed::USER);
    let connection = connect(target, bed::quick()).await.unwrap();
    for words in PANICS {
        let states = States::of(&connection);
        proxy.lead_to(greeter(words.into()).await);
        proxy.cut().await;
        states.any("the odd words", |state| format!("{state:?}").contains("no nats-server")).await;
        proxy.lead_to(server.address());
        states.mended().await;
        publishes(&connection).await;
    }
}

async fn publishes(connection: &Connection) {
    let said = message("mesh.tools.mail.open", "");
    connection.transport().publish(said, <_>::default()).await.unwrap();
}

/// Plays a server that answers probes, and counts its connections.
async fn play(fake: Arc<FakeNats>) {
    while let Ok(heard) = fake.heard().await {
        // A subscription that is none.
        if matches!(&heard, Heard::Line(line) if line.contains(".>.")) {
            // Who asked may be gone.
            let _ = fake.say("-ERR 'Invalid Subject'\r\n");
        }
    }
}

#[tokio::test]
async fn odd_words_in_a_session_cost_at_most_that_session() {
    let fake = Arc::new(FakeNats::start(FakeConfig::new()).await.unwrap());
    let playing = tokio::spawn(play(Arc::clone(&fake)));
    let target = bed::target(fake.address(), module("n1", "mail"), bed::USER);
    let options = NatsOptions { ping_interval: Duration::from_millis(500), ..bed::quick() };
    let connection = connect(target, options).await.unwrap();
    let denial = |of: &str| format!("-ERR 'Permissions Violation for {of}'\r\n");
    let address = format!("_INBOX.mail.n1.ack.{}", "0".repeat(32));
    let words = [
        // Nobody asked.
        "-ERR 'Invalid Subject'\r\n".repeat(500),
        "-ERR 'maximum subscriptions exceeded'\r\n".repeat(200),
        "PONG\r\n".repeat(500),
        denial("Publish to \"mesh.tools.mail.other\"").repeat(300),
        denial("Subscription to \"_INBOX.mail.n1.>.probe\""),
        denial("Publish with Reply of \"_R_.probe.7\""),
        denial("Publish to \"_INBOX.mail.n1.probe.18446744073709551616\""),
        // Not whole.
        denial("Publish to \"mesh"),
        denial("Publish to \"\\"),
        denial("Subscription to \"a\" using queue \"b"),
        denial("Subscription to \"\\ud800\\xff\" using queue \"\\U00110000\""),
        denial(""),
        format!("-ERR '{}'\r\n", "x".repeat(1 << 20)),
        format!("MSG {address} 1 0\r\n\r\n").repeat(300),
        "MSG mesh.tools.mail.open 99 0\r\n\r\n".to_owned(),
        "INFO {}\r\n".to_owned(),
        "INFO {\"max_payload\":0,\"ldm\":true}\r\n".to_owned(),
        "\r\n".to_owned(),
        "-ERR ''\r\n".to_owned(),
    ];
    for words in words.into_iter().chain(PANICS.map(str::to_owned)) {
        let shown = &words[..words.len().min(80)];
        assert!(fake.say(words.clone()) > 0, "{shown}");
        let due = std::time::Instant::now() + Duration::from_secs(30);
        loop {
            // One that is under way is lost with its session.
            let said = message("mesh.tools.mail.open", "");
            match connection.transport().publish(said, <_>::default()).await {
                Ok(()) => break,
                Err(error) if error.kind() == ErrorKind::Disconnected => {}
                Err(error) => panic!("{shown}: {error}"),
            }
            assert!(std::time::Instant::now() < due, "{shown}");
        }
    }
    playing.abort();
}
