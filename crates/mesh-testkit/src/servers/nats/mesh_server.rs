use mesh_core::credential::{BrokerUrl, Credential, Fingerprint, Fingerprints};

use super::{Layout, NatsConfig, NatsServer, RawNats, User};
use crate::servers::{Certificate, ServerError};

/// A private nats-server that is laid out for a mesh: TLS, JetStream, and a user with its own rights for
/// everybody.
///
/// It holds no streams yet: asserting the topology is the controller's, through the adapter under
/// test.
///
/// ```no_run
/// # async fn run(mesh: &mesh_core::manifest::Mesh) -> Result<(), Box<dyn std::error::Error>> {
/// use mesh_testkit::servers::nats::{Layout, MeshServer};
///
/// let server = MeshServer::launch(Layout::split(mesh)?).await?;
/// let mail = server.credential("mail.n1")?;        // to connect with
/// let document = mail.to_document()?;              // what `MESH_CREDENTIAL` would name
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MeshServer {
    server: NatsServer,
    layout: Layout,
    base: NatsConfig,
}

impl MeshServer {
    /// Starts one with a certificate of its own, and returns when it serves.
    ///
    /// # Errors
    /// As [`NatsServer::launch`]; [`ServerError::Certificate`].
    pub async fn launch(layout: Layout) -> Result<Self, ServerError> {
        let base = NatsConfig::new().tls(Certificate::local()?).jetstream();
        Self::launch_on(base, layout).await
    }

    /// The same on this configuration, which has TLS and JetStream and says nothing of accounts.
    ///
    /// # Errors
    /// As [`NatsServer::launch`].
    pub async fn launch_on(base: NatsConfig, layout: Layout) -> Result<Self, ServerError> {
        let server = NatsServer::launch(base.clone().with(layout.lines()?)).await?;
        Ok(Self { server, layout, base })
    }

    /// Makes this the layout, without a restart. Users who stay keep their passwords if `layout` was made
    /// from the one before.
    ///
    /// # Errors
    /// As [`NatsServer::reload`].
    pub async fn reload(&mut self, layout: Layout) -> Result<(), ServerError> {
        self.server.reload(self.base.clone().with(layout.lines()?)).await?;
        self.layout = layout;
        Ok(())
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> &NatsServer {
        &self.server
    }

    /// Who has a user.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The credential of the user of this name, with the server's certificate pinned (protocol §5).
    ///
    /// # Errors
    /// [`ServerError::Layout`], if there is no such user, or no certificate to pin.
    pub fn credential(&self, user: &str) -> Result<Credential, ServerError> {
        let user = self.user(user)?;
        let url: BrokerUrl = self
            .server
            .url_of(user.name(), user.password().expose())
            .parse()
            .map_err(ServerError::layout)?;
        let print = self.server.fingerprint();
        let print = print.ok_or_else(|| ServerError::layout("no certificate to pin"))?;
        let print: Fingerprint = print.parse().map_err(ServerError::layout)?;
        let pinned = Fingerprints::new(vec![print]);
        let pinned = pinned.ok_or_else(|| ServerError::layout("no certificate to pin"))?;
        Credential::new(user.principal.clone(), url, pinned).map_err(ServerError::layout)
    }

    /// A raw client that has logged in as the user of this name.
    ///
    /// # Errors
    /// As [`credential`](Self::credential), [`RawNats::connect`] and [`RawNats::login`].
    pub async fn raw(&self, user: &str) -> Result<RawNats, ServerError> {
        let user = self.user(user)?;
        let mut client = RawNats::connect(&self.server).await?;
        client.login(user.name(), user.password().expose()).await?;
        Ok(client)
    }

    fn user(&self, name: &str) -> Result<&User, ServerError> {
        self.layout.user(name).ok_or_else(|| ServerError::layout(format!("no user {name}")))
    }
}
