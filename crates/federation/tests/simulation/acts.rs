//! What realms do, the hostile ones among them.

use bytes::Bytes;
use mesh_core::mx::{Envelope, MailboxKind, MsgType, Party, Profile, Shard, Topic};
use mesh_core::name::RealmName;
use mesh_core::subject::Subject;
use rand::Rng as _;
use rand::seq::IndexedRandom as _;

use crate::facade::FEED;
use crate::letters::{self, Token, path};
use crate::plan::BUSY;
use crate::world::{Happening, World};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    Ask,
    Tell,
    Lease,
    Hostile,
}

const DESK: [&str; 9] =
    ["echo", "echo", "echo", "echo", "slow", "silent", "twice", "fails", "absent"];
const LEASE: [&str; 5] = ["subscribe", "subscribe", "subscribe", "refresh", "unsubscribe"];

impl World {
    pub(crate) fn plan_acts(&mut self) {
        for _ in 0..self.plan.acts {
            let at = self.random.random_range(0..BUSY);
            let acts =
                [Act::Ask, Act::Ask, Act::Ask, Act::Tell, Act::Lease, Act::Lease, Act::Hostile];
            let act = self.pick(&acts);
            self.at(at, Happening::Act(act));
        }
    }

    pub(crate) fn act(&mut self, act: Act) {
        let (node, other) = self.two();
        match act {
            Act::Ask => {
                let to_path = format!("desk.accepts.{}", self.pick(&DESK));
                self.ask(node, other, &to_path, "");
            }
            Act::Tell => {
                let to = self.nodes[other].realm.clone();
                let (from, token) = self.write(node, &to);
                let event =
                    letters::envelope(MsgType::Evt, &from, &to, "desk.emits.noted", (token, ""));
                self.post(node, &to, event);
            }
            Act::Lease => {
                let command = self.pick(&LEASE);
                let to_path = format!("_federation.accepts.{command}");
                let source =
                    self.pick(&[FEED, FEED, FEED, FEED, "desk.accepts.echo", "_own.emits.x"]);
                let lease = self.random.random_range(500..15_000);
                let mine = if command == "subscribe" || self.random.random_ratio(4, 5) {
                    String::new()
                } else {
                    // Of whoever: hardly ever one's own.
                    let (one, _) = self.two();
                    format!(r#","of":"{}""#, self.nodes[one].realm)
                };
                let more = format!(
                    r#","source":"{source}","sink":"desk.emits.heard","lease":{lease}{mine}"#
                );
                // Mostly the same few, so that leases meet.
                let (node, other) =
                    if self.random.random_ratio(2, 3) { (node % 4, 4) } else { (node, other) };
                self.ask(node, other, &to_path, &more);
            }
            Act::Hostile => self.hostile(node, other),
        }
    }

    pub(crate) fn two(&mut self) -> (usize, usize) {
        let all = self.nodes.len();
        let one = self.random.random_range(0..all);
        let other = self.random.random_range(0..all - 1);
        (one, if other >= one { other + 1 } else { other })
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        *from.choose(&mut self.random).expect("something to pick from")
    }

    fn write(&mut self, node: usize, to: &RealmName) -> (RealmName, Token) {
        let from = self.nodes[node].realm.clone();
        let token = self.truth.written(&from, to);
        (from, token)
    }

    /// Asks, and waits a while.
    fn ask(&mut self, node: usize, other: usize, to_path: &str, more: &str) {
        let to = self.nodes[other].realm.clone();
        if self.nodes[node].up.is_none() {
            return;
        }
        let (from, token) = self.write(node, &to);
        let question = letters::envelope(MsgType::Cmd, &from, &to, to_path, (token, more));
        let Some(up) = &mut self.nodes[node].up else { return };
        let waiting = up.answers.register(&to, &format!("c-{token}"), Profile::MxEnv1);
        up.questions.insert(token, waiting.expect("room for a question"));
        self.truth.asked(token);
        self.count("asked");
        let patience = self.random.random_range(500..10_000);
        self.after(patience, Happening::GiveUp(node, token));
        self.post(node, &to, question);
    }

    /// By one way or another, or by several.
    fn post(&mut self, node: usize, to: &RealmName, mut envelope: Envelope<'static>) {
        let (legacy, new) = (MailboxKind::Legacy.subject(to), MailboxKind::default().subject(to));
        let mxenv = letters::write(Profile::MxEnv1, &envelope);
        let ways: Vec<(Subject, Bytes)> = match self.random.random_range(0..8) {
            0 | 1 => vec![(new, mxenv)],
            2 => vec![(legacy, mxenv)],
            // The same letter twice on purpose: at once, or when the first way failed.
            3 => vec![(legacy, mxenv.clone()), (new, mxenv)],
            4 => {
                envelope.ttl_ms = Some(self.random.random_range(1..200));
                envelope.timestamp = u64::try_from(self.clock().wall.as_millis()).ok();
                envelope.msg_id = None;
                vec![(legacy, letters::write(Profile::Legacy, &envelope))]
            }
            5 => vec![(legacy, letters::write(Profile::Legacy, &envelope))],
            number => {
                envelope.ttl = self.pick(&[None, Some(5), Some(20), Some(64)]);
                let mine = &self.nodes[node].realm;
                let inbox = Topic::route_inbox(mine, Shard::default());
                let mut ways = vec![(inbox, letters::write(Profile::MxEnv1, &envelope))];
                if number == 7 {
                    ways.push((new, mxenv));
                }
                ways
            }
        };
        for (subject, bytes) in ways {
            self.captured.push((subject.clone(), bytes.clone()));
            self.send(node, &subject, &bytes);
        }
    }

    fn hostile(&mut self, node: usize, other: usize) {
        let to = self.nodes[other].realm.clone();
        let (third, _) = self.two();
        let third = self.nodes[third].realm.clone();
        let (from, token) = self.write(node, &to);
        let cmd = |to_path| letters::envelope(MsgType::Cmd, &from, &to, to_path, (token, ""));
        let echo = cmd("desk.accepts.echo");
        let mailbox = MailboxKind::default().subject(&to);
        let (subject, never, bytes) = match self.random.random_range(0..11) {
            0 if third != from => {
                let mut relay = echo;
                relay.reply_to =
                    Some(Party::new(&third, Some(path("desk.accepts.answer"))).into_owned());
                (
                    mailbox,
                    "the answer should go to a third",
                    letters::write(Profile::MxEnv1, &relay),
                )
            }
            1 if third != to => {
                let subject = MailboxKind::Legacy.subject(&third);
                (subject, "in another's mailbox", letters::write(Profile::MxEnv1, &echo))
            }
            2 => {
                let bytes = letters::write(Profile::MxEnv1, &echo);
                (mailbox, "cut off", bytes.slice(..self.random.random_range(0..bytes.len())))
            }
            3 => {
                let hidden = cmd(self.pick(&[
                    "_own.accepts.open",
                    "a/_b/desk.accepts.echo",
                    "_federation.accepts.leases",
                ]));
                (mailbox, "closed to remotes", letters::write(Profile::MxEnv1, &hidden))
            }
            4 => {
                let event =
                    letters::envelope(MsgType::Evt, &from, &to, "_own.emits.x", (token, ""));
                (mailbox, "closed to remotes", letters::write(Profile::MxEnv1, &event))
            }
            5 | 6 => {
                let mut odd = echo;
                odd.ttl = self.pick(&[Some(0), Some(1), Some(65), Some(u64::MAX)]);
                let inbox = Topic::route_inbox(&from, Shard::default());
                (inbox, "an odd ttl", letters::write(Profile::MxEnv1, &odd))
            }
            7 => {
                // To a router that has nothing to do with it; or it has, and passes it on.
                let inbox = Topic::route_inbox(&third, Shard::default());
                return self.send(node, &inbox, &letters::write(Profile::MxEnv1, &echo));
            }
            8 => return self.lost_letter(node),
            9 => return self.forge(node),
            _ => {
                // Whatever was sent before comes again, byte for byte.
                let Some((subject, bytes)) = self.captured.choose(&mut self.random).cloned() else {
                    return;
                };
                return self.send(node, &subject, &bytes);
            }
        };
        self.truth.never(token, never);
        self.send(node, &subject, &bytes);
    }

    /// Into the tree, for a realm that is not there; or into a ring that has no end.
    fn lost_letter(&mut self, node: usize) {
        let (from, router) = if self.plan.ring {
            ("ring-child.x".to_owned(), "ring-a".to_owned())
        } else {
            let mine = self.nodes[node].realm.to_string();
            (mine.clone(), mine)
        };
        let nobody = self.pick(&["nobody", "root.nobody", "z.nobody"]);
        let [from, router, nobody] = [from.as_str(), &router, nobody].map(crate::tree::realm);
        let token = self.truth.written(&from, &nobody);
        self.truth.never(token, "for nobody");
        let mut letter =
            letters::envelope(MsgType::Cmd, &from, &nobody, "desk.accepts.echo", (token, ""));
        // A network that repeats makes more of a letter at each hop: no long journey in a ring.
        letter.ttl = self.pick(&[None, Some(if self.plan.ring { 16 } else { 64 })]);
        let bytes = letters::write(Profile::MxEnv1, &letter);
        self.send(node, &Topic::route_inbox(&router, Shard::default()), &bytes);
        self.send(node, &MailboxKind::default().subject(&nobody), &bytes);
        let cut = bytes.slice(..bytes.len() - 1);
        self.send(node, &Topic::route_inbox(&router, Shard::default()), &cut);
    }

    /// An answer to a question that another realm was asked.
    fn forge(&mut self, node: usize) {
        let asker = self.nodes.iter().enumerate().find_map(|(asker, here)| {
            let question = here.up.as_ref()?.questions.keys().next_back()?;
            Some((asker, *question))
        });
        let Some((asker, question)) = asker else {
            return;
        };
        let to = self.nodes[asker].realm.clone();
        let (from, token) = self.write(node, &to);
        if self.truth.is_to(question, &from) {
            return;
        }
        let mut forged =
            letters::envelope(MsgType::Result, &from, &to, "desk.accepts.answer", (token, ""));
        forged.correlation_id = Some(format!("c-{question}").into());
        let profile = self.pick(&[Profile::MxEnv1, Profile::Legacy]);
        let mailbox = MailboxKind::default().subject(&to);
        if profile == Profile::Legacy {
            // What a legacy reply has no place for.
            forged.msg_id = None;
        }
        let bytes = letters::write(profile, &forged);
        self.send(node, &mailbox, &bytes);
    }
}
