use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;
use crate::mx::MsgType;

const REALMS: [&str; 5] = ["listed.org", "a", "b", "c", ""];
const IDS: [&str; 6] = ["1", "2", "3", "4", "5", "far too long an id"];

#[derive(Debug, Clone, Copy)]
enum Operation {
    Check { realm: usize, id: usize },
    ReleaseLatest,
    ReleaseOldest,
    Wait(u64),
    Reclaim,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        8 => (0..REALMS.len(), 0..IDS.len())
            .prop_map(|(realm, id)| Operation::Check { realm, id }),
        1 => Just(Operation::ReleaseLatest),
        1 => Just(Operation::ReleaseOldest),
        2 => (0_u64..8).prop_map(Operation::Wait),
        1 => Just(Operation::Reclaim),
    ];
    prop::collection::vec(operation, 0..40)
}

/// What the replay guard promises, written as plainly as can be: a list.
#[derive(Default)]
struct Model(Vec<(usize, usize, u64)>);

impl Model {
    const LIFETIME: u64 = 10;
    const PER_REALM: usize = 3;
    const POOL: usize = 5;

    fn check(&mut self, realm: usize, id: usize, now: u64) -> Result<(), &'static str> {
        self.0.retain(|(_, _, expires)| *expires > now);
        if IDS[id].len() > 8 {
            return Err("the id is too long");
        }
        if self.0.iter().any(|(r, i, _)| (*r, *i) == (realm, id)) {
            return Err("seen before");
        }
        if self.0.iter().filter(|(r, _, _)| *r == realm).count() >= Self::PER_REALM {
            return Err("too many ids of this realm");
        }
        if realm != 0 && self.0.iter().filter(|(r, _, _)| *r != 0).count() >= Self::POOL {
            return Err("too many ids of all realms");
        }
        self.0.push((realm, id, now + Self::LIFETIME));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn the_replay_guard_does_as_a_plain_list_would_and_keeps_within_its_bounds(
        operations in operations()
    ) {
        let limits = ReplayLimits {
            lifetime: Duration::from_millis(Model::LIFETIME),
            per_realm: Model::PER_REALM,
            pool: Model::POOL,
            listed: vec![realm(REALMS[0])],
            max_id_bytes: 8,
        };
        let guard = Replay::new(limits.clone(), SECRET);
        let mut model = Model::default();
        let mut held = VecDeque::new();
        let mut now = 0;
        for operation in operations {
            match operation {
                Operation::Check { realm, id } => {
                    let found = match guard.check(&command(REALMS[realm], IDS[id]), at(now)) {
                        Verdict::Reserved(reservation) => {
                            held.push_back((realm, id, now + Model::LIFETIME, reservation));
                            Ok(())
                        }
                        other => Err(refusal(other).reason().to_owned()),
                    };
                    let expected = model.check(realm, id, now).map_err(str::to_owned);
                    prop_assert_eq!(found, expected);
                }
                Operation::ReleaseLatest | Operation::ReleaseOldest => {
                    let one = match operation {
                        Operation::ReleaseLatest => held.pop_back(),
                        _ => held.pop_front(),
                    };
                    if let Some((realm, id, expires, reservation)) = one {
                        guard.release(&command(REALMS[realm], IDS[id]), reservation);
                        model.0.retain(|mark| *mark != (realm, id, expires));
                    }
                }
                Operation::Wait(millis) => now += millis,
                Operation::Reclaim => {
                    guard.reclaim(at(now));
                    model.0.retain(|(_, _, expires)| *expires > now);
                    prop_assert_eq!(guard.usage().marks, model.0.len());
                }
            }
            let usage = guard.usage();
            prop_assert!(usage.marks <= limits.marks());
            prop_assert!(usage.realms <= usage.marks);
            prop_assert!(usage.bytes <= limits.bytes());
        }
    }

    #[test]
    fn guards_run_by_stage_until_one_refuses_and_then_release_in_reverse(
        scripts in prop::collection::vec(script(), 0..8)
    ) {
        let log = Log::default();
        let chain = scripts.iter().enumerate().fold(GuardChain::builder(), |builder, (n, script)| {
            builder.guard(script.mode, Scripted::new(n, *script, &log))
        });
        let decision = chain.build().check_traced(&command("a", "m"), at(0));

        let mut order: Vec<usize> = (0..scripts.len()).collect();
        order.sort_by_key(|n| STAGES.iter().position(|stage| *stage == scripts[*n].stage));
        let stop = order.iter().position(|n| {
            scripts[*n].says == Says::Refuse && scripts[*n].mode == Mode::Enforce
        });
        let reached = &order[..stop.map_or(order.len(), |at| at + 1)];
        let mut expected: Vec<Event> = reached.iter().map(|n| Event::Checked(*n)).collect();
        if let Some(stop) = stop {
            prop_assert!(!decision.outcome.is_pass());
            let reserved = reached[..stop].iter().rev();
            expected.extend(
                reserved.filter(|n| scripts[**n].says == Says::Reserve).map(|n| Event::Released(*n))
            );
        } else {
            prop_assert!(decision.outcome.is_pass());
        }
        prop_assert_eq!(decision.trace.unwrap().steps().len(), expected.len());
        prop_assert_eq!(&*log.lock().unwrap(), &expected);
    }

    #[test]
    fn a_chain_in_shadow_refuses_nothing(
        messages in prop::collection::vec((0..REALMS.len(), 0..IDS.len(), 0_u8..32), 1..20)
    ) {
        let mut guards = EdgeGuards::new(realm("acme.com"), SECRET);
        guards.shadow = STAGES.to_vec();
        guards.policy = Some(Arc::new(PrefixDeny::new(["admin"])));
        guards.rate.per_realm = Quota::new(1, 1).unwrap();
        guards.rate.max_realms = 2;
        guards.replay.pool = 2;
        let chain = GuardChain::standard(guards).build();
        let mut expected = [0_u64; 3];
        for (from, id, flaws) in messages {
            let flawed = |bit: u8| flaws & (1 << bit) != 0;
            let mut inbound = command(REALMS[from], IDS[id]);
            if flawed(0) { inbound.to_realm = Some("b"); }
            if flawed(1) { (inbound.timestamp, inbound.ttl_ms) = (Some(Timestamp::from_millis(0)), Some(0)); }
            if flawed(2) { inbound.reply_to_realm = Some("elsewhere"); }
            if flawed(3) { inbound.to_path = Some("admin.accepts.x"); }
            if flawed(4) { inbound.kind = MsgType::Evt; }
            for (bit, count) in (0..).zip(&mut expected) {
                *count += u64::from(flawed(bit));
            }
            prop_assert!(chain.check(&inbound, at(0)).outcome.is_pass());
        }
        let counters = chain.counters();
        for (guard, expected) in counters.guards.iter().zip(expected) {
            prop_assert_eq!(guard.shadow_refused, expected);
        }
        for guard in &counters.guards {
            prop_assert_eq!(guard.refused, 0);
            prop_assert_eq!(guard.passed + guard.shadow_refused, counters.checked);
        }
    }
}

const STAGES: [Stage; 7] = [
    Stage::Addressed,
    Stage::Expiry,
    Stage::Relay,
    Stage::Security,
    Stage::Replay,
    Stage::Rate,
    Stage::Policy,
];

const NAMES: [&str; 8] = ["g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7"];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Says {
    Pass,
    Reserve,
    Refuse,
}

#[derive(Debug, Clone, Copy)]
struct Script {
    stage: Stage,
    mode: Mode,
    says: Says,
}

fn script() -> impl Strategy<Value = Script> {
    (
        prop::sample::select(STAGES.to_vec()),
        prop_oneof![Just(Mode::Enforce), Just(Mode::Shadow)],
        prop_oneof![3 => Just(Says::Pass), 3 => Just(Says::Reserve), 1 => Just(Says::Refuse)],
    )
        .prop_map(|(stage, mode, says)| Script { stage, mode, says })
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    Checked(usize),
    Released(usize),
}

type Log = Arc<Mutex<Vec<Event>>>;

/// A guard that says what it is told to, and notes down that it was asked.
#[derive(Debug)]
struct Scripted {
    number: usize,
    script: Script,
    log: Log,
}

impl Scripted {
    fn new(number: usize, script: Script, log: &Log) -> Self {
        Self { number, script, log: Arc::clone(log) }
    }
}

impl Guard for Scripted {
    fn name(&self) -> &'static str {
        NAMES[self.number]
    }

    fn stage(&self) -> Stage {
        self.script.stage
    }

    fn check(&self, _inbound: &Inbound<'_>, _now: Now) -> Verdict {
        self.log.lock().unwrap().push(Event::Checked(self.number));
        match self.script.says {
            Says::Pass => Verdict::Pass,
            Says::Reserve => Verdict::Reserved(Reservation::new(self.number as u64)),
            Says::Refuse => Verdict::Refuse(Refusal::silent("told to")),
        }
    }

    fn release(&self, _inbound: &Inbound<'_>, reservation: Reservation) {
        assert_eq!(reservation.id(), self.number as u64);
        self.log.lock().unwrap().push(Event::Released(self.number));
    }
}
