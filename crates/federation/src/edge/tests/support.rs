use std::sync::Arc;
use std::time::Duration;

use mesh_core::guard::Now;
use mesh_core::json::RawJson;
use mesh_core::mx::{
    Address, Decoded, Envelope, LegacyRequest, MailboxKind, MsgType, MxPath, Party, Profile, Shard,
    decode,
};
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;

use super::super::*;
use crate::Seeded;

pub(super) const LEGACY: MailboxKind = MailboxKind::Legacy;
pub(super) const MX: MailboxKind = MailboxKind::Mx(Shard(0));

pub(super) fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

pub(super) fn path(text: &str) -> MxPath<'_> {
    MxPath::new(text).unwrap()
}

pub(super) fn at(millis: u64) -> Now {
    let wall = Timestamp::from_millis(i64::try_from(millis).unwrap());
    Now { wall, monotonic: Duration::from_millis(millis) }
}

pub(super) fn config() -> EdgeConfig {
    EdgeConfig::new(realm("acme.com"))
}

pub(super) fn edge(config: EdgeConfig) -> Edge {
    Edge::new(config, Arc::new(Seeded::new(1))).unwrap()
}

/// A request of realm `shop` in MXENV/1, to be changed.
pub(super) fn request(kind: MsgType, to: &'static str, id: &str) -> Envelope<'static> {
    let from = Party::new(&realm("shop"), None).into_owned();
    let to = Address::new(&realm("acme.com"), path(to)).into_owned();
    let mut envelope = Envelope::new(kind, from, to);
    envelope.msg_id = Some(id.to_owned().into());
    envelope.correlation_id = Some(format!("c-{id}").into());
    envelope.reply_to =
        Some(Party::new(&realm("shop"), Some(path("desk.accepts.answer"))).into_owned());
    envelope.body = Some(RawJson::new("[1]").unwrap());
    envelope
}

pub(super) fn cmd(id: &str) -> Vec<u8> {
    request(MsgType::Cmd, "stock.accepts.count", id).encode().unwrap()
}

pub(super) fn legacy(id: &str) -> Vec<u8> {
    let shop = realm("shop");
    let mut request = LegacyRequest::new(&shop, path("stock.accepts.count"), format!("c-{id}"));
    request.msg_id = Some(id.into());
    request.body = Some(RawJson::new("[1]").unwrap());
    request.encode()
}

pub(super) fn event(id: &str, body: &'static str) -> Vec<u8> {
    let mut event = request(MsgType::Evt, "stock.emits.changed", id);
    event.body = Some(RawJson::new(body).unwrap());
    event.encode().unwrap()
}

/// What an edge that has only guards which don't wait makes of a message, in short.
pub(super) fn short(reaction: Reaction<'_>) -> String {
    match reaction {
        Reaction::Drop(Dropped { guard, reason }) => format!("drop by {guard}: {reason}"),
        Reaction::Answer(answer) => told(&answer),
        Reaction::Ask(ask) => format!("ask {}", ask.message.subject()),
        Reaction::Tell(tell) => format!("tell {}", tell.message.subject()),
        Reaction::Settle(answer) => format!("settle {}", answer.correlation_id),
        Reaction::Wait(_) => "wait".to_owned(),
    }
}

/// An answer in short: its mailbox, its profile, and the body or the code.
pub(super) fn told(answer: &Outgoing) -> String {
    let (profile, outcome) = read(answer.bytes());
    format!("{} {profile} {outcome}", answer.message().subject())
}

pub(super) fn read(bytes: &[u8]) -> (Profile, String) {
    let decoded = decode(bytes, usize::MAX).unwrap();
    let profile = decoded.profile();
    let outcome = match decoded.as_answer().expect("an answer").outcome {
        Ok(body) => body.as_str().to_owned(),
        Err(fault) => fault.code.into_owned(),
    };
    (profile, outcome)
}

pub(super) fn receive(edge: &Edge, bytes: &[u8], mailbox: MailboxKind, millis: u64) -> String {
    short(edge.receive(bytes, mailbox, at(millis)))
}

/// The request that `bytes` becomes.
pub(super) fn ask<'a>(edge: &Edge, bytes: &'a [u8], mailbox: MailboxKind, millis: u64) -> Ask<'a> {
    match edge.receive(bytes, mailbox, at(millis)) {
        Reaction::Ask(ask) => ask,
        other => panic!("not asked: {}", short(other)),
    }
}

pub(super) fn correlation(answer: &Outgoing) -> String {
    match decode(answer.bytes(), usize::MAX).unwrap() {
        Decoded::LegacyReply(reply) => reply.correlation_id.into_owned(),
        Decoded::MxEnv(envelope) => envelope.correlation_id.unwrap().into_owned(),
        other => panic!("no answer: {other:?}"),
    }
}
