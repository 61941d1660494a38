//! Closing (A4): what was accepted reaches the broker, or is named.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use mesh_core::port::{CloseReport, ErrorKind};
use tokio::runtime::{Builder, Runtime};

use crate::bed;

const COUNT: usize = 500;
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Runs `work` on a runtime of its own, on another thread, and ends that runtime at once.
async fn elsewhere<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let thread = std::thread::spawn(move || {
        let runtime = runtime();
        let done = runtime.block_on(work);
        runtime.shutdown_background();
        done
    });
    tokio::task::spawn_blocking(|| thread.join().unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_appended_before_close_is_there_when_the_runtime_ends_at_once() {
    let server = bed::broker(&["mail"]).await;
    let target = bed::target(&server, "mail");
    let report = elsewhere(async move {
        let mail = mesh_transport_amqp::connect(target, bed::quick()).await.unwrap();
        let streams = mail.streams().unwrap();
        let appending = (0..COUNT).map(|number| {
            let id = format!("{number:03}");
            async move { streams.append(bed::event(&id), bed::appending(&id, PATIENCE)).await }
        });
        for appended in join_all(appending).await {
            appended.unwrap();
        }
        mail.transport().close(PATIENCE).await
    })
    .await;
    assert_eq!(report, CloseReport::default(), "nothing was under way");
    let mut there = bed::taken(server.management()).await;
    there.sort();
    assert_eq!(there, (0..COUNT).map(|number| format!("{number:03}")).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_under_way_when_close_is_called_is_brought_to_the_broker() {
    let server = bed::broker(&["mail"]).await;
    let target = bed::target(&server, "mail");
    let report = elsewhere(async move {
        let mail = mesh_transport_amqp::connect(target, bed::quick()).await.unwrap();
        let streams = mail.streams().unwrap();
        let mut appending: Vec<_> = (0..COUNT)
            .map(|number| {
                let id = number.to_string();
                Box::pin(async move {
                    streams.append(bed::event(&id), bed::appending(&id, PATIENCE)).await.unwrap();
                })
            })
            .collect();
        for one in &mut appending {
            assert!(one.now_or_never().is_none());
        }
        let closing = mail.transport().close(PATIENCE);
        let (report, _) = tokio::join!(closing, join_all(appending));
        report
    })
    .await;
    println!("{COUNT} appends were under way: {report:?}");
    assert!(report.finished > 0 && report.lost == 0, "{report:?}");
    assert_eq!(bed::taken(server.management()).await.len(), COUNT);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn close_with_a_silent_broker_ends_in_its_time_and_names_what_was_lost() {
    let server = bed::broker(&["mail"]).await;
    let options = mesh_transport_amqp::AmqpOptions { heartbeat: PATIENCE, ..bed::quick() };
    let mail = mesh_transport_amqp::connect(bed::target(&server, "mail"), options).await.unwrap();
    let streams = mail.streams().unwrap();
    streams.append(bed::event("a"), bed::appending("a", PATIENCE)).await.unwrap();
    server.pause().unwrap();
    let mut appending = streams.append(bed::event("b"), bed::appending("b", PATIENCE));
    assert!((&mut appending).now_or_never().is_none());
    let began = Instant::now();
    let closing = mail.transport().close(Duration::from_secs(1));
    let (report, appended) = tokio::join!(closing, appending);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!((report.finished, report.lost), (0, 1), "{report:?}");
    let error = appended.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Closed | ErrorKind::Disconnected), "{error}");
    server.resume().unwrap();
    // Once more is harmless.
    assert_eq!(mail.transport().close(PATIENCE).await, CloseReport::default());
}
