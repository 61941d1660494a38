//! One broker on several runtimes.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mesh_clock::SystemClock;
use mesh_core::identity::Responder;
use mesh_core::port::{ErrorKind, ServeOptions};
use tokio::runtime::{Builder, Runtime};

use super::*;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A reader made on a runtime, with an event that comes again in a second.
async fn delayed() -> (Bed, Deliveries) {
    let bed = Bed::new().await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    bed.emit("a").await;
    next(&mut deliveries).await.nak(Some(Duration::from_secs(1))).await.unwrap();
    settle().await;
    (bed, deliveries)
}

#[test]
fn what_is_due_needs_only_the_runtime_that_waits_for_it() {
    let (idle, busy) = (runtime(), runtime());
    let (bed, mut deliveries) = idle.block_on(delayed());
    busy.block_on(async {
        let reading = tokio::spawn(async move { next(&mut deliveries).await.info().attempt });
        settle().await;
        bed.clock.advance(Duration::from_secs(1));
        settle().await;
        assert!(reading.is_finished(), "nobody looked when it was due");
        assert_eq!(reading.await.unwrap(), 2);
    });
    drop(idle);
}

#[test]
fn what_is_due_outlives_the_runtime_it_began_on() {
    let (first, second) = (runtime(), runtime());
    let (bed, mut deliveries) = first.block_on(delayed());
    second.block_on(async {
        let reading = tokio::spawn(async move { next(&mut deliveries).await.info().attempt });
        settle().await;
        first.shutdown_background();
        settle().await;
        bed.clock.advance(Duration::from_secs(1));
        settle().await;
        assert!(reading.is_finished(), "nobody looked when it was due");
        assert_eq!(reading.await.unwrap(), 2);
    });
}

#[test]
fn each_runtime_has_one_task_and_none_outlives_the_broker() {
    let (first, second) = (runtime(), runtime());
    let (bed, deliveries) = first.block_on(delayed());
    let clock = bed.clock.clone();
    second.block_on(async {
        for _ in 0..3 {
            let reader = bed.connect("audit");
            drop(bed.read(&reader, "n1_audit").await);
        }
        settle().await;
        assert_eq!(clock.sleepers(), 2);
    });
    drop((bed, deliveries));
    second.block_on(settle());
    first.block_on(settle());
    assert_eq!(clock.sleepers(), 0);
    assert_eq!(Arc::strong_count(&clock), 1);
}

/// Asks until somebody serves there.
async fn ask(connection: &Connection, timeout: Duration) -> Result<Message, ErrorKind> {
    let responder = Responder::Module(ModuleName::new("mail").unwrap());
    let requests = connection.requests().unwrap();
    loop {
        let question = message("mesh.tools.mail.send", "?");
        match requests.request(responder.clone(), question, timeout).await {
            Err(error) if error.kind() == ErrorKind::NoResponders => tokio::task::yield_now().await,
            other => return other.map_err(|error| error.kind()),
        }
    }
}

#[test]
fn callers_readers_and_timers_of_two_threads_meet() {
    const CALLS: u32 = 200;
    let bed = runtime().block_on(async {
        let broker = InMemoryDurableBroker::new(Arc::new(SystemClock::new()));
        let control = broker.connect(controller(), Permissions::everything()).unwrap();
        let audit = ModuleName::new("audit").unwrap();
        let topology = Topology::new().with_module(&node(), &audit, &[filter("mail.>")]).unwrap();
        let admin = control.administration().unwrap();
        admin.assert(&topology, DriftMode::Mend).await.unwrap();
        broker
    });
    let broker = bed.clone();
    let (done, all_read) = mpsc::channel();
    let serving = thread::spawn(move || {
        runtime().block_on(async move {
            let mail = broker.connect(module("mail"), Permissions::everything()).unwrap();
            let audit = broker.connect(module("audit"), Permissions::everything()).unwrap();
            let place = filter("mesh.tools.mail.send");
            let requests = mail.requests().unwrap();
            let mut calls = requests.serve(place, ServeOptions::default()).await.unwrap();
            let streams = audit.streams().unwrap();
            let mut events = streams.consume(events("n1_audit"), Default::default()).await.unwrap();
            let answering = async {
                for _ in 0..CALLS {
                    let call = calls.next().await.unwrap().unwrap();
                    let body = call.message().payload().clone();
                    call.answer(Default::default(), body).await.unwrap();
                }
                // The last is held, so that its caller's own timer ends it.
                calls.next().await.unwrap().unwrap()
            };
            let reading = async {
                let mut first_tries = 0;
                for _ in 0..CALLS * 2 {
                    let delivery = next(&mut events).await;
                    if delivery.info().attempt == 1 {
                        first_tries += 1;
                        delivery.nak(Some(Duration::from_millis(1))).await.unwrap();
                    } else {
                        delivery.ack().await.unwrap();
                    }
                }
                first_tries
            };
            let (held, first_tries) = futures_util::future::join(answering, reading).await;
            done.send(first_tries).unwrap();
            held
        })
    });
    runtime().block_on(async {
        let mail = bed.connect(module("mail"), Permissions::everything()).unwrap();
        let crm = bed.connect(module("crm"), Permissions::everything()).unwrap();
        let streams = mail.streams().unwrap();
        for _ in 0..CALLS {
            ask(&crm, Duration::from_secs(60)).await.unwrap();
            let event = message("mesh.events.mail.sent", "a");
            streams.append(event, Default::default()).await.unwrap();
        }
        let silent = ask(&crm, Duration::from_millis(1)).await;
        assert_eq!(silent.unwrap_err(), ErrorKind::TimedOut);
    });
    assert_eq!(all_read.recv_timeout(Duration::from_secs(60)), Ok(CALLS));
    drop(serving.join().unwrap());
}
