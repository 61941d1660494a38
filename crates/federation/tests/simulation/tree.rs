//! Who is above whom.

use mesh_core::name::RealmName;
use mesh_federation::router::{Routes, TreeFault, check_tree};
use rand::Rng as _;
use rand::rngs::StdRng;

use crate::plan::{Plan, REALMS};

/// A tree of realms. Most are named after who is above them, some are not and are known to their parent
/// alone. With a ring come two routers that are each other's parents.
pub(crate) fn grow(plan: &Plan, random: &mut StdRng) -> Vec<Routes> {
    let mut names = vec!["root".to_owned()];
    let mut all = vec![Routes::new(realm("root"))];
    for number in 1..REALMS {
        let above = random.random_range(number.saturating_sub(12)..number);
        let hub = random.random_ratio(1, 10);
        let name = if hub { format!("z{number}") } else { format!("{}.n{number}", names[above]) };
        all[above].add_child(realm(&name)).expect("a child");
        let parent = realm(&names[above]);
        all.push(Routes::new(realm(&name)).with_parent(parent).expect("a parent"));
        names.push(name);
    }
    assert_eq!(check_tree(&all), [], "a tree without faults");
    if plan.ring {
        for (name, parent) in [("ring-a", "ring-b"), ("ring-b", "ring-a")] {
            let mut routes = Routes::new(realm(name)).with_parent(realm(parent)).expect("a ring");
            // Both believe that it is theirs: so both take part in its journeys.
            routes.add_child(realm("ring-child")).expect("a child");
            all.push(routes);
        }
        let found = check_tree(&all);
        assert!(
            found.iter().any(|fault| matches!(fault, TreeFault::Loop(ring) if ring.len() == 2))
        );
    }
    all
}

pub(crate) fn realm(name: &str) -> RealmName {
    RealmName::new(name).expect("a realm")
}
