use super::*;
use crate::identity::Principal;
use crate::identity::Responder;
use crate::name::{ConsumerName, ModuleName, NodeName};
use crate::subject::{Filter, Subject};

fn subject(text: &str) -> Subject {
    Subject::new(text).unwrap()
}

fn module(text: &str) -> ModuleName {
    ModuleName::new(text).unwrap()
}

fn node(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

const SUBJECTS: [(&str, Option<StreamName>); 11] = [
    ("mesh.control.n1.report", Some(StreamName::Control)),
    ("mesh.control.enrol", Some(StreamName::Control)),
    ("mesh.control.built", Some(StreamName::Control)),
    ("mesh.control.n1.alive", None),
    ("mesh.node.n1.declare", Some(StreamName::Nodes)),
    ("mesh.build.request", Some(StreamName::Builds)),
    ("mesh.events.mail.letter.sent", Some(StreamName::Events)),
    ("mesh.events.dead", Some(StreamName::EventsDead)),
    ("mesh.replay.n1_audit.mail.letter.sent", Some(StreamName::Events)),
    ("mesh.tools.mail.send", None),
    ("mesh.ask.n1.status", None),
];

#[test]
fn every_subject_goes_both_ways_and_names_its_stream() {
    for (text, stream) in SUBJECTS {
        let parsed = MeshSubject::parse(&subject(text)).unwrap();
        assert_eq!(parsed.to_subject().unwrap().as_str(), text);
        assert_eq!(parsed.stream(), stream, "{text}");
    }
}

#[test]
fn each_subject_has_one_of_the_shapes_that_people_are_shown() {
    let as_filter = |shape: &str| {
        let tokens = shape.split('.').map(|token| match token {
            "<event>" => ">",
            token if token.starts_with('<') => "*",
            token => token,
        });
        Filter::new(tokens.collect::<Vec<_>>().join(".")).unwrap()
    };
    let shapes = MeshSubject::SHAPES.map(as_filter);
    let mut met = Vec::new();
    for (text, _) in SUBJECTS {
        let subject = subject(text);
        // `mesh.events.dead` alone has the shape of none of the others, too.
        let first = shapes.iter().position(|shape| shape.matches(&subject)).unwrap();
        met.push(first);
    }
    met.sort_unstable();
    assert_eq!(met, (0..shapes.len()).collect::<Vec<_>>());
}

#[test]
fn a_bad_name_is_told_where_it_stands_in_the_subject() {
    for (text, offset) in [
        ("mesh.events.Mail.sent", 12),
        ("mesh.events.mail.sent.", 22),
        ("mesh.control.a_b.report", 14),
        ("mesh.control.report.report", 13),
        ("mesh.replay.n1_mail.vault.opened._x", 33),
        ("mesh.replay.n1_M.vault.opened", 15),
        ("mesh.tools.mail.a.b", 17),
        ("mesh.ask.n1.a*", 13),
    ] {
        let Ok(subject) = Subject::new(text) else { continue };
        match MeshSubject::parse(&subject) {
            Err(error) => assert_eq!(error.offset(), Some(offset), "{text}: {error}"),
            Ok(parsed) => assert_eq!(text, "mesh.control.report.report", "{parsed:?}"),
        }
    }
    let key = subject("replay.n1_mail.vault.opened._x");
    let error = MeshSubject::from_amqp(AmqpExchange::Events, &key, None).unwrap_err();
    assert_eq!(error.offset(), Some(28));
    assert_eq!(MeshSubject::parse(&subject("a.b")).unwrap_err().offset(), None);
}

#[test]
fn the_streams_take_exactly_the_subjects_that_name_them() {
    let topology = Topology::new();
    for (text, expected) in SUBJECTS {
        let taking: Vec<_> = topology
            .streams()
            .iter()
            .filter(|stream| stream.subjects.iter().any(|filter| filter.matches(&subject(text))))
            .map(|stream| stream.name)
            .collect();
        assert_eq!(taking, expected.into_iter().collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn no_two_streams_overlap() {
    let topology = Topology::new();
    let all: Vec<(StreamName, &Filter)> = topology
        .streams()
        .iter()
        .flat_map(|stream| stream.subjects.iter().map(|filter| (stream.name, filter)))
        .collect();
    for (index, (stream, filter)) in all.iter().enumerate() {
        for (other, other_filter) in &all[index + 1..] {
            assert!(!filter.overlaps(other_filter), "{stream} {filter} and {other} {other_filter}");
        }
    }
}

#[test]
fn strangers_and_bad_names_are_told_apart() {
    for text in
        ["mesh.other.x", "a", "mesh.events.mail", "mesh.control.n1.other", "mesh.tools.mail"]
    {
        let error = MeshSubject::parse(&subject(text)).unwrap_err();
        assert!(matches!(error, MeshSubjectError::Unknown { .. }), "{text}: {error}");
    }
    for text in ["mesh.events.Mail.sent", "mesh.control.a_b.report", "mesh.tools.mail.a.b"] {
        let error = MeshSubject::parse(&subject(text)).unwrap_err();
        assert!(matches!(error, MeshSubjectError::Name { .. }), "{text}: {error}");
    }
}

#[test]
fn names_that_are_too_long_together_are_refused() {
    let event = MeshSubject::Event {
        module: module(&"m".repeat(63)),
        event: crate::name::EventName::new(format!("{0}.{0}.{0}", "e".repeat(60))).unwrap(),
    };
    assert!(event.to_subject().is_err());
}

#[test]
fn amqp_routes_go_both_ways_where_the_key_says_enough() {
    for (text, exchange, key) in [
        ("mesh.control.built", AmqpExchange::Default, "control.upgrades"),
        ("mesh.control.n1.alive", AmqpExchange::Alive, "n1"),
        ("mesh.node.n1.declare", AmqpExchange::Default, "node.n1"),
        ("mesh.build.request", AmqpExchange::Default, "builds"),
        ("mesh.events.mail.letter.sent", AmqpExchange::Events, "mail.letter.sent"),
        ("mesh.replay.n1_audit.mail.sent", AmqpExchange::Events, "replay.n1_audit.mail.sent"),
        ("mesh.tools.mail.send", AmqpExchange::Rpc, "serve.mail.send"),
        ("mesh.ask.n1.status", AmqpExchange::Rpc, "ask.n1.status"),
    ] {
        let parsed = MeshSubject::parse(&subject(text)).unwrap();
        let route = parsed.to_amqp();
        assert_eq!((route.exchange, route.key.as_str()), (exchange, key));
        assert_eq!(MeshSubject::from_amqp(exchange, &subject(key), None).unwrap(), parsed);
    }
    let report = MeshSubject::parse(&subject("mesh.control.n1.report")).unwrap().to_amqp();
    assert_eq!(report.key, "control");
    let control =
        |sender| MeshSubject::from_amqp(AmqpExchange::Default, &subject("control"), sender);
    assert!(control(None).is_err());
    let host = Principal::Host { node: node("n1") };
    assert_eq!(
        control(Some(&host)).unwrap().to_subject().unwrap().as_str(),
        "mesh.control.n1.report"
    );
    let catchup = subject("control.catchup");
    assert_eq!(
        MeshSubject::from_amqp(AmqpExchange::Default, &catchup, Some(&host)).unwrap(),
        MeshSubject::Report { node: node("n1") }
    );
    let token = Principal::Enrolment { token: crate::name::TokenId::new("t1").unwrap() };
    assert_eq!(control(Some(&token)).unwrap(), MeshSubject::Enrol);
}

#[test]
fn calls_are_not_written_to_disk_and_must_be_routable() {
    let route = |text| MeshSubject::parse(&subject(text)).unwrap().to_amqp();
    let call = route("mesh.tools.mail.send");
    assert!(call.mandatory && !call.persistent);
    let event = route("mesh.events.mail.sent");
    assert!(!event.mandatory && event.persistent);
    let report = route("mesh.control.n1.report");
    assert!(report.mandatory && report.persistent);
}

#[test]
fn a_modules_consumer_selects_normalised_filters_and_its_own_replays() {
    let consumes = ["mail.letter.sent", "mail.>", "ledger.booked"].map(|f| Filter::new(f).unwrap());
    let topology = Topology::new().with_module(&node("n1"), &module("audit"), &consumes).unwrap();
    let reference = ConsumerRef::new(StreamName::Events, ConsumerName::new("n1_audit").unwrap());
    let consumer = topology.consumer(&reference).unwrap();
    let filters: Vec<&str> = consumer.filters.iter().map(Filter::as_str).collect();
    assert_eq!(
        filters,
        ["mesh.events.mail.>", "mesh.events.ledger.booked", "mesh.replay.n1_audit.>"]
    );
    assert_eq!(consumer.rules.max_deliver, Some(5));
    let none = Topology::new().with_module(&node("n1"), &module("mute"), &[]).unwrap();
    assert_eq!(none, Topology::new());
}

#[test]
fn a_reply_address_names_its_responder_or_is_refused() {
    let caller = Principal::Module { node: node("n1"), module: module("mail") };
    let vault = Responder::Module(module("vault"));
    let tool = subject("mesh.tools.vault.open");
    let reply = Inbox::of(&caller).reply(&vault, 7);
    assert_eq!(reply.as_str(), "_INBOX.mail.n1.vault.00000000000000000000000000000007");
    assert!(ReplyAddress::check(&tool, &reply, &vault).is_ok());
    assert!(ReplyAddress::filter(&vault).matches(&reply));
    assert!(Inbox::of(&caller).filter().matches(&reply));
    let other = Responder::Module(module("mail"));
    assert_eq!(ReplyAddress::check(&tool, &reply, &other), Err(AddressError::OtherResponder));
    for bad in [
        "mesh.node.n2.declare",
        "_INBOX.mail.n1.vault",
        "_INBOX.mail.n1.vault.1",
        "_INBOX.mail.n1.vault.0000000000000000000000000000000G",
        "_INBOX.mail.n1.vault.00000000000000000000000000000007.x",
        "_INBOX.Mail.n1.vault.00000000000000000000000000000007",
        "_inbox.mail.n1.vault.00000000000000000000000000000007",
    ] {
        assert_eq!(
            ReplyAddress::check(&tool, &subject(bad), &vault),
            Err(AddressError::NotAReply),
            "{bad}"
        );
    }
    let ack = Inbox::of(&caller).confirmation(7);
    assert_eq!(ReplyAddress::check(&tool, &ack, &vault), Err(AddressError::NotAReply));
}

#[test]
fn an_ask_is_answered_to_its_node_and_a_grant_to_the_controller() {
    const RANDOM: &str = "00000000000000000000000000000007";
    let check = |asked: &str, inbox: &str, responder: &Responder| {
        let reply = subject(&format!("_INBOX.{inbox}.{}.{RANDOM}", responder.as_str()));
        ReplyAddress::check(&subject(asked), &reply, responder).map(drop)
    };
    let (controller, db) = (Responder::Controller, Responder::Module(module("db")));
    assert_eq!(check("mesh.ask.n1.status", "host.n1", &controller), Ok(()));
    for inbox in ["host.n2", "mail.n1", "person.n1"] {
        let found = check("mesh.ask.n1.status", inbox, &controller);
        assert_eq!(found, Err(AddressError::OtherCaller), "{inbox}");
    }
    for tool in ["provision_grant", "provision_withdraw"] {
        let asked = format!("mesh.tools.db.{tool}");
        assert_eq!(check(&asked, "controller.main", &db), Ok(()));
        assert_eq!(check(&asked, "person.alice", &db), Err(AddressError::OtherCaller));
    }
    assert_eq!(check("mesh.tools.db.drop", "person.alice", &db), Ok(()));
}

#[test]
fn acknowledgement_addresses_are_read_in_both_forms_and_granted_for_one_consumer() {
    let reference = ConsumerRef::new(StreamName::Events, ConsumerName::new("edge_mail").unwrap());
    let [v1, v2] = AckAddress::filters(&reference);
    let first = subject("$JS.ACK.EVENTS.edge_mail.1.2.3.17.0");
    let second = subject("$JS.ACK._.h4sh.EVENTS.edge_mail.1.2.3.17.0.rand");
    let bare = subject("$JS.ACK._.h4sh.EVENTS.edge_mail.1.2.2.17.0");
    assert!(v1.matches(&first) && !v1.matches(&second));
    assert!(v2.matches(&second) && v2.matches(&bare) && !v2.matches(&first));
    let other = subject("$JS.ACK._.h4sh.EVENTS.edge_vault.1.2.3.17.0.rand");
    assert!(!v1.matches(&other) && !v2.matches(&other));
    let read = AckAddress::parse(&first).unwrap();
    assert_eq!(AckAddress::parse(&second).unwrap(), read);
    assert_eq!(read.consumer, reference);
    assert_eq!((read.delivered, read.stream_sequence, read.consumer_sequence), (1, 2, 3));
    assert_eq!(read.to_subject(17), first);
    assert_eq!(AckAddress::parse(&subject("$JS.ACK.EVENTS")), Err(AddressError::NotAnAck));
    assert_eq!(
        AckAddress::parse(&subject("$JS.ACK.X.edge_mail.1.2.3.17.0")),
        Err(AddressError::NotAnAck)
    );
}

#[test]
fn made_up_acknowledgement_addresses_are_the_consumers_own() {
    let mail = ConsumerRef::new(StreamName::Events, ConsumerName::new("n1_mail").unwrap());
    let prefix = AckPrefix::of(&mail);
    let unread = prefix.of_unread(17, 9);
    assert_eq!(unread.as_str(), "$JS.ACK.EVENTS.n1_mail.1.17.9.0.0");
    let [first, _] = AckAddress::filters(&mail);
    for (address, sequence) in [(unread, 17), (prefix.of_no_delivery(), i64::MAX as u64)] {
        assert!(first.matches(&address), "{address}");
        assert_eq!(AckAddress::parse(&address).unwrap().consumer, mail);
        assert_eq!(prefix.read(address.as_str()).unwrap().stream_sequence, sequence);
    }
}

#[test]
fn delivery_subjects_go_both_ways() {
    let reference = ConsumerRef::new(StreamName::Events, ConsumerName::new("n1_mail").unwrap());
    let text = DeliverySubject::of(reference.clone()).to_subject();
    assert_eq!(text.as_str(), "mesh.deliver.EVENTS.n1_mail");
    assert_eq!(DeliverySubject::parse(&text).unwrap().consumer(), &reference);
    assert!(DeliverySubject::parse(&subject("mesh.deliver.OTHER.n1_mail")).is_err());
}

#[test]
fn consumers_and_calls_have_their_queues() {
    let queues = |spec: &ConsumerSpec| spec.to_amqp().unwrap();
    let consumes = [Filter::new("mail.>").unwrap(), Filter::new("ledger.*.posted").unwrap()];
    let topology = Topology::new()
        .with_node(&node("n1"))
        .with_module(&node("n1"), &module("audit"), &consumes)
        .unwrap();
    let found: Vec<AmqpQueue> = topology.consumers().iter().flat_map(queues).collect();
    let names: Vec<&str> = found.iter().map(|queue| queue.name.as_str()).collect();
    let control = ["control", "control.upgrades", "control.catchup"];
    assert_eq!(names, [&control[..], &["builds", "node.n1", "n1.audit.events"]].concat());
    assert_eq!(found[5].kind, AmqpQueueKind::Quorum { delivery_limit: Some(4) });
    let bindings: Vec<&str> = found[5].bindings.iter().map(|(_, key)| key.as_str()).collect();
    assert_eq!(bindings, ["mail.*.#", "ledger.*.posted", "replay.n1_audit.*.#"]);

    let tool = crate::name::ToolName::new("send").unwrap();
    assert_eq!(AmqpQueue::of_tool(&module("mail"), &tool).unwrap().name, "serve.mail.send");
    let mail = Principal::Module { node: node("n1"), module: module("mail") };
    assert_eq!(AmqpQueue::of_answers(&mail).unwrap().name, "reply.n1.mail");
}

#[test]
fn amqp_users_go_both_ways() {
    use crate::name::{InstanceName, PersonName, TokenId};
    for (principal, user) in [
        (Principal::Module { node: node("n1"), module: module("mail") }, "n1.mail"),
        (Principal::Host { node: node("n1") }, "host.n1"),
        (Principal::Builder { node: node("n1") }, "builder.n1"),
        (Principal::Person { name: PersonName::new("ann").unwrap() }, "person.ann"),
        (Principal::Controller { name: InstanceName::new("c1").unwrap() }, "controller.c1"),
        (Principal::Enrolment { token: TokenId::new("t1").unwrap() }, "enrol.t1"),
    ] {
        assert_eq!(principal.amqp_user(), user);
        assert_eq!(Principal::from_amqp_user(user), Some(principal));
    }
    let substrate = Principal::from_amqp_user("substrate");
    assert!(matches!(substrate, Some(Principal::Controller { .. })), "{substrate:?}");
    for stranger in ["guest", "n1.mail.x", "n1.", ".mail", "N1.mail", ""] {
        assert_eq!(Principal::from_amqp_user(stranger), None, "{stranger}");
    }
}

#[test]
fn no_subject_of_the_control_queue_may_hold_more_than_half_of_it() {
    let topology = Topology::new();
    let control = topology.stream(StreamName::Control).unwrap();
    let longest = control.max_message_bytes.unwrap() as u64;
    assert!(control.max_messages_per_subject.unwrap() * longest <= control.max_bytes / 2);
}
