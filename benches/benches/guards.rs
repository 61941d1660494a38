//! The guard chain on the path of a message that passes, against the same checks written out by
//! hand: plain `if`s, and the standard library's hash maps keyed by owned texts.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mesh_benches::Comparison;
use mesh_core::guard::{EdgeGuards, GuardChain, HashSecret, Inbound, Now, PrefixDeny, Quota};
use mesh_core::mx::MsgType;
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;

const MESSAGES: u32 = 10_000;
const REALMS: usize = 100;
const LIFETIME: Duration = Duration::from_secs(300);

fn main() {
    let texts = Texts::new();
    let messages: Vec<Inbound<'_>> = (0..MESSAGES as usize).map(|n| texts.message(n)).collect();

    compare("whole chain, pass", &messages, |chain, message, now| {
        chain.check(message, now).outcome.is_pass()
    });
    compare("whole chain, pass, traced", &messages, |chain, message, now| {
        chain.check_traced(message, now).outcome.is_pass()
    });
    let chain = GuardChain::standard(edge()).build();
    refusals("whole chain, drop of a replay", &messages, &chain);
    let mut small = edge();
    small.replay.pool = 1_000;
    let chain = GuardChain::standard(small).build();
    refusals("whole chain, drop while the pool is full", &messages, &chain);
}

/// What a refusal costs, without a baseline: sends the messages again and again at one time.
fn refusals(name: &str, messages: &[Inbound<'_>], chain: &GuardChain) {
    let report = Comparison::new(name, MESSAGES).run(
        || (),
        || messages.iter().filter(|message| chain.check(message, at(0)).outcome.is_pass()).count(),
    );
    println!("{:<44} ours {:>10.1} ns", report.name, report.ours_ns);
}

/// Runs the messages through both. Each round comes when the marks of the last have expired, so
/// the price of forgetting them is in the figures.
fn compare(
    name: &str,
    messages: &[Inbound<'_>],
    check: impl Fn(&GuardChain, &Inbound<'_>, Now) -> bool,
) {
    let chain = GuardChain::standard(edge()).build();
    let by_hand = Mutex::new(ByHand::new());
    let (ours_time, their_time) = (Cell::new(0), Cell::new(0));
    let next = |round: &Cell<u64>| {
        round.set(round.get() + 1);
        at(round.get() * 301_000)
    };
    let report = Comparison::new(name, MESSAGES).run(
        || {
            let now = next(&their_time);
            let passed = messages
                .iter()
                .filter(|message| match by_hand.lock() {
                    Ok(mut by_hand) => by_hand.check(message, now),
                    Err(_) => false,
                })
                .count();
            assert_eq!(passed, messages.len());
        },
        || {
            let now = next(&ours_time);
            let passed =
                messages.iter().filter(|message| check(&chain, black_box(message), now)).count();
            assert_eq!(passed, messages.len());
        },
    );
    println!("{report}");
}

fn at(millis: u64) -> Now {
    Now { wall: Timestamp::from_millis(0), monotonic: Duration::from_millis(millis) }
}

fn edge() -> EdgeGuards {
    let realm = RealmName::new("acme.com").unwrap_or_else(|_| unreachable!());
    let mut guards = EdgeGuards::new(realm, HashSecret::new([9; 16]));
    let plenty = Quota { burst: NonZeroU32::MAX, per_second: NonZeroU32::MAX };
    guards.rate.per_realm = plenty;
    guards.rate.total = Some(plenty);
    guards.policy = Some(Arc::new(PrefixDeny::new(["admin", "sys", "internal"])));
    guards
}

/// The texts that the messages borrow.
struct Texts {
    realms: Vec<String>,
    ids: Vec<String>,
}

impl Texts {
    fn new() -> Self {
        Self {
            realms: (0..REALMS).map(|n| format!("partner-{n}.example.org")).collect(),
            ids: (0..MESSAGES).map(|n| format!("{n:08x}-5c1e-4f7a-9b3d-0123456789ab")).collect(),
        }
    }

    fn message(&self, n: usize) -> Inbound<'_> {
        let realm = self.realms[n * 7 % REALMS].as_str();
        let mut inbound = Inbound::new(MsgType::Cmd);
        inbound.profile = "mxenv1";
        inbound.from_realm = Some(realm);
        inbound.to_realm = Some("acme.com");
        inbound.to_path = Some("office/mail.accepts.send");
        inbound.reply_to_realm = Some(realm);
        inbound.msg_id = Some(&self.ids[n]);
        inbound.timestamp = Some(Timestamp::from_millis(0));
        inbound.ttl_ms = Some(30_000);
        inbound.encoded_bytes = 700;
        inbound
    }
}

/// The same checks without a chain, guards, counters, shadow mode or keyed hashes.
struct ByHand {
    realm: String,
    denied: Vec<String>,
    marks: HashMap<(String, String), Duration>,
    order: VecDeque<((String, String), Duration)>,
    marks_of: HashMap<String, usize>,
    buckets: HashMap<String, Bucket>,
    all: Bucket,
}

#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    filled: Duration,
}

impl Bucket {
    const SIZE: f64 = 4e9;

    const FULL: Self = Self { tokens: Self::SIZE, filled: Duration::ZERO };

    fn take(&mut self, now: Duration) -> bool {
        let elapsed = now.saturating_sub(self.filled).as_secs_f64();
        self.tokens = (self.tokens + elapsed * Self::SIZE).min(Self::SIZE);
        self.filled = now;
        let enough = self.tokens >= 1.0;
        if enough {
            self.tokens -= 1.0;
        }
        enough
    }
}

impl ByHand {
    fn new() -> Self {
        Self {
            realm: "acme.com".to_owned(),
            denied: ["admin", "sys", "internal"].map(str::to_owned).to_vec(),
            marks: HashMap::new(),
            order: VecDeque::new(),
            marks_of: HashMap::new(),
            buckets: HashMap::new(),
            all: Bucket::FULL,
        }
    }

    fn check(&mut self, message: &Inbound<'_>, now: Now) -> bool {
        if message.to_realm.is_some_and(|realm| realm != self.realm) {
            return false;
        }
        if let (Some(sent), Some(ttl)) = (message.timestamp, message.ttl_ms)
            && now.wall.as_millis() >= sent.as_millis().saturating_add_unsigned(ttl)
        {
            return false;
        }
        let from = message.from_realm.unwrap_or("");
        if message.reply_to_realm.is_some_and(|realm| realm != from) {
            return false;
        }
        let Some(id) = message.msg_id.or(message.correlation_id) else {
            return false;
        };
        let key = (from.to_owned(), id.to_owned());
        if id.len() > 256 || !self.mark(&key, now.monotonic) {
            return false;
        }
        let bucket = self.buckets.entry(from.to_owned()).or_insert(Bucket::FULL);
        let path = message.to_path.unwrap_or("");
        let allowed = bucket.take(now.monotonic)
            && self.all.take(now.monotonic)
            && !self.denied.iter().any(|prefix| {
                path.strip_prefix(prefix.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/']))
            });
        if !allowed {
            self.marks.remove(&key);
        }
        allowed
    }

    fn mark(&mut self, key: &(String, String), now: Duration) -> bool {
        while let Some((key, expires)) = self.order.front()
            && *expires <= now
        {
            self.marks.remove(key);
            if let Some(count) = self.marks_of.get_mut(&key.0) {
                *count -= 1;
            }
            self.order.pop_front();
        }
        let count = self.marks_of.entry(key.0.clone()).or_insert(0);
        if self.marks.contains_key(key) || *count >= 16_384 || self.marks.len() >= 163_840 {
            return false;
        }
        *count += 1;
        self.marks.insert(key.clone(), now + LIFETIME);
        self.order.push_back((key.clone(), now + LIFETIME));
        true
    }
}
