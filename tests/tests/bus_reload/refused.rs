//! A file that is bad, or that only a restart could put in force, never reaches the server.

use std::fs;
use std::time::Duration;

use mesh_control::folder::Outcome;

use crate::bed::Bed;
use crate::people::{layout, with};

const INTERVAL: Duration = Duration::from_millis(200);

/// Writes a file in which one text stands for another, and answers what was said of it.
async fn written(bed: &Bed, from: &str, to: &str) -> (Outcome, String) {
    let text = bed.site.text(&bed.layout);
    assert!(text.contains(from), "{from}: {text}");
    let next = text.replacen(from, to, 1);
    assert!(bed.site.passes_the_servers_check(&next), "{from} -> {to}");
    let file = bed.site.folder.write(&next).unwrap().digest;
    let report = bed.judged(file).await;
    (report.outcome, report.error.unwrap_or_default())
}

#[tokio::test]
async fn a_bad_file_is_told_in_the_servers_words_with_its_line_and_taken_up_when_it_is_mended() {
    let mut bed = Bed::raise(layout(), INTERVAL).await;
    let before = bed.varz().await;
    let text = bed.site.text(&bed.layout);
    let line = text.lines().count() + 1;
    let file = bed.site.folder.write(&format!("{text}publsh: 3\n")).unwrap().digest;
    let report = bed.judged(file).await;
    let name = bed.site.composed();
    let told = format!("{}:{line}:1: unknown field \"publsh\"", name.display());
    assert_eq!((report.outcome, report.error.as_deref()), (Outcome::Refused, Some(told.as_str())));
    assert_eq!((report.digest, report.pid.is_some()), (before.config_digest, true));
    assert_eq!(fs::read_to_string(bed.file("running.conf")).unwrap(), text);
    assert_eq!(bed.varz().await.config_load_time, before.config_load_time);

    let next = with(&bed.layout, "late");
    bed.write(next);
    bed.admitted("late").await;
}

/// Each passes the server's own check, which is why the supervisor looks itself.
#[tokio::test]
async fn what_is_valid_and_dangerous_is_refused_by_name() {
    let bed = Bed::raise(layout(), INTERVAL).await;
    let before = bed.varz().await;
    let accounts = {
        let text = bed.site.text(&bed.layout);
        text[text.find("accounts {").unwrap()..].to_owned()
    };
    let empty = "accounts { SYS {}, BUS { jetstream: enabled, users: [] } }\n";
    for (from, to, told) in [
        (accounts.as_str(), empty, "account BUS has an empty list of users"),
        (
            accounts.as_str(),
            "accounts { SYS {}, BUS { jetstream: enabled } }\n",
            "no account has a user",
        ),
        ("tls {", "max_pending: 64MB #", "clients connect without TLS"),
        ("server_name", "allow_non_tls: true\nserver_name", "clients may connect without TLS"),
        ("jetstream: enabled", "", "gives it to $G"),
        ("http: \"127.0.0.1", "http: \"0.0.0.0", "tells everybody of itself"),
        ("server_name", "no_auth_user: \"tool.n1\"\nserver_name", "no_auth_user"),
        ("server_name", "log_file: \"/dev/null\"\nserver_name", "nobody hears why"),
    ] {
        let (outcome, found) = written(&bed, from, to).await;
        assert_eq!(outcome, Outcome::Refused, "{told}: {found}");
        assert!(found.contains(told) && found.contains("nats-server.conf"), "{told}: {found}");
    }
    assert_eq!(bed.varz().await.config_load_time, before.config_load_time);
    bed.admitted("tool.n1").await;
}

/// Each passes the server's own check; a reload would refuse it, or do harm.
#[tokio::test]
async fn what_only_a_restart_changes_is_named_and_waits_and_can_be_taken_back() {
    let bed = Bed::raise(layout(), INTERVAL).await;
    let before = bed.varz().await;
    let jetstream = {
        let text = bed.site.text(&bed.layout);
        text.lines().find(|line| line.starts_with("jetstream {")).unwrap().to_owned()
    };
    for (from, to, told) in [
        ("server_name: \"bus\"", "server_name: \"other\"", "server_name (line 1)"),
        ("listen: \"127.0.0.1:", "listen: \"127.0.0.2:", "listen (line 2)"),
        ("js\"", "js2\"", "jetstream.store_dir"),
        (jetstream.as_str(), "", "jetstream is gone"),
        // What this program does not know of: the server itself says so, at the reload.
        ("server_name", "max_subscriptions: 3000\nserver_name", "MaxSubs"),
    ] {
        let (outcome, found) = written(&bed, from, to).await;
        assert_eq!(outcome, Outcome::NeedsRestart, "{told}: {found}");
        assert!(found.contains(told) && found.contains("only a restart"), "{told}: {found}");
        let running = fs::read_to_string(bed.file("running.conf")).unwrap();
        assert_eq!(running, bed.site.text(&bed.layout), "{told}");
    }
    let file = bed.site.write(&bed.layout);
    assert_eq!(bed.outcome(file).await, Outcome::Live);
    assert_eq!(bed.varz().await.config_load_time, before.config_load_time);
    bed.admitted("tool.n1").await;
}
