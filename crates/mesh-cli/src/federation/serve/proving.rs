//! Who proves what (MXSEC/1), and which guards wait.

use std::sync::Arc;

use mesh_core::port::Clock;
use mesh_core::store::KeyValue;
use mesh_federation::discovery::Discovery;
use mesh_federation::security::{
    DiscoveredKeys, KeySource, Keys, MxSec, Required, Signer, StaticKeys,
};
use mesh_federation::{OsRandom, SharedReplay, SharedReplayOptions, Sign};

use super::super::config::{AlgorithmName, GatewayFile, RequiredOf, StageName, Waits};
use super::super::runtime::words;
use super::finding::text;
use crate::shell::Failure;

/// The guards that wait, each with its stage. They stay when the rules change.
pub(super) fn guards(
    file: &GatewayFile,
    discovery: Option<&Arc<Discovery>>,
    marks: Option<&Arc<dyn KeyValue>>,
    clock: &Arc<dyn Clock>,
) -> Result<Vec<Waits>, Failure> {
    let config = &file.config;
    let mut guards: Vec<Waits> = Vec::new();
    if let Some(security) = &config.security {
        let mut known = StaticKeys::new();
        for (realm, peer) in &config.peers {
            if let Some(jwks) = &peer.jwks {
                let path = file.path(jwks);
                let keys = Keys::from_jwks(&text(&path)?).map_err(|error| {
                    let hint = "a JWKS with public keys; `mesh federation keygen` prints one";
                    Failure::new(words(&error), hint).at(path.display())
                })?;
                known = known.with(realm.clone(), keys);
            }
        }
        let keys: Arc<dyn KeySource> = match discovery {
            Some(discovery) => Arc::new((known, DiscoveredKeys::new(Arc::clone(discovery)))),
            None => Arc::new(known),
        };
        let required = match security.required() {
            RequiredOf::All => Required::All,
            RequiredOf::None => Required::Off,
            RequiredOf::Realms(realms) => Required::Realms(realms.into_iter().collect()),
        };
        let guard = MxSec::new(config.realm.clone(), keys).required(required);
        let legacy = security.legacy.iter().cloned();
        let guard = legacy.fold(guard, MxSec::allow_legacy);
        guards.push((StageName::Security, Arc::new(guard)));
    }
    if let Some(marks) = marks {
        let random = OsRandom::new();
        let guard = SharedReplay::new(
            Arc::clone(marks),
            config.realm.clone(),
            Arc::clone(clock),
            &random,
            SharedReplayOptions::default(),
        );
        guards.push((StageName::Replay, Arc::new(guard)));
    }
    Ok(guards)
}

/// What proves this realm to others, where it has a key.
pub(super) fn signer(file: &GatewayFile) -> Result<Option<Arc<dyn Sign>>, Failure> {
    let Some(security) = &file.config.security else { return Ok(None) };
    let (Some(key), Some(kid)) = (&security.key, &security.kid) else { return Ok(None) };
    let path = file.path(key.get_ref());
    let pem = text(&path)?;
    let realm = file.config.realm.clone();
    let signer = match security.algorithm {
        AlgorithmName::EdDsa => Signer::eddsa_pem(realm, kid, &pem),
        AlgorithmName::Es256 => Signer::es256_pem(realm, kid, &pem),
    };
    let signer = signer.map_err(|error| {
        let hint =
            "`mesh federation keygen` makes one; `security.algorithm` says of which kind it is";
        Failure::new(words(&error), hint).at(path.display())
    })?;
    Ok(Some(Arc::new(signer)))
}
