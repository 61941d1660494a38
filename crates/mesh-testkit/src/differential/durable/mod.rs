//! Streams and durable consumers of one broker.

mod act;
mod append;
mod desk;
mod settle;
mod step;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::dead_letter::DeadLetter;
use mesh_core::port::{
    Administration, Capability, Connection, DriftMode, Position, SubscribeOptions, Subscription,
};
use mesh_core::topology::{StreamName, Topology};
use std::sync::Arc;

use super::drive::{Common, Side};
use super::seen::{Look, Seen, arrived};
use crate::fixtures::host;
use crate::suite::scene::text;
use crate::suite::{Failure, Scene, Stage, Verdict};
use desk::{Desk, whole};

pub use step::{Last, Place, Step, Why};

/// See the module.
pub(super) struct Durable {
    scene: Scene,
    common: Common,
    topology: Topology,
    ack_wait: Duration,
    shop: Connection,
    host: Connection,
    controller: Connection,
    clerk: Option<Connection>,
    desks: Vec<Desk>,
    /// Connections of readers that left, while what they were given is held.
    left: Vec<Connection>,
    live: Subscription,
    /// Body and whole message.
    heard: Vec<(String, String)>,
    /// The bodies of what was stored: of anything else it is not said whether it is heard live.
    stored: BTreeSet<String>,
    appended: u64,
    /// The last sequence of each place.
    last: BTreeMap<Place, u64>,
    /// The ids that are known, and to which stream.
    ids: BTreeSet<(Option<StreamName>, u8)>,
    dead: Vec<Dead>,
    lapses: bool,
    /// When claims were last reported on, on the broker's clock.
    touched: Duration,
    slow: Option<String>,
}

/// A dead letter.
struct Dead {
    letter: DeadLetter,
    body: String,
}

#[async_trait]
impl Side for Durable {
    type Step = Step;

    async fn open(stage: &Stage<'_>, common: &Common, steps: &[Step]) -> Result<Self, Failure> {
        let lapses = steps.contains(&Step::Lapse) && common.has(Capability::ClaimTimeout);
        let ack_wait = world::claims(lapses);
        let consumers = world::consumers(ack_wait, common);
        let topology = world::topology(&consumers);
        let scene = stage.start(&topology).await?;
        let controller = scene.controller().await?;
        let clerk = if common.has(Capability::Permissions) {
            let (clerk, may) = world::clerk();
            Some(scene.dial(clerk, Some(may)).await?)
        } else {
            None
        };
        let listening =
            controller.transport().subscribe(world::window(common), SubscribeOptions::default());
        let live = scene.soon("subscribe", listening).await??;
        let claims_end = common.has(Capability::ClaimTimeout);
        let desks = consumers.into_iter().map(|(spec, of)| Desk::new(spec, of, claims_end));
        Ok(Self {
            shop: scene.join("shop").await?,
            host: scene.dial(host("n1"), None).await?,
            touched: controller.clock().monotonic(),
            common: common.clone(),
            topology,
            ack_wait,
            controller,
            clerk,
            desks: desks.collect(),
            left: Vec::new(),
            live,
            heard: Vec::new(),
            stored: BTreeSet::new(),
            appended: 0,
            last: BTreeMap::new(),
            ids: BTreeSet::new(),
            dead: Vec::new(),
            lapses,
            slow: None,
            scene,
        })
    }

    async fn act(&mut self, step: &Step) -> Result<String, Failure> {
        self.touch().await?;
        self.step(*step).await
    }

    async fn look(&mut self) -> Result<Look, Failure> {
        self.touch().await?;
        let mut seen = Seen::default();
        let mut waits_for = None;
        self.listen()?;
        let stored = self.heard.iter().filter(|(body, _)| self.stored.contains(body));
        let heard: Vec<_> = stored.map(|(_, whole)| whole).collect();
        seen.list("heard live", &heard);
        for stream in [StreamName::Events, StreamName::Control, StreamName::Nodes] {
            let inspecting = self.administration()?.inspect(stream);
            let state = self.scene.soon("inspect", inspecting).await??;
            let state = state.map(|state| (state.messages, state.last_sequence, state.consumers));
            seen.note(stream, format_args!("messages, last, consumers {state:?}"));
        }
        for index in 0..self.desks.len() {
            let owes = self.owes(index).await?;
            let desk = &mut self.desks[index];
            desk.take();
            if desk.limbo.is_empty() {
                seen.note(format_args!("{} owes", desk.spec.reference), format_args!("{owes:?}"));
            }
            seen.list(format_args!("given of {}", desk.spec.reference), &desk.given());
            seen.list(format_args!("told of {}", desk.spec.reference), &desk.words);
            waits_for = waits_for.or(desk.waits_for(owes.unwrap_or(0)));
        }
        if self.common.has(Capability::DeadLetters) {
            self.collect_dead().await?;
            seen.list("dead letters", &self.dead_letters());
        }
        Ok(Look { seen, waits_for })
    }

    async fn end(&mut self) -> Result<String, Failure> {
        self.wait().await?;
        let mut rest = Vec::new();
        for index in 0..self.desks.len() {
            if !self.desks[index].retired && !self.desks[index].is_read() {
                rest.push(self.attach(index).await?);
            }
            rest.extend(self.settle_all(index).await?);
        }
        Ok(rest.join(", "))
    }

    fn too_slow(&self) -> Option<String> {
        self.slow.clone()
    }
}

impl Durable {
    fn administration(&self) -> Result<&Arc<dyn Administration>, Failure> {
        Ok(self.controller.administration()?)
    }

    /// What a consumer has yet to settle; nothing if it is not there.
    async fn owes(&self, index: usize) -> Result<Option<u64>, Failure> {
        let inspecting = self.administration()?.inspect_consumer(&self.desks[index].spec.reference);
        let state = self.scene.soon("inspect", inspecting).await??;
        Ok(state.map(|state| state.owed()))
    }

    fn listen(&mut self) -> Verdict {
        for item in arrived(&mut self.live) {
            let item = item.ok_or_else(|| Failure::new("the live subscription ended"))?;
            let message = item?;
            let body = text(&message);
            if !self.heard.iter().any(|(known, _)| *known == body) {
                self.heard.push((body, whole(&message)));
            }
        }
        Ok(())
    }

    /// Reads the dead letters that are new.
    async fn collect_dead(&mut self) -> Verdict {
        let dead = StreamName::EventsDead;
        let inspecting = self.administration()?.inspect(dead);
        let state = self.scene.soon("inspect", inspecting).await??;
        let last = state.and_then(|state| state.last_sequence).unwrap_or(0);
        for sequence in self.dead.len() as u64 + 1..=last {
            let reading = self.administration()?.read(dead, Position::Sequence(sequence));
            let stored = self.scene.soon("read", reading).await??;
            let stored = stored.ok_or_else(|| Failure::new("a dead letter is gone"))?;
            let (letter, body) = (DeadLetter::parse(&stored.message)?, text(&stored.message));
            self.dead.push(Dead { letter, body });
        }
        Ok(())
    }

    /// The dead letters, less those that may be missing yet.
    fn dead_letters(&self) -> Vec<String> {
        let certain = |dead: &&Dead| {
            let of = |desk: &&Desk| desk.spec.reference == dead.letter.consumer;
            let open = |desk: &Desk| {
                let among = |set: &BTreeSet<u64>| {
                    dead.letter.sequence.is_some_and(|sequence| set.contains(&sequence))
                };
                among(&desk.limbo) || among(&desk.unknown)
            };
            !self.desks.iter().find(of).is_some_and(open)
        };
        let mut letters: Vec<_> = self.dead.iter().filter(certain).map(Dead::describe).collect();
        letters.sort_unstable();
        letters
    }

    /// Reports on claims that would else run out before their step comes.
    async fn touch(&mut self) -> Verdict {
        let now = self.controller.clock().monotonic();
        let passed = now.saturating_sub(self.touched);
        if !self.lapses || passed < self.ack_wait / 4 {
            return Ok(());
        }
        if passed > self.ack_wait * 3 / 4 && self.slow.is_none() {
            self.slow = Some(format!("nothing was done for {passed:?}"));
        }
        self.touched = now;
        for desk in &mut self.desks {
            desk.take();
            let came = desk.delayed.values().filter_map(|delayed| delayed.came.as_ref());
            for delivery in desk.held.values().chain(came) {
                self.scene.soon("progress", delivery.progress()).await??;
            }
        }
        Ok(())
    }

    async fn assert(&mut self) -> Result<String, Failure> {
        let asserting = self.administration()?.assert(&self.topology, DriftMode::Report);
        let drift = self.scene.soon("assert", asserting).await??;
        for desk in &mut self.desks {
            desk.retired = false;
        }
        Ok(format!("differences {drift:?}"))
    }
}

impl Dead {
    fn describe(&self) -> String {
        let Self { letter, body } = self;
        let subject = letter.subject.as_ref().map_or("none", |subject| subject.as_str());
        format!(
            "{} {:?} after {:?} as {}: {subject} {body:?} {:?}",
            letter.consumer, letter.sequence, letter.deliveries, letter.reason, letter.error
        )
    }
}
