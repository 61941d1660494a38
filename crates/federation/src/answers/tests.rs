use std::collections::HashMap;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::{Answer, DEFAULT_MAX_BYTES, Profile, decode};
use mesh_core::name::RealmName;
use mesh_core::port::Clock as _;
use mesh_testkit::clock::ManualClock;
use proptest::prelude::*;

use super::{AnswerLimits, Answers, AnswersClosed, RegisterError, Settled, Waiting};
use crate::local::limited;

fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

fn answers() -> Answers {
    Answers::new(AnswerLimits::default())
}

fn ask(answers: &Answers, of: &str, id: &str) -> Waiting {
    answers.register(&realm(of), id, Profile::MxEnv1).unwrap()
}

/// An answer as it comes in.
fn answer(text: &str) -> Answer<'_> {
    decode(text.as_bytes(), DEFAULT_MAX_BYTES).unwrap().as_answer().unwrap()
}

fn legacy(id: &str, from: Option<&str>, body: &str) -> String {
    let from = from.map_or(String::new(), |from| format!(r#""fromRealm":"{from}","#));
    format!(r#"{{"correlationId":"{id}",{from}"ok":true,"body":{body}}}"#)
}

fn result(id: &str, from: &str, body: &str) -> String {
    format!(
        r#"{{"msgType":"Result","to":{{"realm":"me","path":"a.accepts.b"}},"from":{{"realm":"{from}"}},"msgId":"m","correlationId":"{id}","body":{body}}}"#
    )
}

/// What `waiting` has by now.
fn now(waiting: &mut Waiting) -> Option<Result<super::Reply, AnswersClosed>> {
    use futures_util::FutureExt as _;
    waiting.now_or_never()
}

#[test]
fn an_answer_finds_its_question_in_either_profile_with_every_byte() {
    let answers = answers();
    for profile in Profile::ALL.iter().copied() {
        for text in [legacy("c", Some("shop"), "[1.0]"), result("c", "shop", "[1.0]")] {
            let mut waiting = answers.register(&realm("shop"), "c", profile).unwrap();
            assert_eq!(now(&mut waiting), None);
            assert_eq!(answers.settle(&answer(&text)), Settled::Matched);
            assert_eq!(now(&mut waiting), Some(Ok(Ok(RawJson::new("[1.0]").unwrap()))));
        }
    }
    assert_eq!((answers.counts().matched, answers.counts().pending), (4, 0));
}

#[test]
fn a_refusal_is_the_askers_with_its_code() {
    let answers = answers();
    let mut waiting = ask(&answers, "shop", "c");
    let text = r#"{"correlationId":"c","fromRealm":"shop","ok":false,"error":{"code":"E","message":"m","details":[1e400]}}"#;
    assert_eq!(answers.settle(&answer(text)), Settled::Matched);
    let fault = now(&mut waiting).unwrap().unwrap().unwrap_err();
    assert_eq!((&*fault.code, &*fault.message), ("E", "m"));
    assert_eq!(fault.details.unwrap().as_str(), "[1e400]");
}

#[test]
fn an_answer_of_another_realm_finds_nothing_and_the_question_waits_on() {
    let answers = answers();
    let mut waiting = ask(&answers, "shop", "c");
    for from in ["thief", "Shop", "shop.example"] {
        assert_eq!(answers.settle(&answer(&result("c", from, "1"))), Settled::Foreign);
        assert_eq!(answers.settle(&answer(&legacy("c", Some(from), "1"))), Settled::Foreign);
    }
    assert_eq!(now(&mut waiting), None);
    assert_eq!(answers.settle(&answer(&result("c", "shop", "2"))), Settled::Matched);
    assert_eq!(now(&mut waiting), Some(Ok(Ok(RawJson::new("2").unwrap()))));
    assert_eq!(answers.counts().foreign, 6);
}

/// A legacy reply need not say where it comes from.
#[test]
fn an_answer_of_no_realm_finds_only_a_question_that_was_asked_in_legacy() {
    let answers = answers();
    let nameless = legacy("c", None, "1");
    let mut waiting = ask(&answers, "shop", "c");
    assert_eq!(answers.settle(&answer(&nameless)), Settled::Foreign);
    assert_eq!(now(&mut waiting), None);
    drop(waiting);
    let mut waiting = answers.register(&realm("shop"), "c", Profile::Legacy).unwrap();
    assert_eq!(answers.settle(&answer(&nameless)), Settled::Matched);
    assert!(now(&mut waiting).is_some());
}

#[test]
fn the_first_answer_counts_and_a_repeat_is_counted() {
    let answers = answers();
    let mut waiting = ask(&answers, "shop", "c");
    assert_eq!(answers.settle(&answer(&result("c", "shop", "1"))), Settled::Matched);
    assert_eq!(answers.settle(&answer(&result("c", "shop", "2"))), Settled::Unknown);
    assert_eq!(now(&mut waiting), Some(Ok(Ok(RawJson::new("1").unwrap()))));
    assert_eq!(answers.counts().unknown, 1);
}

/// What is dropped after an answer must not take a later question of the same id with it.
#[test]
fn an_old_asker_takes_no_newer_question_with_it() {
    let answers = answers();
    let old = ask(&answers, "shop", "c");
    let _ = answers.settle(&answer(&result("c", "shop", "1")));
    let mut new = ask(&answers, "shop", "c");
    drop(old);
    assert_eq!(answers.settle(&answer(&result("c", "shop", "2"))), Settled::Matched);
    assert_eq!(now(&mut new), Some(Ok(Ok(RawJson::new("2").unwrap()))));
}

#[test]
fn one_question_more_than_may_wait_is_refused_by_realm_and_in_all() {
    let answers = Answers::new(AnswerLimits { per_realm: 2, total: 3 });
    let kept = [ask(&answers, "a", "1"), ask(&answers, "a", "2")];
    let register = |of: &str, id: &str| answers.register(&realm(of), id, Profile::Legacy);
    assert_eq!(register("a", "3").unwrap_err(), RegisterError::RealmFull { limit: 2 });
    assert_eq!(register("b", "1").unwrap_err(), RegisterError::Taken);
    let other = ask(&answers, "b", "3");
    assert_eq!(register("c", "4").unwrap_err(), RegisterError::Full { limit: 3 });
    drop((kept, other));
    assert_eq!((answers.counts().pending, answers.counts().refused), (0, 3));
    assert_eq!(answers.counts().given_up, 3);
    let again: Vec<_> = ["1", "2"].iter().map(|id| ask(&answers, "a", id)).collect();
    assert_eq!(answers.counts().pending, again.len());
    let none = Answers::new(AnswerLimits { per_realm: 0, total: 1 });
    let refused = none.register(&realm("a"), "1", Profile::Legacy).unwrap_err();
    assert_eq!(refused, RegisterError::RealmFull { limit: 0 });
}

#[test]
fn closed_it_tells_who_waits_and_takes_no_more() {
    let answers = answers();
    let mut waiting = ask(&answers, "shop", "c");
    answers.close();
    assert_eq!(now(&mut waiting), Some(Err(AnswersClosed)));
    let refused = answers.register(&realm("shop"), "d", Profile::Legacy).unwrap_err();
    assert_eq!(refused, RegisterError::Closed);
    assert_eq!(answers.counts().pending, 0);
}

/// Case A18, at the table.
#[tokio::test]
async fn ten_thousand_questions_that_nobody_answers_leave_nothing() {
    const ALL: usize = 10_000;
    let (answers, clock) = (
        Answers::new(AnswerLimits { per_realm: ALL, ..AnswerLimits::default() }),
        ManualClock::new(),
    );
    let mut asking = tokio::task::JoinSet::new();
    let mut dropped = Vec::new();
    for n in 0..ALL {
        let waiting = ask(&answers, "shop", &format!("c{n}"));
        let clock = clock.clone();
        let handle = asking.spawn(async move {
            limited(&clock, Duration::from_millis(5), waiting).await.is_none()
        });
        if n % 100 == 0 {
            dropped.push(handle);
        }
    }
    clock.sleepers(ALL).await;
    for handle in dropped {
        handle.abort();
    }
    clock.advance(Duration::from_millis(5)).await;
    let mut ended = HashMap::new();
    while let Some(result) = asking.join_next().await {
        *ended.entry(result.is_ok_and(|timed_out| timed_out)).or_insert(0) += 1;
    }
    assert_eq!(ended, HashMap::from([(true, ALL - 100), (false, 100)]));
    clock.advance(Duration::from_millis(50)).await;
    assert_eq!(answers.settle(&answer(&result("c1", "shop", "1"))), Settled::Unknown);
    let counts = answers.counts();
    assert_eq!((counts.pending, counts.unknown, counts.given_up), (0, 1, ALL as u64));
    assert_eq!((clock.asleep(), clock.monotonic().as_millis()), (0, 55));
}

#[derive(Debug, Clone)]
enum Act {
    Ask { realm: u8, id: u8, legacy: bool },
    GiveUp { id: u8 },
    Answer { realm: Option<u8>, id: u8 },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        (0..3u8, 0..6u8, any::<bool>()).prop_map(|(realm, id, legacy)| Act::Ask {
            realm,
            id,
            legacy
        }),
        (0..6u8).prop_map(|id| Act::GiveUp { id }),
        (proptest::option::of(0..3u8), 0..6u8).prop_map(|(realm, id)| Act::Answer { realm, id }),
    ];
    proptest::collection::vec(act, 0..80)
}

proptest! {
    /// Against a plain model: who waits, who is answered, and how many there may be.
    #[test]
    fn it_is_a_map_from_ids_to_who_was_asked(acts in acts()) {
        const PER_REALM: usize = 2;
        const TOTAL: usize = 4;
        let answers = Answers::new(AnswerLimits { per_realm: PER_REALM, total: TOTAL });
        let mut model: HashMap<u8, (u8, bool, Waiting)> = HashMap::new();
        for act in acts {
            match act {
                Act::Ask { realm: of, id, legacy } => {
                    let profile = if legacy { Profile::Legacy } else { Profile::MxEnv1 };
                    let asked = answers.register(&realm(&format!("r{of}")), &id.to_string(), profile);
                    let of_realm = model.values().filter(|(asked, ..)| *asked == of).count();
                    match asked {
                        Err(RegisterError::Taken) => prop_assert!(model.contains_key(&id)),
                        Err(RegisterError::RealmFull { .. }) => prop_assert_eq!(of_realm, PER_REALM),
                        Err(RegisterError::Full { .. }) => prop_assert_eq!(model.len(), TOTAL),
                        Err(RegisterError::Closed) => prop_assert!(false, "nobody closed it"),
                        Ok(waiting) => {
                            prop_assert!(of_realm < PER_REALM && model.len() < TOTAL);
                            prop_assert!(model.insert(id, (of, legacy, waiting)).is_none());
                        }
                    }
                }
                Act::GiveUp { id } => drop(model.remove(&id)),
                Act::Answer { realm: from, id } => {
                    let from = from.map(|from| format!("r{from}"));
                    let text = legacy(&id.to_string(), from.as_deref(), &id.to_string());
                    let settled = answers.settle(&answer(&text));
                    let theirs = model.get(&id).map(|(of, legacy, _)| match &from {
                        Some(from) => *from == format!("r{of}"),
                        None => *legacy,
                    });
                    match theirs {
                        None => prop_assert_eq!(settled, Settled::Unknown),
                        Some(false) => prop_assert_eq!(settled, Settled::Foreign),
                        Some(true) => {
                            prop_assert_eq!(settled, Settled::Matched);
                            let (_, _, mut waiting) = model.remove(&id).unwrap();
                            let body = now(&mut waiting).unwrap().unwrap().unwrap();
                            prop_assert_eq!(body.as_str(), id.to_string());
                        }
                    }
                }
            }
            prop_assert_eq!(answers.counts().pending, model.len());
            for (_, _, waiting) in model.values_mut() {
                prop_assert!(now(waiting).is_none());
            }
        }
        drop(model);
        prop_assert_eq!(answers.counts().pending, 0);
    }
}
