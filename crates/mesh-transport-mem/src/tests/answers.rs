//! Answers by having been asked: a nats-server's `allow_responses`, as it was measured.

use std::time::Duration;

use mesh_core::identity::Responder;
use mesh_core::permissions::{Responses, Rules};
use mesh_core::port::{ErrorKind, ServeOptions, TransportError};

use super::*;

const BUDGET: Responses = Responses { max: 2, expires: Duration::from_secs(10) };

/// Somebody who is asked at `ask.*`, may publish to `own` and nothing else, and may never publish to `no.>`.
fn asked(bed: &Bed) -> Connection {
    let permissions = Permissions {
        publish: Rules::allow([filter("own")]).except([filter("no.>")]),
        subscribe: Rules::allow([filter("ask.*"), filter("_INBOX.svc.n1.>")]),
        responses: Some(BUDGET),
    };
    bed.broker.connect(module("svc"), permissions).unwrap()
}

async fn ask(bed: &Bed, reply: &str) {
    let question = message("ask.it", "").with_reply(subject(reply));
    bed.control.transport().publish(question, Default::default()).await.unwrap();
}

async fn answer(svc: &Connection, to: &str) -> Result<(), TransportError> {
    svc.transport().publish(message(to, "yes"), Default::default()).await
}

async fn is_let_through(svc: &Connection, to: &str) -> bool {
    match answer(svc, to).await {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Denied);
            false
        }
    }
}

#[tokio::test]
async fn who_is_asked_answers_as_often_as_its_budget_says_over_a_denial_too() {
    let bed = Bed::new().await;
    let svc = asked(&bed);
    let _asks = svc.transport().subscribe(filter("ask.*"), Default::default()).await.unwrap();
    assert!(!is_let_through(&svc, "there").await, "nobody asked yet");
    for reply in ["there", "no.way", "mesh.node.n1.declare.x"] {
        ask(&bed, reply).await;
        assert!(is_let_through(&svc, reply).await, "{reply}");
        assert!(!is_let_through(&svc, "elsewhere").await);
        assert!(is_let_through(&svc, reply).await, "{reply}");
        assert!(!is_let_through(&svc, reply).await, "{reply}");
    }
    for _ in 0..5 {
        assert!(is_let_through(&svc, "own").await, "what it may publish anyway has no budget");
    }
}

#[tokio::test]
async fn a_budget_ends_with_its_time_by_the_meshs_clock() {
    let bed = Bed::new().await;
    let svc = asked(&bed);
    let _asks = svc.transport().subscribe(filter("ask.*"), Default::default()).await.unwrap();
    ask(&bed, "there").await;
    bed.clock.advance(BUDGET.expires);
    assert!(is_let_through(&svc, "there").await);
    bed.clock.advance(Duration::from_millis(1));
    assert!(!is_let_through(&svc, "there").await);
}

#[tokio::test]
async fn what_nobody_was_given_may_not_be_answered() {
    let bed = Bed::new().await;
    let svc = asked(&bed);
    ask(&bed, "early").await;
    let _asks = svc.transport().subscribe(filter("ask.*"), Default::default()).await.unwrap();
    assert!(!is_let_through(&svc, "early").await, "it did not listen yet");
    let other = asked(&bed);
    ask(&bed, "there").await;
    assert!(
        !is_let_through(&other, "there").await,
        "the budget is the connection's, not the user's"
    );
    assert!(is_let_through(&svc, "there").await);
}

#[tokio::test]
async fn every_change_of_anybodys_permissions_forgets_the_answers_owed() {
    let bed = Bed::new().await;
    let svc = asked(&bed);
    let _asks = svc.transport().subscribe(filter("ask.*"), Default::default()).await.unwrap();
    ask(&bed, "there").await;
    bed.broker.set_permissions(&module("somebody-else"), &Permissions::default());
    assert!(!is_let_through(&svc, "there").await);
}

#[tokio::test]
async fn an_answer_may_not_bring_an_address_of_the_brokers_and_counts_all_the_same() {
    let bed = Bed::new().await;
    let svc = asked(&bed);
    let _asks = svc.transport().subscribe(filter("ask.*"), Default::default()).await.unwrap();
    ask(&bed, "there").await;
    for _ in 0..BUDGET.max {
        let aimed = message("there", "").with_reply(subject("_R_.x"));
        let refused = svc.transport().publish(aimed, Default::default()).await.unwrap_err();
        assert!(refused.to_string().contains("broker's own"), "{refused}");
    }
    assert!(!is_let_through(&svc, "there").await);
}

/// The tools' own way: a caller's address names the responder, and a budget is all that it needs to answer.
#[tokio::test]
async fn a_served_call_is_answered_by_budget() {
    let bed = Bed::new().await;
    let svc = asked(&bed);
    let serve = ServeOptions::default();
    let mut calls = svc.requests().unwrap().serve(filter("ask.it"), serve).await.unwrap();
    let requests = bed.control.requests().unwrap();
    let responder = Responder::Module(ModuleName::new("svc").unwrap());
    let asking = requests.request(responder, message("ask.it", "?"), Duration::from_secs(5));
    let answering = async {
        let call = calls.next().await.unwrap().unwrap();
        call.answer(Default::default(), "yes".into()).await.unwrap();
    };
    let (answer, ()) = tokio::join!(asking, answering);
    assert_eq!(answer.unwrap().payload().as_ref(), b"yes");
}
