//! Answers by budget, where the mesh file wants them.

use std::time::Duration;

use mesh_core::permissions::Responses;

use super::*;

const BUS: &str = "
[bus]
answers = 'allow_responses'
responses = { max = 2, expires = '1m' }
";

#[test]
fn who_serves_has_a_budget_in_place_of_the_inboxes_that_name_it() {
    let (scoped, budgeted) =
        (compose(MESH, &manifests()), compose(&format!("{MESH}{BUS}"), &manifests()));
    let answers = |composed: &Composition, user: &str| {
        let user = composed.user(user).unwrap();
        let mut filters = user.grants().iter().map(|grant| grant.rule.filter.as_str());
        (filters.any(|filter| filter.starts_with("_INBOX.*.*")), user.responses())
    };
    for server in ["mail.n1", "audit.n2", "db.n1"] {
        assert_eq!(answers(&scoped, server), (true, None), "{server}");
        let (inboxes, responses) = answers(&budgeted, server);
        assert!(!inboxes && responses.is_some_and(|r| r.max == 2), "{server} {responses:?}");
    }
    // Who serves nothing has none, and the controller is asked by our own programs alone.
    for other in ["person.ada", "host.n1", "builder.n1", "controller", "controller-edge"] {
        assert_eq!(answers(&budgeted, other).1, None, "{other}");
        let (before, after) = (scoped.user(other).unwrap(), budgeted.user(other).unwrap());
        assert_eq!(before.permissions(), after.permissions(), "{other}");
    }
}

#[test]
fn a_budget_lasts_as_long_as_the_slowest_tool_may_take() {
    let budgeted = compose(&format!("{MESH}{BUS}"), &manifests());
    for (user, seconds) in [("mail.n1", 120), ("audit.n2", 60), ("db.n1", 60)] {
        let expires = Duration::from_secs(seconds);
        let found = budgeted.user(user).unwrap().responses();
        assert_eq!(found, Some(Responses { max: 2, expires }), "{user}");
    }
}
