use std::collections::HashMap;

use mesh_core::guard::{Inbound, Mode, Now, Policy, PrefixDeny, Quota, Ruling, Stage};
use mesh_core::json::RawJson;
use mesh_core::mx::{
    Envelope, InternalRequest, MailboxKind, MsgType, Party, ReplyId, Topic, decode,
};
use mesh_core::port::ErrorKind;
use mesh_testkit::strategies::{few_envelopes, mailbox_bytes, mutated_bytes, raw_json};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::value::RawValue;

use super::super::*;
use super::support::*;

/// What may happen to a gateway.
#[derive(Debug, Clone)]
enum Happening {
    /// Bytes in a mailbox, and how publishing what they ask fails.
    Arrival(Vec<u8>, MailboxKind, Option<ErrorKind>),
    /// The same bytes as an earlier arrival, perhaps by another mailbox.
    Again(Index, MailboxKind),
    Reply(Index, Vec<u8>),
    Time(u64),
}

fn arrival() -> impl Strategy<Value = Vec<u8>> {
    let small = || few_envelopes().prop_filter_map("never", |envelope| envelope.encode().ok());
    prop_oneof![
        4 => small(),
        3 => aimed(),
        3 => mailbox_bytes(),
        2 => mutated_bytes(prop_oneof![aimed(), mailbox_bytes()]),
        1 => prop::collection::vec(any::<u8>(), 0..64),
    ]
}

/// An envelope that is meant for the realm, from one who may want the answer sent elsewhere.
fn aimed() -> impl Strategy<Value = Vec<u8>> {
    let realm = || select(&["shop", "shop", "shop", "third", "acme.com"][..]);
    const KINDS: &[MsgType] =
        &[MsgType::Cmd, MsgType::Cmd, MsgType::Sub, MsgType::Unsub, MsgType::Evt];
    const PATHS: &[&str] =
        &["a.accepts.b", "a.emits.b", "_a.accepts.b", "x/_federation.accepts.subscribe"];
    let ends = (select(KINDS), realm(), realm(), select(PATHS));
    (ends, 0..6_u8, raw_json(), any::<bool>()).prop_map(|(ends, id, body, named)| {
        let (kind, from, back, to) = ends;
        let mut envelope = request(kind, to, &format!("m-{id}"));
        envelope.from =
            Party::new(&realm_of(from), named.then(|| path("d.accepts.x"))).into_owned();
        envelope.reply_to =
            Some(Party::new(&realm_of(back), Some(path("d.accepts.y"))).into_owned());
        envelope.body = Some(body);
        envelope.encode().unwrap()
    })
}

fn realm_of(name: &str) -> mesh_core::name::RealmName {
    realm(name)
}

fn happening() -> impl Strategy<Value = Happening> {
    let mailbox = || select(&[MX, LEGACY, MailboxKind::LegacyRaw][..]);
    const KINDS: &[Option<ErrorKind>] = &[
        None,
        None,
        Some(ErrorKind::NoResponders),
        Some(ErrorKind::Denied),
        Some(ErrorKind::TimedOut),
    ];
    let reply = prop_oneof![
        raw_json().prop_map(|json| json.as_str().as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..32),
        mailbox_bytes(),
    ];
    prop_oneof![
        6 => (arrival(), mailbox(), select(KINDS))
            .prop_map(|(bytes, kind, fails)| Happening::Arrival(bytes, kind, fails)),
        2 => (any::<Index>(), mailbox()).prop_map(|(at, kind)| Happening::Again(at, kind)),
        3 => (any::<Index>(), reply).prop_map(|(at, bytes)| Happening::Reply(at, bytes)),
        1 => (0..4_000_u64).prop_map(Happening::Time),
    ]
}

/// Drives an edge, and says what came out of it at each step.
struct Driven {
    edge: Edge,
    millis: u64,
    arrivals: Vec<Vec<u8>>,
    /// Requests that were asked, ever, with who asked and by which mailbox.
    asked: Vec<(ReplyId, String, MailboxKind)>,
    answered: Vec<ReplyId>,
}

impl Driven {
    fn new(config: EdgeConfig) -> Self {
        let edge = edge(config);
        Self { edge, millis: 0, arrivals: Vec::new(), asked: Vec::new(), answered: Vec::new() }
    }

    fn step(&mut self, happening: &Happening) -> String {
        match happening {
            Happening::Arrival(bytes, mailbox, fails) => {
                self.arrivals.push(bytes.clone());
                self.arrive(bytes, *mailbox, *fails)
            }
            Happening::Again(at, mailbox) if !self.arrivals.is_empty() => {
                let bytes = at.get(&self.arrivals).clone();
                self.arrive(&bytes, *mailbox, None)
            }
            Happening::Reply(at, bytes) if !self.asked.is_empty() => {
                let (id, realm, mailbox) = at.get(&self.asked).clone();
                let was_answered = self.answered.contains(&id);
                match self.edge.reply(id, bytes, at_millis(self.millis)) {
                    Replied::Answer(answer) => {
                        assert!(!was_answered, "a second answer");
                        self.answered.push(id);
                        checked(&answer, &realm, mailbox)
                    }
                    _ => {
                        assert!(was_answered, "a reply that found nothing");
                        "nothing".to_owned()
                    }
                }
            }
            Happening::Time(millis) => {
                self.millis += millis;
                let mut told = String::new();
                while let Some(answer) = self.edge.expire(at_millis(self.millis)) {
                    let found = self.asked.iter().find(|(id, realm, mailbox)| {
                        !self.answered.contains(id)
                            && realm == answer.realm().as_str()
                            && *mailbox == answer.mailbox()
                    });
                    let (id, realm, mailbox) = found.expect("a time-out of nothing").clone();
                    self.answered.push(id);
                    told += &checked(&answer, &realm, mailbox);
                }
                told
            }
            _ => String::new(),
        }
    }

    fn arrive(&mut self, bytes: &[u8], mailbox: MailboxKind, fails: Option<ErrorKind>) -> String {
        let now = at_millis(self.millis);
        let reaction = self.edge.receive(bytes, mailbox, now);
        match reaction {
            Reaction::Answer(answer) => checked(&answer, &claimed(bytes), mailbox),
            Reaction::Ask(ask) => {
                inside(&ask.message, bytes);
                let request = InternalRequest::decode(ask.message.payload(), usize::MAX).unwrap();
                let own = Topic::internal_reply(self.edge.realm(), ask.id);
                assert_eq!(request.reply_to, own);
                assert_eq!(request.mx.unwrap().from_realm.as_str(), claimed(bytes));
                self.asked.push((ask.id, claimed(bytes), mailbox));
                let subject = ask.message.subject().clone();
                let Some(kind) = fails else { return subject.to_string() };
                let id = ask.id;
                let Some(answer) = self.edge.unsent(ask, kind, now).answer else {
                    return subject.to_string();
                };
                self.answered.push(id);
                checked(&answer, &claimed(bytes), mailbox)
            }
            Reaction::Tell(tell) => {
                inside(&tell.message, bytes);
                format!("{:?} {:?}", tell.message.subject(), tell.message.payload())
            }
            Reaction::Wait(_) => panic!("nothing waits"),
            other => short(other),
        }
    }
}

fn at_millis(millis: u64) -> Now {
    at(millis)
}

/// The realm that a message says it comes from, read by another reader.
fn claimed(bytes: &[u8]) -> String {
    type Object = HashMap<String, Box<RawValue>>;
    let object: Object = serde_json::from_slice(bytes).expect("an object");
    let is_new = object.get("msgType").is_some_and(|kind| kind.get().starts_with('"'))
        && object.get("to").is_some_and(|to| to.get().starts_with('{'));
    let realm = if is_new {
        let from: Object = serde_json::from_str(object["from"].get()).expect("an object");
        from["realm"].get().to_owned()
    } else {
        object["fromRealm"].get().to_owned()
    };
    serde_json::from_str(&realm).expect("a realm")
}

/// An answer goes to the mailbox of who asked, of the kind the request came by, and is one.
fn checked(answer: &Outgoing, realm: &str, mailbox: MailboxKind) -> String {
    let message = answer.message();
    assert_eq!(message.subject(), &mailbox.subject(&realm_of(realm)));
    assert!(message.reply().is_none() && message.headers().is_empty());
    let decoded = decode(message.payload(), usize::MAX).expect("an envelope");
    assert!(decoded.as_answer().is_some());
    format!("{} {}", message.subject(), String::from_utf8_lossy(message.payload()))
}

/// What goes inside goes to the realm's own components, and to none that is closed.
fn inside(message: &mesh_core::message::Message, bytes: &[u8]) {
    assert!(message.reply().is_none() && message.headers().is_empty());
    let topic: Topic = message.subject().as_str().parse().expect("a topic");
    let Topic::Internal(realm, path) = topic else { panic!("{topic:?}") };
    assert_eq!(realm.as_str(), "acme.com");
    let leases = ["subscribe", "refresh", "unsubscribe"];
    let is_open = leases.iter().any(|verb| path.as_str() == format!("_federation.accepts.{verb}"));
    let hidden = path.as_str().split(['/', '.']).any(|part| part.starts_with('_'));
    assert!(!hidden || is_open, "{path}");
    let payload: &[u8] = message.payload();
    assert!(serde_json::from_slice::<Box<RawValue>>(payload).is_ok());
    assert!(!bytes.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_published_but_inside_the_realm_and_to_the_callers_mailbox(
        happenings in prop::collection::vec(happening(), 1..40),
    ) {
        let mut config = config();
        config.limits.pending = 8;
        config.limits.pending_per_realm = 4;
        config.rules.rate.per_realm = Quota::new(3, 6).unwrap();
        config.rules = config.rules.policy(PrefixDeny::new(["b"]));
        config.include_envelope = true;
        let mut driven = Driven::new(config);
        for happening in &happenings {
            driven.step(happening);
            prop_assert!(driven.edge.pending() <= 8);
        }
        driven.step(&Happening::Time(10_000));
        prop_assert_eq!(driven.edge.pending(), 0);
        prop_assert_eq!(driven.edge.under_way(), (0, 0));
        prop_assert_eq!(driven.asked.len(), driven.answered.len(), "one result each");
    }

    #[test]
    fn a_relay_attempt_produces_nothing_at_all(
        from in select(&["shop", "third", "Shop", "shop.a"][..]),
        back in select(&["victim", "acme.com", "shop ", "SHOP"][..]),
        kind in select(&[MsgType::Cmd, MsgType::Sub, MsgType::Unsub][..]),
        to in select(&["a.accepts.b", "a.emits.b", "_a.accepts.b"][..]),
        old in any::<bool>(),
    ) {
        let mut config = config();
        config.rules = EdgeRules::default()
            .policy(PrefixDeny::new(["a"]))
            .shadow(Stage::Policy)
            .shadow(Stage::Rate)
            .shadow(Stage::Replay);
        let edge = edge(config);
        let bytes = if old {
            format!(
                r#"{{"fromRealm":"{from}","toPath":"{to}","correlationId":"c","replyToRealm":"{back}"}}"#
            )
        } else {
            format!(
                r#"{{"msgType":"{kind}","msgId":"m","from":{{"realm":"{from}","path":"x.accepts.y"}},"to":{{"realm":"acme.com","path":"{to}"}},"replyTo":{{"realm":"{back}","path":"x.accepts.y"}}}}"#
            )
        };
        let reaction = edge.receive(bytes.as_bytes(), MX, at(0));
        prop_assert!(matches!(reaction, Reaction::Drop(_)), "{reaction:?}");
        prop_assert_eq!(edge.counters().asked + edge.counters().nacked, 0);
    }

    #[test]
    fn a_guard_in_shadow_never_changes_an_outcome(
        happenings in prop::collection::vec(happening(), 1..40),
    ) {
        let shadows = || [Stage::Expiry, Stage::Replay, Stage::Rate, Stage::Policy];
        let rules = || shadows().into_iter().fold(EdgeRules::default(), EdgeRules::shadow);
        let mut lax = config();
        lax.rules = rules();
        lax.rules.leeway = std::time::Duration::from_secs(1 << 40);
        lax.rules.rate.per_realm = Quota::new(1_000_000, 1_000_000).unwrap();
        let mut strict = config();
        strict.rules = rules().policy(Nobody).guard(Mode::Shadow, NobodyElse);
        strict.rules.rate.per_realm = Quota::new(1, 1).unwrap();
        strict.replay.per_realm = 1;
        let (mut lax, mut strict) = (Driven::new(lax), Driven::new(strict));
        for happening in &happenings {
            prop_assert_eq!(lax.step(happening), strict.step(happening));
        }
    }

    #[test]
    fn bodies_keep_every_number_and_key(body in raw_json(), reply in raw_json()) {
        let edge = edge(config());
        let mut asking: Envelope<'_> = request(MsgType::Cmd, "a.accepts.b", "1");
        asking.body = Some(body.clone());
        let bytes = asking.encode().unwrap();
        if let Reaction::Ask(ask) = edge.receive(&bytes, MX, at(0)) {
            let inside = InternalRequest::decode(ask.message.payload(), usize::MAX).unwrap();
            prop_assert_eq!(inside.params.as_str(), body.as_str());
            let whole = format!("{{\"ok\":true,\"body\":{}}}", reply.as_str());
            let answer = edge.reply(ask.id, whole.as_bytes(), at(0)).answer().unwrap();
            let (_, told) = read(answer.bytes());
            let fits = RawJson::new(whole).is_ok() && reply.fits_inside(1);
            prop_assert_eq!(told, if fits { reply.as_str() } else { "MX.EDGE.HANDLER_ERROR" });
        }
        let mut telling = request(MsgType::Evt, "a.emits.b", "2");
        telling.body = Some(body.clone());
        let bytes = telling.encode().unwrap();
        if let Reaction::Tell(tell) = edge.receive(&bytes, MX, at(0)) {
            prop_assert_eq!(std::str::from_utf8(tell.message.payload()).unwrap(), body.as_str());
        }
    }
}

/// Denies all.
#[derive(Debug)]
struct Nobody;

impl Policy for Nobody {
    fn rule(&self, _: &Inbound<'_>) -> Ruling {
        Ruling::Deny("nobody".into())
    }
}

/// Refuses all, at another stage.
#[derive(Debug)]
struct NobodyElse;

impl mesh_core::guard::Guard for NobodyElse {
    fn name(&self) -> &'static str {
        "nobody-else"
    }
    fn stage(&self) -> Stage {
        Stage::Security
    }
    fn check(&self, _: &Inbound<'_>, _: Now) -> mesh_core::guard::Verdict {
        mesh_core::guard::Verdict::Refuse(mesh_core::guard::Refusal::silent("nobody"))
    }
}
