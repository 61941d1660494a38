use super::{realm, routes};
use crate::router::{TreeFault, check_tree};

#[test]
fn a_good_tree_has_no_faults() {
    let tree = [
        routes("root", "-", &["a", "hub"]),
        routes("a", "root", &["a.b"]),
        routes("a.b", "a", &["a.b.unknown"]),
        routes("hub", "root", &["z"]),
        routes("z", "hub", &[]),
        routes("z", "hub", &[]),
        routes("elsewhere", "not-given", &[]),
    ];
    assert_eq!(check_tree(&tree), []);
}

#[test]
fn a_loop_of_parents_is_found_once() {
    let tree = [
        routes("tail", "a", &[]),
        routes("a", "b", &["tail"]),
        routes("b", "c", &[]),
        routes("c", "a", &[]),
    ];
    let loops: Vec<_> =
        check_tree(&tree).into_iter().filter(|fault| matches!(fault, TreeFault::Loop(_))).collect();
    assert_eq!(loops, [TreeFault::Loop(["a", "b", "c"].map(realm).to_vec())]);
    assert_eq!(loops[0].to_string(), "routers that are above each other: a, b, c");
}

#[test]
fn parents_and_children_that_disagree_are_found() {
    let tree = [routes("root", "-", &["a"]), routes("a", "-", &[]), routes("b", "root", &[])];
    let (parent, child) = (realm("root"), realm("a"));
    let stepchild = TreeFault::Stepchild { parent, child };
    let stranger = TreeFault::Stranger { parent: realm("root"), child: realm("b") };
    assert_eq!(check_tree(&tree), [stepchild, stranger]);
}

#[test]
fn two_routers_of_a_realm_must_be_alike() {
    let tree = [routes("a", "-", &["a.b"]), routes("a", "-", &["a.c"])];
    assert_eq!(check_tree(&tree), [TreeFault::Twice(realm("a"))]);
}
