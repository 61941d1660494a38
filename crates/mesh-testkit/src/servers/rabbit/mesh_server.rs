use mesh_core::credential::Credential;

use super::{Layout, RabbitConfig, RabbitServer, User};
use crate::servers::ServerError;

/// A private node that is laid out for a mesh: TLS, a user with its own rights for everybody, and the
/// queues of calls and answers.
///
/// It holds no queue of a durable consumer yet: asserting the topology is the controller's, through the
/// adapter under test.
#[derive(Debug)]
pub struct MeshServer {
    server: RabbitServer,
    layout: Layout,
}

impl MeshServer {
    /// Starts one, and returns when it serves and all of the layout is there.
    ///
    /// # Errors
    /// As [`RabbitServer::launch`] and [`Layout::definitions`].
    pub async fn launch(layout: Layout) -> Result<Self, ServerError> {
        let config = RabbitConfig::new().definitions(layout.definitions()?);
        Ok(Self { server: RabbitServer::launch(config).await?, layout })
    }

    /// The node.
    #[must_use]
    pub fn server(&self) -> &RabbitServer {
        &self.server
    }

    /// Who has a user.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The credential of a user, with the node's certificate pinned (protocol §5).
    ///
    /// # Errors
    /// As [`User::credential`].
    pub fn credential(&self, user: &User) -> Result<Credential, ServerError> {
        let url = self.server.url_of(user.name(), user.password(), user.vhost());
        user.credential(&url, &self.server.fingerprint())
    }
}
