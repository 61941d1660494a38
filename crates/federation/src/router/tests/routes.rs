use mesh_core::mx::{Address, Envelope, MsgType, MxPath, MxRealm, Party};

use super::{realm, routes};
use crate::router::{DropReason, Hop, Routes, RoutesError};

fn hop<'r>(routes: &'r Routes, to: &str, ttl: Option<u64>) -> Hop<'r> {
    routes.decide(&MxRealm::new(to.to_owned()).unwrap(), ttl)
}

#[test]
fn what_is_mine_is_delivered_whatever_its_ttl() {
    let routes = routes("a.b", "a", &["a.b.c"]);
    for ttl in [None, Some(0), Some(1), Some(8), Some(u64::MAX)] {
        assert_eq!(hop(&routes, "a.b", ttl), Hop::Deliver);
    }
}

#[test]
fn a_hop_takes_one_and_none_is_left_at_zero() {
    let (parent, routes) = (realm("a"), routes("a.b", "a", &[]));
    assert_eq!(hop(&routes, "z", Some(64)), Hop::Up(&parent, 63));
    assert_eq!(hop(&routes, "z", Some(2)), Hop::Up(&parent, 1));
    for spent in [0, 1] {
        assert_eq!(hop(&routes, "z", Some(spent)), Hop::Drop(DropReason::TtlSpent));
    }
}

#[test]
fn without_a_ttl_there_are_eight() {
    assert_eq!(hop(&routes("a.b", "a", &[]), "z", None), Hop::Up(&realm("a"), 7));
}

#[test]
fn a_ttl_beyond_any_journey_is_refused() {
    let routes = routes("a.b", "a", &[]).with_max_ttl(10);
    assert_eq!(hop(&routes, "z", Some(10)), Hop::Up(&realm("a"), 9));
    for odd in [11, u64::MAX] {
        assert_eq!(hop(&routes, "z", Some(odd)), Hop::Drop(DropReason::TtlTooBig));
    }
}

#[test]
fn the_longest_child_is_taken_by_labels_and_not_by_letters() {
    let routes = routes("a", "root", &["a.b", "a.b.c.d", "a.bb", "hub"]);
    let [ab, abcd, hub] = ["a.b", "a.b.c.d", "hub"].map(realm);
    assert_eq!(hop(&routes, "a.b", Some(3)), Hop::Down(&ab, 2));
    assert_eq!(hop(&routes, "a.b.c", Some(3)), Hop::Down(&ab, 2));
    assert_eq!(hop(&routes, "a.b.c.dd", Some(3)), Hop::Down(&ab, 2));
    assert_eq!(hop(&routes, "a.b.c.d", Some(3)), Hop::Down(&abcd, 2));
    assert_eq!(hop(&routes, "a.b.c.d.e.f", Some(3)), Hop::Down(&abcd, 2));
    assert_eq!(hop(&routes, "hub.x", Some(3)), Hop::Down(&hub, 2));
    assert_eq!(hop(&routes, "a.B", Some(3)), Hop::Drop(DropReason::NoChild));
}

#[test]
fn below_me_without_a_child_is_dropped_and_never_sent_up() {
    let routes = routes("a", "root", &["a.b"]);
    assert_eq!(hop(&routes, "a.c", None), Hop::Drop(DropReason::NoChild));
    assert_eq!(hop(&routes, "ab", None), Hop::Up(&realm("root"), 7));
}

#[test]
fn a_root_drops_what_nobody_below_it_is() {
    assert_eq!(hop(&routes("root", "-", &["a"]), "z", None), Hop::Drop(DropReason::NoParent));
}

#[test]
fn a_child_that_is_taken_away_is_no_longer_found() {
    let mut routes = routes("a", "-", &["a.b", "a.b.c"]);
    assert!(!routes.add_child(realm("a.b.c")).unwrap());
    assert!(routes.remove_child(&realm("a.b.c")));
    assert!(!routes.remove_child(&realm("a.b.c")));
    assert_eq!(hop(&routes, "a.b.c", None), Hop::Down(&realm("a.b"), 7));
}

#[test]
fn neighbours_that_would_make_a_loop_are_refused() {
    let mut routes = routes("a.b", "a", &["a.b.c", "z"]);
    let me = || realm("a.b");
    let itself = Err(RoutesError::Itself { realm: me() });
    assert_eq!(routes.add_child(me()), itself);
    assert_eq!(routes.set_parent(Some(me())), Err(RoutesError::Itself { realm: me() }));
    let parent_below = |parent| RoutesError::ParentBelow { realm: me(), parent };
    for parent in ["a.b.c", "a.b.x", "z", "z.y"].map(realm) {
        assert_eq!(routes.set_parent(Some(parent.clone())), Err(parent_below(parent)));
    }
    assert_eq!(routes.parent(), Some(&realm("a")));
    let above = RoutesError::ChildAbove { realm: me(), child: realm("a") };
    assert_eq!(routes.add_child(realm("a")), Err(above));
    routes.set_parent(Some(realm("hub.x"))).unwrap();
    for child in ["hub.x", "hub"].map(realm) {
        assert_eq!(routes.add_child(child), Err(parent_below(realm("hub.x"))));
    }
}

#[test]
fn a_router_takes_part_in_no_journey_between_strangers() {
    let routes = routes("a", "root", &["a.b", "hub"]);
    let route = |from: &str, to: &str| {
        let to = Address::new(&realm(to), MxPath::new("x.accepts.y").unwrap()).into_owned();
        let from = Party::new(&realm(from), None).into_owned();
        match routes.route(&Envelope::new(MsgType::Cmd, from, to)) {
            Hop::Deliver => "deliver",
            Hop::Down(..) => "down",
            Hop::Up(..) => "up",
            Hop::Drop(reason) => reason.as_str(),
        }
    };
    assert_eq!(route("z", "y"), "transit");
    assert_eq!(route("z", "a.b.c"), "down");
    assert_eq!(route("z", "a"), "deliver");
    for inside in ["a", "a.b", "a.b.c", "a.x", "hub.y"] {
        assert_eq!(route(inside, "y"), "up", "{inside}");
    }
    assert_eq!(route("z", "a.x"), "no_child");
}
