use std::collections::HashMap;

use mesh_core::mx::MxRealm;
use mesh_core::name::RealmName;
use proptest::prelude::*;

use super::realm;
use crate::router::{DEFAULT_MAX_TTL, DEFAULT_TTL, DropReason, Hop, Routes, TreeFault, check_tree};

/// Few letters, so that names are often above each other.
fn any_realm() -> impl Strategy<Value = RealmName> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "ab"]), 1..5)
        .prop_map(|labels| realm(&labels.join(".")))
}

/// Any tables that can be made: who would be refused as a neighbour is left out.
fn any_network() -> impl Strategy<Value = HashMap<RealmName, Routes>> {
    let children = prop::collection::vec(any_realm(), 0..6);
    prop::collection::vec((any_realm(), prop::option::of(any_realm()), children), 1..12).prop_map(
        |routers| {
            let made = routers.into_iter().map(|(name, parent, children)| {
                let mut routes = Routes::new(name.clone());
                let _ = routes.set_parent(parent);
                for child in children {
                    let _ = routes.add_child(child);
                }
                (name, routes)
            });
            made.collect()
        },
    )
}

/// The hops of one message; the last is no step.
fn journey<'n>(
    network: &'n HashMap<RealmName, Routes>,
    start: &RealmName,
    to: &RealmName,
    ttl: Option<u64>,
) -> Vec<Hop<'n>> {
    let (mut at, mut ttl, mut hops) = (start, ttl, Vec::new());
    loop {
        let Some(routes) = network.get(at) else {
            return hops;
        };
        let hop = routes.decide(&MxRealm::from(to), ttl);
        hops.push(hop);
        (at, ttl) = match hop {
            Hop::Down(next, ttl) | Hop::Up(next, ttl) => (next, Some(ttl)),
            _ => return hops,
        };
    }
}

fn naive<'r>(routes: &'r Routes, to: &RealmName) -> Option<&'r RealmName> {
    let to: Vec<&str> = to.as_str().split('.').collect();
    let fits = |child: &&RealmName| {
        let child: Vec<&str> = child.as_str().split('.').collect();
        to.starts_with(&child)
    };
    routes.children().filter(fits).max_by_key(|child| child.as_str().split('.').count())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_longest_child_is_that_of_a_naive_search(
        network in any_network(),
        to in any_realm(),
    ) {
        for routes in network.values() {
            let expected = naive(routes, &to);
            match routes.decide(&MxRealm::from(&to), Some(9)) {
                Hop::Deliver => prop_assert_eq!(routes.realm(), &to),
                Hop::Down(child, 8) => prop_assert_eq!(Some(child), expected),
                Hop::Up(parent, 8) => {
                    prop_assert_eq!(expected, None);
                    prop_assert_eq!(routes.parent(), Some(parent));
                    let below = format!("{}.", routes.realm());
                    prop_assert!(!to.as_str().starts_with(&below), "{} is below", to);
                }
                Hop::Drop(DropReason::NoChild | DropReason::NoParent) => {
                    prop_assert_eq!(expected, None);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    #[test]
    fn every_journey_ends_within_its_ttl_whatever_the_tables(
        network in any_network(),
        to in any_realm(),
        ttl in prop::option::of(0..70_u64),
    ) {
        for start in network.keys() {
            let hops = journey(&network, start, &to, ttl);
            let steps = hops.iter().filter(|hop| matches!(hop, Hop::Down(..) | Hop::Up(..))).count();
            let most = ttl.unwrap_or(DEFAULT_TTL).min(DEFAULT_MAX_TTL);
            prop_assert!(u64::try_from(steps).unwrap() <= most.saturating_sub(1));
            let delivered = hops.iter().filter(|hop| matches!(hop, Hop::Deliver)).count();
            prop_assert!(delivered <= 1);
        }
    }

    #[test]
    fn what_went_down_never_goes_up_again(network in any_network(), to in any_realm()) {
        for start in network.keys() {
            let hops = journey(&network, start, &to, Some(DEFAULT_MAX_TTL));
            let down = hops.iter().position(|hop| matches!(hop, Hop::Down(..)));
            let up = hops.iter().rposition(|hop| matches!(hop, Hop::Up(..)));
            if let (Some(down), Some(up)) = (down, up) {
                prop_assert!(up < down, "{:?}", hops);
            }
        }
    }

    #[test]
    fn a_loop_that_a_message_gets_into_is_one_that_the_tree_check_finds(
        network in any_network(),
        to in any_realm(),
    ) {
        let found = check_tree(network.values());
        let looped = network.keys().any(|start| {
            let hops = journey(&network, start, &to, Some(DEFAULT_MAX_TTL));
            // With at most 12 routers, 40 steps pass one of them twice.
            hops.len() > 40
        });
        if looped {
            prop_assert!(found.iter().any(|fault| matches!(fault, TreeFault::Loop(_))));
        }
    }
}
