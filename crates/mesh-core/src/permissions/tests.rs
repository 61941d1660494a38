use super::*;
use crate::name::{EventName, ModuleName, NodeName, PersonName, TokenId, ToolName};
use crate::port::QueueGroup;
use crate::subject::{Filter, Subject};

fn subject(text: &str) -> Subject {
    Subject::new(text).unwrap()
}

fn filter(text: &str) -> Filter {
    Filter::new(text).unwrap()
}

fn group(text: &str) -> QueueGroup {
    QueueGroup::new(text).unwrap()
}

fn mail() -> Permissions {
    let grants = ModuleGrants {
        emits: vec![EventName::new("letter.sent").unwrap()],
        consumes: true,
        calls: vec![(ModuleName::new("vault").unwrap(), ToolName::new("open").unwrap())],
        tools: vec![ToolName::new("send").unwrap()],
        provides: false,
    };
    let (node, module) = (NodeName::new("n1").unwrap(), ModuleName::new("mail").unwrap());
    Permissions::of_module(&node, &module, &grants).unwrap()
}

#[test]
fn nothing_is_the_default_and_can_not_be_read_as_everything() {
    assert!(!Permissions::default().publish.permits(&subject("a")));
    assert!(!Rules::allow(Vec::<Filter>::new()).permits_filter(&filter("a"), None));
    assert!(Permissions::everything().publish.permits(&subject("$JS.API.x")));
}

#[test]
fn a_module_may_do_what_its_manifest_says_and_no_more() {
    let rules = mail().publish;
    for good in [
        "mesh.events.mail.letter.sent",
        "mesh.tools.vault.open",
        "$JS.ACK.EVENTS.n1_mail.1.2.3.4.5",
        "_INBOX.other.n9.mail.00",
        "_INBOX.mail.n1.echo.00",
    ] {
        assert!(rules.permits(&subject(good)), "{good}");
    }
    for bad in [
        "mesh.events.mail.letter.lost",
        "mesh.events.vault.opened",
        "mesh.tools.vault.close",
        "mesh.tools.mail.provision_grant",
        "$JS.ACK.EVENTS.n2_mail.1.2.3.4.5",
        "_INBOX.other.n9.vault.00",
        "_INBOX.mail.n1.ack.00",
        "mesh.node.n1.declare",
        "$JS.API.STREAM.DELETE.EVENTS",
        "mesh.deliver.EVENTS.n1_mail",
    ] {
        assert!(!rules.permits(&subject(bad)), "{bad}");
    }
}

#[test]
fn a_module_listens_to_its_deliveries_tools_and_inbox_in_their_groups() {
    let rules = mail().subscribe;
    assert!(rules.permits_filter(&filter("mesh.deliver.EVENTS.n1_mail"), Some(&group("n1_mail"))));
    assert!(!rules.permits_filter(&filter("mesh.deliver.EVENTS.n1_mail"), None));
    assert!(!rules.permits_filter(&filter("mesh.deliver.EVENTS.n1_mail"), Some(&group("x"))));
    assert!(rules.permits_filter(&filter("mesh.tools.mail.send"), Some(&group("serve"))));
    assert!(!rules.permits_filter(&filter("mesh.tools.mail.send"), None));
    assert!(!rules.permits_filter(&filter("mesh.tools.mail.*"), Some(&group("serve"))));
    assert!(rules.permits_filter(&filter("_INBOX.mail.n1.vault.*"), None));
    for bad in
        ["_INBOX.>", "_INBOX.mail.>", "_INBOX.mail.n2.>", ">", "mesh.events.mail.letter.sent"]
    {
        assert!(!rules.permits_filter(&filter(bad), None), "{bad}");
    }
}

#[test]
fn only_a_provider_serves_provisioning() {
    let grants = ModuleGrants { provides: true, ..ModuleGrants::default() };
    let (node, module) = (NodeName::new("n1").unwrap(), ModuleName::new("db").unwrap());
    let provider = Permissions::of_module(&node, &module, &grants).unwrap();
    let tool = filter("mesh.tools.db.provision_grant");
    assert!(provider.subscribe.permits_filter(&tool, Some(&group("serve"))));
    let tool = filter("mesh.tools.mail.provision_grant");
    assert!(!mail().subscribe.permits_filter(&tool, Some(&group("serve"))));
}

#[test]
fn nobody_but_the_controller_calls_provisioning() {
    let name = PersonName::new("alice").unwrap();
    let grant = subject("mesh.tools.db.provision_grant");
    let administrator = Permissions::of_person(&name, &PersonGrants::Administrator).unwrap();
    assert!(administrator.publish.permits(&subject("mesh.tools.db.drop")));
    assert!(!administrator.publish.permits(&grant));
    let tool = (ModuleName::new("db").unwrap(), ToolName::new("provision_grant").unwrap());
    let sly = Permissions::of_person(&name, &PersonGrants::Tools(vec![tool])).unwrap();
    assert!(!sly.publish.permits(&grant));
    assert!(Permissions::of_controller().publish.permits(&grant));
}

#[test]
fn the_controllers_two_users_share_nothing_but_their_inbox() {
    let (bus, edge) = (Permissions::of_controller_bus(), Permissions::of_controller_edge());
    for (beside_streams, subjects) in [
        (
            true,
            [
                "mesh.node.n1.declare",
                "mesh.build.request",
                "mesh.events.dead",
                "mesh.replay.n1_mail.vault.opened",
                "$JS.API.STREAM.INFO.EVENTS",
                "$JS.ACK.CONTROL.controller.1.2.3.4.5",
                "$JS.ACK._.h4sh.ADVISORIES.controller.1.2.3.4.5.r",
            ]
            .as_slice(),
        ),
        (
            false,
            &[
                "mesh.tools.db.provision_grant",
                "mesh.tools.db.provision_withdraw",
                "_INBOX.host.n1.controller.00",
                "_INBOX.enrol.t1.answer",
            ],
        ),
    ] {
        for text in subjects {
            assert_eq!(bus.publish.permits(&subject(text)), beside_streams, "{text}");
            assert_eq!(edge.publish.permits(&subject(text)), !beside_streams, "{text}");
            assert!(Permissions::of_controller().publish.permits(&subject(text)), "{text}");
        }
    }
    let asks = (filter("mesh.ask.*.*"), group("controller"));
    assert!(edge.subscribe.permits_filter(&asks.0, Some(&asks.1)));
    assert!(!bus.subscribe.permits_filter(&asks.0, Some(&asks.1)));
    assert!(!edge.subscribe.permits_filter(&filter("mesh.control.*.alive"), None));
    for both in [&bus, &edge] {
        assert!(both.subscribe.permits_filter(&filter("_INBOX.controller.c1.>"), None));
        assert!(both.publish.permits(&subject("_INBOX.controller.c1.echo.00")));
        assert!(!both.publish.permits(&subject("_INBOX.controller.c1.ack.00")));
    }
    let whole = Permissions::of_controller();
    let inboxes = |rule: &&Rule| rule.filter.as_str() == "_INBOX.controller.>";
    assert_eq!(whole.subscribe.allowed().iter().filter(inboxes).count(), 1);
}

#[test]
fn an_enrolment_user_may_only_enrol() {
    let rules = Permissions::of_enrolment(&TokenId::new("t1").unwrap());
    assert!(rules.publish.permits(&subject("mesh.control.enrol")));
    assert!(!rules.publish.permits(&subject("mesh.control.built")));
    assert!(rules.subscribe.permits_filter(&filter("_INBOX.enrol.t1.>"), None));
    assert!(!rules.subscribe.permits_filter(&filter("_INBOX.enrol.t2.>"), None));
    assert!(!rules.subscribe.permits_filter(&filter("mesh.deliver.NODES.n1"), None));
}

#[test]
fn a_host_reads_its_own_declarations_and_asks_as_itself() {
    let rules = Permissions::of_host(&NodeName::new("n1").unwrap()).unwrap();
    assert!(rules.publish.permits(&subject("mesh.ask.n1.status")));
    assert!(!rules.publish.permits(&subject("mesh.ask.n2.status")));
    assert!(rules.subscribe.permits_filter(&filter("mesh.deliver.NODES.n1"), None));
    assert!(!rules.subscribe.permits_filter(&filter("mesh.deliver.NODES.n2"), None));
}

#[test]
fn a_filter_that_is_denied_in_part_hides_that_part() {
    let rules = Rules::allow([filter("a.>")]).except([filter("a.secret.>")]);
    assert!(rules.permits_filter(&filter("a.>"), None));
    assert!(!rules.permits_filter(&filter("a.secret.x"), None));
    assert!(rules.hides(&subject("a.secret.x")));
    assert!(!rules.hides(&subject("a.open")));
}

/// As a nats-server 2.15.1 was seen to answer.
#[test]
fn groups_and_wildcards_are_judged_as_by_a_server() {
    let rule = |text: &str| match text.split_once(' ') {
        Some((text, name)) => Rule { filter: filter(text), group: Some(group(name)) },
        None => filter(text).into(),
    };
    let rules = Rules::allow(["a.*", "m.*.c", "x", "x q1", "b q1", "c.* q1", "c.d"].map(rule));
    for (text, name, expected) in [
        ("a.b", None, true),
        ("a.*", None, true),
        ("a.>", None, true),
        ("a.b.c", None, false),
        (">", None, false),
        ("m.*.c", None, true),
        ("m.>", None, false),
        ("m.*.>", None, false),
        ("x", None, true),
        ("x", Some("q1"), true),
        ("x", Some("q2"), false),
        ("b", None, false),
        ("b", Some("q1"), true),
        ("b", Some("q3"), false),
        ("c.d", None, true),
        ("c.d", Some("q1"), true),
        ("c.d", Some("q2"), false),
        ("c.*", None, false),
    ] {
        let found = rules.permits_filter(&filter(text), name.map(group).as_ref());
        assert_eq!(found, expected, "{text} {name:?}");
    }
    assert_eq!(rules.heard_in(None), ["a.>", "m.*.c", "x", "c.d"].map(filter));
    // Of `c.d` only who is in the group that is named for it hears it in one.
    let other = group("q2");
    assert_eq!(rules.heard_in(Some(&other)), ["a.>", "m.*.c"].map(filter));

    let rules = Rules::allow([filter("a.>")]).except([filter("a.*")]);
    for (text, expected) in [("a.>", false), ("a.*", false), ("a.*.c", true), ("a.*.>", true)] {
        assert_eq!(rules.permits_filter(&filter(text), None), expected, "{text}");
    }
}

#[test]
fn a_refusal_says_whether_something_denies_it() {
    let may = Permissions {
        publish: Rules::allow([filter("a.>")]).except([filter("a.secret")]),
        subscribe: Rules::allow([filter("a.>")]).except([filter("a.secret.>")]),
        ..Permissions::default()
    };
    assert_eq!(may.on_publish(&subject("a.secret"), None), Verdict::Denied);
    assert_eq!(may.on_publish(&subject("b"), Some(&subject("_R_.x"))), Verdict::NotAllowed);
    assert_eq!(may.on_publish(&subject("a.b"), Some(&subject("_GR_.x"))), Verdict::BrokersReply);
    assert_eq!(may.on_publish(&subject("a.b"), Some(&subject("anywhere"))), Verdict::Allowed);
    assert_eq!(may.on_subscribe(&filter("a.secret.*"), None), Verdict::Denied);
    assert_eq!(may.on_subscribe(&filter(">"), None), Verdict::NotAllowed);
    assert_eq!(may.on_subscribe(&filter("a.>"), None), Verdict::Allowed);
}

#[test]
fn a_gateway_listens_to_its_own_mailboxes_and_writes_to_its_peers() {
    use crate::mx::{MailboxKind, Shard};
    use crate::name::{InstanceName, RealmName};

    let realm = |name: &str| RealmName::new(name).unwrap();
    let new = MailboxKind::Mx(Shard::default());
    let rules = Permissions::of_gateway(
        &InstanceName::new("edge").unwrap(),
        &realm("home.org"),
        &[MailboxKind::Legacy, new],
        &[(realm("peer.org"), new)],
    );
    for mailbox in ["public.ingress.home%2Eorg", "mx/in/1/home.org/00"] {
        assert!(rules.subscribe.permits_filter(&filter(mailbox), None), "{mailbox}");
        assert!(!rules.publish.permits(&subject(mailbox)), "{mailbox}");
    }
    assert!(rules.publish.permits(&subject("mx/in/1/peer.org/00")));
    for other in ["public.ingress.peer%2Eorg", "mx/in/1/third.org/00", "mesh.tools.mail.send"] {
        assert!(!rules.publish.permits(&subject(other)), "{other}");
    }
    for other in ["mx/in/1/peer.org/00", ">", "public.ingress.*"] {
        assert!(!rules.subscribe.permits_filter(&filter(other), None), "{other}");
    }
}

#[test]
fn a_gateway_has_its_buckets_and_nothing_of_the_servers_api_beside() {
    use crate::name::InstanceName;
    use crate::store::BucketName;

    let (name, marks) = (InstanceName::new("gw1").unwrap(), BucketName::new("marks").unwrap());
    let gateway = Permissions::of_gateway_state(&name, std::slice::from_ref(&marks));
    for own in ["$KV.marks.a.b", "$JS.API.STREAM.INFO.KV_marks", "$JS.API.STREAM.MSG.GET.KV_marks"]
    {
        assert!(gateway.publish.permits(&subject(own)), "{own}");
    }
    assert!(gateway.subscribe.permits_filter(&filter("mesh.state.marks.>"), None));
    for other in [
        "$KV.leases.a",
        "mesh.state.marks.a",
        "_INBOX.gateway.gw1.ack.0",
        "$JS.API.INFO",
        "$JS.API.STREAM.LIST",
        "$JS.API.STREAM.INFO.KV_leases",
        "$JS.API.STREAM.CREATE.KV_marks",
        "$JS.API.STREAM.UPDATE.KV_marks",
        "$JS.API.STREAM.DELETE.KV_marks",
        "$JS.API.STREAM.PURGE.KV_marks",
        "$JS.API.STREAM.MSG.DELETE.KV_marks",
        "$JS.API.STREAM.MSG.GET.KV_leases",
        "$JS.API.DIRECT.GET.KV_marks",
        "$JS.API.DIRECT.GET.KV_marks.$KV.marks.a",
        "$JS.API.CONSUMER.CREATE.KV_marks.c",
        "$JS.API.CONSUMER.MSG.NEXT.KV_marks.c",
        "$JS.ACK.KV_marks.c.1.1.1.1.1",
    ] {
        assert!(!gateway.publish.permits(&subject(other)), "{other}");
    }
    for other in ["$KV.marks.>", "mesh.state.>", "mesh.state.leases.>", "_INBOX.>"] {
        assert!(!gateway.subscribe.permits_filter(&filter(other), None), "{other}");
    }

    let administrator = Permissions::of_state_administrator(&name, &[marks]);
    assert!(administrator.publish.permits(&subject("$JS.API.STREAM.CREATE.KV_marks")));
    for other in
        ["$KV.marks.a", "$JS.API.STREAM.CREATE.KV_leases", "$JS.API.STREAM.DELETE.KV_marks"]
    {
        assert!(!administrator.publish.permits(&subject(other)), "{other}");
    }
}

#[test]
fn a_router_listens_to_its_own_inbox_and_writes_to_its_neighbours_and_its_own_mailbox() {
    use crate::name::{InstanceName, RealmName};

    let realm = |name: &str| RealmName::new(name).unwrap();
    let rules = Permissions::of_router(
        &InstanceName::new("router").unwrap(),
        &realm("a.b"),
        &[realm("a"), realm("a.b.c")],
    );
    for good in ["mx/route/1/a/00", "mx/route/1/a.b.c/00", "mx/in/1/a.b/00"] {
        assert!(rules.publish.permits(&subject(good)), "{good}");
        assert!(!rules.subscribe.permits_filter(&filter(good), None), "{good}");
    }
    for other in ["mx/route/1/a.b/00", "mx/route/1/z/00", "mx/in/1/a/00", "public.ingress.a%2Eb"] {
        assert!(!rules.publish.permits(&subject(other)), "{other}");
    }
    let serve = QueueGroup::serve();
    assert!(rules.subscribe.permits_filter(&filter("mx/route/1/a.b/00"), Some(&serve)));
}

#[test]
fn what_is_the_servers_own_is_nobodys_whatever_the_rights() {
    let all = Permissions::everything();
    for between in ["_GR_.a.b", "$GR.a"] {
        assert_eq!(all.on_publish(&subject(between), None), Verdict::NotAllowed);
        assert_eq!(all.on_publish(&subject("a"), Some(&subject(between))), Verdict::BrokersReply);
    }
    assert_eq!(all.on_subscribe(&filter("a"), Some(&group("_sys_"))), Verdict::NotAllowed);
    assert_eq!(all.on_publish(&subject("_R_.x"), None), Verdict::Allowed);
}
