//! What a served gateway does for its operator, beside what the crate's own desk does: commands on the realm's
//! bus, which no other realm reaches.
//!
//! | command | body | answer |
//! |---|---|---|
//! | `_operator.accepts.guards` | | counters, figures, how it is |
//! | `_operator.accepts.call` | `{uri, body?, deadlineMs?, profile?}` | `{answer}` or `{failed}` |
//! | `_operator.accepts.watch` | `{uri, to}` | `{failed?}`; lines on `watch.<to>.emits.line` |
//! | `_operator.accepts.watching` | `{to}` | `{known}`: watched on, for another while |
//! | `_operator.accepts.unwatch` | `{to}` | `{known}` |

mod call;
mod failed;
mod status;
mod watch;

use std::sync::Arc;

use mesh_core::json::RawJson;
use mesh_core::mx::{EdgeCode, Fault, MxPath};
use mesh_federation::edge::EdgeGateway;
use mesh_federation::{Call, ComponentHost, HostError, RealmClient, Registration};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(super) use call::{Called, Calling, LONGEST};
pub(super) use failed::{Failed, FailedKind};
pub(super) use status::Status;
pub(super) use watch::{KEEP, Known, Line, To, Told, WatchBegun, Watches, Watching, path_of};

type Answer = Result<RawJson<'static>, Fault<'static>>;

/// Takes the commands for as long as it is held.
pub(super) struct Desk {
    _registrations: Vec<Registration>,
}

impl Desk {
    pub(super) async fn start(
        host: &ComponentHost,
        gateway: &Arc<EdgeGateway>,
        client: &RealmClient,
        watches: &Arc<Watches>,
    ) -> Result<Self, HostError> {
        let (gateway, asking) = (Arc::clone(gateway), client.clone());
        let guards = move |call: Call| {
            let gateway = Arc::clone(&gateway);
            async move {
                from_inside(&call)?;
                answer(&Status::of(&gateway.status()))
            }
        };
        let calls = move |call: Call| {
            let client = asking.clone();
            async move { call::call(&client, &call).await }
        };
        let [begin, keep, end] = [(); 3].map(|()| Arc::clone(watches));
        let registrations = vec![
            host.accept(ours("guards"), guards).await?,
            host.accept(ours("call"), calls).await?,
            host.accept(ours("watch"), move |call: Call| {
                let watches = Arc::clone(&begin);
                async move { watches.begin(&call).await }
            })
            .await?,
            host.accept(ours("watching"), move |call: Call| {
                let watches = Arc::clone(&keep);
                async move { watches.keep(&call) }
            })
            .await?,
            host.accept(ours("unwatch"), move |call: Call| {
                let watches = Arc::clone(&end);
                async move { watches.end(&call) }
            })
            .await?,
        ];
        Ok(Self { _registrations: registrations })
    }
}

/// A command of the operator's. The name is one of ours, so this is a path.
#[expect(clippy::expect_used, reason = "texts of this module alone")]
pub(super) fn ours(command: &str) -> MxPath<'static> {
    MxPath::new(format!("_operator.accepts.{command}")).expect("a path")
}

/// A gateway lets nobody near here; whoever comes through one all the same is refused.
fn from_inside(call: &Call) -> Result<(), Fault<'static>> {
    match call.is_local() {
        true => Ok(()),
        false => Err(Fault::edge(EdgeCode::PolicyDenied, "for this realm's operators alone")),
    }
}

fn body<T: DeserializeOwned>(call: &Call) -> Result<T, Fault<'static>> {
    from_inside(call)?;
    let read = serde_json::from_str(call.params.as_str());
    read.map_err(|error| Fault::edge(EdgeCode::BadRequest, error.to_string()))
}

fn answer(value: &impl Serialize) -> Answer {
    RawJson::from_serialize(value)
        .map_err(|error| Fault::edge(EdgeCode::HandlerError, error.to_string()))
}
