//! What is large is boxed: unboxed, the trees of an envelope's parts overflow a test thread's stack.

use mesh_core::json::{RawJson, UnknownFields};
use mesh_core::mx::{Address, Decoded, EdgeCode, Envelope, Fault, MsgType, MxRealm, Party, decode};
use proptest::prelude::*;
use proptest::sample::select;

use super::texts::shallow_json;
use super::{few_paths, mx_path, raw_json, realm_name, text};

/// Any of the six types.
pub fn msg_type() -> impl Strategy<Value = MsgType> {
    use MsgType::{Cmd, Evt, Nack, Result, Sub, Unsub};
    select(&[Cmd, Evt, Result, Sub, Unsub, Nack][..])
}

/// Any realm as it stands in an envelope.
pub(super) fn realm() -> impl Strategy<Value = MxRealm<'static>> {
    realm_name().prop_map(|name| MxRealm::from(&name).into_owned())
}

/// Any id of a message: a text that is not empty.
pub(super) fn id() -> impl Strategy<Value = String> {
    prop_oneof![2 => "[a-z0-9-]{1,36}", 1 => text(1..=8)]
}

/// Any moment or count.
pub(super) fn whole_number() -> impl Strategy<Value = u64> {
    prop_oneof![2 => 0..10_u64, 1 => 1_600_000_000_000..1_900_000_000_000_u64, 1 => any::<u64>()]
}

/// Whoever a message is sent for: a text, `{iss, sub}` with more beside them, or anything else that
/// is there and says nothing twice.
pub fn mx_principal() -> impl Strategy<Value = RawJson<'static>> {
    let name = text(0..=8).prop_map(|name| RawJson::string(&name));
    let claims = (text(0..=8), text(0..=8), prop::option::of(shallow_json()));
    let subject = claims.prop_filter_map("never", |(iss, sub, more)| {
        let (iss, sub) = (RawJson::string(&iss), RawJson::string(&sub));
        let more = more.map_or_else(String::new, |more| format!(r#","aud":{more}"#));
        RawJson::new(format!(r#"{{"iss":{iss},"sub":{sub}{more}}}"#)).ok()
    });
    let others = select(&["7", "true", "[\"ada\"]", "{}", r#"{"sub":"ada"}"#][..])
        .prop_filter_map("never", |text| RawJson::new(text).ok());
    prop_oneof![2 => name, 2 => subject, 1 => others].boxed()
}

/// Up to three fields that no version knows.
pub(super) fn unknown_fields() -> impl Strategy<Value = UnknownFields<'static>> {
    let fields = prop::collection::btree_map(text(0..=6), shallow_json(), 0..=3);
    fields
        .prop_filter_map("never", |fields| {
            let fields = fields.iter();
            let fields = fields
                .map(|(key, value)| format!(",{}:{value}", RawJson::string(&format!("x-{key}"))));
            let reply =
                format!(r#"{{"ok":true,"correlationId":"c"{}}}"#, String::from_iter(fields));
            match decode(reply.as_bytes(), usize::MAX).ok()?.into_owned() {
                Decoded::LegacyReply(reply) => Some(reply.unknown),
                _ => None,
            }
        })
        .boxed()
}

/// Any failure: a component's own, or a gateway's.
pub fn fault() -> impl Strategy<Value = Fault<'static>> {
    let own = (text(0..=8), text(0..=16)).prop_map(|(code, message)| Fault::new(code, message));
    let edge = (select(EdgeCode::ALL), text(0..=16))
        .prop_map(|(code, message)| Fault::edge(code, message));
    let details = prop::option::of(present(shallow_json()));
    let fault = prop_oneof![own, edge];
    (fault, details, unknown_fields())
        .prop_map(|(mut fault, details, unknown)| {
            (fault.details, fault.unknown) = (details, unknown);
            fault
        })
        .boxed()
}

/// Not `null`, which counts as not there.
fn present(
    values: impl Strategy<Value = RawJson<'static>>,
) -> impl Strategy<Value = RawJson<'static>> {
    values.prop_filter("null", |value| *value != RawJson::NULL)
}

fn address() -> impl Strategy<Value = Address<'static>> {
    (realm(), mx_path(), unknown_fields())
        .prop_map(|(realm, path, unknown)| {
            let mut address = Address::new(realm, path);
            address.unknown = unknown;
            address
        })
        .boxed()
}

fn party() -> impl Strategy<Value = Party<'static>> {
    let path = prop::option::of(mx_path());
    (realm(), path, unknown_fields())
        .prop_map(|(realm, path, unknown)| {
            let mut party = Party::new(realm, path);
            party.unknown = unknown;
            party
        })
        .boxed()
}

/// Any envelope that MXENV/1 can say: of every type, with any of its optional fields.
pub fn envelope() -> impl Strategy<Value = Envelope<'static>> {
    let ids = (id(), prop::option::of(id()), prop::option::of(text(0..=8)));
    let numbers = (prop::option::of(whole_number()), prop::option::of(whole_number()));
    let reply_to = prop::option::of(address().prop_map(Party::from));
    let raws = (
        prop::option::of(mx_principal()),
        prop::option::of(present(raw_json())),
        prop::option::of(raw_json()),
    );
    let rest = (reply_to, prop::option::of(fault()), unknown_fields());
    let ends = (msg_type(), party(), address());
    (ends, ids, numbers, raws, rest)
        .prop_map(|(ends, ids, numbers, raws, rest)| {
            let (kind, from, to) = ends;
            let mut envelope = Envelope::new(kind, from, to);
            envelope.msg_id = Some(ids.0.into());
            envelope.correlation_id = ids.1.map(Into::into);
            envelope.trace_id = ids.2.map(Into::into);
            (envelope.ttl, envelope.timestamp) = numbers;
            (envelope.principal, envelope.auth, envelope.body) = raws;
            (envelope.reply_to, envelope.error, envelope.unknown) = rest;
            envelope
        })
        .boxed()
}

/// A small envelope between two realms, with ids and paths that often meet and a short life: what a
/// guard is shown.
pub fn few_envelopes() -> impl Strategy<Value = Envelope<'static>> {
    let realm = || {
        select(&["shop", "acme.com"][..]).prop_filter_map("never", |name| MxRealm::new(name).ok())
    };
    let ends = (msg_type(), realm(), realm(), few_paths());
    let id = || select(&["m-1", "m-2", "m-3"][..]);
    let hops = prop::option::of(0..3_u64);
    (ends, id(), id(), hops).prop_map(|(ends, msg_id, correlation_id, ttl)| {
        let (kind, from, to, path) = ends;
        let from = Party::new(from, Some(path.clone()));
        let mut envelope = Envelope::new(kind, from, Address::new(to, path));
        envelope.msg_id = Some(msg_id.into());
        envelope.correlation_id = Some(correlation_id.into());
        envelope.ttl = ttl;
        envelope
    })
}
