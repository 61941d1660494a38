use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::guard::{Inbound, Now, Policy, Ruling};
use mesh_core::json::RawJson;
use mesh_core::mx::{EdgeCode, Fault, MsgType, MxPath};
use mesh_core::name::RealmName;
use mesh_core::port::{Clock, Connection};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::counts::{Counts, add};
use super::hearing::Hearings;
use super::outbox::Outboxes;
use super::request::{bad_request, granted, named, refused, subscription, unavailable};
use super::shared::Shared;
use super::{EndReason, Lease, LeaseAsk, LeaseId, LeaseRefusal, LeaseTable, NoticeKind};
use crate::{Call, Remote};

/// A facade without its tasks.
pub(super) struct Inner {
    pub(super) realm: RealmName,
    pub(super) local: Connection,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) buffer: NonZeroUsize,
    pub(super) state: Mutex<State>,
    pub(super) outboxes: Outboxes,
    pub(super) counts: Arc<Counts>,
    /// Told when a lease ends earlier than all others.
    pub(super) sooner: Notify,
    /// Which realm may hear which events.
    pub(super) policy: Option<Arc<dyn Policy>>,
    /// Where leases are kept beyond this process.
    pub(super) shared: Option<Shared>,
}

/// Both change together: a source is listened to while a lease of it is kept.
pub(super) struct State {
    pub(super) table: LeaseTable,
    pub(super) hearings: Hearings,
}

type Answer = Result<RawJson<'static>, Fault<'static>>;

impl Inner {
    pub(super) fn now(&self) -> Now {
        Now::of(&*self.clock)
    }

    /// Whether this gateway is still the one to forward the events of what it keeps.
    pub(super) fn may_forward(&self, now: Now) -> bool {
        self.shared.as_ref().is_none_or(|shared| shared.is_present(now))
    }

    pub(super) async fn subscribe(self: Arc<Self>, call: Call) -> Answer {
        let ask = remote(&call).and_then(|from| subscription(&self.realm, from, &call.params));
        let ask = ask.and_then(|ask| self.permit(&call, &ask.source).map(|()| ask));
        let lease = match ask {
            Ok(ask) => self.grant(&ask).await,
            Err(fault) => Err(fault),
        };
        self.answered(&self.counts.granted, lease.map(|lease| granted(&lease, self.now())))
    }

    pub(super) async fn refresh(self: Arc<Self>, call: Call) -> Answer {
        let asked = remote(&call).and_then(|from| Ok((from, named(&call.params)?)));
        let asked = asked.and_then(|(from, (id, span))| {
            // Of another's nothing is told, not even that it is there.
            let known = self.state.lock().table.lease(id);
            if let Some(lease) = known.filter(|lease| lease.sink_realm == from.realm) {
                self.permit(&call, &lease.source)?;
            }
            Ok((from, (id, span)))
        });
        let lease = match asked {
            Ok((from, (id, span))) => self.extend(id, &from.realm, span).await,
            Err(fault) => Err(fault),
        };
        self.answered(&self.counts.refreshed, lease.map(|lease| granted(&lease, self.now())))
    }

    pub(super) async fn unsubscribe(self: Arc<Self>, call: Call) -> Answer {
        let ended = match remote(&call).and_then(|from| Ok((from, named(&call.params)?))) {
            Ok((from, (id, _))) => self.release(id, &from.realm).await.map(|()| id),
            Err(fault) => Err(fault),
        };
        let answer = ended.map(|id| {
            let body = serde_json::json!({ "id": id.to_string() });
            RawJson::from_serialize(&body).unwrap_or(RawJson::NULL)
        });
        self.answered(&self.counts.unsubscribed, answer)
    }

    /// Whether the policy lets the asking realm hear `source`.
    fn permit(&self, call: &Call, source: &MxPath<'_>) -> Result<(), Fault<'static>> {
        let Some(policy) = &self.policy else { return Ok(()) };
        let from = remote(call)?;
        let path = source.to_string();
        let mut inbound = Inbound::new(MsgType::Cmd);
        inbound.profile = from.profile.name();
        inbound.from_realm = Some(from.realm.as_str());
        inbound.to_realm = Some(self.realm.as_str());
        inbound.to_path = Some(&path);
        inbound.msg_id = from.msg_id.as_deref();
        inbound.principal_key = from.principal_key.as_deref();
        match policy.rule(&inbound) {
            Ruling::Allow => Ok(()),
            Ruling::Deny(why) => Err(Fault::edge(EdgeCode::PolicyDenied, why)),
        }
    }

    fn answered(&self, count: &std::sync::atomic::AtomicU64, answer: Answer) -> Answer {
        add(if answer.is_ok() { count } else { &self.counts.refused }, 1);
        answer
    }

    async fn grant(self: &Arc<Self>, ask: &LeaseAsk<'_>) -> Result<Lease, Fault<'static>> {
        // Before anything is asked of the bus or the store.
        let known = self.state.lock().table.lease(ask.id());
        self.state.lock().table.plan(ask, known.as_ref(), self.now()).map_err(refused)?;
        if let Some(shared) = &self.shared {
            return shared.grant(self, ask).await;
        }
        let source = ask.source.clone().into_owned();
        let _open = self.open(&source).await.map_err(unavailable)?;
        let lease = self.state.lock().table.grant(ask, self.now()).map_err(refused)?;
        self.sooner.notify_one();
        Ok(lease)
    }

    async fn extend(
        self: &Arc<Self>,
        id: LeaseId,
        realm: &RealmName,
        span: Option<Duration>,
    ) -> Result<Lease, Fault<'static>> {
        match &self.shared {
            Some(shared) => shared.extend(self, id, realm, span).await,
            None => self.state.lock().table.refresh(id, realm, span, self.now()).map_err(refused),
        }
    }

    async fn release(
        self: &Arc<Self>,
        id: LeaseId,
        realm: &RealmName,
    ) -> Result<(), Fault<'static>> {
        if let Some(shared) = &self.shared {
            shared.release(self, id, realm).await?;
        } else {
            let lease = self.state.lock().table.end(id, realm).map_err(refused)?;
            self.tidy(&lease.source);
        }
        Ok(())
    }

    /// Ends a lease, whoever's it is, and tells its sink why. `false`: there is none, or the store could
    /// not be told.
    pub(super) async fn end(self: &Arc<Self>, id: LeaseId, reason: EndReason) -> bool {
        if let Some(shared) = &self.shared {
            return shared.end(self, id, reason).await;
        }
        let lease = self.state.lock().table.remove(id);
        if let Some(lease) = &lease {
            self.ended(lease, reason);
        }
        lease.is_some()
    }

    /// A lease that is out of the table: its sink is told, its source left if nobody else wants it.
    pub(super) fn ended(&self, lease: &Lease, reason: EndReason) {
        add(&self.counts.ended, 1);
        tracing::debug!(sink = %lease.sink_realm, lease = %lease.id(), ?reason, "a lease has ended");
        self.outboxes.tell(lease, NoticeKind::Ended(reason));
        self.tidy(&lease.source);
    }

    pub(super) fn tidy(&self, source: &MxPath<'_>) {
        let mut state = self.state.lock();
        let State { table, hearings } = &mut *state;
        hearings.tidy(source, table);
    }

    /// Ends leases as their time comes.
    pub(super) async fn expire(self: Arc<Self>) {
        loop {
            while let Some(lease) = self.due() {
                match &self.shared {
                    Some(shared) => shared.expired(&self, lease).await,
                    None => self.ended(&lease, EndReason::Expired),
                }
            }
            let next = self.state.lock().table.next_end();
            let until = async {
                match next {
                    Some(next) => {
                        let away = next.saturating_sub(self.clock.monotonic());
                        self.clock.sleep(away).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = until => {}
                () = self.sooner.notified() => {}
            }
        }
    }

    fn due(&self) -> Option<Lease> {
        let now = self.now();
        self.state.lock().table.expire(now)
    }
}

/// The realm that asks. What its request says of itself counts for nothing.
fn remote(call: &Call) -> Result<&Remote, Fault<'static>> {
    call.remote.as_ref().ok_or_else(|| bad_request("only another realm has leases"))
}

pub(super) fn not_found() -> Fault<'static> {
    refused(LeaseRefusal::NotFound)
}
