//! A reload checks the password of everybody who is connected, one after the other.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};
use std::{env, fs};

use mesh_control::folder::Outcome;
use mesh_testkit::servers::nats::Layout;

use crate::bed::Site;

/// Accounts in which so many users have a password whose hash has this cost; `more` is another one.
fn accounts(users: u32, hash: &str, more: &str) -> String {
    let rights = "permissions: { publish: { deny: \">\" }, subscribe: { deny: \">\" } }";
    let names = (0..users).map(|number| format!("u{number}")).chain([more.to_owned()]);
    let lines: String = names
        .map(|name| format!("  {{ user: \"{name}\", password: \"{hash}\", {rights} }}\n"))
        .collect();
    format!(
        "system_account: SYS\naccounts {{ SYS {{}}, M {{ jetstream: enabled, users: [\n{lines}] }} }}\n"
    )
}

/// What a change took.
struct Took {
    /// From the file's being written to its being live.
    live: Duration,
    /// The server's own processor time meanwhile: what a neighbour's load is not in. Linux alone tells.
    server: Option<Duration>,
}

/// What all threads of a process have run so far.
fn processor_time(pid: u32) -> Option<Duration> {
    let mut all = Duration::ZERO;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let told = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        all += Duration::from_nanos(told.split_whitespace().next()?.parse().ok()?);
    }
    Some(all)
}

/// A change with so many who are connected.
async fn took(users: u32, cost: u32) -> Took {
    let hash = bcrypt::hash("secret", cost).unwrap();
    let site = Site::new();
    site.folder.write(&site.text_of(&accounts(users, &hash, "a"))).unwrap();
    let bed = site.start(Layout::empty(), Duration::from_millis(200)).await;
    let bed = bed.map_err(|(_, error)| error).unwrap();
    let mut live = Vec::new();
    for number in 0..users {
        live.push(bed.login(&format!("u{number}"), "secret").await.unwrap());
    }
    let text = bed.site.text_of(&accounts(users, &hash, "b"));
    let pid = bed.report(|_| true).await.pid.unwrap();
    let (began, before) = (Instant::now(), processor_time(pid));
    let file = bed.site.folder.write(&text).unwrap().digest;
    assert_eq!(bed.outcome(file).await, Outcome::Live);
    let (live_after, after) = (began.elapsed(), processor_time(pid));
    for client in &mut live {
        assert!(client.settle().await.unwrap().errors.is_empty());
    }
    Took { live: live_after, server: after.zip(before).map(|(after, before)| after - before) }
}

/// `MESH_RELOAD_COSTS` tries others, and `MESH_RELOAD_COST_CONNECTIONS` with more who are connected.
#[tokio::test]
async fn a_reload_takes_as_long_as_all_who_are_connected_cost_together() {
    let number = |name, usual: &str| env::var(name).unwrap_or(usual.to_owned());
    let users = number("MESH_RELOAD_COST_CONNECTIONS", "20").parse().unwrap();
    let mut all = Vec::new();
    for cost in number("MESH_RELOAD_COSTS", "4,10").split(',') {
        let Took { live, server } = took(users, cost.parse().unwrap()).await;
        let own = server.map_or_else(String::new, |own| format!(", {own:?} of the server's own"));
        let told = format!("{users} connections, bcrypt cost {cost}: live after {live:?}{own}\n");
        io::stdout().write_all(told.as_bytes()).unwrap();
        all.push(server.unwrap_or(live));
    }
    // Each step of the cost doubles it. Reading and checking the file take the same.
    assert!(all[all.len() - 1] > all[0], "{all:?}");
}
