//! The mesh in this process, by a name.

use mesh_core::credential::Credential;
use mesh_sdk::memory::{InMemoryMesh, Listening};

use crate::{Ground, mesh};

pub(crate) struct Memory {
    name: &'static str,
    _listening: Listening,
}

impl Memory {
    pub(crate) async fn raise(name: &'static str) -> Self {
        let mesh = InMemoryMesh::raise(mesh()).await.unwrap();
        Self { name, _listening: mesh.listen(Some(name.parse().unwrap())).unwrap() }
    }
}

impl Ground for Memory {
    fn credential(&self, module: &str) -> Credential {
        let document = serde_json::json!({
            "url": format!("mem:{}", self.name),
            "fingerprint": "0".repeat(64),
            "node": "n1",
            "module": module,
        });
        Credential::parse(document.to_string()).unwrap()
    }
}
