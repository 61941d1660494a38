//! What a handler has rejected, while another handler of the same event is tried again.

use super::*;
use crate::HandlerError;

/// `mail.sent` rejects what comes; `mail.*` fails until its third try.
async fn two(bed: &Bed) -> (Broker, Notes) {
    let (audit, notes) = (bed.audit().build().unwrap(), Notes::default());
    for pattern in ["mail.sent", "mail.*"] {
        let seen = notes.clone();
        audit
            .subscribe(pattern, move |event| {
                seen.write(format!("{pattern} #{}", event.attempt));
                async move {
                    match pattern {
                        "mail.sent" => Err(HandlerError::reject("of no use")),
                        _ if event.attempt < 3 => Err(HandlerError::retry("not yet")),
                        _ => Ok(()),
                    }
                }
            })
            .await
            .unwrap();
    }
    (audit, notes)
}

#[tokio::test]
async fn a_handler_that_has_rejected_does_not_run_again_when_another_is_tried_again() {
    let bed = Bed::new().await;
    let (mail, (_audit, notes)) = (bed.mail(), two(&bed).await);
    mail.publish("sent", &()).await.unwrap();
    notes.wait(2).await;
    bed.clock.advance(SECOND).await;
    notes.wait(3).await;
    bed.clock.advance(2 * SECOND).await;
    let letter = bed.dead_letter().await;
    assert_eq!(notes.read(), ["mail.sent #1", "mail.* #1", "mail.* #2", "mail.* #3"]);
    assert_eq!(letter.deliveries, Some(3), "once the other has succeeded");
    assert_eq!(letter.error.unwrap().as_str(), "of no use");
}

#[tokio::test]
async fn an_event_that_begins_anew_is_its_handlers_again() {
    let bed = Bed::new().await;
    let (_audit, notes) = two(&bed).await;
    bed.append(bed.written_by("mail", "e-1")).await;
    notes.wait(2).await;
    bed.clock.advance(SECOND).await;
    notes.wait(3).await;
    // As if it had been given up elsewhere and was sent back, while it is remembered here.
    let event = bed.written_by("mail", "e-1");
    let back = Message::new(subject("mesh.replay.n1_audit.mail.sent"), event.payload().clone())
        .with_headers(event.headers().clone());
    bed.append(back).await;
    assert_eq!(notes.wait(5).await[3..], ["mail.sent #1", "mail.* #1"]);
}
