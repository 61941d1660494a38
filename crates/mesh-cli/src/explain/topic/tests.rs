use mesh_core::manifest::ModuleManifest;
use proptest::prelude::*;

use super::*;
use crate::explain::testing::{check, pieces, text};

fn kinds(topic: &str) -> Vec<&'static str> {
    let explained = explain(topic, None, None);
    check(&explained);
    explained.readings.iter().map(|reading| reading.kind).collect()
}

fn mesh() -> Mesh {
    let manifests = [
        "name = 'mail'\nversion = '1'\nemits = ['letter.sent']\n[[tools]]\nname = 'send'\ndescription = 'Sends.'",
        "name = 'audit'\nversion = '1'\nconsumes = ['mail.>']\ncalls = ['mail.send']",
    ];
    let parse = |text: &str| ModuleManifest::parse("m.toml", text).unwrap();
    Mesh::on_one_node(&"n1".parse().unwrap(), manifests.map(parse)).unwrap()
}

#[test]
fn each_kind_of_text_is_known() {
    for (topic, kind) in [
        ("mesh.control.n1.report", &["report"][..]),
        ("mesh.control.enrol", &["enrolment"]),
        ("mesh.control.built", &["build-outcome"]),
        ("mesh.control.n1.alive", &["heartbeat"]),
        ("mesh.node.n1.declare", &["declaration"]),
        ("mesh.build.request", &["build-request"]),
        ("mesh.events.mail.letter.sent", &["event"]),
        ("mesh.events.dead", &["dead-letter"]),
        ("mesh.replay.n1_audit.mail.sent", &["replay"]),
        ("mesh.tools.mail.send", &["tool-call"]),
        ("mesh.ask.n1.status", &["ask"]),
        ("mesh.deliver.EVENTS.n1_mail", &["delivery"]),
        ("_INBOX.mail.n1.vault.0000000000000000000000000000002a", &["reply"]),
        ("_INBOX.person.ann.ack.0000000000000000000000000000002a", &["confirmation"]),
        ("_INBOX.controller.c1.echo.0000000000000000000000000000002a", &["echo"]),
        ("_INBOX.enrol.t1.answer", &["enrolment-answer"]),
        ("$JS.ACK.EVENTS.n1_mail.2.17.9.1700000000000000000.0", &["acknowledgement"]),
        ("$JS.ACK._.h4sh.NODES.n1.2.17.9.1700000000000000000.0.r", &["acknowledgement"]),
        ("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.EVENTS.n1_mail", &["notice"]),
        ("$JS.API.STREAM.INFO.EVENTS", &["api"]),
        ("$SYS.REQ.SERVER.PING", &["system"]),
        ("_R_.aBc.1", &["brokers-own"]),
        ("public.ingress.acme%2Ecom", &["legacy-mailbox"]),
        ("public.ingress.acme.com", &["legacy-raw-mailbox"]),
        ("mx/in/1/acme.com/00", &["mailbox"]),
        ("mx/1/acme.com/a.accepts.m", &["component-command"]),
        ("mx/1/acme.com/x/a.emits.m", &["component-event"]),
        ("mx/1/acme.com/_reply.0000000000000000000000000000002a", &["component-reply"]),
        ("mx/route/1/acme.com/00", &["route-inbox"]),
        ("n1.mail.events", &["queue", "event"]),
        ("control", &["queue"]),
        ("builds", &["queue"]),
        ("node.n1", &["queue", "event"]),
        ("reply.n1.mail", &["answers-queue"]),
        ("live.n1.mail.a.>", &["event-pattern", "filter"]),
        ("serve.mail.send", &["tool-call", "event"]),
        ("mail.letter.sent", &["event"]),
        ("mail.>", &["event-pattern", "filter"]),
        ("mail.#", &["event-pattern", "binding-pattern"]),
        ("a.#.b", &["binding-pattern"]),
        ("mesh.events.>", &["filter"]),
        ("_INBOX.mail.n1.>", &["filter"]),
        (">", &["filter", "event-pattern"]),
        ("hello", &[]),
        ("mesh.event.mail.sent", &[]),
        ("mesh.events.Mail.sent", &[]),
        ("a b", &[]),
    ] {
        assert_eq!(kinds(topic), kind, "{topic}");
        assert_eq!(explain(topic, None, None).good, !kind.is_empty(), "{topic}");
    }
}

#[test]
fn a_key_is_what_its_exchange_makes_of_it() {
    use AmqpExchange::*;
    for (exchange, key, kind) in [
        (Default, "control.catchup", Some("queue")),
        (Default, "live.n1.mail.a.b", Some("live-queue")),
        (Default, "nobodys", None),
        (Events, "mail.sent", Some("event")),
        (Events, "replay.n1_mail.vault.opened", Some("replay")),
        (Events, "Mail.sent", None),
        (EventsDead, "whatever.it.was", Some("dead-letter")),
        (Rpc, "ask.n1.status", Some("ask")),
        (Rpc, "reply.person.ann", Some("reply")),
        (Rpc, "other.x", None),
        (Alive, "n1", Some("heartbeat")),
        (Live, "mx/in/1/acme.com/00", Some("mailbox")),
        (Live, "test.a", Some("live")),
        (Live, "mesh.tools.mail.send", None),
    ] {
        let explained = explain(key, Some(exchange), None);
        check(&explained);
        let found = explained.readings.first().map(|reading| reading.kind);
        assert_eq!(found, kind, "{exchange} {key}: {}", text(&explained));
    }
}

#[test]
fn who_may_is_what_the_permissions_say() {
    let who = |topic: &str| {
        let explained = explain(topic, None, None);
        let told = |who: &[who::Who]| who.iter().map(ToString::to_string).collect::<Vec<_>>();
        let reading = &explained.readings[0];
        (told(&reading.publish), told(&reading.subscribe))
    };
    let both = |publish: &[&str], subscribe: &[&str]| {
        let owned = |who: &[&str]| who.iter().map(|who| (*who).to_owned()).collect::<Vec<_>>();
        (owned(publish), owned(subscribe))
    };
    assert_eq!(
        who("mesh.events.mail.sent"),
        both(&["module mail on any node, if its manifest emits sent"], &[])
    );
    assert_eq!(
        who("mesh.tools.mail.send"),
        both(
            &[
                "any module on any node, if its manifest calls mail.send",
                "any person, if their tools list mail.send or they are an administrator"
            ],
            &["module mail on any node, if its manifest has the tool send, in queue group serve"]
        )
    );
    assert_eq!(
        who("_INBOX.mail.n1.vault.0000000000000000000000000000002a"),
        both(
            &[
                "module vault on any node, if its manifest has any tool or its manifest provides anything"
            ],
            &["module mail on n1"]
        )
    );
    assert_eq!(who("$JS.ACK.NODES.n1.1.1.1.1.1"), both(&["the host of n1"], &[]));
    assert_eq!(who("mesh.control.enrol"), both(&["whoever holds an enrolment token"], &[]));
    assert_eq!(
        who("mx/in/1/acme.com/00"),
        both(
            &["the gateway of another realm, if acme.com is a peer of it"],
            &["the gateway of acme.com"]
        )
    );
}

#[test]
fn with_a_mesh_file_those_are_told_who_are_in_it_and_where_it_says_so() {
    let mesh = mesh();
    let shown = |topic: &str| {
        let explained = explain(topic, None, Some(&mesh));
        check(&explained);
        text(&explained)
    };
    let event = shown("mesh.events.mail.letter.sent");
    assert!(event.contains("- module mail on n1\n"), "{event}");
    assert!(event.contains("- audit (on n1) consumes mail.>: m.toml:3:13"), "{event}");
    assert!(event.contains("- mail (on n1) emits letter.sent: m.toml:3:10"), "{event}");
    assert!(event.contains("- consumer n1_audit: "), "{event}");
    let tool = shown("mesh.tools.mail.send");
    assert!(tool.contains("- audit (on n1) calls mail.send: m.toml:4:10"), "{tool}");
    assert!(tool.contains("- mail (on n1) serves send: m.toml:5:8"), "{tool}");
    assert!(shown("mesh.events.mail.lost").contains("mail does not emit lost"));
    assert!(shown("mesh.events.mail.leter.sent").contains("(did you mean letter.sent?)"));
    assert!(shown("mesh.tools.mail.snd").contains("(did you mean send?)"));
    assert!(!shown("mesh.tools.mail.count").contains("did you mean"));
    assert!(shown("mesh.events.crm.lost").contains("no module is called crm"));
    assert!(shown("mesh.ask.n9.status").contains("no node is called n9"));
    let pattern = shown("mail.>");
    assert!(pattern.contains("mail (on n1) emits letter.sent"), "{pattern}");
    assert_eq!(explain("n1", None, Some(&mesh)).readings[0].kind, "heartbeat");
}

#[test]
fn a_translation_is_exact_or_refused_with_a_counter_example() {
    let explained = explain("a.#.b", None, None);
    let json = serde_json::to_value(&explained).unwrap();
    let refused = &json["readings"][0]["untranslatable"];
    assert_eq!(
        (refused["nearest"].as_str(), refused["counter_example"].as_str()),
        (Some("a.>"), Some("a.x"))
    );
    let json = serde_json::to_value(explain("a.b.#", None, None)).unwrap();
    assert_eq!(json["readings"][1]["same"]["filter_on_nats"], serde_json::json!(["a.b", "a.b.>"]));
}

#[test]
fn what_is_near_is_told_and_is_something() {
    for (bad, near) in [
        ("mesh.event.mail.sent", Some("mesh.events.mail.sent")),
        ("mesh.tool.mail.send", Some("mesh.tools.mail.send")),
        ("mesh.control.n1.reprot", Some("mesh.control.n1.report")),
        ("mash.events.mail.sent", Some("mesh.events.mail.sent")),
        ("MESH.EVENTS.mail.sent", Some("mesh.events.mail.sent")),
        ("mesh.events.mail", None),
        ("mesh.events.Mail.Sent", Some("mesh.events.mail.Sent")),
        ("mesh.events.Ma_il.Sent", None),
        ("public.ingress.acme%2ecom", Some("public.ingress.acme%2Ecom")),
        ("public.ingress.a%zz", None),
        ("mx/in/2/acme.com/00", Some("mx/in/1/acme.com/00")),
        ("public.ingres.acme", None),
        ("$JS.ACK.EVENTS.n1_mail.2.17.9.17000.x", None),
    ] {
        let explained = explain(bad, None, None);
        let Some(fault) = explained.fault.as_ref() else {
            // It could also be the key of an event.
            let note = near.is_none_or(|near| text(&explained).contains(near));
            assert!(note && !explained.readings.is_empty(), "{bad}");
            continue;
        };
        assert_eq!(fault.instead.first().map(String::as_str), near, "{bad}");
        assert!(text(&explained).contains("hint: "), "{bad}");
    }
}

#[test]
fn a_subject_in_capitals_is_told_as_it_is_written() {
    let fault = explain("MESH.EVENTS.mail.sent", None, None).fault.unwrap();
    assert_eq!(fault.instead, ["mesh.events.mail.sent"]);
}

#[test]
fn a_fault_is_told_at_its_place() {
    for (bad, column, what) in [
        ("mesh.events.Mail.sent", 13, "module name"),
        ("mesh.events.mail", 17, "<event> is missing"),
        ("mesh.control.enrol.x", 20, "too much"),
        ("mx/in/1/a*b/00", 10, "'*'"),
        ("mx/in/1/acme.com/0", 18, "shard"),
        ("$JS.ACK.ORDERS.x.1.2.3.4.5", 9, "ORDERS is no stream"),
        ("$JS.ACK.EVENTS.n1_mail.1.two.3.4.5", 26, "not a number"),
        ("a..b", 3, "empty token"),
        ("a\u{a0}b", 2, "not allowed"),
    ] {
        let fault = explain(bad, None, None).fault.unwrap_or_else(|| panic!("{bad}"));
        assert_eq!(fault.place.column, column, "{bad}: {}", fault.what);
        assert!(fault.what.contains(what), "{bad}: {}", fault.what);
    }
}

const PIECES: &[&str] = &[
    "mesh.",
    "events.",
    "mail",
    ".",
    ".",
    "tools.",
    "control.",
    "n1",
    "_INBOX.",
    "vault.",
    "ack.",
    "00000000000000000000000000000001",
    "$JS.",
    "ACK.",
    "EVENTS.",
    "n1_mail",
    "1.2.3.4.5",
    "API.",
    "mx/",
    "in/",
    "1/",
    "acme.com",
    "/00",
    "public.ingress.",
    "acme%2Ecom",
    "accepts",
    "*",
    ">",
    "#",
    "serve.",
    "reply.",
    "live.",
    "replay.",
    "deliver.",
    "EVENT.ADVISORY.CONSUMER.",
    "MAX_DELIVERIES.",
];

fn exchanges() -> impl Strategy<Value = Option<AmqpExchange>> {
    let all = [AmqpExchange::Default].into_iter().chain(AmqpExchange::NAMED);
    prop::option::weighted(0.3, prop::sample::select(all.collect::<Vec<_>>()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn any_text_is_explained(topic in pieces(PIECES), exchange in exchanges(), with_mesh in any::<bool>()) {
        let mesh = with_mesh.then(mesh);
        let explained = explain(&topic, exchange, mesh.as_ref());
        check(&explained);
        prop_assert_eq!(explained.good, !explained.readings.is_empty());
        if let Some(fault) = &explained.fault {
            prop_assert!(fault.place.offset <= topic.len());
            prop_assert!(!fault.hints.is_empty() || !fault.instead.is_empty(), "{:?}", fault);
            for near in &fault.instead {
                prop_assert!(explain(near, None, None).good, "{}", near);
            }
        }
        if exchange.is_none() && Subject::new(topic.as_str()).is_ok_and(|s| MeshSubject::parse(&s).is_ok()) {
            prop_assert!(explained.good);
        }
    }
}
