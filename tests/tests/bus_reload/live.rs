//! A change of the file is in force without a restart.

use std::time::{Duration, Instant};

use mesh_control::folder::Outcome;
use mesh_control::supervisor::Order;

use crate::bed::{Bed, Site};
use crate::people::{layout, with};

const INTERVAL: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_change_is_live_within_one_interval_without_a_restart() {
    let base = layout();
    let mut bed = Bed::raise(with(&base, "early"), INTERVAL).await;
    let before = (bed.varz().await, bed.report(|_| true).await.pid.unwrap());
    let mut early = bed.admitted("early").await;
    let mut stays = bed.admitted("tool.n1").await;

    let both = with(&with(&base, "early"), "late");
    let began = Instant::now();
    let file = bed.write(with(&base, "late"));
    bed.admitted("late").await;
    // A neighbour's load is not the supervisor's: on an idle machine it is a tenth of that.
    let took = began.elapsed();
    assert!(took < INTERVAL, "{took:?}");

    // A user who is gone is no longer in its account, so the server closes without a word.
    early.closed().await.unwrap();
    assert!(stays.settle().await.unwrap().errors.is_empty());
    // Nobody knows `early` any more.
    bed.layout = both;
    bed.raw("early").await.unwrap_err();

    let report = bed.judged(file).await;
    let after = bed.varz().await;
    assert_eq!((report.outcome, report.pid), (Outcome::Live, Some(before.1)));
    assert_eq!(report.digest, after.config_digest);
    assert_eq!((after.server_id, after.start), (before.0.server_id, before.0.start));
    assert_ne!(after.config_digest, before.0.config_digest);
    assert!(!bed.end().await.killed);
}

#[tokio::test]
async fn comments_are_live_without_a_reload() {
    let bed = Bed::raise(layout(), Duration::from_millis(200)).await;
    let before = bed.varz().await;
    let text = format!("# Composed again.\n{}", bed.site.text(&bed.layout));
    let file = bed.site.folder.write(&text).unwrap().digest;
    let report = bed.judged(file).await;
    assert_eq!((report.outcome, report.digest), (Outcome::Live, before.config_digest));
    assert_eq!(bed.varz().await.config_load_time, before.config_load_time);
}

#[tokio::test]
async fn an_order_to_check_has_the_server_read_its_file_again_even_if_nothing_has_changed() {
    let bed = Bed::raise(layout(), Duration::from_millis(200)).await;
    let before = bed.varz().await;
    let at = bed.report(|_| true).await.at;
    bed.orders.send(Order::Check).await.unwrap();
    bed.report(|report| report.at != at).await;
    let after = bed.varz().await;
    assert_ne!(after.config_load_time, before.config_load_time);
    assert_eq!(after.config_digest, before.config_digest);
}

#[tokio::test]
async fn changes_that_come_fast_go_together_and_the_last_is_live() {
    let base = layout();
    let mut bed = Bed::raise(base.clone(), Duration::from_secs(1)).await;
    let (began, mut writes) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(3) {
        writes += 1;
        bed.write(with(&base, &format!("p{writes}")));
        // The pace of the writer, which is what is tried here.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bed.admitted(&format!("p{writes}")).await;
    let reloads = bed.reloads();
    let most = began.elapsed().as_secs() + 2;
    assert!(
        writes > 30 && reloads as u64 <= most,
        "{writes} files, {reloads} reloads, at most {most}"
    );
}

/// The file was told as live the second time because the supervisor had given it to the server the first time.
#[tokio::test]
async fn a_file_that_the_server_never_confirmed_is_not_live_when_it_comes_again() {
    let site = Site::new();
    site.write(&layout());
    let mut settings = site.settings(Duration::from_millis(200));
    settings.patience = Duration::from_millis(500);
    let mut bed = site.start_with(layout(), settings).await.map_err(|(_, error)| error).unwrap();
    let pid = bed.report(|_| true).await.pid.unwrap();
    signal(pid, "-STOP");
    let next = with(&bed.layout, "late");
    let text = bed.site.text(&next);
    let file = bed.write(next);
    assert_eq!(bed.outcome(file).await, Outcome::Unconfirmed);
    // It says the same.
    let same = bed.site.folder.write(&format!("# Composed again.\n{text}")).unwrap().digest;
    assert_eq!(bed.outcome(same).await, Outcome::Unconfirmed);
    signal(pid, "-CONT");
    let report = bed.report(|report| report.outcome == Outcome::Live).await;
    assert_eq!((report.file, report.digest), (Some(same), bed.varz().await.config_digest));
    bed.admitted("late").await;
}

fn signal(pid: u32, signal: &str) {
    let status = std::process::Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(status.unwrap().success());
}
