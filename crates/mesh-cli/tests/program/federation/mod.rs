//! Gateways that are served by processes of their own, and asked by others.

mod amqp;
mod bed;
mod files;
mod process;

use std::net::TcpListener;

use mesh_core::json::RawJson;
use mesh_core::mx::Fault;
use mesh_federation::Call;
use mesh_testkit::servers::Certificate;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{mesh, text};
use bed::Bed;
use process::Process;

/// `mesh --json federation …` of a realm's operator: its exit code, what it said, and its failure.
fn ask(bed: &Bed, which: usize, arguments: &[&str]) -> (Option<i32>, Vec<Value>, String) {
    let reach = bed.reach(which);
    let mut all = vec!["--json", "federation"];
    all.extend(arguments);
    all.extend(reach.iter().map(String::as_str));
    let run = mesh(&all);
    let lines = text(&run.stdout);
    let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (run.status.code(), lines, text(&run.stderr))
}

const COUNT: &str = "matrix://shop.example/stock.accepts.count";
const GONE: &str = "matrix://shop.example/stock.emits.gone";

#[tokio::test(flavor = "multi_thread")]
async fn a_realm_calls_another_through_two_processes() {
    let bed = Bed::raise("federation-call").await;
    let host = bed.host(1).await;
    let counts = |call: Call| async move {
        match call.params.as_str() {
            "\"none\"" => Err(Fault::new("SOLD_OUT", "no \u{1b}[2Jarticle")),
            "\"profile\"" => Ok(RawJson::string(call.remote.unwrap().profile.name())),
            _ => Ok(call.params),
        }
    };
    let _counts = host.accept("stock.accepts.count".parse().unwrap(), counts).await.unwrap();
    let (acme, listening) = Process::serve(&bed.file(0, "gateway.toml"));
    assert_eq!(listening["realm"], "acme.com");
    let (shop, _) = Process::serve(&bed.file(1, "gateway.toml"));

    // The very text of the answer comes, in both profiles; what steers a terminal is escaped.
    let body = r#"{"b": 1.50, "a": "x\u001b[2J"}"#;
    for profile in ["legacy", "mxenv1"] {
        let reach = bed.reach(0);
        let mut all = vec!["federation", "call", COUNT, body, "--profile", profile];
        all.extend(reach.iter().map(String::as_str));
        let run = mesh(&all);
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        assert_eq!(text(&run.stdout), "{\"b\":1.50,\"a\":\"x\\u001b[2J\"}\n");
    }
    for profile in ["legacy", "mxenv1"] {
        let (_, lines, _) = ask(&bed, 0, &["call", COUNT, "\"profile\"", "--profile", profile]);
        assert_eq!(lines[0]["answer"], profile);
    }
    let (code, lines, _) = ask(&bed, 0, &["call", COUNT, "\"none\""]);
    assert_eq!((code, &lines[0]["good"]), (Some(1), &json!(false)));
    assert_eq!(lines[0]["refused"]["code"], "SOLD_OUT");
    let reach = bed.reach(0);
    let mut all = vec!["federation", "call", COUNT, "\"none\""];
    all.extend(reach.iter().map(String::as_str));
    let run = mesh(&all);
    assert_eq!(text(&run.stdout), "refused: SOLD_OUT: no \\u{1b}[2Jarticle\n");

    // What is the realm's own is closed, and nobody reads the mailbox of a realm that isn't there.
    let operator = "matrix://shop.example/_operator.accepts.guards";
    let (code, lines, _) = ask(&bed, 0, &["call", operator]);
    assert_eq!((code, &lines[0]["refused"]["code"]), (Some(1), &json!("MX.EDGE.POLICY_DENIED")));
    let (code, lines, told) = ask(&bed, 0, &["call", "matrix://nobody.example/a.accepts.b"]);
    assert_eq!((code, lines.len()), (Some(2), 0), "{told}");
    assert!(told.contains("mesh.failure/1") && told.contains("the backbone"), "{told}");
    let (code, _, told) = ask(&bed, 0, &["call", "matrix://shop.example/stock.emits.gone"]);
    assert_eq!(code, Some(2), "{told}");

    let (code, lines, _) = ask(&bed, 1, &["guards"]);
    let guards = &lines[0];
    assert_eq!((code, &guards["listening"]), (Some(0), &json!(true)));
    let of = |name: &str| {
        let all = guards["guards"].as_array().unwrap();
        all.iter().find(|guard| guard["guard"] == name).unwrap().clone()
    };
    assert_eq!((&of("closed")["refused"], &of("relay")["refused"]), (&json!(1), &json!(0)));
    assert_eq!(guards["counters"]["replied"], json!(6));

    // Each ends in order, and says so.
    acme.signal(Signal::TERM);
    let (status, last) = acme.end();
    let last = last.unwrap();
    assert_eq!((status.code(), &last["kind"]), (Some(0), &json!("closed")));
    assert_eq!((&last["given_up"], &last["abandoned"]), (&json!(0), &json!(0)));
    shop.signal(Signal::INT);
    assert_eq!(shop.end().0.code(), Some(130));
    let (code, _, told) = ask(&bed, 0, &["guards"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("mesh federation serve"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_another_realm_are_watched_and_a_lease_is_kept_meanwhile() {
    let bed = Bed::raise("federation-watch").await;
    let (acme, _) = Process::serve(&bed.file(0, "gateway.toml"));
    let (_shop, _) = Process::serve(&bed.file(1, "gateway.toml"));
    let host = bed.host(1).await;
    let reach = bed.reach(0);
    let mut all = vec!["federation", "watch", GONE, "--count", "2"];
    all.extend(reach.iter().map(String::as_str));
    let mut watch = Process::start(&all);
    assert_eq!(watch.until("watching")["uri"], GONE);

    let (code, lines, _) = ask(&bed, 1, &["leases"]);
    assert_eq!((code, lines.len()), (Some(0), 2));
    assert_eq!(
        (&lines[0]["sink_realm"], &lines[0]["source_path"]),
        (&json!("acme.com"), &json!("stock.emits.gone"))
    );
    assert_eq!(lines[1]["total"], 1);
    for number in [1, 2] {
        let body = RawJson::from_serialize(&json!({ "article": number })).unwrap();
        host.emit(&"stock.emits.gone".parse().unwrap(), &body).await.unwrap();
        assert_eq!(watch.until("event")["body"], json!({ "article": number }));
    }
    let (status, _) = watch.end();
    assert_eq!(status.code(), Some(0));
    // Whoever watches no more has said so when it ends.
    until_no_lease(&bed);

    // An operator ends a lease, and its owner is told.
    let (code, lines, _) = ask(&bed, 1, &["leases", "--evict", "0000"]);
    assert_eq!((code, &lines[0]["ended"]), (Some(1), &json!(false)));
    let without_count: Vec<&str> =
        all.iter().filter(|word| !["--count", "2"].contains(word)).copied().collect();
    let mut watch = Process::start(&without_count);
    watch.until("watching");
    let lease = ask(&bed, 1, &["leases"]).1[0]["id"].as_str().unwrap().to_owned();
    let (code, lines, _) = ask(&bed, 1, &["leases", "--evict", &lease]);
    assert_eq!((code, &lines[0]["ended"]), (Some(0), &json!(true)));
    watch.until("missed");
    watch.signal(Signal::INT);
    assert_eq!(watch.end().0.code(), Some(130));
    until_no_lease(&bed);
    let (code, lines, _) = ask(&bed, 1, &["sessions"]);
    assert_eq!((code, &lines[0]["total"]), (Some(0), &json!(0)));

    // Whose own gateway ends is told so.
    let mut watch = Process::start(&without_count);
    watch.until("watching");
    acme.signal(Signal::TERM);
    assert_eq!(watch.until("ended")["reason"], "the gateway ends");
    assert_eq!(watch.end().0.code(), Some(1));
    assert_eq!(acme.end().0.code(), Some(0));
    until_no_lease(&bed);
}

fn until_no_lease(bed: &Bed) {
    let due = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while ask(bed, 1, &["leases"]).1.last().unwrap()["total"] != 0 {
        assert!(std::time::Instant::now() < due, "a lease is left");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_what_is_refused_says_why() {
    let bed = Bed::raise("federation-refused").await;
    bed.say(1, "[peers.'acme.com']\nallow = ['stock']");
    let (_acme, _) = Process::serve(&bed.file(0, "gateway.toml"));
    let (_shop, _) = Process::serve(&bed.file(1, "gateway.toml"));
    let (code, lines, told) = ask(&bed, 0, &["watch", GONE]);
    let told = format!("{told}{lines:?}");
    assert!(told.contains("not open to this realm"), "{told}");
    assert_ne!(code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_changes_while_the_gateway_works_and_a_bad_file_changes_nothing() {
    let bed = Bed::raise("federation-reload").await;
    let host = bed.host(1).await;
    let echo = |call: Call| async move { Ok(call.params) };
    let _counts = host.accept("stock.accepts.count".parse().unwrap(), echo).await.unwrap();
    let (_acme, _) = Process::serve(&bed.file(0, "gateway.toml"));
    let (mut shop, _) = Process::serve(&bed.file(1, "gateway.toml"));
    assert_eq!(ask(&bed, 0, &["call", COUNT]).0, Some(0));

    let denies = "[policy]\ndeny = ['stock']";
    bed.say(1, denies);
    shop.signal(Signal::HUP);
    assert_eq!(shop.until("reloaded")["restart"], json!([]));
    let (code, lines, _) = ask(&bed, 0, &["call", COUNT]);
    assert_eq!((code, &lines[0]["refused"]["code"]), (Some(1), &json!("MX.EDGE.POLICY_DENIED")));

    bed.say(1, "[policy]\ndeny = [");
    shop.signal(Signal::HUP);
    shop.until("kept");
    assert_eq!(ask(&bed, 0, &["call", COUNT]).0, Some(1));

    // Without a signal too; in shadow it is counted, and passes.
    bed.say(1, &format!("shadow = ['policy']\nprofile = 'legacy'\n{denies}"));
    assert_eq!(shop.until("reloaded")["restart"], json!(["profile"]));
    assert_eq!(ask(&bed, 0, &["call", COUNT]).0, Some(0));
    let (_, lines, _) = ask(&bed, 1, &["guards"]);
    let guards = lines[0]["guards"].as_array().unwrap();
    let policy = guards.iter().find(|guard| guard["guard"] == "policy").unwrap();
    assert_eq!(policy["mode"], "shadow");
    assert!(policy["shadow_refused"].as_u64() >= Some(1), "{policy}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_is_killed_comes_back_with_its_leases() {
    for (place, state) in [
        ("in a file", "{ file = 'gateway.db' }"),
        ("in buckets of a nats-server", "{ nats = { credential = 'state.json' } }"),
    ] {
        let bed = Bed::raise("federation-killed").await;
        bed.with_state(1).await;
        bed.say(1, &format!("state = {state}"));
        let host = bed.host(1).await;
        let (_acme, _) = Process::serve(&bed.file(0, "gateway.toml"));
        let (shop, listening) = Process::serve(&bed.file(1, "gateway.toml"));
        assert_eq!((&listening["leases"], &listening["state"]), (&json!(0), &json!(place)));
        let reach = bed.reach(0);
        let mut all = vec!["federation", "watch", GONE, "--count", "1"];
        all.extend(reach.iter().map(String::as_str));
        let mut watch = Process::start(&all);
        watch.until("watching");
        shop.signal(Signal::KILL);
        assert_eq!(shop.end().0.code(), None);

        let (_shop, listening) = Process::serve(&bed.file(1, "gateway.toml"));
        assert_eq!(listening["leases"], 1, "{place}");
        let body = RawJson::new("{\"article\":3}").unwrap();
        host.emit(&"stock.emits.gone".parse().unwrap(), &body).await.unwrap();
        assert_eq!(watch.until("event")["body"], json!({ "article": 3 }));
        assert_eq!(watch.end().0.code(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_realm_that_proves_itself_is_let_in_and_one_that_does_not_is_not_answered() {
    let bed = Bed::raise("federation-proven").await;
    let key = mesh(&["federation", "keygen", &bed.file(0, "acme.pem")]);
    let jwks: Value = serde_json::from_slice(&key.stdout).unwrap();
    bed.folder.write("shop/acme.jwks", &key.stdout);
    bed.say(1, "[security]\n[peers.'acme.com']\njwks = 'acme.jwks'");
    let kid = jwks["keys"][0]["kid"].as_str().unwrap();
    let security = format!("[security]\nrequired = 'none'\nkey = 'acme.pem'\nkid = '{kid}'");
    let host = bed.host(1).await;
    let echo = |call: Call| async move { Ok(call.params) };
    let _counts = host.accept("stock.accepts.count".parse().unwrap(), echo).await.unwrap();
    let (_shop, _) = Process::serve(&bed.file(1, "gateway.toml"));

    let (acme, _) = Process::serve(&bed.file(0, "gateway.toml"));
    let (code, _, told) = ask(&bed, 0, &["call", COUNT, "--deadline", "500ms"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("no answer within 500 ms"), "{told}");
    let (_, lines, _) = ask(&bed, 1, &["guards"]);
    let guards = lines[0]["guards"].as_array().unwrap();
    let proof = guards.iter().find(|guard| guard["stage"] == "security").unwrap();
    assert_eq!(proof["refused"], 1);
    acme.signal(Signal::TERM);
    acme.end();

    bed.say(0, &security);
    let (_acme, _) = Process::serve(&bed.file(0, "gateway.toml"));
    let (code, lines, told) = ask(&bed, 0, &["call", COUNT, "7"]);
    assert_eq!((code, &lines[0]["answer"]), (Some(0), &json!(7)), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_goes_over_https_to_a_realm_that_says_where() {
    let bed = Bed::raise("federation-https").await;
    let certificate = Certificate::local().unwrap();
    bed.folder.write("shop/tls.pem", certificate.cert_pem());
    bed.folder.write("shop/tls.key", certificate.key_pem());
    bed.folder.write("acme/roots.pem", certificate.cert_pem());
    let key = mesh(&["federation", "keygen", &bed.file(0, "acme.pem"), "--algorithm", "ES256"]);
    let jwks: Value = serde_json::from_slice(&key.stdout).unwrap();
    bed.folder.write("shop/acme.jwks", &key.stdout);
    let kid = jwks["keys"][0]["kid"].as_str().unwrap();
    let port = free_port();
    bed.say(
        1,
        &format!(
            "[security]\n[discovery]\nread = false\n[discovery.serve]\nlisten = '127.0.0.1:{port}'
             certificate = 'tls.pem'\nkey = 'tls.key'\nendpoint = 'https://localhost:{port}/mx/1/in'
             [peers.'acme.com']\njwks = 'acme.jwks'"
        ),
    );
    bed.say(
        0,
        &format!(
            "[security]\nrequired = 'none'\nkey = 'acme.pem'\nkid = '{kid}'\nalgorithm = 'ES256'
             [discovery]\ndirect = true\nhosts = ['localhost']\nports = [{port}]\nroots = 'roots.pem'
             [peers.'shop.example']\ndocument = 'https://localhost:{port}/.well-known/mx'"
        ),
    );
    let host = bed.host(1).await;
    let echo = |call: Call| async move { Ok(call.params) };
    let _counts = host.accept("stock.accepts.count".parse().unwrap(), echo).await.unwrap();
    let (_shop, listening) = Process::serve(&bed.file(1, "gateway.toml"));
    assert_eq!(listening["https"], format!("127.0.0.1:{port}"));
    let (_acme, _) = Process::serve(&bed.file(0, "gateway.toml"));
    let (code, lines, told) = ask(&bed, 0, &["call", COUNT, "7"]);
    assert_eq!((code, &lines[0]["answer"]), (Some(0), &json!(7)), "{told}");
    let (_, lines, _) = ask(&bed, 1, &["guards"]);
    assert_eq!(lines[0]["counters"]["replied"], 1);
    let ears = lines[0]["ears"].as_array().unwrap();
    assert!(ears.iter().all(|ear| ear["on"] != "backbone" || ear["heard"] == 0), "{ears:?}");
}

/// A port that nobody has now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_password_is_told_whatever_goes_wrong() {
    let bed = Bed::raise("federation-secrets").await;
    let file = bed.file(0, "gateway.toml");
    bed.server.server().kill().unwrap();
    for arguments in
        [&["federation", "serve", &file][..], &["federation", "guards", "--config", &file]]
    {
        let run = super::program().args(arguments).env("MESH_LOG", "trace").output().unwrap();
        assert_eq!(run.status.code(), Some(2));
        let told = format!("{}{}", text(&run.stdout), text(&run.stderr));
        for user in bed.server.layout().users() {
            assert!(!told.contains(user.password().expose()), "{told}");
        }
    }
}
