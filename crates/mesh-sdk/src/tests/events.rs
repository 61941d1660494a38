use serde_json::json;

use super::*;
use crate::{Emission, HandlerError, PublishError, SubscribeError};

#[tokio::test]
async fn an_event_reaches_its_handler_with_its_facts() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let seen = notes.clone();
    audit
        .subscribe("mail.sent", move |event| {
            let facts = &event.event;
            seen.write(format!(
                "{} {} by {} on {} at {} #{}: {}",
                event.name,
                facts.id(),
                event.module,
                facts.node(),
                facts.time(),
                event.attempt,
                facts.data().as_str(),
            ));
            async { Ok(()) }
        })
        .await
        .unwrap();
    let published = mail.publish("sent", &json!({"to": "bob"})).await.unwrap();
    assert_eq!(published.sequence, Some(1));
    let expected = format!(
        "sent {} by mail on n1 at {} #1: {{\"to\":\"bob\"}}",
        published.id,
        bed.clock.now()
    );
    assert_eq!(notes.wait(1).await, [expected]);
}

#[tokio::test]
async fn a_failed_event_is_tried_again_after_its_wait() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let seen = notes.clone();
    audit
        .subscribe("mail.sent", move |event| {
            seen.write(format!("#{}", event.attempt));
            async move {
                if event.attempt < 3 {
                    Err(HandlerError::retry("not yet"))
                } else {
                    Ok(())
                }
            }
        })
        .await
        .unwrap();
    mail.publish("sent", &()).await.unwrap();
    notes.wait(1).await;
    bed.clock.advance(SECOND - Duration::from_millis(1)).await;
    assert_eq!(notes.read(), ["#1"], "before its wait is over");
    bed.clock.advance(Duration::from_millis(1)).await;
    assert_eq!(notes.wait(2).await, ["#1", "#2"]);
    bed.clock.advance(SECOND * 2).await;
    assert_eq!(notes.wait(3).await, ["#1", "#2", "#3"]);
}

#[tokio::test]
async fn the_last_failure_is_a_dead_letter_with_the_handlers_reason() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let seen = notes.clone();
    audit
        .subscribe("mail.sent", move |event| {
            seen.write("");
            async move {
                let wait = Duration::from_millis(5);
                Err(HandlerError::retry_after(format!("try {} failed", event.attempt), wait))
            }
        })
        .await
        .unwrap();
    mail.publish("sent", &()).await.unwrap();
    for tries in 1..=5 {
        notes.wait(tries).await;
        bed.clock.advance(Duration::from_millis(5)).await;
    }
    let letter = bed.dead_letter().await;
    assert_eq!(letter.consumer.consumer.as_str(), "n1_audit");
    assert_eq!(letter.deliveries, Some(5));
    assert_eq!(letter.error.unwrap().as_str(), "try 5 failed");
    assert_eq!(notes.read().len(), 5);
}

#[tokio::test]
async fn a_rejected_event_is_a_dead_letter_at_once() {
    let bed = Bed::new().await;
    let (mail, audit) = (bed.mail(), bed.audit().build().unwrap());
    audit
        .subscribe("mail.sent", |event| async move {
            let _: u64 = event.decode()?;
            Ok(())
        })
        .await
        .unwrap();
    mail.publish("sent", "no number").await.unwrap();
    let letter = bed.dead_letter().await;
    assert_eq!(letter.deliveries, Some(1));
    assert!(letter.error.unwrap().as_str().starts_with("data: invalid type"));
}

#[tokio::test]
async fn a_panic_in_a_handler_is_a_failure_and_the_module_lives() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let seen = notes.clone();
    audit
        .subscribe("mail.sent", move |event| {
            seen.write(format!("#{}", event.attempt));
            async move {
                assert!(event.attempt > 1, "the first try panics");
                Ok(())
            }
        })
        .await
        .unwrap();
    mail.publish("sent", &()).await.unwrap();
    notes.wait(1).await;
    bed.clock.advance(SECOND).await;
    assert_eq!(notes.wait(2).await, ["#1", "#2"]);
    mail.publish("sent", &()).await.unwrap();
    assert_eq!(notes.wait(3).await[2], "#1");
}

#[tokio::test]
async fn of_two_handlers_only_the_one_that_failed_runs_again() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    for pattern in ["mail.sent", "mail.*"] {
        let seen = notes.clone();
        audit
            .subscribe(pattern, move |event| {
                seen.write(format!("{pattern} #{}", event.attempt));
                async move {
                    if pattern == "mail.*" && event.attempt == 1 {
                        return Err(HandlerError::retry("not yet"));
                    }
                    Ok(())
                }
            })
            .await
            .unwrap();
    }
    mail.publish("sent", &()).await.unwrap();
    notes.wait(2).await;
    bed.clock.advance(SECOND).await;
    assert_eq!(notes.wait(3).await, ["mail.sent #1", "mail.* #1", "mail.* #2"]);
}

#[tokio::test]
async fn what_a_handler_publishes_names_its_cause() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let (seen, again) = (notes.clone(), mail.clone());
    audit
        .subscribe("mail.>", move |event| {
            let cause = event.event.causation().map(ToString::to_string);
            seen.write(format!("{} caused by {}", event.name, cause.unwrap_or_default()));
            let again = again.clone();
            async move {
                if event.name.as_str() == "sent" {
                    again.publish("lost", &()).await?;
                }
                Ok(())
            }
        })
        .await
        .unwrap();
    let root = mail.publish("sent", &()).await.unwrap();
    let expected = ["sent caused by ".to_owned(), format!("lost caused by {}", root.id)];
    assert_eq!(notes.wait(2).await, expected);
}

#[tokio::test]
async fn a_delivery_waits_for_the_handler_that_is_not_there_yet() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    audit.subscribe("mail.lost", |_| async { Ok(()) }).await.unwrap();
    mail.publish("sent", &()).await.unwrap();
    // Held for longer than a claim lasts, and reported on meanwhile, so no try is lost.
    for _ in 0..2 {
        bed.clock.sleepers(1).await;
        bed.clock.advance(SECOND * 10).await;
    }
    let seen = notes.clone();
    audit
        .subscribe("mail.sent", move |event| {
            seen.write(format!("#{}", event.attempt));
            async { Ok(()) }
        })
        .await
        .unwrap();
    assert_eq!(notes.wait(1).await, ["#1"]);
}

#[tokio::test]
async fn a_pattern_that_the_manifest_does_not_cover_is_refused_before_any_traffic() {
    let bed = Bed::new().await;
    let audit = bed.audit().build().unwrap();
    let error = audit.subscribe("vault.>", |_| async { Ok(()) }).await.unwrap_err();
    assert!(matches!(error, SubscribeError::NotConsumed { .. }), "{error}");
    let error = audit.subscribe("mail..x", |_| async { Ok(()) }).await.unwrap_err();
    assert!(matches!(error, SubscribeError::Pattern(_)), "{error}");
    let mute = bed.audit().consumes(no_filters()).build().unwrap();
    let error = mute.subscribe("mail.sent", |_| async { Ok(()) }).await.unwrap_err();
    assert!(matches!(error, SubscribeError::NotConsumed { .. }), "{error}");
}

#[tokio::test]
async fn what_can_not_be_published_says_why_and_stores_nothing() {
    let bed = Bed::new().await;
    let mail = bed.mail();
    let denied = mail.publish("stolen", &()).await.unwrap_err();
    assert!(denied.to_string().contains("denied"), "{denied}");
    let name = mail.publish("a b", &()).await.unwrap_err();
    assert!(name.to_string().contains("offset 1"), "{name}");
    let nan = mail.publish("sent", &f64::NAN).await.unwrap_err();
    assert!(matches!(nan, PublishError::Data(_)), "{nan}");
    let large = mail.publish("sent", &"x".repeat(2 * 1024 * 1024)).await.unwrap_err();
    assert!(large.to_string().contains("too large"), "{large}");
    let administration = bed.controller.administration().unwrap();
    assert_eq!(administration.inspect(StreamName::Events).await.unwrap().unwrap().messages, 0);
}

#[tokio::test]
async fn a_schema_and_a_cause_can_be_given() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let seen = notes.clone();
    audit
        .subscribe("mail.sent", move |event| {
            let cause = event.event.causation().map(ToString::to_string);
            seen.write(format!("{:?} {cause:?}", event.event.schema()));
            async { Ok(()) }
        })
        .await
        .unwrap();
    let emission =
        Emission::new(event_name("sent")).schema("2").caused_by(EventId::new("order 7").unwrap());
    mail.publish(emission, &()).await.unwrap();
    assert_eq!(notes.wait(1).await, [r#"Some("2") Some("order 7")"#]);
}

#[tokio::test]
async fn a_connection_that_will_not_come_back_is_not_tried_again() {
    let bed = Bed::new().await;
    let mail = bed.mail();
    bed.broker.sever(mail.principal());
    let publishing = tokio::spawn(async move { mail.publish("sent", &()).await });
    bed.clock.advance(Duration::ZERO).await;
    assert!(publishing.is_finished());
}

#[tokio::test]
async fn a_subscription_whose_consumer_was_retired_is_no_success() {
    let bed = Bed::new().await;
    let audit = bed.audit().build().unwrap();
    audit.subscribe("mail.sent", |_| async { Ok(()) }).await.unwrap();
    let consumer = mesh_testkit::fixtures::consumer(StreamName::Events, "n1_audit");
    assert!(bed.controller.administration().unwrap().retire(&consumer).await.unwrap());
    bed.clock.advance(Duration::ZERO).await;
    let again = audit.subscribe("mail.lost", |_| async { Ok(()) }).await;
    let Err(SubscribeError::Transport(error)) = again else { panic!("{again:?}") };
    assert_eq!(error.kind(), mesh_core::port::ErrorKind::NotFound);
}
