//! A million leases and a million sessions: the bytes of each, and what it costs to give, extend and end
//! one, against the same by hand: the standard library's hash map with owned texts, and a B-tree of ends
//! that each extension reorders.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]

use std::collections::{BTreeSet, HashMap};
use std::hint::black_box;
use std::time::{Duration, Instant};

use mesh_core::guard::Now;
use mesh_core::mx::{MxPath, Profile};
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;
use mesh_federation::lease::{LeaseAsk, LeaseLimits, LeaseTable};
use mesh_federation::session::{SessionLimits, SessionTable};

const ENTRIES: u32 = 1_000_000;

/// Which part a process of its own is to fill, and say what that took.
const PART: &str = "MESH_BENCH_PART";

fn main() {
    if let Ok(part) = std::env::var(PART) {
        println!("{}", filled(&part));
        return;
    }
    println!("{ENTRIES} entries; nanoseconds an entry");
    leases();
    sessions();
}

/// The resident bytes of one full table.
fn filled(part: &str) -> usize {
    let (asks, tabs) = match part {
        "leases" | "leases by hand" => (asks(), Vec::new()),
        _ => (Vec::new(), tabs()),
    };
    let before = resident();
    let mut leases = LeaseTable::new(LeaseLimits::default(), "gateway-1");
    let mut sessions = SessionTable::new(SessionLimits::default());
    let mut hand = ByHand::default();
    match part {
        "leases" => give(&mut leases, &asks),
        "leases by hand" => hand.put_all(asks.iter().map(ask_key), |n| when(n) + 60_000),
        "sessions" => register(&mut sessions, &tabs),
        _ => hand.put_all(tabs.iter().map(tab_key), |n| when(n) / 2 + 30_000),
    }
    let after = resident();
    black_box((leases, sessions, hand));
    after.saturating_sub(before)
}

/// What [`filled`] says, in a process where nothing was freed before.
fn measured(part: &str) -> usize {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.env(PART, part).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

fn at(millis: u64) -> Now {
    Now {
        wall: Timestamp::from_millis(1_700_000_000_000),
        monotonic: Duration::from_millis(millis),
    }
}

/// Entry `n` is given in second `n % 60`, so that ends are spread.
fn when(n: u32) -> u64 {
    u64::from(n % 60) * 1_000
}

fn asks() -> Vec<LeaseAsk<'static>> {
    let ask = |n: u32| LeaseAsk {
        source: MxPath::new(format!("component{}.emits.changed", n % 1_000)).unwrap(),
        sink_realm: RealmName::new(format!("tenant-{}.example", n / 500)).unwrap(),
        sink_path: MxPath::new(format!("desk/window{n}.emits.changed")).unwrap(),
        profile: Profile::MxEnv1,
        lease: None,
    };
    (0..ENTRIES).map(ask).collect()
}

fn ask_key(ask: &LeaseAsk<'_>) -> Key {
    [ask.source.as_str(), ask.sink_realm.as_str(), ask.sink_path.as_str()].map(str::to_owned)
}

fn give(table: &mut LeaseTable, asks: &[LeaseAsk<'_>]) {
    for (n, ask) in (0..).zip(asks) {
        table.grant(ask, at(when(n))).unwrap();
    }
}

fn leases() {
    let asks = asks();
    let mut table = LeaseTable::new(LeaseLimits::default(), "gateway-1");
    let ours_give = time(|| give(&mut table, &asks));
    let counted = table.bytes();
    let ids: Vec<_> = asks.iter().map(LeaseAsk::id).collect();
    let ours_extend = time(|| {
        for (n, (ask, id)) in (0..).zip(asks.iter().zip(&ids)) {
            table.refresh(*id, &ask.sink_realm, None, at(30_000 + when(n) / 2)).unwrap();
        }
    });
    let source = MxPath::new("component7.emits.changed").unwrap();
    let ours_fan = time(|| {
        for _ in 0..1_000 {
            let sinks = table.sinks(&source, at(60_000));
            black_box(sinks.map(|sink| sink.realm.len() + sink.path.len()).sum::<usize>());
        }
    });
    let ours_end = time(|| {
        let mut ended = 0;
        for second in 60..=120 {
            while table.expire(at(second * 1_000)).is_some() {
                ended += 1;
            }
        }
        assert_eq!(ended, ENTRIES);
    });
    drop(table);

    let mut hand = ByHand::default();
    let hand_give = time(|| hand.put_all(asks.iter().map(ask_key), |n| when(n) + 60_000));
    let hand_extend = time(|| hand.put_all(asks.iter().map(ask_key), |n| 90_000 + when(n) / 2));
    let hand_end = time(|| hand.end_all());

    bytes("leases", counted);
    line("give a lease", ours_give, hand_give);
    line("extend a lease", ours_extend, hand_extend);
    line("end a lease", ours_end, hand_end);
    let each = ours_fan.as_secs_f64() * 1e9 / 1e6;
    println!("{:<28} ours {each:>8.1} ns a sink", "sinks of an event");
}

type Tab = (String, RealmName);

fn tabs() -> Vec<Tab> {
    let tab = |n: u32| {
        let realm = RealmName::new(format!("tab-{n}.tenant.example")).unwrap();
        (format!("https%3A%2F%2Fid.example|user-{}", n / 2), realm)
    };
    (0..ENTRIES).map(tab).collect()
}

fn tab_key((principal, realm): &Tab) -> Key {
    [principal.clone(), realm.as_str().to_owned(), String::new()]
}

fn register(table: &mut SessionTable, tabs: &[Tab]) {
    for (n, (principal, realm)) in (0..).zip(tabs) {
        table.register(principal, realm, Profile::MxEnv1, at(when(n) / 2)).unwrap();
    }
}

fn sessions() {
    let tabs = tabs();
    let mut table = SessionTable::new(SessionLimits::default());
    let ours_give = time(|| register(&mut table, &tabs));
    let counted = table.bytes();
    let ours_extend = time(|| {
        for (n, (principal, realm)) in (0..).zip(&tabs) {
            table.heartbeat(principal, realm, at(29_000 + when(n) / 60)).unwrap();
        }
    });
    let ours_find = time(|| {
        for (principal, _) in &tabs {
            black_box(table.lookup(principal, at(30_000)));
        }
    });
    let ours_end = time(|| {
        let mut ended = 0;
        for second in 59..=62 {
            while table.expire(at(second * 1_000)).is_some() {
                ended += 1;
            }
        }
        assert_eq!(ended, ENTRIES);
    });
    drop(table);

    let mut hand = ByHand::default();
    let hand_give = time(|| hand.put_all(tabs.iter().map(tab_key), |n| when(n) / 2 + 30_000));
    let hand_extend = time(|| hand.put_all(tabs.iter().map(tab_key), |n| 59_000 + when(n) / 60));
    let hand_end = time(|| hand.end_all());

    bytes("sessions", counted);
    line("register a session", ours_give, hand_give);
    line("heartbeat", ours_extend, hand_extend);
    line("end a session", ours_end, hand_end);
    let each = ours_find.as_secs_f64() * 1e9 / f64::from(ENTRIES);
    println!("{:<28} ours {each:>8.1} ns", "look two tabs up");
}

type Key = [String; 3];

#[derive(Default)]
struct ByHand {
    entries: HashMap<Key, u64>,
    ends: BTreeSet<(u64, Key)>,
}

impl ByHand {
    fn put(&mut self, key: Key, end: u64) {
        if let Some(before) = self.entries.insert(key.clone(), end) {
            self.ends.remove(&(before, key.clone()));
        }
        self.ends.insert((end, key));
    }

    fn put_all(&mut self, keys: impl Iterator<Item = Key>, end: impl Fn(u32) -> u64) {
        for (n, key) in (0..).zip(keys) {
            self.put(key, end(n));
        }
    }

    fn end_all(&mut self) {
        while let Some((_, key)) = self.ends.pop_first() {
            self.entries.remove(&key);
        }
        assert!(self.entries.is_empty());
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn line(name: &str, ours: Duration, hand: Duration) {
    let each = |time: Duration| time.as_secs_f64() * 1e9 / f64::from(ENTRIES);
    let ratio = ours.as_secs_f64() / hand.as_secs_f64();
    println!(
        "{name:<28} ours {:>8.1} ns   by hand {:>8.1} ns   ratio {ratio:.2}",
        each(ours),
        each(hand)
    );
}

fn bytes(name: &str, counted: usize) {
    let each = |bytes: usize| bytes as f64 / f64::from(ENTRIES);
    println!(
        "{name:<28} ours {:>6.0} bytes each, {:>6.0} as it counts itself   by hand {:>6.0} bytes each",
        each(measured(name)),
        each(counted),
        each(measured(&format!("{name} by hand")))
    );
}

/// The process's resident bytes; 0 where the system does not tell.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<usize>().ok());
    kib.unwrap_or(0) * 1_024
}
