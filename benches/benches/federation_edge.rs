//! What a realm's gateway costs: a request of 1 KiB from another realm, its way to a component, and the
//! answer of 1 KiB back, one at a time and 64.
//!
//! The same asker and the same component, written by hand, meet three gateways. `bare hops` passes on the
//! same number of messages of the same sizes and reads none: the difference is the gateway's own cost, shown
//! beside as CPU time for each request. `by hand` does what is needed for an honest asker and no more: no
//! guard, no limit, no time-out. On NATS everything but our gateway is written with the client library;
//! `unchecked` is our gateway without its question whether anybody serves the path.
//!
//! In memory all runs in one thread; `MESH_BENCH_PLACE` is `memory` or `nats`, to run one of them.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use mesh_benches::hops::{ASKER, Bus, Hearing, PATH, ask, bare, by_hand, component, mailbox};
use mesh_benches::nats::Ground;
use mesh_benches::race::{Contestant, Race};
use mesh_clock::SystemClock;
use mesh_core::guard::{Mode, Quota};
use mesh_core::identity::Principal;
use mesh_core::json::RawJson;
use mesh_core::mx::{Address, Envelope, LegacyRequest, MsgType, MxPath, Party, Profile};
use mesh_core::name::{InstanceName, RealmName};
use mesh_core::port::{Clock, Connection};
use mesh_federation::edge::{EdgeConfig, EdgeGateway, GatewayOptions};
use mesh_federation::security::{Algorithm, Keys, MxSec, Signer, StaticKeys, generate};
use mesh_transport_mem::{InMemoryExactBroker, InMemoryFilterBroker};
use tokio::runtime::{Builder, Runtime};

const OURS: &str = "acme.com";
const BARE: &str = "bare.com";
const HAND: &str = "hand.com";
const UNCHECKED: &str = "calm.com";

fn main() {
    let place = std::env::var("MESH_BENCH_PLACE").unwrap_or_default();
    if place != "nats" {
        in_memory();
    }
    if place != "memory" {
        on_nats();
    }
}

fn in_memory() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let clock = Arc::new(SystemClock::new());
    let (exact, filter) =
        (InMemoryExactBroker::new(clock.clone()), InMemoryFilterBroker::new(clock));
    let buses = Buses {
        runtime: &runtime,
        backbone: Bus::Port(exact.connect(someone())),
        local: Bus::Port(filter.connect(someone())),
        gateway: Box::new(move || (exact.connect(someone()), filter.connect(someone()))),
    };
    buses.race(["memory, legacy, 1", "memory, legacy, 64"], Profile::Legacy, None, false);
    buses.race(["memory, MXENV/1, 1", "memory, MXENV/1, 64"], Profile::MxEnv1, None, false);
    for (names, algorithm) in [
        (["memory, EdDSA, 1", "memory, EdDSA, 64"], Algorithm::EdDsa),
        (["memory, ES256, 1", "memory, ES256, 64"], Algorithm::Es256),
    ] {
        buses.race(names, Profile::MxEnv1, Some(&Proofs::new(algorithm)), false);
    }
}

fn on_nats() {
    let ground = Ground::new();
    let buses = Buses {
        runtime: &ground.runtime,
        backbone: Bus::Nats(ground.theirs()),
        local: Bus::Nats(ground.theirs()),
        gateway: Box::new(|| (ground.ours("edge"), ground.ours("edge"))),
    };
    buses.race(["NATS, legacy, 1", "NATS, legacy, 64"], Profile::Legacy, None, true);
    buses.race(["NATS, MXENV/1, 1", "NATS, MXENV/1, 64"], Profile::MxEnv1, None, true);
}

struct Buses<'a> {
    runtime: &'a Runtime,
    backbone: Bus,
    local: Bus,
    /// Connections of our gateway's own.
    gateway: Box<dyn Fn() -> (Connection, Connection) + 'a>,
}

impl Buses<'_> {
    fn race(
        &self,
        names: [&'static str; 2],
        profile: Profile,
        proofs: Option<&Proofs>,
        unchecked: bool,
    ) {
        let checked = self.gateway(OURS, proofs, true);
        let second = unchecked.then(|| self.gateway(UNCHECKED, proofs, false));
        let (backbone, local) = (&self.backbone, &self.local);
        let reply = Bytes::from(format!(r#"{{"ok":true,"body":{}}}"#, body()));
        let mut tasks = Vec::new();
        for realm in [OURS, BARE, HAND, UNCHECKED] {
            tasks.push(self.start(component(local.clone(), realm, reply.clone())));
        }
        let pattern = self.pattern(profile, proofs);
        tasks.push(self.start(bare(backbone.clone(), local.clone(), BARE, profile, pattern)));
        tasks.push(self.start(by_hand(backbone.clone(), local.clone(), HAND, profile)));
        let answers = self.runtime.block_on(backbone.listen(&mailbox(ASKER, profile)));
        let answers = std::cell::RefCell::new(answers);

        for (name, (count, together)) in names.into_iter().zip([(2_000, 1), (10_000, 64)]) {
            let lap = |realm: &'static str| {
                let requests = (0..count).map(|_| request(realm, profile, proofs)).collect();
                let to = mailbox(realm, profile);
                let answers: &mut Hearing = &mut answers.borrow_mut();
                self.runtime.block_on(ask(backbone, &to, answers, requests, together))
            };
            let mut contestants = vec![
                Contestant::new("ours", || lap(OURS)),
                Contestant::new("bare hops", || lap(BARE)),
            ];
            if proofs.is_none() {
                contestants.push(Contestant::new("by hand", || lap(HAND)));
            }
            if unchecked {
                contestants.push(Contestant::new("unchecked", || lap(UNCHECKED)));
            }
            for standing in Race::new(name, count).run(&mut contestants) {
                let own = (standing.cpu.ours - standing.cpu.theirs) * 10.0;
                println!("{standing}  own {own:.2} us");
            }
        }
        for gateway in std::iter::once(checked).chain(second) {
            let counters = gateway.edge().counters();
            assert_eq!(counters.replied, counters.received, "{counters:?}");
            assert_eq!(counters.nacked, 0);
        }
        for task in tasks {
            task.abort();
            // Aborted is what it is to be.
            let _ = self.runtime.block_on(task);
        }
    }

    fn start<F>(&self, make: impl Future<Output = F>) -> tokio::task::JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let work = self.runtime.block_on(make);
        self.runtime.spawn(work)
    }

    fn gateway(&self, realm: &str, proofs: Option<&Proofs>, check_receiver: bool) -> EdgeGateway {
        let realm = RealmName::new(realm).unwrap();
        let mut config = EdgeConfig::new(realm.clone());
        let quota = Quota::new(1_000_000_000, 1_000_000_000).unwrap();
        config.rules.rate.per_realm = quota;
        config.rules.rate.total = Some(quota);
        config.replay.per_realm = 4_000_000;
        config.replay.pool = 4_000_000;
        let mut options = GatewayOptions { check_receiver, ..GatewayOptions::default() };
        if let Some(proofs) = proofs {
            config.rules = config.rules.waiting(Mode::Enforce, proofs.guard(realm));
            options.signer = Some(Arc::new(proofs.signer(OURS)));
        }
        let (backbone, local) = (self.gateway)();
        self.runtime.block_on(EdgeGateway::start(config, backbone, local, options)).unwrap()
    }

    /// A request inside and an answer, as our gateway writes them.
    fn pattern(&self, profile: Profile, proofs: Option<&Proofs>) -> [Bytes; 2] {
        self.runtime.block_on(async {
            let mut inside = self.local.listen(&format!("mx/1/{OURS}/{PATH}")).await;
            let mut answers = self.backbone.listen(&mailbox(ASKER, profile)).await;
            self.backbone.publish(mailbox(OURS, profile), request(OURS, profile, proofs)).await;
            let request = inside.next().await.unwrap().payload().clone();
            let text = std::str::from_utf8(&request).unwrap().replace(OURS, BARE);
            [text.into(), answers.next().await.unwrap().payload().clone()]
        })
    }
}

/// What proves who asks, and who answers.
struct Proofs {
    algorithm: Algorithm,
    kid: String,
    pem: String,
    jwks: String,
    asker: Signer,
}

impl Proofs {
    fn new(algorithm: Algorithm) -> Self {
        let made = generate(algorithm).unwrap();
        let (kid, pem) = (made.kid().to_owned(), made.pem().to_owned());
        let asker = signer(algorithm, ASKER, &kid, &pem);
        Self { algorithm, kid, pem, jwks: format!(r#"{{"keys":[{}]}}"#, made.jwk()), asker }
    }

    fn signer(&self, realm: &str) -> Signer {
        signer(self.algorithm, realm, &self.kid, &self.pem)
    }

    fn guard(&self, local: RealmName) -> MxSec {
        let keys = Keys::from_jwks(&self.jwks).unwrap();
        MxSec::new(local, StaticKeys::new().with(RealmName::new(ASKER).unwrap(), keys))
    }
}

fn signer(algorithm: Algorithm, realm: &str, kid: &str, pem: &str) -> Signer {
    let realm = RealmName::new(realm).unwrap();
    match algorithm {
        Algorithm::EdDsa => Signer::eddsa_pem(realm, kid, pem),
        _ => Signer::es256_pem(realm, kid, pem),
    }
    .unwrap()
}

/// 1 KiB of JSON.
fn body() -> RawJson<'static> {
    RawJson::new(format!(r#"{{"text":"{}"}}"#, "x".repeat(1_013))).unwrap().into_owned()
}

/// Another request each time.
fn request(to: &str, profile: Profile, proofs: Option<&Proofs>) -> Bytes {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let (shop, to) = (RealmName::new(ASKER).unwrap(), RealmName::new(to).unwrap());
    let path = MxPath::new(PATH).unwrap();
    let (message, correlation) = (format!("m-{number:020}"), format!("c-{number:020}"));
    if profile == Profile::Legacy {
        let mut request = LegacyRequest::new(&shop, path, correlation);
        request.msg_id = Some(message.into());
        request.body = Some(body());
        return request.encode().into();
    }
    let from = Party::new(&shop, None);
    let mut envelope = Envelope::new(MsgType::Cmd, from, Address::new(&to, path));
    envelope.msg_id = Some(message.into());
    envelope.correlation_id = Some(correlation.into());
    let desk = MxPath::new("desk.accepts.answer").unwrap();
    envelope.reply_to = Some(Party::new(&shop, Some(desk)));
    envelope.body = Some(body());
    if let Some(proofs) = proofs {
        proofs.asker.seal(&mut envelope, SystemClock::new().now()).unwrap();
    }
    envelope.encode().unwrap().into()
}

fn someone() -> Principal {
    Principal::Gateway { name: InstanceName::new("bench").unwrap() }
}
