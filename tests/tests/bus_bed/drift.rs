//! Each row of the table of what may be put right, provoked on a server.

use mesh_control::genesis::{
    Accepted, Care, Genesis, Judged, Mode, Of, RULES, Raised, Stock, Verdict, care,
};
use mesh_core::topology::{StreamName, Topology};
use serde_json::{Value, json};

use crate::bed::{Bed, topology};
use crate::provocations::{Deed, End, NEEDS_A_CLUSTER, Provocation, provocations};

impl Provocation {
    async fn commit(&self, bed: &Bed) {
        let hand = &bed.hand;
        let answer = match (self.object.split_once('/'), &self.deed) {
            (None, Deed::Change(changes)) => hand.change_stream(self.object, changes).await,
            (None, Deed::Remake(changes)) => hand.remake_stream(self.object, changes).await,
            (Some((stream, name)), Deed::Change(changes)) => {
                hand.change_consumer(stream, name, changes).await
            }
            (Some((stream, name)), Deed::Remake(changes)) => {
                hand.remake_consumer(stream, name, changes).await
            }
        };
        assert!(answer["error"].is_null(), "{self:?}: {answer}");
    }

    async fn config(&self, bed: &Bed) -> Value {
        let mut info = match self.object.split_once('/') {
            None => bed.hand.stream(self.object).await,
            Some((stream, name)) => bed.hand.consumer(stream, name).await,
        };
        info["config"].take()
    }

    fn accepted(&self) -> Accepted {
        Accepted { object: self.object.to_owned(), field: self.field.to_owned() }
    }

    fn find<'a>(&self, raised: &'a Raised) -> Option<&'a Judged> {
        raised
            .drift
            .iter()
            .find(|judged| judged.drift.object == self.object && judged.drift.field == self.field)
    }

    fn verdict<'a>(&self, raised: &'a Raised) -> &'a Verdict {
        let found = self.find(raised);
        &found.unwrap_or_else(|| panic!("{self:?} shows nowhere: {raised:?}")).verdict
    }
}

/// What the streams keep, and what `mail` has yet to settle.
async fn stored(bed: &Bed) -> Value {
    let messages = async |stream| bed.hand.stream(stream).await["state"]["messages"].clone();
    let mail = bed.hand.consumer("EVENTS", "n1_mail").await;
    let owed = mail["num_pending"].as_u64().unwrap() + mail["num_ack_pending"].as_u64().unwrap();
    json!([messages("EVENTS").await, messages("NODES").await, owed])
}

/// Three events and a declaration; how much there is once the server has counted it.
async fn fill(bed: &Bed) -> Value {
    let shop = bed.connect("shop.n1").await;
    for body in ["1", "2", "3"] {
        // A stream that is remade may take none.
        drop(bed.emit(&shop, body).await);
    }
    bed.hand.append("mesh.node.n1.declare", &[("Nats-Rollup", "sub")], "1").await;
    let mut last = Value::Null;
    crate::soon(async {
        loop {
            let now = stored(bed).await;
            if now == last {
                return now;
            }
            last = now;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await
}

async fn mend_accepting(bed: &Bed, accepted: Vec<Accepted>) -> Raised {
    let topology = topology();
    let genesis = Genesis::of(&topology).accepting(accepted);
    crate::soon(genesis.run(&bed.controller, Mode::Mend)).await
}

/// As it was after the first raising.
async fn anew(bed: &Bed) {
    for stream in StreamName::ALL {
        bed.hand.ask(&format!("STREAM.DELETE.{stream}"), &Value::Null).await;
    }
    let raised = bed.raise(Mode::Raise).await;
    assert!(raised.is_good(), "{raised:?}");
}

#[test]
fn every_row_of_the_table_is_provoked_and_ends_as_it_says() {
    let provoked = provocations();
    for rule in RULES {
        let here = provoked.iter().filter(|one| one.of == rule.of && one.field == rule.field);
        let ends: Vec<End> = here.map(|one| one.end).collect();
        let said = match rule.care {
            _ if rule.field == NEEDS_A_CLUSTER && rule.of == Of::Stream => continue,
            Care::Safe { .. } | Care::NotBelow(_) => ends.iter().all(|end| *end != End::Asked),
            Care::Ask { .. } => ends.iter().all(|end| *end == End::Asked),
            Care::Fixed { .. } => ends.iter().all(|end| *end == End::Stuck),
        };
        assert!(said && !ends.is_empty(), "{rule:?}: {ends:?}");
    }
    for Provocation { of, field, .. } in provoked {
        let judged = RULES.iter().any(|rule| rule.of == of && rule.field == field);
        assert!(judged, "{field} is in no row");
    }
    assert!(matches!(care(Of::Stream, "unheard of"), Care::Fixed { .. }));
}

#[tokio::test]
async fn what_differs_is_named_and_put_right_or_refused_as_the_table_says_and_nothing_is_lost() {
    let bed = Bed::raised().await;
    for one in provocations() {
        let early = matches!(one.deed, Deed::Remake(_)) && one.of == Of::Stream;
        if early {
            one.commit(&bed).await;
            let missing = bed.raise(Mode::Raise).await;
            assert!(
                missing.stopped.is_none() && missing.missing.is_empty(),
                "{one:?}: {missing:?}"
            );
        }
        let mut before = fill(&bed).await;
        if !early {
            one.commit(&bed).await;
            // One that is remade has yet to get what it gets.
            before = if one.of == Of::Consumer { stored(&bed).await } else { before };
        }
        let provoked = one.config(&bed).await;
        for mode in [Mode::Look, Mode::Raise] {
            let told = bed.raise(mode).await;
            let verdict = one.verdict(&told);
            let judged = one.find(&told).unwrap();
            assert!(!told.is_good() && judged.drift.expected != judged.drift.found, "{judged:?}");
            match one.end {
                End::Mended => assert_eq!(*verdict, Verdict::Mendable, "{one:?}"),
                End::Asked => {
                    assert!(matches!(verdict, Verdict::Refused { .. }), "{one:?}: {verdict:?}");
                }
                End::Stuck => assert!(
                    matches!(verdict, Verdict::Stuck { .. } | Verdict::Mendable),
                    "{one:?}: {verdict:?}"
                ),
            }
            assert_eq!(one.config(&bed).await, provoked, "{one:?}: it was changed");
        }
        let mended = mend_accepting(&bed, Vec::new()).await;
        let verdict = one.verdict(&mended);
        match (one.end, verdict) {
            (End::Mended, Verdict::Mended) => {
                assert!(one.find(&bed.raise(Mode::Look).await).is_none(), "{one:?}");
            }
            (End::Asked, Verdict::Refused { why, then })
            | (End::Stuck, Verdict::Stuck { why, then }) => {
                assert!(!why.is_empty() && !then.is_empty(), "{one:?}");
                let left = bed.raise(Mode::Look).await;
                assert!(one.find(&left).is_some(), "{one:?} is gone");
            }
            other => panic!("{one:?}: {other:?}"),
        }
        if one.end != End::Mended {
            let accepting = mend_accepting(&bed, vec![one.accepted()]).await;
            match one.end {
                End::Asked => assert_eq!(*one.verdict(&accepting), Verdict::Mended, "{one:?}"),
                _ => assert!(matches!(one.verdict(&accepting), Verdict::Stuck { .. }), "{one:?}"),
            }
        }
        assert_eq!(stored(&bed).await, before, "{one:?}: something was lost");
        anew(&bed).await;
    }
}

/// The mesh's topology with another EVENTS.
fn with_events(change: impl Fn(&mut mesh_core::topology::StreamSpec)) -> Topology {
    let topology = topology();
    let mut events = topology.stream(StreamName::Events).unwrap().clone();
    change(&mut events);
    topology.with_stream(events)
}

#[tokio::test]
async fn a_limit_is_lowered_to_what_is_stored_and_not_below() {
    let bed = Bed::raised().await;
    let before = fill(&bed).await;
    // Old enough for the shortest age.
    tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
    let bytes = bed.hand.stream("EVENTS").await["state"]["bytes"].as_u64().unwrap();
    let second = std::time::Duration::from_secs(1);
    for (stock, field, fits, below) in [
        (
            Stock::Bytes,
            "max_bytes",
            with_events(|events| events.max_bytes = bytes),
            with_events(|events| events.max_bytes = bytes - 1),
        ),
        (
            Stock::Age,
            "max_age",
            with_events(|events| events.max_age = Some(second * 3600)),
            with_events(|events| {
                events.max_age = Some(second);
                events.deduplication_window = second;
            }),
        ),
        (
            Stock::Consumers,
            "max_consumers",
            with_events(|events| events.max_consumers = 3),
            topology(),
        ),
        (
            Stock::OfASubject,
            "max_messages_per_subject",
            with_events(|events| events.max_messages_per_subject = Some(3)),
            with_events(|events| events.max_messages_per_subject = Some(2)),
        ),
    ] {
        assert!(RULES.iter().any(|rule| rule.field == field && rule.care == Care::NotBelow(stock)));
        let verdict = |raised: &Raised| {
            let found = raised.drift.iter().find(|judged| judged.drift.field == field);
            found.map(|judged| judged.verdict.clone())
        };
        let mended = bed.raise_as(&fits, Mode::Mend).await;
        assert_eq!(verdict(&mended), Some(Verdict::Mended), "{mended:?}");
        if stock != Stock::Consumers {
            let refused = bed.raise_as(&below, Mode::Mend).await;
            let refused = verdict(&refused).unwrap();
            assert!(
                matches!(refused, Verdict::Refused { .. } | Verdict::Stuck { .. }),
                "{field}: {refused:?}"
            );
        }
        assert_eq!(stored(&bed).await, before, "{field}");
        let back = bed.raise(Mode::Mend).await;
        assert!(back.is_good(), "{back:?}");
    }
}

#[tokio::test]
async fn fewer_consumers_than_there_are_is_refused_with_their_number() {
    let bed = Bed::raised().await;
    let stranger = json!({ "durable_name": "n9_old", "ack_policy": "explicit" });
    bed.hand.make_consumer("create", "EVENTS", "n9_old", &stranger).await;
    let fewer = with_events(|events| events.max_consumers = 3);
    let refused = bed.raise_as(&fewer, Mode::Mend).await;
    let [judged] = &refused.drift[..] else { panic!("{refused:?}") };
    let Verdict::Refused { why, then } = &judged.verdict else { panic!("{judged:?}") };
    assert_eq!(why, "there are 4 consumers");
    assert!(then.contains("--accept EVENTS.max_consumers"), "{then}");
}
