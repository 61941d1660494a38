//! `mesh uri|envelope|topic explain`: what they print for people and for programs.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Output, Stdio};

use super::{Folder, program, text};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/example");

/// Runs in the folder of the example mesh.
fn run(arguments: &[&str]) -> Output {
    program().current_dir(EXAMPLE).args(arguments).output().unwrap()
}

/// What is printed for people and for programs, escape sequences made visible.
fn shown(command: &[&str]) -> String {
    let mut shown = String::new();
    for form in [&[][..], &["--json"]] {
        let arguments = [command, form].concat();
        let run = run(&arguments);
        assert_eq!(text(&run.stderr), "", "{arguments:?}");
        let (out, code) = (text(&run.stdout), run.status.code().unwrap());
        if form.is_empty() {
            write!(shown, "$ mesh {}\n{out}--- exit {code}\n", command.join(" ").escape_debug())
        } else {
            writeln!(shown, "{out}")
        }
        .unwrap();
    }
    shown.replace('\u{1b}', "␛")
}

/// Several, each explained.
fn each(words: &[&str], texts: &[&str], more: &[&str]) -> String {
    texts.iter().map(|text| shown(&[words, &[*text], more].concat())).collect()
}

fn uris(texts: &[&str]) -> String {
    each(&["uri", "explain"], texts, &[])
}

fn topics(texts: &[&str]) -> String {
    each(&["topic", "explain"], texts, &[])
}

/// A capture, explained as of a moment that does not pass.
fn captured(name: &str, capture: impl AsRef<[u8]>, more: &[&str]) -> String {
    let folder = Folder::new(name);
    let file = folder.write("capture", capture);
    let at = ["--at", "2023-11-14T22:13:21Z"];
    shown(&[&["envelope", "explain", &file], &at[..], more].concat()).replace(&file, "capture")
}

#[test]
fn uris_that_are_good() {
    insta::assert_snapshot!(uris(&[
        "matrix://acme.com/project/daemon.project.accepts.scan",
        "MaTrIx://acme.com/project/x.y/-/daemon/project/emits/scanned",
        "matrix://acme.com/%2D/caf%C3%A9.accepts.m",
        "matrix://shop/a.emits.b",
        "matrix://日本/a.emits.b",
    ]));
}

#[test]
fn uris_that_are_near_misses() {
    insta::assert_snapshot!(uris(&[
        "https://acme.com/mail.accepts.send",
        "matrix:/acme.com/mail.accepts.send",
        "acme.com/mail.accepts.send",
        "matrix://ann:secret@acme.com/mail.accepts.send",
        "matrix://acme.com:443/mail.accepts.send",
        "matrix://acme.com/mail.accepts.send?x=1#y",
        "matrix://acme.com//mail.accepts.send/",
        "matrix://acme.com/mail.send",
        "matrix://acme.com/mail.Accept.send",
        "matrix://acme.com/x/-/mail.box/accepts/send",
        "mx/1/acme.com/mail.accepts.send",
    ]));
}

#[test]
fn uris_that_nobody_can_mend() {
    insta::assert_snapshot!(uris(&[
        "",
        "matrix://acme.com",
        "matrix://acme.com/mail.accepts.%zz",
        "matrix://acme.com/%ff/mail.accepts.send",
        "matrix://acme.com/mail.accepts.>",
        "matrix://acme.com/\u{1b}[2J\u{7}/mail.accepts.send",
        "matrix://日本/\u{202e}*/mail.accepts.send",
    ]));
}

const MXENV: &str = r#"{"msgType":"Cmd","to":{"realm":"acme.com","path":"project/a.accepts.m"},"from":{"realm":"shop","path":"b.emits.n"},"replyTo":{"realm":"shop","path":"b.accepts.r"},"msgId":"m1","correlationId":"c1","ttl":8,"timestamp":1700000000000,"traceId":"t","principal":{"iss":"https://id","sub":"ada"},"auth":"eyJhbGciOi","body":{"z":1e400},"x9":1}"#;

#[test]
fn an_envelope_of_mxenv() {
    insta::assert_snapshot!(captured("explain-mxenv", MXENV, &["--realm", "acme.com"]));
}

#[test]
fn an_envelope_that_nobody_judges() {
    let capture = r#"{"fromRealm":"shop","toPath":"a.accepts.m","correlationId":"c1","timestamp":1700000000000,"ttlMs":500}"#;
    insta::assert_snapshot!(captured("explain-unjudged", capture, &[]));
}

#[test]
fn envelopes_one_a_line_and_the_guards_that_refuse_them() {
    let capture = [
        r#"{"fromRealm":"shop","toPath":"stock.accepts.count","correlationId":"c-1","timestamp":1700000000000,"ttlMs":5000}"#,
        r#"{"fromRealm":"shop","toPath":"stock.accepts.count","correlationId":"c-1","timestamp":1700000000000,"ttlMs":5000}"#,
        r#"{"fromRealm":"shop","toPath":"stock.accepts.count","correlationId":"c-2","timestamp":1700000000000,"ttlMs":999}"#,
        r#"{"fromRealm":"shop","toPath":"stock.emits.gone","correlationId":"c-3","msgId":"m-3","principal":"ann"}"#,
        r#"{"correlationId":"c-1","ok":false,"fromRealm":"shop","error":{"code":"MX.EDGE.TIMEOUT","message":"late"}}"#,
        r#"{"fromRealm":"shop","toRealm":"other","toPath":"stock.accepts.count","correlationId":"c-4"}"#,
        r#"{"fromRealm":"shop","toPath":"stock.accepts.count","correlationId":"c-5","replyToRealm":"evil"}"#,
        r#"{"fromRealm":"shop","toPath":"admin.accepts.stop","correlationId":"c-6"}"#,
    ]
    .join("\n");
    let more = ["--realm", "acme.com", "--deny", "admin"];
    insta::assert_snapshot!(captured("explain-guards", capture, &more));
}

#[test]
fn events_as_they_were_captured() {
    let capture = "\
[#1] Received on \"mesh.events.mail.letter.sent\"
x-event-id: 019bf0a2-0000-7000-8000-000000000001
x-source: mail
x-node: n1
x-time: 2026-01-01T00:00:00.000Z
content-type: application/json
x-causation-id: order%207
x-other: 1

{\"to\":\"bob\"}

[#2] Received on \"mesh.events.mail.letter.sent\" with reply \"_INBOX.crm.n1.ack.0000000000000000000000000000002a\"
x-event-id: e-2
x-source: crm
x-node: n1
x-time: 2026-01-01T00:00:00Z
content-type: application/json

{}

[#3] Received JetStream message: stream: EVENTS_DEAD seq 7 / subject: mesh.events.dead / time: 2026-01-01T00:00:00Z
x-event-id: e-3
x-source: mail
x-node: n1
x-time: 2026-01-01T00:00:00Z
content-type: application/json
x-dead-subject: mesh.events.mail.letter.sent
x-dead-consumer: n1_audit
x-dead-sequence: 12
x-dead-deliveries: 5
x-dead-reason: max-deliver
x-dead-error: no%20room
x-dead-time: 2026-01-01T00:01:00Z

{}
";
    insta::assert_snapshot!(captured("explain-events", capture, &[]));
}

#[test]
fn an_event_in_structured_mode_and_a_request_inside_a_realm() {
    let capture = [
        r#"{"id":"e-1","source":"mail","node":"n1","time":"2026-01-01T00:00:00Z","contentType":"application/json","schema":"2","data":{"a":1}}"#,
        r#"{"correlationId":"c","replyTo":"mx/1/acme.com/_reply.00000000000000000000000000000001","params":{},"_mx":{"fromRealm":"shop","incomingProfile":"legacy","principalKey":"ann"}}"#,
    ]
    .join("\n");
    insta::assert_snapshot!(captured("explain-others", capture, &[]));
}

#[test]
fn envelopes_that_cant_be_read() {
    let capture = [
        r#"{"fromRealm":"shop","fromRealm":"evil","toPath":"stock.accepts.count","correlationId":"c"}"#,
        r#"{"msgType":"Cmd","to":{"realm":"a","realm":"b","path":"a.accepts.m"},"from":{"realm":"c"},"msgId":"1"}"#,
        r#"{"fromRealm":"shop","toPath":"stock.count","correlationId":"c"}"#,
        r#"{"fromRealm":"sh*op","toPath":"stock.accepts.count","correlationId":"c"}"#,
        r#"{"fromRealm":"shop","toPath":"stock.accepts.count"}"#,
        r#"{"fromRealm":"shop","toPath":"stock.accepts.count","correlationId":"c","ttlMs":"soon"}"#,
        r#"{"msgType":"Command","to":{"realm":"a","path":"a.accepts.m"}}"#,
        r#"{"msgType":"Cmd","to":"acme.com","msgId":"1"}"#,
        r#"{"toPath":1,"fromRealm":"shop"}"#,
        r#"{"ok":"yes","correlationId":"c"}"#,
        r#"{"hello":"world"}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"a":NaN}"#,
        r#"{"a":[1,2,}"#,
        "{\"a\":\"\u{1b}[31m\u{202e}\"}",
        "[]",
        r#"{"a":1"#,
    ]
    .join("\n");
    insta::assert_snapshot!(captured("explain-broken", capture, &[]));
}

#[test]
fn a_document_of_several_lines_that_cant_be_read() {
    let capture = "{\n  \"msgType\": \"Cmd\",\n  \"to\": { \"realm\": \"acme.com\", \"path\": \"a.accept.m\" },\n  \"from\": { \"realm\": \"shop\" },\n  \"msgId\": \"1\"\n}\n";
    insta::assert_snapshot!(captured("explain-lines", capture, &["--realm", "acme.com"]));
}

#[test]
fn topics_that_are_the_meshs_subjects() {
    insta::assert_snapshot!(topics(&[
        "mesh.control.n1.report",
        "mesh.control.enrol",
        "mesh.control.built",
        "mesh.control.n1.alive",
        "mesh.node.n1.declare",
        "mesh.build.request",
        "mesh.events.mail.letter.sent",
        "mesh.events.dead",
        "mesh.replay.n1_audit.mail.letter.sent",
        "mesh.tools.mail.send",
        "mesh.tools.db.provision_grant",
        "mesh.ask.n1.status",
    ]));
}

#[test]
fn topics_that_are_addresses() {
    insta::assert_snapshot!(topics(&[
        "_INBOX.mail.n1.vault.0000000000000000000000000000002a",
        "_INBOX.person.ann.mail.0000000000000000000000000000002a",
        "_INBOX.mail.n1.ack.0000000000000000000000000000002a",
        "_INBOX.host.n1.echo.0000000000000000000000000000002a",
        "_INBOX.enrol.t1.answer",
        "$JS.ACK.EVENTS.n1_mail.2.17.9.1700000000000000000.0",
        "$JS.ACK._.h4sh.CONTROL.controller.2.17.9.1700000000000000000.3.r",
        "$JS.API.CONSUMER.CREATE.EVENTS.n1_mail",
        "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.n1_mail",
        "mesh.deliver.NODES.n1",
        "_R_.abc.1",
    ]));
}

#[test]
fn topics_of_the_federation() {
    insta::assert_snapshot!(topics(&[
        "public.ingress.acme%2Ecom",
        "public.ingress.acme.com",
        "mx/in/1/acme.com/00",
        "mx/1/acme.com/project/daemon.project.accepts.scan",
        "mx/1/acme.com/_reply.0000000000000000000000000000002a",
        "mx/route/1/acme.com/00",
    ]));
}

#[test]
fn topics_that_are_keys_and_queues() {
    insta::assert_snapshot!(topics(&[
        "mail.letter.sent",
        "serve.mail.send",
        "reply.n1.mail",
        "n1.mail.events",
        "control",
        "node.n1",
        "live.n1.mail.public.ingress.acme%2Ecom",
    ]));
    let of = |exchange, key| shown(&["topic", "explain", key, "--exchange", exchange]);
    let keys = [
        of("mesh.alive", "n1"),
        of("mesh.rpc", "ask.n1.status"),
        of("mesh.live", "mesh.tools.mail.send"),
        of("mesh.events", "Mail.sent"),
        of("default", "nobodys"),
    ];
    insta::assert_snapshot!("topics_that_are_keys_of_an_exchange", keys.concat());
}

#[test]
fn topics_that_are_patterns() {
    insta::assert_snapshot!(topics(&[
        "mail.>",
        "*.letter.*",
        "a.b.#",
        "a.#.b",
        "mesh.events.mail.>",
        "mesh.*.n1.*",
        "_INBOX.mail.n1.>",
        ">",
    ]));
}

#[test]
fn topics_of_a_mesh_file() {
    let texts = [
        "mesh.events.mail.letter.sent",
        "mesh.tools.ledger.balance",
        "mesh.tools.vault.open",
        "mesh.events.mail.letter.lost",
        "ledger.entry.*",
        "north",
    ];
    insta::assert_snapshot!(each(&["topic", "explain"], &texts, &["--mesh", "mesh.toml"]));
}

#[test]
fn topics_that_are_nothing() {
    insta::assert_snapshot!(topics(&[
        "mesh.event.mail.sent",
        "mesh.events.Mail.sent",
        "mesh.events.mail",
        "mesh.control.n1.alive.now",
        "_INBOX.jBkPOv0QHTDDN2GDHRmdcV",
        "$JS.ACK.ORDERS.mail.2.17.9.1700000000000000000.0",
        "mx/in/1/acme.com/0",
        "public.ingress.acme%2ecom",
        "hello",
        "a..b",
        "a b",
        "a.>.b",
        "\u{1b}]0;title\u{7}",
        "",
    ]));
}

#[test]
fn what_is_found_is_told_by_colours_too() {
    let run = run(&["uri", "explain", "matrix://acme.com:80/a.emits.b", "--color", "always"]);
    insta::assert_snapshot!(text(&run.stdout).replace('\u{1b}', "␛"));
}

#[test]
fn a_capture_comes_by_stdin_too_and_what_is_no_text_is_told() {
    let mut run = program();
    let run = run.args(["envelope", "explain", "--at", "now"]).stdin(Stdio::piped());
    let mut run = run.stdout(Stdio::piped()).spawn().unwrap();
    run.stdin.take().unwrap().write_all(b"{\"a\":\"\xff\"}").unwrap();
    let run = run.wait_with_output().unwrap();
    assert_eq!(run.status.code(), Some(1));
    let told = text(&run.stdout);
    assert!(told.contains("not UTF-8, line 1 column 7"), "{told}");
}

#[test]
fn a_large_capture_is_explained_in_time_and_in_bounds() {
    let folder = Folder::new("explain-large");
    let line = |n: usize| {
        format!(r#"{{"fromRealm":"shop","toPath":"a.accepts.m","correlationId":"{n}"}}"#)
    };
    let lines: Vec<String> = (0..20_000).map(line).collect();
    let file = folder.write("capture", lines.join("\n"));
    let run = run(&["envelope", "explain", &file, "--json"]);
    assert_eq!(run.status.code(), Some(0));
    let out = text(&run.stdout);
    assert_eq!(out.lines().count(), 20_001);
    assert!(out.lines().last().unwrap().contains(r#""messages":20000,"good":20000"#));
}

/// The words for programs, as the snapshots have them, are in the README.
#[test]
fn the_readme_lists_every_kind_and_every_code_of_an_explanation() {
    const README: &str = include_str!("../../README.md");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/snapshots");
    let mut words = std::collections::BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if !path.display().to_string().contains("__explain__") {
            continue;
        }
        let snapshot = std::fs::read_to_string(path).unwrap();
        for line in snapshot.lines().filter(|line| line.starts_with("{\"schema")) {
            for key in ["\"code\":\"", "\"kind\":\""] {
                let found = line.split(key).skip(1).filter_map(|rest| rest.split('"').next());
                words.extend(found.map(str::to_owned));
            }
        }
    }
    assert!(words.len() > 60, "{words:?}");
    // What JSON calls its values, and codes of the mesh's and of a gateway's.
    let foreign = |word: &str| {
        ["object", "string", "array", "number", "boolean", "null"].contains(&word)
            || word.contains('.')
    };
    for word in words.iter().filter(|word| !foreign(word)) {
        assert!(README.contains(&format!("`{word}`")), "{word}");
    }
}
