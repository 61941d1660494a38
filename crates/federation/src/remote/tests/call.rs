use mesh_core::mx::EdgeCode;

use super::*;
use crate::RegisterError;

#[tokio::test]
async fn what_the_other_realm_says_is_refused_with_its_code_and_details() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    for (code, edge, again) in [
        ("STOCK.NONE", None, false),
        ("MX.EDGE.POLICY_DENIED", Some(EdgeCode::PolicyDenied), false),
        ("MX.EDGE.RATE_LIMITED", Some(EdgeCode::RateLimited), true),
        ("MX.EDGE.TIMEOUT", Some(EdgeCode::Timeout), true),
    ] {
        for profile in Profile::ALL.iter().copied() {
            bed.client.set_profile(super::shop(), profile);
            let asking = bed.call("1");
            let came = shop.next().await;
            shop.answer(&came, Err((code, "no"))).await;
            let error = asking.await.unwrap().unwrap_err();
            assert_eq!((error.edge_code(), error.may_retry()), (edge, again));
            assert_eq!(error.to_string(), format!("{code}: no"));
            assert!(matches!(error, RemoteError::Refused { .. }));
        }
    }
}

#[tokio::test]
async fn nobody_no_answer_no_room_and_no_address_are_different_errors() {
    let bed = Bed::new().await;
    let nobody = bed.client.call(COUNT, &RawJson::NULL).await.unwrap_err();
    assert!(matches!(nobody, RemoteError::Unavailable(_)), "{nobody}");
    assert!(nobody.may_retry());

    let _silent = bed.shop().await;
    let asking = bed.call("1");
    settle().await;
    assert_eq!(bed.client.answers().counts().pending, 1);
    bed.clock.advance(Duration::from_secs(10)).await;
    assert!(matches!(asking.await.unwrap(), Err(RemoteError::TimedOut)));

    let large = RawJson::string(&"x".repeat(1 << 20));
    let large = bed.client.call(COUNT, &large).await.unwrap_err();
    assert!(matches!(large, RemoteError::TooLarge(_)), "{large}");

    let none = bed.client.call("matrix://shop.example", &RawJson::NULL).await.unwrap_err();
    assert!(matches!(none, RemoteError::Uri(_)), "{none}");
    assert_eq!(bed.client.answers().counts().pending, 0);
}

#[tokio::test]
async fn what_the_backbone_denies_is_denied() {
    let clock = ManualClock::new();
    let backbone = InMemoryDurableBroker::builder(Arc::new(clock.clone())).seed(7).build();
    let local = InMemoryFilterBroker::new(Arc::new(clock));
    let subject = Filter::from(KINDS[1].subject(&shop()));
    let permissions =
        Permissions { publish: Rules::everything().except([subject]), ..Permissions::everything() };
    let connection = backbone.connect(gateway("home"), permissions).unwrap();
    let client = client(connection, &local, RealmOptions::default(), |outside| outside).await;
    let error = client.call(COUNT, &RawJson::NULL).await.unwrap_err();
    assert!(matches!(error, RemoteError::Denied(_)), "{error}");
    assert!(!error.may_retry());
    assert_eq!(client.answers().counts().pending, 0);
}

#[tokio::test]
async fn one_question_more_than_may_wait_is_busy_and_sends_nothing() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let answers = bed.client.answers();
    let waiting: Vec<_> = (0..20_000)
        .map(|n| answers.register(&super::shop(), &n.to_string(), Profile::MxEnv1).unwrap())
        .collect();
    let error = bed.client.call(COUNT, &RawJson::NULL).await.unwrap_err();
    let RemoteError::Busy(RegisterError::RealmFull { limit: 20_000 }) = error else {
        panic!("{error}");
    };
    shop.nothing_came().await;
    drop(waiting);
    let asking = bed.call("1");
    let came = shop.next().await;
    shop.answer(&came, Ok("1")).await;
    assert!(asking.await.unwrap().is_ok());
}

#[tokio::test]
async fn who_waits_is_told_when_nobody_listens_any_more() {
    let bed = Bed::new().await;
    let _silent = bed.shop().await;
    let asking = bed.call("1");
    settle().await;
    bed.client.answers().close();
    assert!(matches!(asking.await.unwrap(), Err(RemoteError::Closed)));
    let after = bed.client.call(COUNT, &RawJson::NULL).await.unwrap_err();
    assert!(matches!(after, RemoteError::Closed), "{after}");
}

#[tokio::test]
async fn a_call_has_a_deadline_of_its_own_where_it_says_so() {
    let bed = Bed::new().await;
    let _silent = bed.shop().await;
    let client = bed.client.clone();
    let asking = tokio::spawn(async move {
        let deadline = Some(Duration::from_millis(20));
        let options = CallOptions { deadline, ..CallOptions::default() };
        client.call_with(&MxUri::parse(COUNT).unwrap(), &RawJson::NULL, &options).await
    });
    bed.clock.sleepers(1).await;
    bed.clock.advance(Duration::from_millis(19)).await;
    assert!(!asking.is_finished());
    bed.clock.advance(Duration::from_millis(1)).await;
    assert!(matches!(asking.await.unwrap(), Err(RemoteError::TimedOut)));
}

/// A third realm that has learnt the id answers in vain.
#[tokio::test]
async fn an_answer_in_another_realms_name_is_not_taken() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let asking = bed.call("1");
    let came = shop.next().await;
    let (route, _) = came.route();
    let text = String::from_utf8(route.ok(&Stamp::new("m", 1), &json("666"))).unwrap();
    let forged = text.replace("shop.example", "thief.example");
    assert_ne!(forged, text);
    shop.send(came.kind, &us(), forged.into_bytes()).await;
    settle().await;
    assert!(!asking.is_finished());
    assert_eq!(bed.client.answers().counts().foreign, 1);
    shop.answer(&came, Ok("1")).await;
    assert_eq!(asking.await.unwrap().unwrap().as_str(), "1");
}

#[tokio::test]
async fn a_message_id_of_the_callers_own_is_kept_from_try_to_try() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let options = CallOptions { msg_id: Some("order-1".to_owned()), ..CallOptions::default() };
    let mut correlations = Vec::new();
    for _ in 0..2 {
        let (client, options) = (bed.client.clone(), options.clone());
        let asking = tokio::spawn(async move {
            client.call_with(&MxUri::parse(COUNT).unwrap(), &RawJson::NULL, &options).await
        });
        let came = shop.next().await;
        assert_eq!(came.msg_id(), "order-1");
        correlations.push(came.route().0.correlation_id().to_owned());
        shop.answer(&came, Ok("1")).await;
        asking.await.unwrap().unwrap();
    }
    assert_ne!(correlations[0], correlations[1]);
}
