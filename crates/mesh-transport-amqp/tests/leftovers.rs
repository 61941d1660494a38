//! What a connection leaves behind in its process: no thread of the client, and no word of a message in the
//! log. One test, since both are the whole process's.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mesh_core::credential::Credential;
use mesh_core::message::Message;
use mesh_core::port::{Connection, ErrorKind, PublishOptions};
use mesh_core::subject::Subject;
use mesh_testkit::expect::expect_soon;
use mesh_testkit::servers::rabbit::{self, Account, VirtualHost};
use mesh_transport_amqp::{AmqpOptions, Target, connect};
use tracing::level_filters::LevelFilter;

const SECRET: &str = "sealed-by-nobody";

/// Where all that is logged goes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How many threads of the client run.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("lapin-io-loop")).count()
}

async fn no_threads() {
    let none = async {
        while threads() > 0 {
            tokio::task::yield_now().await;
        }
    };
    expect_soon("the end of the client's threads", none).await;
}

async fn connected(host: &VirtualHost, fingerprint: &str) -> Connection {
    host.account(&Account::new("n1.mail", SECRET).all_rights()).await.unwrap();
    let url = host.url_of("n1.mail", SECRET);
    let document = format!(
        r#"{{"url": "{url}", "fingerprint": "{fingerprint}", "node": "n1", "module": "mail"}}"#
    );
    let target = Target::of(&Credential::parse(document).unwrap()).unwrap();
    connect(target, AmqpOptions::default()).await.unwrap()
}

#[tokio::test]
async fn neither_threads_nor_words_are_left_behind() {
    let log = Log::default();
    let into = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        .with_writer(move || into.clone())
        .init();

    let server = rabbit::shared().await.unwrap();
    let host = server.virtual_host().await.unwrap();
    let pin = server.fingerprint();
    let mail = connected(&host, &pin).await;
    assert_eq!(threads(), 2);

    // The broker gives it back, and its body with it.
    let subject = Subject::new("mesh.control.enrol").unwrap();
    let message = Message::new(subject, SECRET);
    let options = PublishOptions { require_receiver: true, ..PublishOptions::default() };
    let nobody = mail.transport().publish(message, options).await.unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::NoResponders, "{nobody}");

    mail.transport().close(Duration::from_secs(5)).await;
    no_threads().await;

    // Dropped without a word, it ends all the same.
    drop(connected(&host, &pin).await);
    no_threads().await;

    let said = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(said.contains("mesh_transport_amqp"), "this crate logs");
    let bytes: Vec<_> = SECRET.bytes().map(|byte| byte.to_string()).collect();
    for secret in [SECRET, &bytes.join(", ")] {
        let line = said.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "{line:?}");
    }
}
