use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Register(u8, u8),
    Heartbeat(u8, u8),
    Pass(u64),
    Expire,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4_u8, 0..4_u8).prop_map(|(principal, tab)| Step::Register(principal, tab)),
        3 => (0..4_u8, 0..4_u8).prop_map(|(principal, tab)| Step::Heartbeat(principal, tab)),
        2 => (0..20_000_u64).prop_map(Step::Pass),
        1 => Just(Step::Expire),
    ]
}

proptest! {
    #[test]
    fn the_table_does_what_a_plain_map_does(steps in prop::collection::vec(step(), 1..150)) {
        let limits = SessionLimits { per_principal: 3, per_realm: 3, total: 8, ..SessionLimits::default() };
        let mut table = SessionTable::new(limits);
        let mut model = BTreeMap::<(u8, u8), u64>::new();
        let mut now = 0;
        for step in steps {
            match step {
                Step::Register(principal, tab) => {
                    let found = table
                        .register(&principal.to_string(), &realm(&format!("t{tab}")), Profile::MxEnv1, at(now));
                    let expected = if model.contains_key(&(principal, tab)) {
                        Ok(())
                    } else if model.keys().filter(|key| key.0 == principal).count() >= 3 {
                        Err(SessionRefusal::PrincipalFull)
                    } else if model.keys().filter(|key| key.1 == tab).count() >= 3 {
                        Err(SessionRefusal::RealmFull)
                    } else if model.len() >= 8 {
                        Err(SessionRefusal::Full)
                    } else {
                        Ok(())
                    };
                    prop_assert_eq!(found.map(|_| ()), expected);
                    if expected.is_ok() {
                        model.insert((principal, tab), now + 30_000);
                    }
                }
                Step::Heartbeat(principal, tab) => {
                    let found = table
                        .heartbeat(&principal.to_string(), &realm(&format!("t{tab}")), at(now));
                    match model.get_mut(&(principal, tab)).filter(|ends| **ends > now) {
                        Some(ends) => {
                            *ends = now + 30_000;
                            prop_assert_eq!(found.map(|session| session.ends), Ok(*ends));
                        }
                        None => prop_assert_eq!(found, Err(SessionRefusal::NotFound)),
                    }
                }
                Step::Pass(millis) => now += millis,
                Step::Expire => {
                    let mut told = 0;
                    while table.expire(at(now)).is_some() {
                        told += 1;
                    }
                    let before = model.len();
                    model.retain(|_, ends| *ends > now);
                    prop_assert_eq!(told, before - model.len());
                    let first = model.values().min();
                    let in_time = first.is_none_or(|first| {
                        table.next_end().is_some_and(|next| next <= Duration::from_millis(*first))
                    });
                    prop_assert!(in_time);
                }
            }
            prop_assert_eq!(table.len(), model.len());
            for principal in 0..4_u8 {
                let found: Vec<_> = table
                    .lookup(&principal.to_string(), at(now))
                    .into_iter()
                    .map(|session| session.tab_realm.to_string())
                    .collect();
                let expected: Vec<_> = model
                    .iter()
                    .filter(|(key, ends)| key.0 == principal && **ends > now)
                    .map(|(key, _)| format!("t{}", key.1))
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
