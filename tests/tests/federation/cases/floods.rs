//! Floods: what is sent in masses is dropped or refused and counted, memory stays bounded, and others are
//! served meanwhile.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_clock::SystemClock;
use mesh_core::mx::Profile;

use crate::ground::{BOTH, Field, Ground, RealmPlan};
use crate::home::{Home, realm, until};
use crate::peer::Peer;

const ECHO: &str = "desk.accepts.echo";
const MANY: usize = 50_000;

async fn raise(ground: Ground) -> (Field, Home) {
    let plans = vec![
        RealmPlan::new("acme.com").guarded().accepts(ECHO),
        RealmPlan::new("flood.example"),
        RealmPlan::new("matrix-3"),
    ];
    let field = ground.raise(plans, Arc::new(SystemClock::new())).await;
    let mut home = Home::start(field.realm(0)).await;
    home.echoes(ECHO).await;
    (field, home)
}

/// Bytes of this process in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// Asks until it is answered, and tells how long that took. Each try is another question.
async fn served(peer: &mut Peer<'_>, from: &mut u32) -> Duration {
    let began = Instant::now();
    loop {
        *from += 1;
        let said = peer.command(&realm("acme.com"), ECHO, &format!("q-{from}"), "1");
        peer.say(Profile::MxEnv1, &said).await;
        if let Ok(heard) = tokio::time::timeout(Duration::from_millis(500), peer.hear()).await {
            let crate::peer::Content::Answer { outcome, .. } = heard.content else { panic!() };
            if outcome.is_ok() {
                return began.elapsed();
            }
        }
    }
}

/// Each of these many times: no JSON, no envelope, too deep, too long, cut off.
pub(super) async fn garbage_is_counted_and_others_are_served(ground: Ground) {
    let (field, home) = raise(ground).await;
    let flood = Peer::deaf(field.realm(1));
    let mut other = Peer::listen(field.realm(2)).await;
    let mut number = 0;
    served(&mut other, &mut number).await;
    let before = resident();
    let deep = [b"[".repeat(5_000), b"]".repeat(5_000)].concat();
    let body = String::from_utf8(deep.clone()).unwrap();
    let mut envelope = String::new();
    write!(envelope, r#"{{"fromRealm":"x","toPath":"{ECHO}","correlationId":"c","body":{body}}}"#)
        .unwrap();
    let kinds: [Vec<u8>; 8] = [
        Vec::new(),
        vec![0xFF; 64],
        b"{}".to_vec(),
        b"null".to_vec(),
        br#"{"mx":"MXENV/1","type":"CMD"}"#.to_vec(),
        br#"{"fromRealm":"#.to_vec(),
        deep,
        envelope.into_bytes(),
    ];
    for turn in 0..MANY {
        let kind = &kinds[turn % kinds.len()];
        flood.put(&realm("acme.com"), BOTH[turn % 2], kind.clone()).await;
        if turn % 5_000 == 0 {
            let took = served(&mut other, &mut number).await;
            assert!(took < Duration::from_secs(10), "{took:?}");
        }
    }
    served(&mut other, &mut number).await;
    assert!(resident() < before + (64 << 20), "{} and then {}", before, resident());
    let status = home.gateway.status();
    assert_eq!(status.counters.panicked, 0);
    assert!(status.counters.dropped > 0 && status.is_healthy(), "{status:?}");
}

/// Requests of realms that nobody knows, each of another: refused once too many come, and a realm that has
/// a limit of its own is served meanwhile and after.
pub(super) async fn invented_realms_leave_room_for_listed_ones(ground: Ground) {
    let (field, home) = raise(ground).await;
    let mut rules = mesh_federation::edge::EdgeRules::default();
    let own = mesh_core::guard::Quota::new(1_000, 1_000).unwrap();
    rules.rate.listed.insert(realm("matrix-3"), own);
    home.gateway.reload(rules).unwrap();
    let flood = Peer::deaf(field.realm(1));
    let mut other = Peer::listen(field.realm(2)).await;
    let mut number = 0;
    served(&mut other, &mut number).await;
    let before = resident();
    let mut longest = Duration::ZERO;
    for turn in 0..MANY {
        let mut said = flood.command(&realm("acme.com"), ECHO, &format!("i-{turn}"), "1");
        said.from = realm(&format!("r{turn}.example"));
        said.reply = Some(said.from.clone());
        let profile = [Profile::Legacy, Profile::MxEnv1][turn % 2];
        flood.say(profile, &said).await;
        if turn % 5_000 == 0 {
            longest = longest.max(served(&mut other, &mut number).await);
        }
    }
    longest = longest.max(served(&mut other, &mut number).await);
    until("nothing is under way", || async { home.gateway.status().under_way == 0 }).await;
    let status = home.gateway.status();
    assert!(longest < Duration::from_secs(20), "{longest:?}");
    assert!(resident() < before + (128 << 20), "{} and then {}", before, resident());
    assert!(status.is_healthy());
}

/// One realm that sends as fast as it can is refused, and another is served.
pub(super) async fn one_realm_over_its_limits_takes_nothing_from_another(ground: Ground) {
    let (field, home) = raise(ground).await;
    let flood = Peer::deaf(field.realm(1));
    let mut other = Peer::listen(field.realm(2)).await;
    let mut number = 0;
    let before = resident();
    let body = format!("{:?}", "x".repeat(500 << 10));
    for turn in 0..5_000 {
        let body = if turn % 10 == 0 { &*body } else { "1" };
        let said = flood.command(&realm("acme.com"), ECHO, &format!("f-{turn}"), body);
        flood.say(Profile::MxEnv1, &said).await;
        if turn % 500 == 0 {
            let took = served(&mut other, &mut number).await;
            assert!(took < Duration::from_secs(10), "{took:?}");
        }
    }
    until("nothing is under way", || async { home.gateway.status().under_way == 0 }).await;
    assert!(home.refused("rate") > 0);
    assert!(resident() < before + (256 << 20), "{} and then {}", before, resident());
}
