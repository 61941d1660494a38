//! A gateway at work: its subscriptions, its tasks, and its end.

mod close;
mod ear;
mod inbound;
mod lane;
mod observe;
mod options;
mod outbound;
#[cfg(feature = "discovery")]
mod posted;
mod shared;
mod siblings;
mod start;
mod status;

use std::fmt;
use std::sync::Arc;

use mesh_core::guard::ChainCounters;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use self::shared::Shared;
use super::{Decisions, Edge, EdgeRules, RulesError};

pub use close::EdgeReport;
pub use ear::{EarStatus, On};
pub use options::{GatewayError, GatewayOptions, ReplyTopics, Sharing};
pub use status::EdgeStatus;

/// A realm's gateway at work, between a backbone and the realm's own bus. Dropped, it ends at once;
/// [`close`](Self::close) ends what it has begun first.
///
/// ```
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// # use mesh_core::identity::Principal;
/// # use mesh_core::name::InstanceName;
/// use mesh_core::message::Message;
/// use mesh_core::mx::{MailboxKind, MxPath};
/// use mesh_core::name::RealmName;
/// use mesh_core::port::{PublishOptions, SubscribeOptions};
/// use mesh_federation::edge::{EdgeConfig, EdgeGateway, GatewayOptions};
/// use mesh_federation::{Call, ComponentHost, HostOptions};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let clock = Arc::new(mesh_clock::SystemClock::new());
/// # let gateway = |name| InstanceName::new(name).map(|name| Principal::Gateway { name });
/// // What realms share has exact subjects only; the realm's own bus may have wildcards.
/// let backbone = mesh_transport_mem::InMemoryExactBroker::new(clock.clone());
/// let local = mesh_transport_mem::InMemoryFilterBroker::new(clock).connect(gateway("acme")?);
/// let acme = RealmName::new("acme.com")?;
///
/// let host = ComponentHost::new(acme.clone(), local.clone(), HostOptions::default());
/// let _counting = host
///     .accept(MxPath::new("stock.accepts.count")?, |call: Call| async { Ok(call.params) })
///     .await?;
/// let (config, options) = (EdgeConfig::new(acme.clone()), GatewayOptions::default());
/// let edge = EdgeGateway::start(config, backbone.connect(gateway("acme")?), local, options).await?;
///
/// // Another realm, by hand.
/// let shop = backbone.connect(gateway("shop")?);
/// let mailbox = MailboxKind::Legacy.subject(&RealmName::new("shop")?).into();
/// let mut answers = shop.transport().subscribe(mailbox, SubscribeOptions::default()).await?;
/// let request =
///     r#"{"fromRealm":"shop","toPath":"stock.accepts.count","correlationId":"c-1","body":[1]}"#;
/// let message = Message::new(MailboxKind::Legacy.subject(&acme), request);
/// shop.transport().publish(message, PublishOptions::default()).await?;
///
/// let answer = answers.next().await.expect("open")?;
/// let text = std::str::from_utf8(answer.payload())?;
/// assert!(text.starts_with(r#"{"correlationId":"c-1","ok":true,"fromRealm":"acme.com","body":[1],"#));
/// assert_eq!(edge.close(Duration::from_secs(1)).await.given_up, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EdgeGateway {
    shared: Arc<Shared>,
    tasks: Mutex<Option<Tasks>>,
}

/// What runs, to be ended in two steps. Dropped, it ends.
struct Tasks {
    /// What reads the mailboxes.
    mailboxes: JoinSet<()>,
    /// What brings answers out.
    others: JoinSet<()>,
}

impl EdgeGateway {
    /// Puts other rules in force, from the next message on; see [`Edge::reload`].
    ///
    /// # Errors
    /// [`RulesError`] where they make no sense: those in force stay.
    pub fn reload(&self, rules: EdgeRules) -> Result<(), RulesError> {
        self.shared.edge.reload(rules)
    }

    /// Every decision from now on; see [`Edge::decisions`].
    #[must_use]
    pub fn decisions(&self) -> Decisions {
        self.shared.edge.decisions()
    }

    /// What each guard has counted since the beginning.
    #[must_use]
    pub fn guards(&self) -> ChainCounters {
        self.shared.edge.guards()
    }

    /// The gateway without its connections.
    #[must_use]
    pub fn edge(&self) -> &Edge {
        &self.shared.edge
    }
}

impl fmt::Debug for EdgeGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EdgeGateway").field("edge", &self.shared.edge).finish_non_exhaustive()
    }
}
