use mesh_core::name::{EventName, ModuleName, NodeName, ToolName};
use mesh_core::permissions::{ModuleGrants, PersonGrants};

use super::*;

fn topic<'r>(rights: &'r Rights, exchange: &str) -> (&'r str, &'r str) {
    let row = rights.topics.iter().find(|row| row.exchange == exchange).unwrap();
    (&row.write, &row.read)
}

fn filter(text: &str) -> Filter {
    Filter::new(text).unwrap()
}

#[test]
fn a_modules_account_is_that_of_the_bus_that_is_left() {
    let node = NodeName::new("n1").unwrap();
    let [m1, m2] = ["m1", "m2"].map(|name| ModuleName::new(name).unwrap());
    let grants = ModuleGrants {
        emits: vec![EventName::new("happened").unwrap()],
        consumes: true,
        calls: vec![(m1, ToolName::new("echo").unwrap())],
        tools: vec![ToolName::new("boom").unwrap()],
        provides: false,
    };
    let permissions = Permissions::of_module(&node, &m2, &grants).unwrap();
    let principal = Principal::Module { node, module: m2 };
    let rights = Rights::of("n1.m2", &principal, &permissions, Declares::Nothing);
    assert_eq!(rights.configure, "");
    assert_eq!(rights.write, r"^(?:mesh\.events|mesh\.rpc)\z");
    assert_eq!(rights.read, r"^(?:n1\.m2\.events|reply\.n1\.m2|serve\.m2\.boom)\z");
    assert_eq!(topic(&rights, "mesh.events"), (r"^(?:m2\.happened)\z", ""));
    let calls = r"^(?:reply\.[a-z0-9-]+\.[a-z0-9-]+|serve\.m1\.echo)\z";
    assert_eq!(topic(&rights, "mesh.rpc"), (calls, ""));
    for exchange in ["mesh.live", "mesh.alive", "mesh.events.dead"] {
        assert_eq!(topic(&rights, exchange), ("", ""), "no row would allow all");
    }
}

#[test]
fn gateways_that_share_a_mailbox_read_the_queue_of_their_group_alone() {
    use mesh_core::mx::MailboxKind;
    use mesh_core::port::QueueGroup;

    let name = mesh_core::name::InstanceName::new("g1").unwrap();
    let realm = mesh_core::name::RealmName::new("acme.com").unwrap();
    let group = QueueGroup::new("mx-edge").unwrap();
    let kinds = [MailboxKind::default()];
    let permissions = Permissions::of_shared_gateway(&name, &realm, &kinds, &[], &group);
    let principal = Principal::Gateway { name };
    let rights = Rights::of("gateway.g1", &principal, &permissions, Declares::Nothing);
    assert_eq!((rights.configure.as_str(), rights.write.as_str()), ("", ""));
    assert!(rights.read.contains(r"live\.\@mx\-edge\.mx\/in\/1\/acme\.com\/00"), "{rights:?}");
    assert!(!rights.read.contains(r"live\.gateway"), "{rights:?}");
}

#[test]
fn what_is_denied_is_taken_from_what_is_allowed() {
    let name = mesh_core::name::PersonName::new("ann").unwrap();
    let permissions = Permissions::of_person(&name, &PersonGrants::Administrator).unwrap();
    let principal = Principal::Person { name };
    let rights = Rights::of("person.ann", &principal, &permissions, Declares::Nothing);
    let (write, _) = topic(&rights, "mesh.rpc");
    assert!(write.starts_with("^(?!(?:") && write.contains(r"provision\_grant"), "{write}");
    assert!(write.ends_with(r"\z)(?:serve\.[^\x00-\x20\x7f]+)\z"), "{write}");
}

#[test]
fn a_token_of_a_filter_is_no_more_than_a_token() {
    assert_eq!(expression("a.*.b"), r"a\.[^.#\x00-\x20\x7f]+\.b");
    assert_eq!(expression("a.>"), r"a\.[^\x00-\x20\x7f]+");
    assert!(matches!(Place::of(&filter("mesh.events.dead")), Place::Exchange(..)));
}

/// RabbitMQ puts a user's name in the place of `{username}` in the rows of topics.
#[test]
fn nothing_in_a_name_is_a_variable_of_the_broker() {
    assert_eq!(escaped("{username}"), r"\{username\}");
    assert_eq!(escaped("a|b$(c)é"), r"a\|b\$\(c\)é");
}
