//! What the modules of the demo provide: credentials that open nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mesh_core::manifest::{ModuleManifest, Provision};
use mesh_core::provision::ProvisionKey;
use mesh_core::tool::{ToolFailure, codes};
use mesh_sdk::provision::{GrantStore, MemoryGrants, Provider, Provisioner, Wanted};

use super::FlowName;

/// What all providers share: those of one module, on several nodes, remember the same.
#[derive(Default)]
pub(crate) struct Vault {
    grants: Arc<MemoryGrants>,
    made: Arc<AtomicU64>,
}

impl Vault {
    /// Who makes what this module provides.
    pub(crate) fn provider(
        &self,
        manifest: &ModuleManifest,
        broken: Option<FlowName>,
    ) -> Provider<Maker> {
        let made = Arc::clone(&self.made);
        let breaks = broken == Some(FlowName::Grants);
        let maker = Maker { provides: manifest.provides.clone(), made, breaks };
        Provider::new(maker).grants(Arc::clone(&self.grants) as Arc<dyn GrantStore>)
    }
}

/// Makes credentials with the promised fields, each with other values.
pub(crate) struct Maker {
    provides: Vec<Provision>,
    made: Arc<AtomicU64>,
    /// Makes a field that was not promised.
    breaks: bool,
}

impl Provisioner for Maker {
    type Credential = BTreeMap<String, String>;

    async fn grant(&self, wanted: Wanted) -> Result<Self::Credential, ToolFailure> {
        let name = &wanted.key.provision;
        let mut provides = self.provides.iter();
        let provision = provides.find(|provision| provision.name == *name).ok_or_else(|| {
            ToolFailure::new(codes::NOT_PROVIDED, format!("{name} is not provided here"))
        })?;
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let mut fields = provision.credential.clone();
        if self.breaks {
            fields.push("broken with --break".to_owned());
        }
        Ok(fields.into_iter().map(|field| (field, format!("number {number}"))).collect())
    }

    async fn withdraw(&self, _: ProvisionKey) -> Result<(), ToolFailure> {
        Ok(())
    }
}
