//! What is tried: what somebody may do, what others may, all that in small changes, and what nobody should.

use mesh_control::compose::{Composition, User};
use mesh_control::perm::Act;
use mesh_core::permissions::{Rule, Side};
use mesh_core::port::QueueGroup;
use mesh_core::subject::{Filter, Subject};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// What nobody but the controller, or nobody at all, should publish to. `N` is a node, `M` a module, `D` a consumer.
const FORBIDDEN: &[&str] = &[
    "$JS.API.STREAM.DELETE.EVENTS",
    "$JS.API.STREAM.CREATE.X",
    "$JS.API.STREAM.MSG.GET.EVENTS",
    "$JS.API.DIRECT.GET.NODES.mesh.node.N.declare",
    "$JS.API.CONSUMER.CREATE.EVENTS.D",
    "$JS.API.CONSUMER.MSG.NEXT.EVENTS.D",
    "$JS.API.INFO",
    "$JS.FC.EVENTS.D.x",
    "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.D",
    "$SYS.REQ.SERVER.PING",
    "$SYS.REQ.ACCOUNT.EDGE.CONNZ",
    "_R_.abcdef",
    "_GR_.abcdef.abcdef.x",
    "$GR.abcdef",
    "$KV.B.key",
    "mesh.node.N.declare",
    "mesh.build.request",
    "mesh.control.enrol",
    "mesh.control.built",
    "mesh.control.N.report",
    "mesh.control.N.alive",
    "mesh.control.N",
    "mesh.ask.N.credential",
    "mesh.events.dead",
    "mesh.events.M.x",
    "mesh.replay.D.M.x",
    "mesh.deliver.EVENTS.D",
    "mesh.deliver.CONTROL.controller",
    "mesh.tools.M.provision_grant",
    "mesh.tools.M.provision_withdraw",
    "$JS.ACK.EVENTS.D.1.2.3.4.5",
    "$JS.ACK.EVENTS.D.1.2.3.4",
    "$JS.ACK.EVENTS.D.1.2.3.4.5.6",
    "$JS.ACK.hub.hash.EVENTS.D.1.2.3.4.5.x",
    "$JS.ACK.hub.hash.EVENTS.D.1.2.3.4",
    "$JS.ACK.NODES.N.1.2.3.4.5",
    "$JS.ACK.BUILDS.builder.1.2.3.4.5",
    "$JS.ACK.CONTROL.controller.1.2.3.4.5",
    "_INBOX.M.N.ack.00000000000000000000000000000001",
    "_INBOX.M.N.echo.00000000000000000000000000000001",
    "_INBOX.M.N.M.00000000000000000000000000000001",
    "_INBOX.controller.c1.ack.01",
    "_INBOX.controller.c1.M.01",
    "_INBOX.host.N.controller.01",
    "_INBOX.enrol.t1.answer",
    "public.ingress.acme%2Ecom",
];

/// What nobody should listen to.
const TOO_WIDE: &[&str] = &[
    ">",
    "*",
    "*.>",
    "mesh.>",
    "mesh.*.>",
    "mesh.events.>",
    "mesh.events.*.>",
    "mesh.tools.>",
    "mesh.tools.M.*",
    "mesh.tools.M.>",
    "mesh.deliver.>",
    "mesh.deliver.*.*",
    "mesh.ask.>",
    "mesh.ask.*.*",
    "mesh.ask.*.>",
    "mesh.control.>",
    "mesh.control.*.*",
    "mesh.control.*.>",
    "_INBOX.>",
    "_INBOX.*.>",
    "_INBOX.M.>",
    "_INBOX.M.N.>",
    "_INBOX.*.N.>",
    "_INBOX.controller.>",
    "$JS.>",
    "$SYS.>",
    "_R_.>",
];

/// All that one mesh's users may do, and the names in it.
pub struct Probes {
    rules: Vec<(Side, Rule)>,
    words: Vec<String>,
    nodes: Vec<String>,
    modules: Vec<String>,
    groups: Vec<QueueGroup>,
}

impl Probes {
    pub fn of(composition: &Composition) -> Self {
        let grants = composition.users().iter().flat_map(User::grants);
        let rules: Vec<(Side, Rule)> =
            grants.map(|grant| (grant.side, grant.rule.clone())).collect();
        let tokens = rules.iter().flat_map(|(_, rule)| rule.filter.tokens());
        let mut words: Vec<String> = tokens.map(str::to_owned).collect();
        words.sort();
        words.dedup();
        let or = |mut names: Vec<String>| {
            if names.is_empty() {
                names.push("none".to_owned());
            }
            names
        };
        let mesh = composition.mesh();
        let mut groups: Vec<QueueGroup> =
            rules.iter().filter_map(|(_, rule)| rule.group.clone()).collect();
        groups.extend(
            ["serve", "other", "_sys_", "Serve"].map(|name| QueueGroup::new(name).unwrap()),
        );
        Self {
            rules,
            words,
            nodes: or(mesh.nodes().iter().map(ToString::to_string).collect()),
            modules: or(mesh.modules().map(|m| m.manifest.name.to_string()).collect()),
            groups,
        }
    }

    /// Each of this user's grants once, as it is meant.
    pub fn of_own(&self, user: &User, random: &mut StdRng) -> Vec<Act> {
        let grants = user.grants().iter();
        grants.filter_map(|grant| self.meant(grant.side, &grant.rule, random)).collect()
    }

    /// Something to try.
    pub fn draw(&self, user: &User, random: &mut StdRng) -> Act {
        loop {
            let act = match random.random_range(0..10) {
                0 => self.forbidden(random),
                1 => self.too_wide(random),
                2..=4 if !user.grants().is_empty() => {
                    let grant = user.grants().choose(random).unwrap();
                    self.changed(grant.side, &grant.rule, random)
                }
                _ => {
                    let (side, rule) = self.rules.choose(random).unwrap();
                    if random.random_bool(0.5) {
                        self.meant(*side, rule, random)
                    } else {
                        self.changed(*side, rule, random)
                    }
                }
            };
            // What is no subject can't be tried over our ports.
            if let Some(act) = act {
                return act;
            }
        }
    }

    fn meant(&self, side: Side, rule: &Rule, random: &mut StdRng) -> Option<Act> {
        match side {
            Side::Publish => self.publish(&self.concrete(&rule.filter, random), random),
            Side::Subscribe => {
                Some(Act::Subscribe { filter: rule.filter.clone(), group: rule.group.clone() })
            }
        }
    }

    fn changed(&self, side: Side, rule: &Rule, random: &mut StdRng) -> Option<Act> {
        // What may be heard is also published to, and the other way round.
        let side = match side {
            other if random.random_bool(0.9) => other,
            Side::Publish => Side::Subscribe,
            Side::Subscribe => Side::Publish,
        };
        match side {
            Side::Publish => {
                let text = self.mutated(&self.concrete(&rule.filter, random), random);
                self.publish(&text, random)
            }
            Side::Subscribe => {
                let text = match random.random_range(0..3) {
                    0 => rule.filter.to_string(),
                    1 => self.concrete(&rule.filter, random),
                    _ => self.widened(&rule.filter, random),
                };
                let text = if random.random_bool(0.4) { self.mutated(&text, random) } else { text };
                let group = match random.random_range(0..3) {
                    0 => None,
                    1 => rule.group.clone(),
                    _ => self.groups.choose(random).cloned(),
                };
                Some(Act::Subscribe { filter: Filter::new(text).ok()?, group })
            }
        }
    }

    fn forbidden(&self, random: &mut StdRng) -> Option<Act> {
        let text = self.named(FORBIDDEN.choose(random)?, random);
        self.publish(&text, random)
    }

    fn too_wide(&self, random: &mut StdRng) -> Option<Act> {
        let filter = Filter::new(self.named(TOO_WIDE.choose(random)?, random)).ok()?;
        let group =
            if random.random_bool(0.5) { self.groups.choose(random).cloned() } else { None };
        Some(Act::Subscribe { filter, group })
    }

    fn publish(&self, subject: &str, random: &mut StdRng) -> Option<Act> {
        let subject = Subject::new(subject).ok()?;
        let reply = match random.random_range(0..8) {
            0 => Some("_R_.abcdef.x".to_owned()),
            1 => Some(self.named("$JS.ACK.EVENTS.D.1.2.3.4.5", random)),
            2 => Some(self.named(FORBIDDEN.choose(random)?, random)),
            3 => Some(self.concrete(&self.rules.choose(random)?.1.filter, random)),
            4 => Some(subject.to_string()),
            _ => None,
        };
        let reply = reply.map(Subject::new).transpose().ok()?;
        Some(Act::Publish { subject, reply })
    }

    /// One subject of a filter.
    pub fn concrete(&self, filter: &Filter, random: &mut StdRng) -> String {
        let mut tokens: Vec<String> = Vec::new();
        for token in filter.tokens() {
            match token {
                "*" => tokens.push(self.word(random)),
                ">" => {
                    for _ in 0..random.random_range(1..=2) {
                        tokens.push(self.word(random));
                    }
                }
                word => tokens.push(word.to_owned()),
            }
        }
        tokens.join(".")
    }

    fn widened(&self, filter: &Filter, random: &mut StdRng) -> String {
        let mut tokens: Vec<&str> = filter.tokens().collect();
        let at = random.random_range(0..tokens.len());
        if random.random_bool(0.5) {
            tokens[at] = "*";
        } else {
            tokens.truncate(at);
            tokens.push(">");
        }
        tokens.join(".")
    }

    /// A token more or less, or another one.
    fn mutated(&self, text: &str, random: &mut StdRng) -> String {
        let mut tokens: Vec<String> = text.split('.').map(str::to_owned).collect();
        let at = random.random_range(0..tokens.len());
        match random.random_range(0..7) {
            0 if tokens.len() > 1 => _ = tokens.remove(at),
            1 => tokens.insert(at, self.word(random)),
            2 => tokens.push(self.word(random)),
            3 => tokens[at] = swapped_case(&tokens[at]),
            4 => _ = tokens[at].pop(),
            5 => tokens[at].push('x'),
            _ => tokens[at] = self.word(random),
        }
        tokens.join(".")
    }

    fn named(&self, text: &str, random: &mut StdRng) -> String {
        let node = self.nodes.choose(random).unwrap();
        let module = self.modules.choose(random).unwrap();
        let tokens = text.split('.').map(|token| match token {
            "N" => node.clone(),
            "M" => module.clone(),
            "D" => format!("{node}_{module}"),
            other => other.to_owned(),
        });
        tokens.collect::<Vec<_>>().join(".")
    }

    fn word(&self, random: &mut StdRng) -> String {
        let word = self.words.choose(random).unwrap();
        if matches!(word.as_str(), "*" | ">") { "w".to_owned() } else { word.clone() }
    }
}

fn swapped_case(text: &str) -> String {
    let swap =
        |c: char| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    text.chars().map(swap).collect()
}
