use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::guard::{Now, PrefixDeny, Quota};
use mesh_core::message::Message;
use mesh_core::mx::{InternalRequest, MailboxKind, ReplyId, Shard, Topic, decode};
use mesh_core::name::RealmName;
use mesh_core::port::ErrorKind;
use mesh_core::time::Timestamp;
use mesh_federation::Seeded;
use mesh_federation::edge::{Edge, EdgeConfig, Outgoing, Reaction, Replied};
use serde_json::value::RawValue;

/// What stands between two happenings of an input. No UTF-8 holds it.
pub const CUT: u8 = 0xff;

/// Runs a gateway through an input: happenings between [`CUT`]s, the first byte of each saying which.
///
/// | first byte modulo 8 | the rest is |
/// |---|---|
/// | 0, 1, 2 | a message in the MX, the legacy, the raw legacy mailbox |
/// | 3 | the same, and nobody serves what it asks |
/// | 4, 5 | a reply to the latest request, or to an earlier one |
/// | 6 | nothing: a second passes |
/// | 7 | nothing: an hour passes |
///
/// # Panics
/// Where the gateway publishes anywhere but inside its realm and in the caller's mailbox, answers a
/// request twice or not at all, or holds more than it may.
pub fn inbound(input: &[u8]) {
    let Ok(mut run) = Run::new() else { return };
    for happening in input.split(|byte| *byte == CUT).take(64) {
        let Some((what, rest)) = happening.split_first() else { continue };
        match what % 8 {
            0 => run.arrive(rest, MailboxKind::Mx(Shard(0)), None),
            1 => run.arrive(rest, MailboxKind::Legacy, None),
            2 => run.arrive(rest, MailboxKind::LegacyRaw, None),
            3 => run.arrive(rest, MailboxKind::Legacy, Some(ErrorKind::NoResponders)),
            4 => run.reply(run.asked.len().wrapping_sub(1), rest),
            5 => run.reply(usize::from(what / 8) % run.asked.len().max(1), rest),
            6 => run.pass(Duration::from_secs(1)),
            _ => run.pass(Duration::from_secs(3_600)),
        }
    }
    run.pass(Duration::from_secs(10));
    assert!(run.asked.iter().all(|asked| asked.answered), "a request without a result");
    assert_eq!((run.edge.pending(), run.edge.under_way()), (0, (0, 0)));
}

struct Run {
    edge: Edge,
    now: Now,
    asked: Vec<Asked>,
}

struct Asked {
    id: ReplyId,
    realm: String,
    mailbox: MailboxKind,
    answered: bool,
}

const PENDING: usize = 4;

impl Run {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let mut config = EdgeConfig::new(RealmName::new("acme.com")?);
        config.limits.pending = PENDING;
        config.include_envelope = true;
        config.rules.rate.per_realm = Quota::new(2, 8).ok_or("a quota")?;
        config.rules = config.rules.policy(PrefixDeny::new(["admin"]));
        let now = Now { wall: Timestamp::from_millis(1_000), monotonic: Duration::ZERO };
        let edge = Edge::new(config, Arc::new(Seeded::new(1)))?;
        Ok(Self { edge, now, asked: Vec::new() })
    }

    fn arrive(&mut self, bytes: &[u8], mailbox: MailboxKind, fails: Option<ErrorKind>) {
        match self.edge.receive(bytes, mailbox, self.now) {
            Reaction::Answer(answer) => addressed(&answer, &claimed(bytes), mailbox),
            Reaction::Ask(ask) => {
                inside(&ask.message);
                let realm = claimed(bytes);
                let request = InternalRequest::decode(ask.message.payload(), usize::MAX)
                    .expect("a request that a component can read");
                assert_eq!(request.reply_to, Topic::internal_reply(self.edge.realm(), ask.id));
                assert_eq!(request.mx.expect("what we vouch for").from_realm.as_str(), realm);
                let id = ask.id;
                let unsent = fails.map(|kind| self.edge.unsent(ask, kind, self.now));
                if let Some(answer) = unsent.as_ref().and_then(|unsent| unsent.answer.as_ref()) {
                    addressed(answer, &realm, mailbox);
                }
                self.asked.push(Asked { id, realm, mailbox, answered: unsent.is_some() });
            }
            Reaction::Tell(tell) => inside(&tell.message),
            Reaction::Drop(_) | Reaction::Settle(_) => {}
            Reaction::Wait(_) => panic!("no guard waits"),
        }
        assert!(self.edge.pending() <= PENDING);
    }

    fn reply(&mut self, number: usize, bytes: &[u8]) {
        let Some(asked) = self.asked.get_mut(number) else { return };
        match self.edge.reply(asked.id, bytes, self.now) {
            Replied::Answer(answer) => {
                assert!(!asked.answered, "a second result");
                asked.answered = true;
                addressed(&answer, &asked.realm, asked.mailbox);
            }
            Replied::Late | Replied::Unknown => assert!(asked.answered, "a reply got lost"),
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now.monotonic += time;
        let millis = self.now.wall.as_millis() + i64::try_from(time.as_millis()).unwrap_or(0);
        self.now.wall = Timestamp::from_millis(millis);
        while let Some(answer) = self.edge.expire(self.now) {
            let asked = self.asked.iter_mut().find(|asked| {
                !asked.answered
                    && asked.realm == answer.realm().as_str()
                    && asked.mailbox == answer.mailbox()
            });
            let asked = asked.expect("a time-out of a request that has none");
            asked.answered = true;
            addressed(&answer, &asked.realm, asked.mailbox);
        }
        self.edge.reclaim(self.now);
    }
}

/// It goes to the mailbox of who asked, of the kind that the request came in by, and is an answer.
fn addressed(answer: &Outgoing, realm: &str, mailbox: MailboxKind) {
    let message = answer.message();
    let realm = RealmName::new(realm).expect("a realm");
    assert_eq!(message.subject(), &mailbox.subject(&realm));
    assert!(message.reply().is_none() && message.headers().is_empty());
    let decoded = decode(message.payload(), usize::MAX).expect("an envelope");
    assert!(decoded.as_answer().is_some());
}

/// It goes to a component of the realm that is open to others.
fn inside(message: &Message) {
    assert!(message.reply().is_none() && message.headers().is_empty());
    let topic: Topic = message.subject().as_str().parse().expect("a topic");
    let Topic::Internal(realm, path) = topic else { panic!("{topic:?}") };
    assert_eq!(realm.as_str(), "acme.com");
    let leases = ["subscribe", "refresh", "unsubscribe"];
    let is_open = leases.iter().any(|verb| path.as_str() == format!("_federation.accepts.{verb}"));
    let hidden = path.as_str().split(['/', '.']).any(|part| part.starts_with('_'));
    assert!(!hidden || is_open, "{path}");
    assert!(!path.as_str().starts_with("admin."), "{path}");
    serde_json::from_slice::<Box<RawValue>>(message.payload()).expect("JSON");
}

/// The realm that a message says it comes from, read by another reader.
fn claimed(bytes: &[u8]) -> String {
    type Object = HashMap<String, Box<RawValue>>;
    let object: Object = serde_json::from_slice(bytes).expect("an object");
    let starts = |key, with| object.get(key).is_some_and(|value| value.get().starts_with(with));
    let realm = if starts("msgType", '"') && starts("to", '{') {
        let from: Object = serde_json::from_str(object["from"].get()).expect("an object");
        from["realm"].get().to_owned()
    } else {
        object["fromRealm"].get().to_owned()
    };
    serde_json::from_str(&realm).expect("a realm")
}
