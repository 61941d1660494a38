use std::net::{Ipv4Addr, Ipv6Addr};

use mesh_core::credential::{
    BrokerUrl, ControllerKey, Credential, EnrolmentToken, Fingerprint, Fingerprints, Host, Login,
    Secret, Server, VirtualHost,
};
use mesh_core::identity::Principal;
use proptest::prelude::*;
use proptest::sample::select;

use super::texts::line;
use super::{instance_name, node_name, principal, token_id};

/// The hash of any certificate.
pub fn fingerprint() -> impl Strategy<Value = Fingerprint> {
    any::<[u8; 32]>().prop_map(Fingerprint::from_bytes)
}

/// A fingerprint and some text that means it: digits of either case, with colons or without,
/// `sha256:` before it or not.
pub fn fingerprint_spelt() -> impl Strategy<Value = (Fingerprint, String)> {
    let prefix = select(&["", "", "sha256:", "SHA256:"][..]);
    let upper = any::<bool>();
    let colon = select(&["", ":"][..]);
    (any::<[u8; 32]>(), prefix, upper, colon).prop_map(|(hash, prefix, upper, colon)| {
        let digits = hash.map(|byte| match upper {
            true => format!("{byte:02X}"),
            false => format!("{byte:02x}"),
        });
        let text = format!("{prefix}{}", digits.join(colon));
        (Fingerprint::from_bytes(hash), text)
    })
}

/// One to as many fingerprints as are read.
pub fn fingerprints() -> impl Strategy<Value = Fingerprints> {
    prop::collection::vec(fingerprint(), 1..=Fingerprints::MAX)
        .prop_filter_map("never", Fingerprints::new)
}

/// Any host: a name, or an address of either kind.
pub fn broker_host() -> impl Strategy<Value = Host> {
    let name = "([a-z0-9_-]{1,8}\\.){0,2}[a-z][a-zA-Z0-9-]{0,8}"
        .prop_filter_map("never", |name| Host::new(&name).ok());
    let v4 = any::<u32>().prop_map(|bits| Host::from(Ipv4Addr::from_bits(bits)));
    let v6 = any::<u128>().prop_map(|bits| Host::from(Ipv6Addr::from_bits(bits)));
    prop_oneof![3 => name, 1 => v4, 1 => v6]
}

/// Any user and password, with whatever a URL must escape.
pub fn login() -> impl Strategy<Value = Login> {
    (line(12), line(24))
        .prop_filter_map("never", |(user, password)| Login::new(user, Secret::new(password)).ok())
}

fn url_with(login: impl Strategy<Value = Option<Login>>) -> impl Strategy<Value = BrokerUrl> {
    let port = prop_oneof![select(&[4222_u16, 5671][..]), 1..=u16::MAX];
    let server = (broker_host(), port, login)
        .prop_filter_map("never", |(host, port, login)| Server::new(host, port, login).ok());
    let root = Just("/".to_owned());
    let vhost = prop_oneof![1 => root, 2 => line(12)]
        .prop_filter_map("never", |name| VirtualHost::new(name).ok());
    let name = prop::option::of(instance_name());
    let kind = prop_oneof![prop::option::of(vhost).prop_map(Ok), name.prop_map(Err),];
    (server, kind).prop_map(|(server, kind)| match kind {
        Ok(Some(vhost)) => BrokerUrl::Amqps { server, vhost },
        Ok(None) => BrokerUrl::Nats { server },
        Err(name) => BrokerUrl::Memory { name },
    })
}

/// Any broker's URL, of every kind, with a user and a password or without.
pub fn broker_url() -> impl Strategy<Value = BrokerUrl> {
    url_with(prop::option::of(login()))
}

/// A scoped credential of every kind of principal that has one.
pub fn credential() -> impl Strategy<Value = Credential> {
    let has_document = |principal: &Principal| !matches!(principal, Principal::Enrolment { .. });
    let principal = principal().prop_filter("an enrolment has a token", has_document);
    let url = url_with(login().prop_map(Some));
    (principal, url, fingerprints()).prop_filter_map("never", |(principal, url, fingerprints)| {
        Credential::new(principal, url, fingerprints).ok()
    })
}

/// A document that holds one URL and nothing else, in each of its three shapes, and that URL.
pub fn bootstrap_document() -> impl Strategy<Value = (BrokerUrl, String)> {
    let shape = select(&["U", " U\n", "\"U\"", "{\"url\": \"U\"}", "{\"x\":1,\"url\":\"U\"}"][..]);
    (url_with(login().prop_map(Some)), shape).prop_map(|(url, shape)| {
        let document = shape.replace('U', &url.expose());
        (url, document)
    })
}

/// Any token that a new node is handed.
pub fn enrolment_token() -> impl Strategy<Value = EnrolmentToken> {
    let key = any::<[u8; 32]>().prop_map(ControllerKey::from_bytes);
    let parts = (token_id(), line(32), node_name(), broker_url(), fingerprints(), key);
    parts.prop_filter_map("never", |(id, secret, node, url, fingerprints, key)| {
        EnrolmentToken::new(id, Secret::new(secret), node, url, fingerprints, key).ok()
    })
}
