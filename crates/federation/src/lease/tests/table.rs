use super::*;

fn table() -> LeaseTable {
    LeaseTable::new(LeaseLimits::default(), "g1")
}

fn stock(sink: &str) -> LeaseAsk<'static> {
    ask("stock.emits.changed", sink, "window.emits.stock")
}

#[test]
fn the_same_three_have_one_lease_which_is_extended_and_never_shortened() {
    let mut table = table();
    let first = table.grant(&stock("shop"), at(0)).unwrap();
    assert_eq!(first.ends, 60_000);
    let again = table.grant(&stock("shop"), at(1_000)).unwrap();
    assert_eq!((again.id(), again.ends, table.len()), (first.id(), 61_000, 1));
    let short = LeaseAsk { lease: Some(Duration::from_secs(1)), ..stock("shop") };
    assert_eq!(table.grant(&short, at(2_000)).unwrap().ends, 61_000);
    assert_eq!(table.refresh(first.id(), &realm("shop"), None, at(3_000)).unwrap().ends, 63_000);
    let others = [
        ask("stock.emits.sold", "shop", "window.emits.stock"),
        ask("stock.emits.changed", "shop2", "window.emits.stock"),
        ask("stock.emits.changed", "shop", "door.emits.stock"),
    ];
    for other in others {
        assert_ne!(table.grant(&other, at(0)).unwrap().id(), first.id());
    }
    assert_eq!(table.len(), 4);
}

#[test]
fn a_lease_lasts_an_hour_at_most() {
    let long = LeaseAsk { lease: Some(Duration::MAX), ..stock("shop") };
    let mut table = table();
    let lease = table.grant(&long, at(5)).unwrap();
    assert_eq!(lease.ends, 3_600_005);
    let more = table.refresh(lease.id(), &lease.sink_realm, Some(Duration::MAX), at(10));
    assert_eq!(more.unwrap().ends, 3_600_010);
}

#[test]
fn only_its_owner_refreshes_or_ends_a_lease() {
    let mut table = table();
    let lease = table.grant(&stock("shop"), at(0)).unwrap();
    let (id, thief) = (lease.id(), realm("thief"));
    let unknown = LeaseId::of(&path("a.emits.b"), "shop", &path("c.emits.d"));
    assert_eq!(table.refresh(id, &thief, None, at(1)), Err(LeaseRefusal::NotFound));
    assert_eq!(table.end(id, &thief), Err(LeaseRefusal::NotFound));
    assert_eq!(table.end(unknown, &thief), Err(LeaseRefusal::NotFound));
    assert_eq!(table.lease(id), Some(lease.clone()));
    assert_eq!(table.end(id, &realm("shop")), Ok(lease));
    assert!(table.is_empty() && table.lease(id).is_none());
}

#[test]
fn a_lease_that_has_ended_is_neither_refreshed_nor_forwarded_and_is_told_once() {
    let mut table = table();
    let lease = table.grant(&stock("shop"), at(0)).unwrap();
    assert_eq!(table.sinks(&lease.source, at(59_999)).count(), 1);
    assert_eq!(table.next_end(), Some(Duration::from_secs(60)));
    assert_eq!(table.expire(at(59_999)), None);
    assert_eq!(table.sinks(&lease.source, at(60_000)).count(), 0);
    let late = table.refresh(lease.id(), &lease.sink_realm, None, at(60_000));
    assert_eq!(late, Err(LeaseRefusal::NotFound));
    assert_eq!(table.expire(at(60_000)), Some(lease));
    assert_eq!(table.expire(at(60_000)), None);
    assert_eq!(table.next_end(), None);
}

#[test]
fn a_realm_has_its_share_and_all_together_have_theirs() {
    let limits = LeaseLimits { per_realm: 2, total: 3, ..LeaseLimits::default() };
    let mut table = LeaseTable::new(limits, "g1");
    let nth = |realm, n: u32| ask(&format!("stock.emits.n{n}"), realm, "window.emits.stock");
    for n in 0..2 {
        table.grant(&nth("shop", n), at(0)).unwrap();
    }
    assert_eq!(table.grant(&nth("shop", 2), at(0)), Err(LeaseRefusal::RealmFull));
    table.grant(&nth("shop", 1), at(1)).unwrap();
    let other = table.grant(&nth("desk", 0), at(0)).unwrap();
    assert_eq!(table.grant(&nth("third", 0), at(0)), Err(LeaseRefusal::Full));
    table.end(other.id(), &other.sink_realm).unwrap();
    table.grant(&nth("third", 0), at(0)).unwrap();
    // An end makes room.
    while table.expire(at(60_001)).is_some() {}
    table.grant(&nth("shop", 2), at(60_001)).unwrap();
}

#[test]
fn there_are_leases_of_so_many_sources_and_no_more() {
    let limits = LeaseLimits { sources: 2, ..LeaseLimits::default() };
    let mut table = LeaseTable::new(limits, "g1");
    let of = |n: u32, sink| ask(&format!("stock.emits.n{n}"), sink, "window.emits.stock");
    let first = table.grant(&of(0, "shop"), at(0)).unwrap();
    table.grant(&of(1, "shop"), at(0)).unwrap();
    assert_eq!(table.grant(&of(2, "desk"), at(0)), Err(LeaseRefusal::SourcesFull));
    table.grant(&of(1, "desk"), at(0)).unwrap();
    table.end(first.id(), &first.sink_realm).unwrap();
    table.grant(&of(2, "desk"), at(0)).unwrap();
}

#[test]
fn a_lease_keeps_the_profile_of_who_subscribed_last() {
    let mut table = table();
    let legacy = LeaseAsk { profile: Profile::Legacy, ..stock("shop") };
    let lease = table.grant(&legacy, at(0)).unwrap();
    assert_eq!(
        table.refresh(lease.id(), &lease.sink_realm, None, at(1)).unwrap().profile,
        Profile::Legacy
    );
    let profiles = |table: &LeaseTable| {
        table.sinks(&lease.source, at(2)).map(|sink| sink.profile).collect::<Vec<_>>()
    };
    assert_eq!(profiles(&table), [Profile::Legacy]);
    table.grant(&stock("shop"), at(2)).unwrap();
    assert_eq!(profiles(&table), [Profile::MxEnv1]);
}

#[test]
fn what_another_gateway_keeps_is_known_and_not_forwarded_here() {
    let mut table = table();
    let own = table.grant(&stock("shop"), at(0)).unwrap();
    let other = Lease { keeper: "g2".into(), revision: 7, ..stock_of(&table, "desk") };
    table.apply(&other).unwrap();
    let sinks = |table: &LeaseTable| {
        table.sinks(&own.source, at(1)).map(|sink| sink.realm.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(sinks(&table), ["shop"]);
    assert_eq!(table.kept_by("g2").collect::<Vec<_>>(), [other.id()]);
    // It is taken over.
    table.apply(&Lease { keeper: "g1".into(), revision: 8, ..other.clone() }).unwrap();
    assert_eq!(sinks(&table), ["shop", "desk"]);
    // What is older than that changes nothing.
    table.apply(&other).unwrap();
    assert_eq!(sinks(&table), ["shop", "desk"]);
    // Under another name it keeps nothing.
    table.rename("g1b");
    assert_eq!(sinks(&table), Vec::<String>::new());
    assert!(!table.is_kept(&own.source));
    assert_eq!(table.kept_by("g1").count(), 2);
    table.apply(&Lease { keeper: "g1b".into(), revision: 9, ..other }).unwrap();
    assert_eq!(sinks(&table), ["desk"]);
}

fn stock_of(table: &LeaseTable, sink: &str) -> Lease {
    table.plan(&stock(sink), None, at(0)).unwrap()
}

#[test]
fn an_end_that_was_brought_forward_is_waited_for() {
    let mut table = table();
    let lease = table.grant(&stock("shop"), at(0)).unwrap();
    table.apply(&Lease { ends: 10, ..lease.clone() }).unwrap();
    assert_eq!(table.expire(at(10)).map(|lease| lease.id()), Some(lease.id()));
    assert_eq!(table.expire(at(100_000)), None);
}

#[test]
fn subscribing_and_ending_in_a_loop_grows_nothing() {
    let mut table = table();
    let kept = table.grant(&stock("kept"), at(0)).unwrap();
    let bytes = table.bytes();
    for _ in 0..10_000 {
        let lease = table.grant(&stock("shop"), at(1)).unwrap();
        table.end(lease.id(), &lease.sink_realm).unwrap();
    }
    assert!(table.bytes() < bytes + 4_096, "{bytes} {}", table.bytes());
    assert_eq!(table.sinks(&kept.source, at(2)).count(), 1);
}

#[test]
fn a_page_goes_on_where_the_last_ended() {
    let mut table = table();
    for n in 0..5 {
        table.grant(&stock(&format!("shop{n}")), at(0)).unwrap();
    }
    let mut from = 0;
    let mut told = Vec::new();
    loop {
        let page: Vec<_> = table.page(from, 2).collect();
        let Some((next, _)) = page.last() else { break };
        from = *next;
        told.extend(page.into_iter().map(|(_, lease)| lease.sink_realm.to_string()));
    }
    assert_eq!(told, ["shop0", "shop1", "shop2", "shop3", "shop4"]);
}

#[test]
fn an_id_is_32_lower_case_hex_digits() {
    let id = stock("shop").id();
    assert_eq!(id.to_string().parse(), Ok(id));
    let upper = id.to_string().to_uppercase();
    for bad in ["", "0", "+0000000000000000000000000000000", &upper, &format!("{id}0")] {
        assert_eq!(bad.parse::<LeaseId>(), Err(LeaseIdError), "{bad}");
    }
}

#[test]
fn a_source_is_an_event_that_is_open_to_realms() {
    let home = realm("home");
    assert_eq!(check_source(&home, &path("stock.emits.changed")), Ok(()));
    assert_eq!(check_source(&home, &path("a/b.c.emits.d_e")), Ok(()));
    assert_eq!(check_source(&home, &path("stock.accepts.count")), Err(BadSource::NoEvent));
    for closed in
        ["_federation.emits.x", "a._b.emits.x", "_m/a.emits.x", "a/_m/a.emits.x", "a.emits._x"]
    {
        assert_eq!(check_source(&home, &path(closed)), Err(BadSource::Closed), "{closed}");
    }
    let long = realm(&"r".repeat(200));
    let far = path(&format!("{}.emits.x", "c".repeat(60)));
    assert!(matches!(check_source(&long, &far), Err(BadSource::Topic(_))));
}
