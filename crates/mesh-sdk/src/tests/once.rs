//! What was handled is remembered for as long as it can come again.

use super::*;
use crate::{BuildError, HandlerError, MemoryHandled, RetryPolicy};

#[tokio::test]
async fn what_one_handler_has_handled_outlives_the_longest_waits_of_another() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    for pattern in ["mail.sent", "mail.*"] {
        let seen = notes.clone();
        audit
            .subscribe(pattern, move |event| {
                seen.write(format!("{pattern} #{}", event.attempt));
                async move {
                    match pattern {
                        "mail.sent" => Ok(()),
                        _ => Err(HandlerError::retry_after("not yet", RetryPolicy::LONGEST)),
                    }
                }
            })
            .await
            .unwrap();
    }
    mail.publish("sent", &()).await.unwrap();
    for tries in 1..5 {
        notes.wait(1 + tries).await;
        bed.clock.advance(RetryPolicy::LONGEST).await;
    }
    let expected =
        ["mail.sent #1", "mail.* #1", "mail.* #2", "mail.* #3", "mail.* #4", "mail.* #5"];
    assert_eq!(notes.wait(6).await, expected);
    assert_eq!(bed.dead_letter().await.deliveries, Some(5));
}

#[tokio::test]
async fn what_one_handler_has_handled_outlives_a_slow_try_of_another() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    for pattern in ["mail.sent", "mail.*"] {
        let (seen, clock) = (notes.clone(), bed.clock.clone());
        audit
            .subscribe(pattern, move |event| {
                seen.write(format!("{pattern} #{}", event.attempt));
                let clock = clock.clone();
                async move {
                    if pattern == "mail.sent" || event.attempt > 1 {
                        return Ok(());
                    }
                    clock.sleep(RetryPolicy::SPAN).await;
                    Err(HandlerError::retry("not yet"))
                }
            })
            .await
            .unwrap();
    }
    mail.publish("sent", &()).await.unwrap();
    notes.wait(2).await;
    bed.clock.advance(RetryPolicy::SPAN).await;
    bed.clock.advance(SECOND).await;
    assert_eq!(notes.wait(3).await, ["mail.sent #1", "mail.* #1", "mail.* #2"]);
}

#[tokio::test]
async fn a_retry_policy_beyond_the_longest_wait_is_refused() {
    let bed = Bed::new().await;
    let of = |longest| RetryPolicy { first: SECOND, longest };
    assert!(bed.audit().retry(of(RetryPolicy::LONGEST)).build().is_ok());
    let asked = RetryPolicy::LONGEST + Duration::from_nanos(1);
    let refused = bed.audit().retry(of(asked)).build().unwrap_err();
    assert_eq!(refused, BuildError::RetryTooLong { asked, longest: RetryPolicy::LONGEST });
}

#[tokio::test]
async fn a_store_that_forgets_before_the_last_try_is_refused() {
    let bed = Bed::new().await;
    let store = |window| {
        let clock = Arc::new(bed.clock.clone());
        Arc::new(MemoryHandled::with_bounds(clock, 10, window))
    };
    assert!(bed.audit().handled(store(RetryPolicy::SPAN)).build().is_ok());
    let refused = bed.audit().handled(store(600 * SECOND)).build().unwrap_err();
    let expected = BuildError::WindowTooShort { window: 600 * SECOND, needed: RetryPolicy::SPAN };
    assert_eq!(refused, expected);
}

#[test]
fn the_tries_of_an_event_span_their_claims_and_waits() {
    assert_eq!(RetryPolicy::SPAN, 5 * (30 * SECOND + 900 * SECOND));
}
