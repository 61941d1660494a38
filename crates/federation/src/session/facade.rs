use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use mesh_core::json::RawJson;
use mesh_core::mx::{Fault, MxPath};
use mesh_core::name::RealmName;
use mesh_core::port::{Connection, PublishOptions, TransportError};

use super::request::{looked_up, noted, present, refused, tabs, unavailable};
use super::{Session, SessionDirectory, SessionError};
use crate::event::{Event, EventError};
use crate::{Call, ComponentHost, HostError, Random, Registration, Sign};

/// The directory of sessions as a component: takes `sessions.accepts.register`, `heartbeat` and `lookup`,
/// and tells something to all tabs of a principal (protocol §8).
///
/// Realm and principal are what the gateway says of a request; whatever the body says of them is not
/// looked at. A realm is told of its own principal's tabs alone; inside the realm anybody may look up
/// anybody's, by `{"principalKey": "…"}`.
///
/// Dropped, it takes no more commands.
pub struct SessionsFacade {
    directory: Arc<SessionDirectory>,
    realm: RealmName,
    backbone: Connection,
    sign: Option<Arc<dyn Sign>>,
    random: Arc<dyn Random>,
    _registrations: Vec<Registration>,
}

/// What became of a push to one tab.
#[derive(Debug)]
#[non_exhaustive]
pub struct Pushed {
    /// The realm of the tab.
    pub tab_realm: RealmName,
    /// Whether the backbone took the event. That it arrived, nobody says.
    pub outcome: Result<(), PushError>,
}

/// Why a tab was not told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// It has no form in the tab's profile, or could not be signed.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The backbone did not take it.
    #[error(transparent)]
    Backbone(#[from] TransportError),
}

/// How many tabs are told at a time.
const TOGETHER: usize = 32;

type Answer = Result<RawJson<'static>, Fault<'static>>;

impl SessionsFacade {
    /// The facade of `directory` in the host's realm, live when this returns.
    ///
    /// # Errors
    /// [`HostError`]: the local bus does not take the commands.
    pub async fn start(
        host: &ComponentHost,
        backbone: Connection,
        directory: Arc<SessionDirectory>,
        sign: Option<Arc<dyn Sign>>,
        random: Arc<dyn Random>,
    ) -> Result<Self, HostError> {
        let registrations = vec![
            accept(host, &directory, "register", register).await?,
            accept(host, &directory, "heartbeat", heartbeat).await?,
            accept(host, &directory, "lookup", lookup).await?,
        ];
        let realm = host.realm().clone();
        Ok(Self { directory, realm, backbone, sign, random, _registrations: registrations })
    }

    /// The directory.
    #[must_use]
    pub fn directory(&self) -> &Arc<SessionDirectory> {
        &self.directory
    }

    /// Tells `body` to every tab of `principal`, as an event on `path` of the tab's realm, in the profile
    /// that the tab registered in. One tab that can't be told keeps nothing from the others.
    pub async fn push(
        &self,
        principal: &str,
        path: &MxPath<'_>,
        body: &RawJson<'_>,
    ) -> Vec<Pushed> {
        let tabs = self.directory.lookup(principal);
        let tell = |tab: Session| async move {
            let outcome = self.tell(&tab, path, body).await;
            Pushed { tab_realm: tab.tab_realm, outcome }
        };
        stream::iter(tabs).map(tell).buffered(TOGETHER).collect().await
    }

    async fn tell(
        &self,
        tab: &Session,
        path: &MxPath<'_>,
        body: &RawJson<'_>,
    ) -> Result<(), PushError> {
        let event = Event {
            from: &self.realm,
            from_path: None,
            to: &tab.tab_realm,
            to_path: path,
            profile: tab.profile,
            trace_id: None,
            body,
        };
        let now = self.backbone.clock().now();
        let message = event.message(&self.random.id(), now, self.sign.as_deref())?;
        Ok(self.backbone.transport().publish(message, PublishOptions::default()).await?)
    }
}

async fn accept<A>(
    host: &ComponentHost,
    directory: &Arc<SessionDirectory>,
    command: &str,
    handle: impl Fn(Arc<SessionDirectory>, Call) -> A + Send + Sync + 'static,
) -> Result<Registration, HostError>
where
    A: Future<Output = Answer> + Send + 'static,
{
    let directory = Arc::clone(directory);
    let path = ours(command);
    host.accept(path, move |call: Call| handle(Arc::clone(&directory), call)).await
}

#[expect(clippy::expect_used, reason = "texts of this module alone")]
fn ours(command: &str) -> MxPath<'static> {
    MxPath::new(format!("sessions.accepts.{command}")).expect("a path")
}

async fn register(directory: Arc<SessionDirectory>, call: Call) -> Answer {
    let (remote, principal) = present(&call)?;
    let session = directory.register(principal, &remote.realm, remote.profile).await;
    session.map(|session| noted(&session, directory.now())).map_err(fault)
}

async fn heartbeat(directory: Arc<SessionDirectory>, call: Call) -> Answer {
    let (remote, principal) = present(&call)?;
    let session = directory.heartbeat(principal, &remote.realm).await;
    session.map(|session| noted(&session, directory.now())).map_err(fault)
}

async fn lookup(directory: Arc<SessionDirectory>, call: Call) -> Answer {
    let principal = looked_up(&call)?;
    Ok(tabs(&directory.lookup(&principal), directory.now()))
}

fn fault(error: SessionError) -> Fault<'static> {
    match error {
        SessionError::Refused(refusal) => refused(refusal),
        SessionError::Store(error) => unavailable(error),
    }
}

impl fmt::Debug for SessionsFacade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionsFacade")
            .field("realm", &self.realm)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}
