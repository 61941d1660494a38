//! Every grant has what justifies it.

use mesh_control::compose::{Because, Grant};
use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use mesh_testkit::strategies::mesh;
use proptest::prelude::*;

use super::*;

fn because<'c>(composed: &'c Composition, user: &str, filter: &str) -> String {
    let grants = composed.user(user).unwrap().grants().iter();
    let grants: Vec<&'c Grant> = grants.filter(|g| g.rule.filter.as_str() == filter).collect();
    let [grant] = grants.as_slice() else { panic!("{user} {filter}: {grants:?}") };
    grant.because.to_string()
}

#[test]
fn a_grant_names_the_field_that_it_follows_from() {
    let composed = compose(MESH, &manifests());
    for (user, filter, line) in [
        ("mail.n1", "mesh.events.mail.sent", "modules/mail.toml:4:10: emits[0]"),
        ("mail.n2", "mesh.events.mail.letter.lost", "modules/mail.toml:4:18: emits[1]"),
        ("mail.n1", "mesh.tools.audit.count", "modules/mail.toml:5:10: calls[0]"),
        ("mail.n1", "mesh.tools.mail.send", "modules/mail.toml:7:1: tools[0]"),
        ("mail.n1", "_INBOX.*.*.mail.>", "modules/mail.toml:7:1: tools"),
        ("audit.n2", "mesh.deliver.EVENTS.n2_audit", "modules/audit.toml:4:12: consumes"),
        ("audit.n2", "$JS.ACK.EVENTS.n2_audit.*.*.*.*.*", "modules/audit.toml:4:12: consumes"),
        ("db.n1", "mesh.tools.db.provision_grant", "modules/db.toml:4:12: provides"),
        ("db.n1", "_INBOX.*.*.db.>", "modules/db.toml:4:12: provides"),
        ("person.ada", "mesh.tools.>", "mesh.toml:4:37: people[0].administrator"),
        ("person.bob", "mesh.tools.mail.send", "mesh.toml:5:30: people[1].tools[0]"),
        ("mail.n1", "_INBOX.mail.n1.>", "everybody hears the own inbox"),
        ("host.n2", "mesh.ask.n2.*", "a host asks the controller as its node"),
    ] {
        assert_eq!(because(&composed, user, filter), line, "{user} {filter}");
    }
    let line = |user: &str| composed.user(user).unwrap().line().map(ToString::to_string);
    assert_eq!(line("mail.n2").unwrap(), "mesh.toml:8:71: assignments[0].nodes[1]");
    assert_eq!(line("builder.n2").unwrap(), "mesh.toml:2:36: nodes[1].name");
    assert_eq!(line("person.bob").unwrap(), "mesh.toml:5:14: people[1].name");
    assert_eq!(line("controller"), None);
}

/// What stands at a line and column of a text.
fn standing(text: &str, line: usize, column: usize) -> &str {
    let text = text.split_inclusive('\n').nth(line - 1).unwrap().trim_start_matches('\u{feff}');
    text.char_indices().nth(column - 1).map_or("", |(at, _)| &text[at..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_line_of_every_grant_says_what_is_granted(written in mesh()) {
        let manifests: Vec<_> = written.manifests.iter()
            .map(|m| Source { file: m.value.file(), text: &m.text })
            .collect();
        let composed = compose(&written.file.text, &manifests);
        prop_assert!(composed.refused().is_empty());
        for user in composed.users() {
            for grant in user.grants() {
                let Because::Line(line) = &grant.because else { continue };
                let text = match &*line.file {
                    "mesh.toml" => &written.file.text,
                    file => &manifests.iter().find(|m| m.file == file).unwrap().text.to_owned(),
                };
                let there = standing(text, line.line, line.column);
                prop_assert!(!there.is_empty(), "{line}");
                // Of an event and of a tool the name itself stands there.
                let subject = grant.rule.filter.as_str();
                if line.field.starts_with("emits[") {
                    let Principal::Module { module, .. } = user.principal() else { panic!() };
                    let event = subject.strip_prefix(&format!("mesh.events.{module}.")).unwrap();
                    prop_assert!(there[1..].starts_with(event), "{line}: {there}");
                }
                if line.field.starts_with("calls[") {
                    let tool = subject.strip_prefix("mesh.tools.").unwrap();
                    prop_assert!(there[1..].starts_with(tool), "{line}: {there}");
                }
            }
        }
    }

    #[test]
    fn users_may_exactly_what_the_mesh_says_of_their_principals(written in mesh()) {
        let manifests: Vec<_> = written.manifests.iter()
            .map(|m| Source { file: m.value.file(), text: &m.text })
            .collect();
        let composed = compose(&written.file.text, &manifests);
        for user in composed.users() {
            let may = user.permissions();
            match user.name() {
                "controller" => prop_assert_eq!(may, Permissions::of_controller_bus()),
                "controller-edge" => prop_assert_eq!(may, Permissions::of_controller_edge()),
                _ => prop_assert_eq!(may, written.mesh.permissions(user.principal()).unwrap()),
            }
        }
        prop_assert_eq!(composed.topology(), &written.mesh.topology().unwrap());
        let instances = written.mesh.instances().count();
        let (nodes, people) = (written.mesh.nodes().len(), written.mesh.people().len());
        prop_assert_eq!(composed.users().len(), 2 + 2 * nodes + instances + people);
    }
}
