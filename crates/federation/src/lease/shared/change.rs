use std::sync::Arc;
use std::time::Duration;

use mesh_core::mx::Fault;
use mesh_core::name::RealmName;
use mesh_core::store::{Expected, Removed, Revision, StoreError, Written};

use super::super::counts::add;
use super::super::hearing::Opening;
use super::super::inner::{Inner, not_found};
use super::super::request::{refused, unavailable};
use super::super::{EndReason, Lease, LeaseAsk, LeaseId};
use super::record::Standing;
use super::{Shared, record};

/// How often a change is tried against others who change the same lease.
const TRIES: usize = 32;

/// How long its keeper is given each time to take away a lease that was ended through another gateway.
const PAUSE: Duration = Duration::from_millis(100);

/// How long after its end a lease is left to its keeper, in milliseconds.
pub(in super::super) const GRACE: u64 = 2_000;

const BUSY: &str = "others change the same lease, or its gateway does not hear of its end";

type Refused = Fault<'static>;

/// What stands in the store under a lease's key.
pub(super) enum Known {
    Nothing,
    Lease(Lease),
    /// It is over; its keeper has not taken it away yet.
    Released(Lease),
    Unreadable(Revision),
}

impl Known {
    pub(super) fn lease(self) -> Option<Lease> {
        match self {
            Self::Lease(lease) => Some(lease),
            Self::Nothing | Self::Released(_) | Self::Unreadable(_) => None,
        }
    }

    fn expected(&self) -> Expected {
        match self {
            Self::Nothing => Expected::Absent,
            Self::Lease(lease) | Self::Released(lease) => {
                Expected::Revision(Revision(lease.revision))
            }
            Self::Unreadable(revision) => Expected::Revision(*revision),
        }
    }
}

impl Shared {
    pub(in super::super) async fn grant(
        &self,
        inner: &Arc<Inner>,
        ask: &LeaseAsk<'_>,
    ) -> Result<Lease, Refused> {
        self.change(inner, ask.id(), |known| {
            inner.state.lock().table.plan(ask, known, inner.now()).map_err(refused)
        })
        .await
    }

    pub(in super::super) async fn extend(
        &self,
        inner: &Arc<Inner>,
        id: LeaseId,
        realm: &RealmName,
        span: Option<Duration>,
    ) -> Result<Lease, Refused> {
        self.change(inner, id, |known| {
            let table = &inner.state.lock().table;
            table.extended(known.cloned(), realm, span, inner.now()).map_err(refused)
        })
        .await
    }

    /// Changes a lease as `plan` says. Where nobody keeps it, this gateway does from now on: it listens
    /// first, and answers afterwards.
    async fn change(
        &self,
        inner: &Arc<Inner>,
        id: LeaseId,
        plan: impl Fn(Option<&Lease>) -> Result<Lease, Refused> + Send + Sync,
    ) -> Result<Lease, Refused> {
        for _ in 0..TRIES {
            let known = self.known(inner, id).await.map_err(unavailable)?;
            let expected = known.expected();
            if let Known::Released(lease) = &known
                && lease.keeper != self.keeper()
                && self.is_there(&lease.keeper).await.map_err(unavailable)?
            {
                // It would go on to forward until it has heard of that.
                plan(None)?;
                inner.clock.sleep(PAUSE).await;
                continue;
            }
            let known = known.lease();
            let mut lease = plan(known.as_ref())?;
            let kept = match &known {
                Some(known) => self.is_there(&known.keeper).await.map_err(unavailable)?,
                None => false,
            };
            if !kept {
                lease.keeper = self.keeper();
            }
            let open = self.open(inner, &lease).await?;
            if let Some(lease) = self.write(inner, lease, expected).await.map_err(unavailable)? {
                self.apply(inner, &lease);
                drop(open);
                if !kept && known.is_some() {
                    self.adopted(inner, &lease);
                }
                return Ok(lease);
            }
        }
        Err(unavailable(BUSY))
    }

    async fn open(&self, inner: &Arc<Inner>, lease: &Lease) -> Result<Option<Opening>, Refused> {
        if lease.keeper != self.keeper() {
            return Ok(None);
        }
        inner.open(&lease.source).await.map(Some).map_err(unavailable)
    }

    pub(in super::super) async fn release(
        &self,
        inner: &Arc<Inner>,
        id: LeaseId,
        realm: &RealmName,
    ) -> Result<(), Refused> {
        for _ in 0..TRIES {
            let known = self.known(inner, id).await.map_err(unavailable)?.lease();
            let own = known.filter(|lease| lease.sink_realm == *realm).ok_or_else(not_found)?;
            if self.dissolve(inner, own).await.map_err(unavailable)? {
                return Ok(());
            }
        }
        Err(unavailable(BUSY))
    }

    /// Ends a lease. Only its keeper takes it out of the store, or another when there is none: a new lease
    /// would be kept by another while its keeper still forwards. `false`: somebody has changed it meanwhile.
    async fn dissolve(&self, inner: &Arc<Inner>, lease: Lease) -> Result<bool, StoreError> {
        let id = lease.id();
        let another = lease.keeper != self.keeper() && self.is_there(&lease.keeper).await?;
        let done = if another {
            let expected = Expected::Revision(Revision(lease.revision));
            let now = inner.now();
            let value = record::write(&lease, true, now);
            let lifetime = self.options.presence.saturating_mul(4);
            let written = self.store.write(&key(id)?, value, lifetime, expected).await;
            matches!(self.told(inner, written)?, Written::Done(_))
        } else {
            self.remove(inner, &lease).await?
        };
        if done {
            self.forget(inner, id);
        }
        Ok(done)
    }

    /// Takes away a lease that was ended through another gateway, if this one keeps it.
    pub(super) async fn bury(&self, inner: &Arc<Inner>, lease: &Lease) -> Result<(), StoreError> {
        // Whatever the table has is older.
        self.forget(inner, lease.id());
        if lease.keeper == self.keeper() {
            // Where somebody was faster, it is told.
            self.remove(inner, lease).await?;
        }
        Ok(())
    }

    /// Ends a lease whoever keeps it.
    pub(in super::super) async fn end(
        &self,
        inner: &Arc<Inner>,
        id: LeaseId,
        reason: EndReason,
    ) -> bool {
        for _ in 0..TRIES {
            let Ok(Known::Lease(lease)) = self.known(inner, id).await else {
                return false;
            };
            match self.dissolve(inner, lease.clone()).await {
                Ok(true) => {
                    inner.ended(&lease, reason);
                    return true;
                }
                Ok(false) => {}
                Err(_) => return false,
            }
        }
        false
    }

    /// A lease whose time is over, by this table, and which was taken out of it. Whoever keeps it ends it;
    /// where nobody does, one of the others.
    pub(in super::super) async fn expired(&self, inner: &Arc<Inner>, lease: Lease) {
        let ended = self.try_expire(inner, &lease).await;
        match ended {
            Ok(true) => inner.ended(&lease, EndReason::Expired),
            Ok(false) => inner.tidy(&lease.source),
            Err(_) => self.later(inner, lease),
        }
    }

    /// `true`: it was ended here. `false`: it is another's, or not over after all.
    async fn try_expire(&self, inner: &Arc<Inner>, lease: &Lease) -> Result<bool, StoreError> {
        let known = match self.known(inner, lease.id()).await? {
            Known::Lease(known) => known,
            Known::Released(known) => {
                self.bury(inner, &known).await?;
                return Ok(false);
            }
            // Its keeper was faster.
            Known::Nothing | Known::Unreadable(_) => return Ok(false),
        };
        if !known.is_over(inner.now()) {
            self.apply(inner, &known);
            return Ok(false);
        }
        let me = self.keeper();
        if known.keeper == me {
            return self.remove(inner, &known).await;
        }
        if self.is_there(&known.keeper).await? {
            // Its keeper ends it any moment.
            self.later(inner, known);
            return Ok(false);
        }
        // Of those who find it, the one that becomes its keeper tells its sink.
        let own = Lease { keeper: me, ..known };
        let expected = Expected::Revision(Revision(own.revision));
        match self.write(inner, own, expected).await? {
            Some(own) => self.remove(inner, &own).await,
            None => Ok(false),
        }
    }

    /// Takes over a lease that `gone` kept.
    pub(super) async fn adopt(&self, inner: &Arc<Inner>, id: LeaseId, gone: &str) {
        let known = self.known(inner, id).await;
        let Ok(Known::Lease(known)) = known else {
            return;
        };
        if known.keeper != gone || known.is_over(inner.now()) {
            // What is over is ended as such.
            return self.apply(inner, &known);
        }
        let expected = Expected::Revision(Revision(known.revision));
        let lease = Lease { keeper: self.keeper(), ..known };
        // Where it can't be listened to here, it may be elsewhere.
        let Ok(open) = self.open(inner, &lease).await else {
            return;
        };
        if let Ok(Some(lease)) = self.write(inner, lease, expected).await {
            self.apply(inner, &lease);
            drop(open);
            self.adopted(inner, &lease);
        }
    }

    /// Its events were not forwarded for a while.
    fn adopted(&self, inner: &Inner, lease: &Lease) {
        add(&inner.counts.adopted, 1);
        inner.outboxes.tell(lease, super::super::NoticeKind::Missed(0));
    }

    pub(super) async fn known(&self, inner: &Inner, id: LeaseId) -> Result<Known, StoreError> {
        let entry = self.told(inner, self.store.read(&key(id)?).await)?;
        let Some(entry) = entry else {
            return Ok(Known::Nothing);
        };
        Ok(match record::read(&inner.realm, id, &entry, &self.limits, inner.now()) {
            Ok(Standing::Lease(lease)) => Known::Lease(lease),
            Ok(Standing::Released(lease)) => Known::Released(lease),
            Err(why) => {
                add(&inner.counts.unreadable, 1);
                tracing::warn!(lease = %id, %why);
                Known::Unreadable(entry.revision)
            }
        })
    }

    /// `None`: another has changed it meanwhile.
    async fn write(
        &self,
        inner: &Inner,
        lease: Lease,
        expected: Expected,
    ) -> Result<Option<Lease>, StoreError> {
        let now = inner.now();
        let lifetime = record::lifetime(&lease, self.options.keep_ended, now);
        let value = record::write(&lease, false, now);
        let written = self.store.write(&key(lease.id())?, value, lifetime, expected).await;
        Ok(match self.told(inner, written)? {
            Written::Done(revision) => Some(Lease { revision: revision.0, ..lease }),
            Written::Conflict => None,
        })
    }

    /// `false`: another has changed it meanwhile.
    async fn remove(&self, inner: &Inner, lease: &Lease) -> Result<bool, StoreError> {
        let revision = Some(Revision(lease.revision));
        let removed = self.store.remove(&key(lease.id())?, revision).await;
        let done = self.told(inner, removed)? == Removed::Done;
        if done {
            self.echoes.lock().removed_here(lease.id(), lease.revision);
        }
        Ok(done)
    }

    /// It is looked at again in a moment.
    fn later(&self, inner: &Inner, lease: Lease) {
        let ends = crate::tables::millis(inner.clock.monotonic()).saturating_add(1_000);
        self.follow_up(inner, &Lease { ends, ..lease });
    }

    /// The table follows. What another keeps stands in it a little longer than it lasts, so that its keeper
    /// can end it.
    pub(super) fn apply(&self, inner: &Inner, lease: &Lease) {
        if lease.keeper == self.keeper() {
            return self.follow_up(inner, lease);
        }
        let ends = lease.ends.saturating_add(GRACE);
        self.follow_up(inner, &Lease { ends, ..lease.clone() });
    }

    fn follow_up(&self, inner: &Inner, lease: &Lease) {
        let mut state = inner.state.lock();
        let before = state.table.next_end();
        if let Err(why) = state.table.apply(lease) {
            tracing::warn!(lease = %lease.id(), %why, "a lease of the store can't be taken in");
        }
        let sooner = state.table.next_end() != before;
        drop(state);
        if sooner {
            inner.sooner.notify_one();
        }
    }

    pub(super) fn forget(&self, inner: &Inner, id: LeaseId) {
        let lease = inner.state.lock().table.remove(id);
        if let Some(lease) = lease {
            inner.tidy(&lease.source);
        }
    }
}

fn key(id: LeaseId) -> Result<mesh_core::store::StoreKey, StoreError> {
    // 32 hex digits behind a word are always a key.
    record::key(id)
        .map_err(|why| StoreError::new(mesh_core::store::StoreErrorKind::Other, why.to_string()))
}
