//! Where a credential's `mem:` URL leads (protocol §5): to a mesh of this process that was said to be there.

use std::collections::BTreeMap;

use mesh_core::credential::{BrokerUrl, Credential};
use mesh_core::name::InstanceName;
use mesh_core::port::{Connection, ErrorKind, Operation, TransportError};
use parking_lot::Mutex;

use crate::InMemoryMesh;

/// Who can be reached by URL. What a URL names is the process's, as ports are the machine's.
static LISTENING: Mutex<BTreeMap<Option<InstanceName>, InMemoryMesh>> = Mutex::new(BTreeMap::new());

/// A mesh that `mem:<name>` leads to, until this is dropped. Connections that were made by then stay.
#[derive(Debug)]
#[must_use = "the mesh can be reached for as long as this is kept"]
pub struct Listening {
    name: Option<InstanceName>,
}

/// Another mesh of this process has this address now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("another mesh of this process listens at {url}")]
#[non_exhaustive]
pub struct NameTaken {
    /// The address.
    pub url: BrokerUrl,
}

impl InMemoryMesh {
    /// Has `mem:<name>` lead here within this process, or `mem:` without a name. Programs that take their
    /// way in from a credential then need no broker outside.
    ///
    /// ```
    /// use mesh_core::credential::Credential;
    /// use mesh_core::manifest::{Mesh, ModuleManifest};
    /// use mesh_transport_mem::InMemoryMesh;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mail = ModuleManifest::parse("mail", "name = 'mail'\nversion = '1'")?;
    /// let mesh = InMemoryMesh::raise(Mesh::on_one_node(&"n1".parse()?, [mail])?).await?;
    /// let shop = mesh.listen(Some("shop".parse()?))?;
    ///
    /// // A scoped credential has a fingerprint; within a process nobody presents a certificate.
    /// let pin = "0".repeat(64);
    /// let mail = Credential::parse(format!(
    ///     r#"{{"url": "mem:shop", "fingerprint": "{pin}", "node": "n1", "module": "mail"}}"#
    /// ))?;
    /// assert!(mesh_transport_mem::connect(&mail).is_ok());
    /// drop(shop);
    /// assert!(mesh_transport_mem::connect(&mail).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NameTaken`].
    pub fn listen(&self, name: Option<InstanceName>) -> Result<Listening, NameTaken> {
        let mut listening = LISTENING.lock();
        if listening.contains_key(&name) {
            return Err(NameTaken { url: BrokerUrl::Memory { name } });
        }
        listening.insert(name.clone(), self.clone());
        Ok(Listening { name })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // The lock is released first: a broker may end with this.
        let mesh = LISTENING.lock().remove(&self.name);
        drop(mesh);
    }
}

/// Connects to the mesh that the credential's `mem:` URL leads to, with the rights that its files give.
///
/// # Errors
/// `Disconnected` where nobody [listens](InMemoryMesh::listen) there, `Invalid` for another scheme, and
/// as [`InMemoryMesh::connect`].
pub fn connect(credential: &Credential) -> Result<Connection, TransportError> {
    let refused = |kind, detail| TransportError::new(kind, Operation::Connect).detail(detail);
    let BrokerUrl::Memory { name } = credential.url() else {
        return Err(refused(ErrorKind::Invalid, "the credential's URL is not mem:"));
    };
    let mesh = LISTENING.lock().get(name).cloned();
    let mesh = mesh.ok_or_else(|| {
        let detail = "no mesh of this process listens there: InMemoryMesh::listen";
        refused(ErrorKind::Disconnected, detail).about(credential.url().to_string())
    })?;
    mesh.connect(credential.principal().clone())
}

#[cfg(test)]
mod tests {
    use mesh_core::manifest::{Mesh, ModuleManifest};

    use super::*;

    async fn mesh() -> InMemoryMesh {
        let mail = ModuleManifest::parse("mail", "name = 'mail'\nversion = '1'").unwrap();
        InMemoryMesh::raise(Mesh::on_one_node(&"n1".parse().unwrap(), [mail]).unwrap())
            .await
            .unwrap()
    }

    fn credential(url: &str) -> Credential {
        let pin = "ab".repeat(32);
        let document = format!(
            r#"{{"url": "{url}", "fingerprint": "{pin}", "node": "n1", "module": "mail"}}"#
        );
        Credential::parse(document).unwrap()
    }

    #[tokio::test]
    async fn a_name_leads_to_its_mesh_for_as_long_as_it_listens() {
        let (one, two) = (mesh().await, mesh().await);
        let _one = one.listen(Some("one".parse().unwrap())).unwrap();
        let unnamed = two.listen(None).unwrap();
        let connections = |mesh: &InMemoryMesh| mesh.broker().statistics().connections;
        let before = (connections(&one), connections(&two));
        let mail = connect(&credential("mem:one")).unwrap();
        assert_eq!(mail.principal().to_string(), "module mail on n1");
        let other = connect(&credential("mem:")).unwrap();
        assert_eq!((connections(&one), connections(&two)), (before.0 + 1, before.1 + 1));
        drop(unnamed);
        let gone = connect(&credential("mem:")).unwrap_err();
        assert_eq!(
            gone.to_string(),
            "connect mem:: disconnected (no mesh of this process listens there: InMemoryMesh::listen)"
        );
        assert_eq!(connections(&two), before.1 + 1, "who is connected stays");
        drop(other);
    }

    #[tokio::test]
    async fn a_name_is_one_meshs_at_a_time() {
        let mesh = mesh().await;
        let name = || Some("taken".parse().unwrap());
        let first = mesh.listen(name()).unwrap();
        let second = mesh.listen(name()).unwrap_err();
        assert_eq!(second.to_string(), "another mesh of this process listens at mem:taken");
        assert!(connect(&credential("mem:taken")).is_ok(), "the first is still there");
        drop(first);
        assert!(mesh.listen(name()).is_ok());
    }

    #[test]
    fn a_url_of_another_broker_is_refused() {
        let error = connect(&credential("tls://u:p@h")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}
