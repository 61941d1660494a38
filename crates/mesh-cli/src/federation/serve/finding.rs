//! Realms that are found over HTTPS, and this one, which is found (MXDISC/1).

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use mesh_core::json::RawJson;
use mesh_core::mx::Profile;
use mesh_core::port::Clock;
use mesh_federation::discovery::{
    Discovery, DiscoveryOptions, Document, HttpsServer, Published, Roots, RoutesOptions,
    ServerOptions, TlsFiles, routes,
};
use mesh_federation::edge::EdgeGateway;

use super::super::config::{GatewayFile, egress};
use super::super::runtime::words;
use crate::shell::{Failure, input};

/// How many posted envelopes may wait.
const ROOM: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1_023);
/// The largest file of keys or certificates.
const MOST: usize = 1 << 20;

/// Who looks for other realms, where the file wants that.
pub(super) fn reader(
    file: &GatewayFile,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<Discovery>>, Failure> {
    let Some(asked) = file.config.discovery.as_ref().filter(|asked| asked.read.unwrap_or(true))
    else {
        return Ok(None);
    };
    let mut options = DiscoveryOptions::default();
    options.egress = egress(Some(asked));
    if let Some(roots) = &asked.roots {
        options.roots = Roots::pem(text(&file.path(roots))?);
    }
    for (realm, peer) in &file.config.peers {
        if let Some(document) = &peer.document {
            options = options.at(realm.clone(), document.get_ref().as_str());
        }
    }
    let discovery = Discovery::new(options, Arc::clone(clock)).map_err(|error| {
        let hint = "`discovery.roots` names a PEM file of certificates to trust";
        Failure::new(words(&error), hint)
    })?;
    Ok(Some(Arc::new(discovery)))
}

/// Serves this realm's document, and takes envelopes, where the file wants that.
pub(super) async fn serve(
    file: &GatewayFile,
    gateway: &EdgeGateway,
    clock: &Arc<dyn Clock>,
) -> Result<Option<HttpsServer>, Failure> {
    let Some(asked) = file.config.discovery.as_ref().and_then(|asked| asked.serve.as_ref()) else {
        return Ok(None);
    };
    let mut document =
        Document::new(file.config.realm.clone()).with_profiles(&[Profile::MxEnv1, Profile::Legacy]);
    if let Some(endpoint) = &asked.endpoint {
        document = document.with_endpoint(endpoint.get_ref().as_str());
    }
    if let Some(jwks) = &asked.jwks {
        let path = file.path(jwks);
        let text = text(&path)?;
        let jwks = RawJson::new(text.trim()).map_err(|error| {
            let hint = "`mesh federation keygen` prints a JWKS";
            Failure::new(error.to_string(), hint).at(path.display())
        })?;
        document = document.with_jwks(&jwks);
    }
    let inlet = asked.endpoint.as_ref().map(|_| gateway.inlet(ROOM));
    let router = routes(Published::new(&document), inlet, &RoutesOptions::default());
    let files = TlsFiles { certificate: file.path(&asked.certificate), key: file.path(&asked.key) };
    let options = ServerOptions::default();
    let server = HttpsServer::bind(asked.listen, files, router, options, Arc::clone(clock)).await;
    let server = server.map_err(|error| {
        let hint = "see that the address is free, and that both files are PEM";
        Failure::new(words(&error), hint).at(asked.listen)
    })?;
    Ok(Some(server))
}

/// A file of keys or certificates.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let name = input::name(path);
    let size = fs::metadata(path).map_err(|error| input::unread(&name, &error))?;
    if !size.is_file() {
        return Err(Failure::new("it is not a file", "name a file in it").at(name));
    }
    let bytes = input::bytes(path, MOST)?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::new("not UTF-8", "it is a text: PEM, or JSON").at(name))
}
