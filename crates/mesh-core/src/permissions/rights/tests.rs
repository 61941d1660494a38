use std::time::Duration;

use super::super::{Answers, ModuleGrants, Permissions, PersonGrants};
use super::*;
use crate::name::{PersonName, ToolName};
use crate::subject::Subject;

fn subject(text: &str) -> Subject {
    Subject::new(text).unwrap()
}

#[test]
fn every_right_of_a_module_says_what_it_follows_from() {
    let tool = |name: &str| ToolName::new(name).unwrap();
    let grants = ModuleGrants {
        emits: vec!["a".parse().unwrap(), "b".parse().unwrap()],
        consumes: true,
        // What the controller alone calls and serves is skipped, and its place is not given away.
        calls: ["x", "provision_grant", "y"].map(|t| ("vault".parse().unwrap(), tool(t))).to_vec(),
        tools: vec![tool("provision_withdraw"), tool("send")],
        provides: true,
    };
    let (node, module) = ("n1".parse().unwrap(), "mail".parse().unwrap());
    let rights = Rights::of_module(&node, &module, &grants, Answers::Scoped).unwrap();
    let field = |filter: &str| {
        let right = rights.iter().find(|right| right.rule.filter.as_str() == filter).unwrap();
        right.origin.field()
    };
    for (filter, expected) in [
        ("mesh.events.mail.b", Some("emits[1]")),
        ("mesh.tools.vault.y", Some("calls[2]")),
        ("mesh.tools.mail.send", Some("tools[1]")),
        ("mesh.tools.mail.provision_withdraw", Some("provides")),
        ("mesh.deliver.EVENTS.n1_mail", Some("consumes")),
        ("_INBOX.*.*.mail.>", Some("tools")),
        ("_INBOX.mail.n1.>", None),
    ] {
        assert_eq!(field(filter).as_deref(), expected, "{filter}");
    }
    assert!(
        !rights.iter().any(|right| right.rule.filter.as_str().ends_with("vault.provision_grant"))
    );
    assert_eq!(rights.permissions(), Permissions::of_module(&node, &module, &grants).unwrap());
}

#[test]
fn a_budget_of_answers_takes_the_place_of_the_inboxes_that_name_the_responder() {
    let responses = Responses { max: 1, expires: Duration::from_secs(60) };
    let answers = Answers::AllowResponses(responses);
    let (node, module) = ("n1".parse().unwrap(), "mail".parse().unwrap());
    let of = |grants: &ModuleGrants| {
        Rights::of_module(&node, &module, grants, answers).unwrap().permissions()
    };
    let serves = ModuleGrants { provides: true, ..ModuleGrants::default() };
    assert_eq!(of(&serves).responses, Some(responses));
    assert!(!of(&serves).publish.permits(&subject("_INBOX.a.n2.mail.00")));
    assert_eq!(of(&ModuleGrants::default()).responses, None);
    let both = of(&serves).and(Permissions::of_builder(&node).unwrap());
    assert_eq!(both.responses, Some(responses));
}

#[test]
fn rights_by_one_rule_are_the_same_permissions() {
    let name = PersonName::new("alice").unwrap();
    let person = Permissions::of_person(&name, &PersonGrants::Administrator).unwrap();
    let rights = Rights::by_rule(&person, "because");
    assert!(rights.iter().all(|right| right.origin == Origin::Rule("because")));
    assert_eq!(rights.permissions(), person);
}
