//! A migration under load: a realm of the old wire, one of the new, one that is on its way, and our own realm,
//! which reads both and is switched from publishing in one to the other and back while everybody talks.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mesh_clock::SystemClock;
use mesh_core::guard::Quota;
use mesh_core::json::RawJson;
use mesh_core::mx::{MxUri, Profile};
use mesh_federation::edge::EdgeRules;
use mesh_federation::{Call, CallOptions, RealmClient};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::old::{Old, WITHIN};
use crate::ground::{BOTH, Field, Ground, RealmPlan};
use crate::home::{Home, realm, until};

const PATH: &str = "desk.accepts.greet";
const TOLD: &str = "desk.emits.told";
const OURS: &str = "acme.com";
const LEGACY: &str = "old.example";
const NEW: &str = "new.example";
const DUAL: &str = "both.example";

/// One direction of the traffic.
#[derive(Default)]
struct Link {
    next: AtomicUsize,
    answered: AtomicUsize,
    lost: Mutex<Vec<String>>,
}

type Asking = Pin<Box<dyn Future<Output = bool> + Send>>;

/// Everybody at work.
struct Traffic {
    home: Home,
    /// How often our component handled each question.
    handled: Arc<Mutex<HashMap<String, u32>>>,
    olds: [Old; 3],
    links: HashMap<&'static str, Arc<Link>>,
    over: Arc<AtomicBool>,
    askers: JoinSet<()>,
    _readers: JoinSet<()>,
}

/// How many questions are under way in each direction.
const AT_ONCE: usize = 4;

impl Traffic {
    async fn start(field: &Field) -> Self {
        let mut rules = EdgeRules::default();
        rules.rate.per_realm = Quota::new(1_000_000, 1_000_000).unwrap();
        rules.rate.total = None;
        let mut home = Home::ruled(field.realm(0), rules).await;
        home.client.set_profile(realm(LEGACY), Profile::Legacy);
        let handled = Arc::<Mutex<HashMap<String, u32>>>::default();
        let count = Arc::clone(&handled);
        let greet = move |call: Call| {
            let id: String = call.params.to().unwrap();
            *count.lock().entry(id).or_default() += 1;
            async move { Ok(call.params) }
        };
        home.accepts(PATH, greet).await;

        let mut readers = JoinSet::new();
        let legacy = Old::start(field.realm(1), &mut readers).await;
        let new = Old::start(field.realm(2), &mut readers).await;
        let dual = Old::start(field.realm(3), &mut readers).await;
        let mut traffic = Self {
            home,
            handled,
            olds: [legacy.clone(), new.clone(), dual.clone()],
            links: HashMap::new(),
            over: Arc::default(),
            askers: JoinSet::new(),
            _readers: readers,
        };
        for (name, old, profile) in [
            ("the old realm asks", legacy, Profile::Legacy),
            ("the new realm asks", new, Profile::MxEnv1),
            ("the dual realm asks in legacy", dual.clone(), Profile::Legacy),
            ("the dual realm asks in mxenv1", dual, Profile::MxEnv1),
        ] {
            traffic.link(name, move |id| {
                let old = old.clone();
                Box::pin(async move { old.ask(&realm(OURS), PATH, &id, profile).await })
            });
        }
        for (name, to) in [
            ("the old realm is asked", LEGACY),
            ("the new realm is asked", NEW),
            ("the dual realm is asked", DUAL),
        ] {
            let client = traffic.home.client.clone();
            traffic.link(name, move |id| Box::pin(asked(client.clone(), to, id)));
        }
        let client = traffic.home.client.clone();
        traffic.link("the dual realm is told", move |id| Box::pin(told(client.clone(), id)));
        traffic
    }

    /// Keeps asking in one direction until it is over.
    fn link(&mut self, name: &'static str, ask: impl Fn(String) -> Asking + Send + Sync + 'static) {
        let (link, ask) = (Arc::<Link>::default(), Arc::new(ask));
        self.links.insert(name, Arc::clone(&link));
        for _ in 0..AT_ONCE {
            let (link, ask, over) = (Arc::clone(&link), Arc::clone(&ask), Arc::clone(&self.over));
            self.askers.spawn(async move {
                while !over.load(Ordering::SeqCst) {
                    let id = format!("{name} {}", link.next.fetch_add(1, Ordering::SeqCst));
                    if ask(id.clone()).await {
                        link.answered.fetch_add(1, Ordering::SeqCst);
                    } else {
                        link.lost.lock().push(id);
                    }
                }
            });
        }
    }

    /// Returns once so many more are answered in every direction.
    async fn goes_on(&self, more: usize) {
        for (name, link) in &self.links {
            let before = link.answered.load(Ordering::SeqCst);
            until(name, || async { link.answered.load(Ordering::SeqCst) >= before + more }).await;
        }
    }

    /// Ends it, and tells what was lost. After a `crash` an answer may have come again, word for word:
    /// nobody knew what had become of it, and whoever has guards drops it.
    async fn end(mut self, crash: bool) -> Vec<String> {
        self.over.store(true, Ordering::SeqCst);
        while let Some(asker) = self.askers.join_next().await {
            asker.unwrap();
        }
        let lost: Vec<String> =
            self.links.values().flat_map(|link| link.lost.lock().clone()).collect();
        let is_lost = |id: &String| lost.contains(id);
        // Each was handled once and answered once, but for what was lost on the way: never twice.
        for (id, times) in &*self.handled.lock() {
            assert_eq!(*times, 1, "ours handled {id}");
        }
        for old in &self.olds {
            old.seen(|seen| {
                for (id, (times, texts)) in &seen.answered {
                    assert_eq!(texts.len(), 1, "ours answered {id} in different words");
                    assert!(crash || *times == 1, "ours answered {id} {times} times");
                }
                for (id, (times, _)) in &seen.asked {
                    assert_eq!(*times, 1, "ours asked {id}");
                }
                for (id, times) in &seen.told {
                    assert_eq!(*times, 1, "ours told {id}");
                }
            });
        }
        let events = Arc::clone(&self.links["the dual realm is told"]);
        let dual = &self.olds[2];
        for number in 0..events.next.load(Ordering::SeqCst) {
            let id = format!("the dual realm is told {number}");
            if !is_lost(&id) {
                until(&id, || async { dual.seen(|seen| seen.told.contains_key(&id)) }).await;
            }
        }
        let counts = self.home.client.answers().counts();
        assert_eq!(counts.foreign, 0);
        if lost.is_empty() {
            // One that comes again finds nobody who waits.
            assert!(crash || counts.unknown == 0, "an answer came that nobody waited for");
            self.home.close().await;
        }
        lost
    }
}

async fn asked(client: RealmClient, to: &str, id: String) -> bool {
    let uri: MxUri<'static> = format!("matrix://{to}/{PATH}").parse().unwrap();
    let body = RawJson::string(&id);
    let options = CallOptions { deadline: Some(WITHIN), ..CallOptions::default() };
    client.call_with(&uri, &body, &options).await.is_ok_and(|answer| answer == body)
}

/// An event, and then a moment for others: nobody answers it.
async fn told(client: RealmClient, id: String) -> bool {
    let uri: MxUri<'static> = format!("matrix://{DUAL}/{TOLD}").parse().unwrap();
    let options = CallOptions { deadline: Some(WITHIN), ..CallOptions::default() };
    let told = client.tell(&uri, &RawJson::string(&id), &options).await.is_ok();
    tokio::task::yield_now().await;
    told
}

async fn raise(ground: Ground) -> Field {
    let plans = vec![
        RealmPlan::new(OURS).guarded().accepts(PATH),
        RealmPlan::new(LEGACY).with_kinds(&BOTH[..1]),
        RealmPlan::new(NEW).with_kinds(&BOTH[1..]),
        RealmPlan::new(DUAL),
    ];
    ground.raise(plans, Arc::new(SystemClock::new())).await
}

/// Twenty times to the other wire and back: nothing is lost, and nobody is answered twice.
pub(super) async fn a_realm_is_switched_from_wire_to_wire_under_load(ground: Ground) {
    let field = raise(ground).await;
    let traffic = Traffic::start(&field).await;
    let dual = &traffic.olds[2];
    let in_profile = |wanted: Profile| {
        dual.seen(|seen| seen.asked.values().filter(|(_, profile)| *profile == wanted).count())
    };
    for switch in 0..20 {
        let profile = if switch % 2 == 0 { Profile::Legacy } else { Profile::MxEnv1 };
        let before = in_profile(profile);
        traffic.home.client.set_profile(realm(DUAL), profile);
        traffic.goes_on(5).await;
        assert!(in_profile(profile) > before, "switch {switch} to {profile} did nothing");
    }
    assert_eq!(traffic.end(false).await, <[String; 0]>::default());
}

/// The same while the server is killed and started again: what was under way may be lost, nothing is handled
/// or answered anew, and afterwards everything goes on.
pub(super) async fn a_server_that_is_killed_meanwhile_loses_and_doubles_nothing_else(
    ground: Ground,
) {
    let field = raise(ground).await;
    let traffic = Traffic::start(&field).await;
    for crash in 0..2 {
        for profile in [Profile::Legacy, Profile::MxEnv1] {
            traffic.home.client.set_profile(realm(DUAL), profile);
            traffic.goes_on(5).await;
        }
        field.crash().await;
        traffic.goes_on(5).await;
        assert!(traffic.home.gateway.status().is_healthy(), "after crash {crash}");
    }
    traffic.end(true).await;
}
