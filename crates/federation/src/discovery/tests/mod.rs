mod direct;
mod documents;
mod end_to_end;
mod fetching;
mod keys;
mod place;
mod serving;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use mesh_core::name::RealmName;
use mesh_testkit::clock::ManualClock;
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use super::*;
use crate::Freshness;

fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

/// An authority of its own, a server with a certificate by it for any name below `example`, and a resolver by
/// which all names lead to it.
struct World {
    authority: CertifiedIssuer<'static, KeyPair>,
    files: TlsFiles,
    _folder: TempDir,
    resolver: Arc<Names>,
    clock: ManualClock,
}

/// Every name leads to the same place.
#[derive(Debug)]
struct Names {
    addresses: Mutex<Vec<IpAddr>>,
    asked: AtomicUsize,
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, ResolveError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.addresses.lock().clone())
    }
}

impl World {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = TempDir::new().unwrap();
        let file = |name: &str| -> PathBuf { folder.path().join(name) };
        let files = TlsFiles { certificate: file("certificate.pem"), key: file("key.pem") };
        let addresses = Mutex::new(vec![IpAddr::from([127, 0, 0, 1])]);
        let resolver = Arc::new(Names { addresses, asked: AtomicUsize::new(0) });
        let world = Self { authority, files, _folder: folder, resolver, clock: ManualClock::new() };
        world.certify("acme.example");
        world
    }

    /// Writes a new certificate for this name.
    fn certify(&self, name: &str) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        std::fs::write(&self.files.certificate, certificate.pem()).unwrap();
        std::fs::write(&self.files.key, key.serialize_pem()).unwrap();
    }

    async fn serve(&self, router: Router) -> HttpsServer {
        self.serve_with(router, ServerOptions::default()).await
    }

    async fn serve_with(&self, router: Router, options: ServerOptions) -> HttpsServer {
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let clock = Arc::new(self.clock.clone());
        HttpsServer::bind(anywhere, self.files.clone(), router, options, clock).await.unwrap()
    }

    /// Options by which this server may be connected to.
    fn options(&self, server: &HttpsServer) -> DiscoveryOptions {
        let egress = Egress::public().allow_network("127.0.0.0/8").unwrap();
        DiscoveryOptions {
            egress: egress.allow_port(server.local_addr().port()),
            resolver: Arc::clone(&self.resolver) as _,
            roots: Roots::pem(self.authority.pem()),
            timeout: Duration::from_secs(20),
            connect_timeout: Duration::from_secs(20),
            ..DiscoveryOptions::default()
        }
    }

    fn discovery(&self, options: DiscoveryOptions) -> Arc<Discovery> {
        Arc::new(Discovery::new(options, Arc::new(self.clock.clone())).unwrap())
    }

    /// A reader that finds the realm `acme.example` at this server.
    fn acme(&self, server: &HttpsServer) -> Arc<Discovery> {
        self.discovery(self.options(server).at(realm("acme.example"), place_at(server)))
    }
}

fn url(server: &HttpsServer, path: &str) -> String {
    format!("https://acme.example:{}{path}", server.local_addr().port())
}

fn place_at(server: &HttpsServer) -> String {
    url(server, "/.well-known/mx")
}

async fn asked(discovery: &Discovery) -> Result<Arc<Document>, DiscoveryError> {
    discovery.document(&realm("acme.example"), Freshness::Kept).await
}

/// A router that answers every document with this text, and counts.
fn says(text: impl Into<String>) -> (Router, Arc<AtomicUsize>) {
    let (text, count) = (text.into(), Arc::new(AtomicUsize::new(0)));
    let counting = Arc::clone(&count);
    let router = Router::new().fallback(move || {
        counting.fetch_add(1, Ordering::SeqCst);
        let text = text.clone();
        async move { text }
    });
    (router, count)
}

fn acme() -> Document {
    Document::new(realm("acme.example"))
}
