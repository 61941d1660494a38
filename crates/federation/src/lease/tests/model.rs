use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Grant { source: u8, realm: u8, sink: u8, lease: Option<u64>, legacy: bool },
    Refresh { which: u8, realm: u8, lease: Option<u64> },
    End { which: u8, realm: u8 },
    Pass { millis: u64 },
    Expire,
    TakenBy { which: u8, keeper: bool },
}

fn step() -> impl Strategy<Value = Step> {
    let lease = || prop::option::of(0..120_000_u64);
    prop_oneof![
        4 => (0..3_u8, 0..3_u8, 0..3_u8, lease(), any::<bool>()).prop_map(
            |(source, realm, sink, lease, legacy)| Step::Grant { source, realm, sink, lease, legacy }
        ),
        2 => (any::<u8>(), 0..3_u8, lease())
            .prop_map(|(which, realm, lease)| Step::Refresh { which, realm, lease }),
        1 => (any::<u8>(), 0..3_u8).prop_map(|(which, realm)| Step::End { which, realm }),
        2 => (0..50_000_u64).prop_map(|millis| Step::Pass { millis }),
        2 => Just(Step::Expire),
        1 => (any::<u8>(), any::<bool>())
            .prop_map(|(which, keeper)| Step::TakenBy { which, keeper }),
    ]
}

/// The same rules, written with a map and a search through it.
struct Model(BTreeMap<(u8, u8, u8), Lease>);

const PER_REALM: usize = 4;
const TOTAL: usize = 9;
const NAMES: [&str; 3] = ["acme", "shop.example", "tab"];

fn asked((source, at_realm, sink): (u8, u8, u8)) -> LeaseAsk<'static> {
    let realm = NAMES[usize::from(at_realm)];
    ask(&format!("c{source}.emits.e"), realm, &format!("w{sink}.emits.e"))
}

fn pick(model: &Model, which: u8) -> (u8, u8, u8) {
    let known: Vec<_> = model.0.keys().copied().collect();
    match known.len() {
        0 => (0, 0, 0),
        len => known[usize::from(which) % len],
    }
}

proptest! {
    #[test]
    fn the_table_does_what_a_plain_map_does(steps in prop::collection::vec(step(), 1..120)) {
        let limits = LeaseLimits { per_realm: PER_REALM, total: TOTAL, ..LeaseLimits::default() };
        let mut table = LeaseTable::new(limits, "g1");
        let mut model = Model(BTreeMap::new());
        let mut now = 0;
        for step in steps {
            match step {
                Step::Grant { source, realm, sink, lease, legacy } => {
                    let key = (source, realm, sink);
                    let lease = lease.map(Duration::from_millis);
                    let profile = if legacy { Profile::Legacy } else { Profile::MxEnv1 };
                    let ask = LeaseAsk { lease, profile, ..asked(key) };
                    let found = table.grant(&ask, at(now));
                    let of_realm = model.0.keys().filter(|key| key.1 == realm).count();
                    let expected = if model.0.contains_key(&key) {
                        Ok(())
                    } else if of_realm >= PER_REALM {
                        Err(LeaseRefusal::RealmFull)
                    } else if model.0.len() >= TOTAL {
                        Err(LeaseRefusal::Full)
                    } else {
                        Ok(())
                    };
                    prop_assert_eq!(found.as_ref().err(), expected.as_ref().err());
                    if let Ok(lease) = found {
                        let asks = ask.lease.map_or(60_000, |lease| lease.as_millis() as u64);
                        let before = model.0.get(&key).map_or(0, |known| known.ends);
                        prop_assert_eq!(lease.ends, before.max(now + asks));
                        prop_assert_eq!(lease.profile, profile);
                        model.0.insert(key, lease);
                    }
                }
                Step::Refresh { which, realm: by, lease } => {
                    let key = pick(&model, which);
                    let by_name = realm(NAMES[usize::from(by)]);
                    let span = lease.map(Duration::from_millis);
                    let found = table.refresh(asked(key).id(), &by_name, span, at(now));
                    match model.0.get_mut(&key).filter(|known| key.1 == by && known.ends > now) {
                        Some(known) => {
                            known.ends = known.ends.max(now + lease.unwrap_or(60_000));
                            prop_assert_eq!(found.as_ref(), Ok(&*known));
                        }
                        None => prop_assert_eq!(found, Err(LeaseRefusal::NotFound)),
                    }
                }
                Step::End { which, realm: by } => {
                    let key = pick(&model, which);
                    let found = table.end(asked(key).id(), &realm(NAMES[usize::from(by)]));
                    if key.1 == by && model.0.contains_key(&key) {
                        prop_assert_eq!(found.ok(), model.0.remove(&key));
                    } else {
                        prop_assert_eq!(found, Err(LeaseRefusal::NotFound));
                    }
                }
                Step::Pass { millis } => now += millis,
                Step::Expire => {
                    let over: Vec<_> =
                        model.0.iter().filter(|(_, known)| known.ends <= now).map(|(key, _)| *key).collect();
                    let mut told = Vec::new();
                    while let Some(lease) = table.expire(at(now)) {
                        told.push(lease.id());
                    }
                    told.sort();
                    let mut expected: Vec<_> = over.iter().map(|key| asked(*key).id()).collect();
                    expected.sort();
                    prop_assert_eq!(told, expected);
                    model.0.retain(|_, known| known.ends > now);
                    // Nothing ends before the table says so.
                    let first = model.0.values().map(|known| known.ends).min();
                    let next = table.next_end().map(|next| next.as_millis() as u64);
                    let in_time = match (next, first) {
                        (Some(next), Some(first)) => next <= first,
                        (None, Some(_)) => false,
                        (_, None) => true,
                    };
                    prop_assert!(in_time);
                }
                Step::TakenBy { which, keeper } => {
                    let key = pick(&model, which);
                    if let Some(known) = model.0.get_mut(&key) {
                        known.keeper = if keeper { "g1" } else { "g2" }.to_owned();
                        known.revision += 1;
                        table.apply(known).unwrap();
                    }
                }
            }
            prop_assert_eq!(table.len(), model.0.len());
            for source in 0..3 {
                let mut found: Vec<_> =
                    table.sinks(&path(&format!("c{source}.emits.e")), at(now)).map(|sink| sink.id).collect();
                found.sort();
                let kept = model.0.iter().filter(|(key, known)| {
                    key.0 == source && known.keeper == "g1" && known.ends > now
                });
                let mut expected: Vec<_> = kept.map(|(key, _)| asked(*key).id()).collect();
                expected.sort();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
