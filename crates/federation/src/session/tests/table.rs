use super::*;

const MX: Profile = Profile::MxEnv1;

fn tabs(table: &SessionTable, principal: &str, now: u64) -> Vec<String> {
    let found = table.lookup(principal, at(now));
    found.into_iter().map(|session| session.tab_realm.to_string()).collect()
}

#[test]
fn a_lookup_is_sorted_and_leaves_out_what_has_ended() {
    let mut table = SessionTable::new(SessionLimits::default());
    for (name, when) in [("tab.10", 0), ("tab.2", 5_000), ("a", 10_000)] {
        table.register("ada", &realm(name), MX, at(when)).unwrap();
    }
    table.register("bob", &realm("b"), MX, at(0)).unwrap();
    assert_eq!(tabs(&table, "ada", 20_000), ["a", "tab.10", "tab.2"]);
    assert_eq!(tabs(&table, "ada", 30_000), ["a", "tab.2"]);
    assert_eq!(tabs(&table, "nobody", 0), Vec::<String>::new());
    assert_eq!(table.len(), 4);
    let mut gone = Vec::new();
    while let Some(session) = table.expire(at(30_000)) {
        gone.push(session.tab_realm.to_string());
    }
    gone.sort();
    assert_eq!(gone, ["b", "tab.10"]);
    assert_eq!((table.len(), table.next_end()), (2, Some(Duration::from_secs(35))));
}

#[test]
fn a_heartbeat_of_nobody_is_not_found() {
    let mut table = SessionTable::new(SessionLimits::default());
    let (desk, phone) = (realm("desk"), realm("phone"));
    table.register("ada", &desk, MX, at(0)).unwrap();
    let beats = [("ada", &phone, 1), ("bob", &desk, 1), ("ada", &desk, 30_000)];
    for (principal, tab, when) in beats {
        let found = table.heartbeat(principal, tab, at(when));
        assert_eq!(found, Err(SessionRefusal::NotFound), "{principal} {tab} {when}");
    }
    assert_eq!(table.heartbeat("ada", &desk, at(29_999)).unwrap().ends, 59_999);
    assert_eq!(tabs(&table, "ada", 59_998), ["desk"]);
}

#[test]
fn a_principal_a_realm_and_all_together_have_their_shares() {
    let limits = SessionLimits {
        per_principal: 2,
        per_realm: 3,
        total: 5,
        max_principal_bytes: 8,
        ..SessionLimits::default()
    };
    let mut table = SessionTable::new(limits);
    let mut register = |principal: &str, name: &str| {
        table.register(principal, &realm(name), MX, at(0)).map(|_| ())
    };
    assert_eq!(register("ada", "a"), Ok(()));
    assert_eq!(register("ada", "b"), Ok(()));
    assert_eq!(register("ada", "c"), Err(SessionRefusal::PrincipalFull));
    assert_eq!(register("ada", "a"), Ok(()));
    assert_eq!(register("bob", "a"), Ok(()));
    assert_eq!(register("cyd", "a"), Ok(()));
    assert_eq!(register("dan", "a"), Err(SessionRefusal::RealmFull));
    assert_eq!(register("dan", "d"), Ok(()));
    assert_eq!(register("eve", "d"), Err(SessionRefusal::Full));
    assert_eq!(register("much too long", "a"), Err(SessionRefusal::PrincipalTooLong));
    while table.expire(at(30_000)).is_some() {}
    assert!(table.is_empty());
    assert_eq!(table.bytes(), table.bytes().min(4_096));
}

#[test]
fn an_older_writing_changes_nothing_and_a_later_one_does() {
    let mut table = SessionTable::new(SessionLimits::default());
    let mut session = table.register("ada", &realm("desk"), MX, at(0)).unwrap();
    session.revision = 5;
    session.ends = 10;
    table.apply(&session).unwrap();
    table.apply(&Session { revision: 4, ends: 99, ..session.clone() }).unwrap();
    assert_eq!(table.session("ada", &realm("desk"), at(0)), Ok(session.clone()));
    assert_eq!(table.expire(at(10)), Some(session));
    assert_eq!(table.expire(at(90_000)), None);
}
