//! What goes wrong: networks that divide, gateways that crash and come back.

use rand::Rng as _;

use crate::plan::BUSY;
use crate::world::{Happening, World};

#[derive(Debug, Clone)]
pub(crate) enum Fault {
    Crash(usize),
    Start(usize),
    /// Between the nodes of which the number's bit differs from that of others.
    Divide(u64),
    Heal,
}

impl World {
    pub(crate) fn plan_faults(&mut self) {
        for _ in 0..self.plan.crashes {
            let at = self.random.random_range(0..BUSY);
            let back = at + self.random.random_range(1..8_000);
            let node = self.random.random_range(0..self.nodes.len());
            self.at(at, Happening::Fault(Fault::Crash(node)));
            self.at(back, Happening::Fault(Fault::Start(node)));
        }
        for _ in 0..self.plan.partitions {
            let at = self.random.random_range(0..BUSY);
            let healed = at + self.random.random_range(100..6_000);
            let mask = self.random.random();
            self.at(at, Happening::Fault(Fault::Divide(mask)));
            self.at(healed, Happening::Fault(Fault::Heal));
        }
    }

    pub(crate) fn fault(&mut self, fault: &Fault) {
        match *fault {
            Fault::Crash(node) => self.crash(node),
            Fault::Start(node) => {
                if self.nodes[node].up.is_none() {
                    let seed = self.seed_of(node);
                    self.nodes[node].start(&self.plan, seed, self.now);
                    self.nodes[node].alarm = None;
                    self.wake(node);
                    self.feed(node);
                }
            }
            Fault::Divide(mask) => self.divided = mask,
            Fault::Heal => self.divided = 0,
        }
    }

    /// What was in memory is gone: who asked there hears of it, who leased there does not, unless the
    /// leases are in a store.
    fn crash(&mut self, node: usize) {
        let Some(up) = self.nodes[node].up.take() else {
            return;
        };
        self.count("crashes");
        up.answers.close();
        for (question, mut waiting) in up.questions {
            self.hear(question, &mut waiting);
        }
        if !self.nodes[node].durable {
            self.nodes[node].store.clear();
            self.truth.leases_forgotten(&self.nodes[node].realm);
        }
    }

    pub(crate) fn is_divided(&self, one: usize, other: usize) -> bool {
        let side = |node: usize| self.divided >> (node % 64) & 1;
        side(one) != side(other)
    }
}
