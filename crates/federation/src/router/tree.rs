use std::collections::{HashMap, HashSet};

use mesh_core::name::RealmName;

use super::Routes;

/// What is wrong between routers that are known together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeFault {
    /// Each is the parent of the one before, and the first that of the last: what none of them has below it
    /// goes round until its `ttl` is spent.
    #[error("routers that are above each other: {}", names(.0))]
    Loop(Vec<RealmName>),
    /// Two routers of one realm that differ. Alike ones may share its inbox.
    #[error("{0} has two routers that are not alike")]
    Twice(RealmName),
    /// The parent sends down to it, and it sends up to somebody else, or to nobody.
    #[error("{child} is a child of {parent}, and does not have it as its parent")]
    Stepchild {
        /// Who has it as a child.
        parent: RealmName,
        /// The child.
        child: RealmName,
    },
    /// It sends up to the parent, which can't send down to it: it asks and never hears.
    #[error("{child} has the parent {parent}, of which it is no child")]
    Stranger {
        /// Who lacks a child.
        parent: RealmName,
        /// Who has it as its parent.
        child: RealmName,
    },
}

/// Looks at routers together, as far as they are given: those that a file names, or that one process runs.
/// Empty where nothing is wrong between them; what is wrong at one alone is refused when it is
/// [made](Routes::add_child).
#[must_use]
pub fn check_tree<'r>(routers: impl IntoIterator<Item = &'r Routes>) -> Vec<TreeFault> {
    let mut faults = Vec::new();
    let mut known: HashMap<&RealmName, &Routes> = HashMap::new();
    let mut order = Vec::new();
    for routes in routers {
        match known.get(routes.realm()) {
            Some(other) if alike(other, routes) => {}
            Some(_) => faults.push(TreeFault::Twice(routes.realm().clone())),
            None => {
                known.insert(routes.realm(), routes);
                order.push(routes);
            }
        }
    }
    for routes in &order {
        let (parent, me) = (routes.parent().and_then(|p| known.get(p)), routes.realm());
        if let Some(parent) = parent.filter(|parent| !parent.has_child(me)) {
            let (parent, child) = (parent.realm().clone(), me.clone());
            faults.push(TreeFault::Stranger { parent, child });
        }
        let mut children: Vec<_> = routes.children().filter_map(|child| known.get(child)).collect();
        children.sort_by_key(|child| child.realm());
        for child in children.into_iter().filter(|child| child.parent() != Some(me)) {
            let (parent, child) = (me.clone(), child.realm().clone());
            faults.push(TreeFault::Stepchild { parent, child });
        }
    }
    faults.extend(loops(&order, &known));
    faults
}

/// Follows the parents from each router that has not been passed yet.
fn loops(order: &[&Routes], known: &HashMap<&RealmName, &Routes>) -> Vec<TreeFault> {
    let mut passed: HashSet<&RealmName> = HashSet::new();
    let mut found = Vec::new();
    for start in order {
        let mut way: Vec<&RealmName> = Vec::new();
        let mut next = Some(start.realm());
        while let Some(realm) = next.filter(|realm| passed.insert(realm)) {
            way.push(realm);
            next = known.get(realm).and_then(|routes| routes.parent());
        }
        // A way ends at the root, at one whose router is not known, or at one that was passed: on this very
        // way, it is a loop.
        if let Some(at) = next.and_then(|realm| way.iter().position(|other| *other == realm)) {
            found.push(TreeFault::Loop(way.drain(at..).cloned().collect()));
        }
    }
    found
}

fn alike(one: &Routes, other: &Routes) -> bool {
    one.parent() == other.parent()
        && one.children().len() == other.children().len()
        && one.children().all(|child| other.has_child(child))
}

fn names(realms: &[RealmName]) -> String {
    realms.iter().map(RealmName::as_str).collect::<Vec<_>>().join(", ")
}
