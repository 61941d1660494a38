use super::*;
use std::sync::atomic::{AtomicBool, Ordering};

use mesh_core::port::ConnectionState;

use crate::Closed;

#[tokio::test]
async fn close_lets_a_running_handler_finish() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let (seen, go) = (notes.clone(), Arc::new(Notify::new()));
    let wait = Arc::clone(&go);
    audit
        .subscribe("mail.sent", move |_| {
            let (seen, wait) = (seen.clone(), Arc::clone(&wait));
            async move {
                seen.write("begun");
                wait.notified().await;
                seen.write("done");
                Ok(())
            }
        })
        .await
        .unwrap();
    mail.publish("sent", &()).await.unwrap();
    notes.wait(1).await;
    let closing = tokio::spawn({
        let audit = audit.clone();
        async move { audit.close(SECOND).await }
    });
    tokio::task::yield_now().await;
    go.notify_one();
    let closed = closing.await.unwrap();
    assert_eq!(notes.read(), ["begun", "done"]);
    assert_eq!((closed.finished, closed.released, closed.lost), (1, 0, 0));
    assert_eq!(audit.close(SECOND).await, Closed::default(), "a second time is harmless");
}

#[tokio::test]
async fn an_event_whose_handler_finishes_is_not_given_to_another_reader_meanwhile() {
    let bed = Bed::new().await;
    let (mail, notes, go) = (bed.mail(), Notes::default(), Arc::new(Notify::new()));
    let reader = async |name: &'static str| {
        let audit = bed.audit().build().unwrap();
        let (seen, wait) = (notes.clone(), Arc::clone(&go));
        let handler = move |_| {
            seen.write(name);
            let wait = Arc::clone(&wait);
            async move {
                wait.notified().await;
                Ok(())
            }
        };
        audit.subscribe("mail.sent", handler).await.unwrap();
        audit
    };
    let first = reader("first").await;
    mail.publish("sent", &()).await.unwrap();
    notes.wait(1).await;
    let _second = reader("second").await;
    let closing = tokio::spawn(async move { first.close(60 * SECOND).await });
    bed.clock.advance(50 * SECOND).await;
    go.notify_one();
    assert_eq!(closing.await.unwrap().finished, 1);
    bed.clock.advance(50 * SECOND).await;
    assert_eq!(notes.read(), ["first"]);
}

#[tokio::test]
async fn close_gives_back_what_does_not_finish_in_time() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let seen = notes.clone();
    audit
        .subscribe("mail.sent", move |_| {
            seen.write("begun");
            std::future::pending()
        })
        .await
        .unwrap();
    mail.publish("sent", &()).await.unwrap();
    notes.wait(1).await;
    let closing = tokio::spawn(async move { audit.close(SECOND).await });
    bed.clock.sleepers(2).await;
    bed.clock.advance(SECOND).await;
    let closed = closing.await.unwrap();
    assert_eq!((closed.finished, closed.released, closed.lost), (0, 1, 0));

    let (other, seen) = (bed.audit().build().unwrap(), notes.clone());
    other
        .subscribe("mail.sent", move |event| {
            seen.write(format!("again #{}", event.attempt));
            async { Ok(()) }
        })
        .await
        .unwrap();
    assert_eq!(notes.wait(2).await[1], "again #2");
}

#[tokio::test]
async fn what_was_published_before_the_close_is_with_the_broker() {
    let bed = Bed::new().await;
    let mail = bed.mail();
    for _ in 0..500 {
        mail.publish("sent", &()).await.unwrap();
    }
    mail.close(SECOND).await;
    drop(mail);
    let administration = bed.controller.administration().unwrap();
    assert_eq!(administration.inspect(StreamName::Events).await.unwrap().unwrap().messages, 500);
}

#[tokio::test]
async fn a_closed_broker_says_so() {
    let bed = Bed::new().await;
    let (mail, audit) = (bed.mail(), bed.audit().build().unwrap());
    mail.close(SECOND).await;
    audit.close(SECOND).await;
    let error = mail.publish("sent", &()).await.unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
    let error = audit.subscribe("mail.sent", |_| async { Ok(()) }).await.unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
}

/// A handler that begins and never ends.
async fn stuck(bed: &Bed) -> Broker {
    let (audit, notes) = (bed.audit().build().unwrap(), Notes::default());
    let seen = notes.clone();
    audit
        .subscribe("mail.sent", move |_| {
            seen.write("begun");
            std::future::pending()
        })
        .await
        .unwrap();
    bed.mail().publish("sent", &()).await.unwrap();
    notes.wait(1).await;
    audit
}

#[tokio::test]
async fn close_keeps_its_time_when_the_subscription_ended_before() {
    let bed = Bed::new().await;
    let audit = stuck(&bed).await;
    bed.broker.sever(audit.principal());
    bed.clock.advance(Duration::ZERO).await;
    let closing = tokio::spawn(async move { audit.close(SECOND).await });
    bed.clock.advance(SECOND).await;
    bed.clock.advance(SECOND).await;
    assert!(closing.is_finished());
}

#[tokio::test]
async fn a_close_whose_caller_went_away_is_finished_all_the_same() {
    let bed = Bed::new().await;
    let audit = stuck(&bed).await;
    let mut states = audit.0.connection.transport().states();
    let given_up = tokio::time::timeout(Duration::from_millis(1), audit.close(SECOND)).await;
    assert!(given_up.is_err());
    bed.clock.advance(SECOND).await;
    let mut last = states.next().await;
    while let Some(state) = states.next().await {
        last = Some(state);
    }
    assert!(matches!(last, Some(ConnectionState::Closed)), "{last:?}");
}

#[tokio::test]
async fn a_handler_may_close_its_own_broker() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let (own, seen) = (audit.clone(), notes.clone());
    audit
        .subscribe("mail.sent", move |_| {
            let own = own.clone();
            seen.write("begun");
            async move {
                own.close(SECOND).await;
                Ok(())
            }
        })
        .await
        .unwrap();
    mail.publish("sent", &()).await.unwrap();
    notes.wait(1).await;
    bed.clock.sleepers(2).await;
    bed.clock.advance(SECOND).await;
    let over = audit.handle("count", |_| async { Ok::<_, mesh_core::tool::ToolFailure>(1) }).await;
    assert!(over.unwrap_err().to_string().contains("closed"));
}

#[tokio::test]
async fn a_closed_broker_lets_go_of_its_handlers() {
    let bed = Bed::new().await;
    let (audit, held) = (bed.audit().build().unwrap(), Arc::new(()));
    let (own, kept) = (audit.clone(), Arc::clone(&held));
    audit
        .subscribe("mail.sent", move |_| {
            let _uses = (&own, &kept);
            async { Ok(()) }
        })
        .await
        .unwrap();
    audit.close(SECOND).await;
    drop(audit);
    bed.clock.advance(Duration::ZERO).await;
    assert_eq!(Arc::strong_count(&held), 1);
}

#[tokio::test]
async fn a_closed_broker_takes_no_further_handler() {
    let bed = Bed::new().await;
    let audit = bed.audit().build().unwrap();
    audit.subscribe("mail.sent", |_| async { Ok(()) }).await.unwrap();
    audit.close(SECOND).await;
    let error = audit.subscribe("mail.lost", |_| async { Ok(()) }).await.unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn close_keeps_its_time_though_a_handler_never_gives_way() {
    let clock = Arc::new(mesh_clock::SystemClock::new());
    let broker = InMemoryDurableBroker::new(clock);
    let files = Topology::new();
    let topology =
        files.with_module(&node("n1"), &module_name("audit"), &[filter("mail.>")]).unwrap();
    let controller = broker.connect(controller(), Permissions::everything()).unwrap();
    controller.administration().unwrap().assert(&topology, DriftMode::Report).await.unwrap();
    let connect = |name| broker.connect(module("n1", name), Permissions::everything()).unwrap();
    let audit = Broker::builder(connect("audit")).consumes([filter("mail.>")]).build().unwrap();
    let (notes, over) = (Notes::default(), Arc::new(AtomicBool::new(false)));
    let (seen, until) = (notes.clone(), Arc::clone(&over));
    audit
        .subscribe("mail.sent", move |_| {
            seen.write("begun");
            while !until.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            async { Ok(()) }
        })
        .await
        .unwrap();
    Broker::builder(connect("mail")).build().unwrap().publish("sent", &()).await.unwrap();
    notes.wait(1).await;
    let closed = tokio::time::timeout(5 * SECOND, audit.close(Duration::ZERO)).await;
    over.store(true, Ordering::Relaxed);
    let closed = closed.unwrap();
    assert_eq!((closed.finished, closed.released, closed.lost), (0, 1, 0));
}
