//! Real handshakes, both ends in this process.

use std::sync::Arc;

use mesh_core::credential::{Fingerprint, Fingerprints};
use rcgen::{Certificate, CertificateParams, KeyPair, date_time_ymd};
use rustls::crypto::ring::{default_provider, sign::any_supported_type};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, HandshakeKind, OtherError, ProtocolVersion,
    ServerConfig, ServerConnection, SupportedProtocolVersion,
};
use sha2::{Digest, Sha256};

use crate::{Pinned, Refusal, client_config};

const VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];

struct Identity {
    certificate: Certificate,
    key: KeyPair,
}

/// Signed by itself, for a host that nobody dials, and over since 2001.
fn identity() -> Identity {
    let mut params = CertificateParams::new(vec!["elsewhere.example".into()]).unwrap();
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(2001, 1, 1);
    let key = KeyPair::generate().unwrap();
    Identity { certificate: params.self_signed(&key).unwrap(), key }
}

fn pin(certificate: &Certificate) -> Fingerprint {
    Fingerprint::from_bytes(Sha256::digest(certificate.der()).into())
}

fn pinned(certificates: &[&Certificate]) -> Pinned {
    let pins = certificates.iter().map(|certificate| pin(certificate)).collect();
    client_config(&Fingerprints::new(pins).unwrap()).unwrap()
}

/// Presents a certificate with whatever key: rustls' own builder would refuse a wrong one.
#[derive(Debug)]
struct Presents(Arc<CertifiedKey>);

impl ResolvesServerCert for Presents {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

fn server(
    certificate: CertificateDer<'static>,
    key: &KeyPair,
    version: &'static SupportedProtocolVersion,
) -> Arc<ServerConfig> {
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let presented = CertifiedKey::new(vec![certificate], any_supported_type(&key).unwrap());
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Presents(Arc::new(presented))));
    Arc::new(config)
}

fn serving(identity: &Identity, version: &'static SupportedProtocolVersion) -> Arc<ServerConfig> {
    server(identity.certificate.der().clone(), &identity.key, version)
}

type Ends = (ClientConnection, ServerConnection);

/// Passes bytes to and fro until both are done, and lets session tickets through.
fn handshake(client: &ClientConfig, server: &Arc<ServerConfig>) -> Result<Ends, rustls::Error> {
    let name = ServerName::try_from("bus.example").unwrap();
    let mut client = ClientConnection::new(Arc::new(client.clone()), name)?;
    let mut server = ServerConnection::new(Arc::clone(server))?;
    while client.is_handshaking() || server.is_handshaking() || server.wants_write() {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        let mut read = wire.as_slice();
        while !read.is_empty() {
            server.read_tls(&mut read).unwrap();
            server.process_new_packets()?;
        }
        wire.clear();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        let mut read = wire.as_slice();
        while !read.is_empty() {
            client.read_tls(&mut read).unwrap();
            client.process_new_packets()?;
        }
    }
    Ok((client, server))
}

#[test]
fn the_pinned_certificate_is_accepted_though_name_expiry_and_authority_are_wrong() {
    let identity = identity();
    for version in VERSIONS {
        let pinned = pinned(&[&identity.certificate]);
        let (client, _) = handshake(&pinned.config, &serving(&identity, version)).unwrap();
        assert_eq!(client.protocol_version(), Some(version.version));
        assert_eq!(pinned.refusals.last(), None);
        assert_eq!(pinned.refusals.presented(), Some(pin(&identity.certificate)));
    }
}

#[test]
fn a_replayed_certificate_without_its_key_is_refused() {
    let (real, thief) = (identity(), identity());
    for version in VERSIONS {
        let pinned = pinned(&[&real.certificate]);
        let impostor = server(real.certificate.der().clone(), &thief.key, version);
        let refused = handshake(&pinned.config, &impostor).unwrap_err();
        let bad = rustls::Error::InvalidCertificate(CertificateError::BadSignature);
        assert_eq!(refused, bad, "{version:?}");
        let presented = pin(&real.certificate);
        assert_eq!(pinned.refusals.last(), Some(Refusal::Signature { presented, reason: bad }));
    }
}

#[test]
fn another_certificate_is_refused_and_the_reason_names_both() {
    let (real, other) = (identity(), identity());
    for version in VERSIONS {
        let pinned = pinned(&[&real.certificate]);
        let refused = handshake(&pinned.config, &serving(&other, version)).unwrap_err();
        let rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(cause))) = refused
        else {
            panic!("{refused:?}");
        };
        let refusal = cause.downcast_ref::<Refusal>().unwrap();
        assert_eq!(pinned.refusals.last().as_ref(), Some(refusal));
        let (presented, expected) = (pin(&other.certificate), pin(&real.certificate));
        assert_eq!(
            refusal.to_string(),
            format!("the server's certificate is {presented}, pinned is {expected}")
        );
    }
}

#[test]
fn the_second_of_two_pins_is_accepted() {
    let (current, next, other) = (identity(), identity(), identity());
    let pinned = pinned(&[&current.certificate, &next.certificate]);
    for version in VERSIONS {
        handshake(&pinned.config, &serving(&next, version)).unwrap();
        handshake(&pinned.config, &serving(&current, version)).unwrap();
        handshake(&pinned.config, &serving(&other, version)).unwrap_err();
        let (first, second) = (pin(&current.certificate), pin(&next.certificate));
        let text = pinned.refusals.last().unwrap().to_string();
        assert!(text.ends_with(&format!("pinned are {first} and {second}")), "{text}");
    }
}

#[test]
fn each_handshake_is_a_full_one_so_none_skips_the_check() {
    let (real, other) = (identity(), identity());
    for version in VERSIONS {
        let pinned = pinned(&[&real.certificate]);
        // The same sessions at a server that meanwhile presents another certificate.
        let before = serving(&real, version);
        let mut after = ServerConfig::clone(&serving(&other, version));
        after.session_storage = Arc::clone(&before.session_storage);
        after.ticketer = Arc::clone(&before.ticketer);
        for _ in 0..2 {
            let (client, _) = handshake(&pinned.config, &before).unwrap();
            assert_eq!(client.handshake_kind(), Some(HandshakeKind::Full), "{version:?}");
        }
        handshake(&pinned.config, &Arc::new(after)).unwrap_err();
        assert!(matches!(pinned.refusals.last(), Some(Refusal::Fingerprint { .. })));
    }
}

#[test]
fn a_refusal_is_forgotten_when_the_next_server_is_accepted() {
    let (real, other) = (identity(), identity());
    let pinned = pinned(&[&real.certificate]);
    handshake(&pinned.config, &serving(&other, &TLS13)).unwrap_err();
    assert!(pinned.refusals.last().is_some());
    handshake(&pinned.config, &serving(&real, &TLS13)).unwrap();
    assert_eq!(pinned.refusals.last(), None);
}

#[test]
fn what_is_no_certificate_is_refused_even_if_it_is_pinned() {
    let text = CertificateDer::from(b"not a certificate".to_vec());
    let pin = Fingerprint::from_bytes(Sha256::digest(&text).into());
    for version in VERSIONS {
        let pinned = client_config(&pin.into()).unwrap();
        let server = server(text.clone(), &identity().key, version);
        handshake(&pinned.config, &server).unwrap_err();
        assert!(matches!(pinned.refusals.last(), Some(Refusal::Signature { .. })), "{version:?}");
    }
}

#[test]
fn the_newer_version_is_taken_where_the_server_has_both() {
    let identity = identity();
    let key = PrivatePkcs8KeyDer::from(identity.key.serialize_der()).into();
    let server = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&VERSIONS)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate.der().clone()], key)
        .unwrap();
    let pinned = pinned(&[&identity.certificate]);
    let (client, _) = handshake(&pinned.config, &Arc::new(server)).unwrap();
    assert_eq!(client.protocol_version(), Some(ProtocolVersion::TLSv1_3));
}
