//! Where a credential leads that a mesh would hand out.

use mesh_core::credential::Credential;
use mesh_core::identity::Principal;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_transport_amqp::Target;
use serde_json::json;

pub fn of(url: &str, fingerprint: &str, principal: &Principal) -> Result<Target, TransportError> {
    let mut document = match principal {
        Principal::Module { node, module } => {
            json!({"node": node.as_str(), "module": module.as_str()})
        }
        Principal::Host { node } => json!({"kind": "host", "node": node.as_str()}),
        Principal::Builder { node } => json!({"kind": "builder", "node": node.as_str()}),
        Principal::Person { name } => json!({"kind": "person", "name": name.as_str()}),
        Principal::Controller { name } => json!({"kind": "controller", "name": name.as_str()}),
        Principal::Gateway { name } => json!({"kind": "gateway", "name": name.as_str()}),
        Principal::Enrolment { .. } => return Err(refused("a token is no credential")),
    };
    document["url"] = url.into();
    document["fingerprint"] = fingerprint.into();
    let credential = Credential::parse(document.to_string());
    let credential = credential.map_err(|error| refused(error.to_string()))?;
    Ok(Target::of(&credential)?)
}

fn refused(detail: impl Into<std::borrow::Cow<'static, str>>) -> TransportError {
    TransportError::new(ErrorKind::Invalid, Operation::Connect).detail(detail)
}
