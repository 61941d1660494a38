//! A reload checks the password of everybody who is connected, one after the other.

use std::env;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

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

/// From the file's being written to its being live, with so many who are connected.
async fn span(users: u32, cost: u32) -> Duration {
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
    let began = Instant::now();
    let file = bed.site.folder.write(&text).unwrap().digest;
    assert_eq!(bed.outcome(file).await, Outcome::Live);
    let took = began.elapsed();
    for client in &mut live {
        assert!(client.settle().await.unwrap().errors.is_empty());
    }
    took
}

/// `MESH_RELOAD_COSTS` tries others, and `MESH_RELOAD_COST_CONNECTIONS` with more who are connected.
#[tokio::test]
async fn a_reload_takes_as_long_as_all_who_are_connected_cost_together() {
    let number = |name, usual: &str| env::var(name).unwrap_or(usual.to_owned());
    let users = number("MESH_RELOAD_COST_CONNECTIONS", "20").parse().unwrap();
    let mut spans = Vec::new();
    for cost in number("MESH_RELOAD_COSTS", "4,10").split(',') {
        let took = span(users, cost.parse().unwrap()).await;
        let told = format!("{users} connections, bcrypt cost {cost}: live after {took:?}\n");
        io::stdout().write_all(told.as_bytes()).unwrap();
        spans.push(took);
    }
    // Each step of the cost doubles it. Reading and checking the file take the same.
    assert!(spans[spans.len() - 1] > spans[0], "{spans:?}");
}
