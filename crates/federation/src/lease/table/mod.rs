mod entries;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::guard::Now;
use mesh_core::mx::{MxPath, Profile};
use mesh_core::name::RealmName;

use self::entries::{Entries, id_of};
use super::{Lease, LeaseAsk, LeaseId, LeaseLimits, LeaseRefusal};
use crate::tables::millis;

/// The leases that a realm has given: which event goes to which realm, and until when. No I/O; time is
/// passed in.
///
/// - The same source, sink realm and sink path have one lease, which is extended and never shortened.
/// - At most [`LeaseLimits::per_realm`] of a realm, [`LeaseLimits::total`] in all, and of
///   [`LeaseLimits::sources`] sources.
/// - A lease that has ended is heard of once, from [`expire`](Self::expire); until then it is in nobody's
///   way: it is neither forwarded nor refreshed.
/// - One of these tables takes about 200 bytes a lease (`cargo xtask bench federation_state`). An end costs
///   the logarithm of their number, an extension nothing.
///
/// ```
/// use std::time::Duration;
/// use mesh_core::guard::Now;
/// use mesh_core::mx::{MxPath, Profile};
/// use mesh_core::name::RealmName;
/// use mesh_core::time::Timestamp;
/// use mesh_federation::lease::{LeaseAsk, LeaseLimits, LeaseTable};
///
/// let mut table = LeaseTable::new(LeaseLimits::default(), "gateway-1");
/// let ask = LeaseAsk {
///     source: MxPath::new("stock.emits.changed")?,
///     sink_realm: RealmName::new("shop.example")?,
///     sink_path: MxPath::new("window.emits.stock")?,
///     profile: Profile::MxEnv1,
///     lease: None,
/// };
/// let at = |seconds: i64| Now {
///     wall: Timestamp::from_millis(1_700_000_000_000 + seconds * 1_000),
///     monotonic: Duration::from_secs(seconds as u64),
/// };
/// let lease = table.grant(&ask, at(0))?;
/// assert_eq!(lease.expires_at(at(0)), at(60).wall);
/// assert_eq!(table.grant(&ask, at(30))?.id(), lease.id());
/// assert!(table.expire(at(89)).is_none());
/// assert_eq!(table.expire(at(90)).map(|lease| lease.id()), Some(lease.id()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LeaseTable {
    limits: LeaseLimits,
    entries: Entries,
}

/// What a lease that is forwarded now needs.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Sink<'t> {
    /// The lease.
    pub id: LeaseId,
    /// The realm that hears it.
    pub realm: &'t Arc<str>,
    /// The path in that realm.
    pub path: &'t Arc<str>,
    /// In which profile.
    pub profile: Profile,
}

impl LeaseTable {
    /// A table within these limits. `me` is the gateway that it is of: what it grants is kept by that one.
    #[must_use]
    pub fn new(limits: LeaseLimits, me: &str) -> Self {
        Self { limits, entries: Entries::new(me) }
    }

    /// How many leases there are, ended ones included that nobody has asked [`expire`](Self::expire) for.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.slots.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.entries.bytes()
    }

    /// The lease of this id.
    #[must_use]
    pub fn lease(&self, id: LeaseId) -> Option<Lease> {
        self.entries.lease_at(self.entries.find(id)?)
    }

    /// Gives or extends a lease.
    ///
    /// # Errors
    /// [`LeaseRefusal`]: too many.
    pub fn grant(&mut self, ask: &LeaseAsk<'_>, now: Now) -> Result<Lease, LeaseRefusal> {
        let lease = self.plan(ask, self.lease(ask.id()).as_ref(), now)?;
        self.apply(&lease)?;
        Ok(lease)
    }

    /// The lease that `ask` would get, where `known` is the one that there is. Changes nothing.
    ///
    /// # Errors
    /// [`LeaseRefusal`]: too many.
    pub fn plan(
        &self,
        ask: &LeaseAsk<'_>,
        known: Option<&Lease>,
        now: Now,
    ) -> Result<Lease, LeaseRefusal> {
        let realm = self.entries.realms.find(ask.sink_realm.as_str());
        if known.is_none() && self.entries.find(ask.id()).is_none() {
            if realm.map_or(0, |realm| self.entries.realms.users(realm)) as usize
                >= self.limits.per_realm
            {
                return Err(LeaseRefusal::RealmFull);
            }
            if self.len() >= self.limits.total {
                return Err(LeaseRefusal::Full);
            }
            let sources = &self.entries.sources;
            let known = sources.find(ask.source.as_str()).is_some();
            if !known && sources.len() >= self.limits.sources {
                return Err(LeaseRefusal::SourcesFull);
            }
        }
        let end = self.limits.end(ask.lease, now);
        Ok(Lease {
            source: ask.source.clone().into_owned(),
            sink_realm: ask.sink_realm.clone(),
            sink_path: ask.sink_path.clone().into_owned(),
            profile: ask.profile,
            ends: known.map_or(end, |known| known.ends.max(end)),
            keeper: known.map_or_else(|| self.me().to_owned(), |known| known.keeper.clone()),
            revision: known.map_or(0, |known| known.revision),
        })
    }

    /// Extends a lease of `realm`.
    ///
    /// # Errors
    /// [`LeaseRefusal::NotFound`].
    pub fn refresh(
        &mut self,
        id: LeaseId,
        realm: &RealmName,
        asked: Option<Duration>,
        now: Now,
    ) -> Result<Lease, LeaseRefusal> {
        let known = self.lease(id);
        let lease = self.extended(known, realm, asked, now)?;
        self.apply(&lease)?;
        Ok(lease)
    }

    /// What `known` becomes when `realm` refreshes it. Changes nothing.
    ///
    /// # Errors
    /// [`LeaseRefusal::NotFound`].
    pub fn extended(
        &self,
        known: Option<Lease>,
        realm: &RealmName,
        asked: Option<Duration>,
        now: Now,
    ) -> Result<Lease, LeaseRefusal> {
        let own = |lease: &Lease| lease.sink_realm == *realm && !lease.is_over(now);
        let mut lease = known.filter(own).ok_or(LeaseRefusal::NotFound)?;
        lease.ends = lease.ends.max(self.limits.end(asked, now));
        Ok(lease)
    }

    /// Ends a lease of `realm`.
    ///
    /// # Errors
    /// [`LeaseRefusal::NotFound`].
    pub fn end(&mut self, id: LeaseId, realm: &RealmName) -> Result<Lease, LeaseRefusal> {
        let own = self.lease(id).filter(|lease| lease.sink_realm == *realm);
        own.and_then(|_| self.remove(id)).ok_or(LeaseRefusal::NotFound)
    }

    /// Takes a lease out, whoever's it is.
    pub fn remove(&mut self, id: LeaseId) -> Option<Lease> {
        let slot = self.entries.find(id)?;
        let lease = self.entries.lease_at(slot);
        self.entries.take(slot);
        lease
    }

    /// Puts `lease` in place of what is known of it, unless that is a later writing.
    ///
    /// # Errors
    /// [`LeaseRefusal::Collision`], or [`LeaseRefusal::Full`] where 2³² numbers are used up. The limits
    /// are [`plan`](Self::plan)'s.
    pub fn apply(&mut self, lease: &Lease) -> Result<(), LeaseRefusal> {
        let id = lease.id();
        let Some(slot) = self.entries.find(id) else {
            return self.entries.insert(id, lease);
        };
        let same = self.entries.lease_at(slot).is_some_and(|known| {
            known.source == lease.source
                && known.sink_realm == lease.sink_realm
                && known.sink_path == lease.sink_path
        });
        if !same {
            return Err(LeaseRefusal::Collision);
        }
        let keeper = self.entries.keepers.hold(&lease.keeper).ok_or(LeaseRefusal::Full)?;
        let Some(entry) = self.entries.slots.get_mut(slot) else {
            return Ok(());
        };
        if lease.revision < entry.revision {
            self.entries.keepers.release(keeper);
            return Ok(());
        }
        let before = std::mem::replace(&mut entry.keeper, keeper);
        let earlier = lease.ends < entry.ends;
        entry.ends = lease.ends;
        entry.revision = lease.revision;
        entry.profile = lease.profile;
        self.entries.keepers.release(before);
        if earlier {
            self.entries.hurry(slot, lease.ends);
        }
        self.entries.list(slot);
        Ok(())
    }

    /// One lease that has ended, taken out. Called until there is none.
    pub fn expire(&mut self, now: Now) -> Option<Lease> {
        let Entries { due, slots, .. } = &mut self.entries;
        let slot = due.pop(millis(now.monotonic), |slot, stamp| {
            slots.get(slot).filter(|entry| entry.stamp == stamp).map(|entry| entry.ends)
        })?;
        let lease = self.entries.lease_at(slot);
        self.entries.take(slot);
        lease
    }

    /// When to call [`expire`](Self::expire) next, on the monotonic clock: nothing ends before.
    #[must_use]
    pub fn next_end(&self) -> Option<Duration> {
        self.entries.due.next().map(Duration::from_millis)
    }

    /// The leases of `source` that are kept here and have not ended.
    pub fn sinks(&self, source: &MxPath<'_>, now: Now) -> impl Iterator<Item = Sink<'_>> {
        let now = millis(now.monotonic);
        let kept = self
            .entries
            .sources
            .find(source.as_str())
            .and_then(|source| self.entries.sources.value(source));
        kept.into_iter().flatten().filter_map(move |slot| {
            let entry = self.entries.slots.get(*slot).filter(|entry| entry.ends > now)?;
            Some(Sink {
                id: id_of(entry.id),
                realm: self.entries.realms.text(entry.realm)?,
                path: &entry.path,
                profile: entry.profile,
            })
        })
    }

    /// Whether a lease of `source` is kept here.
    #[must_use]
    pub fn is_kept(&self, source: impl AsRef<str>) -> bool {
        let source = self.entries.sources.find(source.as_ref());
        source
            .and_then(|source| self.entries.sources.value(source))
            .is_some_and(|kept| !kept.is_empty())
    }

    /// At most `most` leases from place `from` on, each with the place after it. What is given or ended
    /// between two calls may be missed, or told twice.
    pub fn page(&self, from: u32, most: usize) -> impl Iterator<Item = (u32, Lease)> {
        let slots = self.entries.slots.iter_from(from).take(most);
        slots.filter_map(|(slot, _)| Some((slot.saturating_add(1), self.entries.lease_at(slot)?)))
    }

    /// The leases that `keeper` forwards.
    pub fn kept_by(&self, keeper: &str) -> impl Iterator<Item = LeaseId> {
        let keeper = self.entries.keepers.find(keeper);
        let all =
            self.entries.slots.iter_from(0).filter(move |(_, entry)| Some(entry.keeper) == keeper);
        all.map(|(_, entry)| id_of(entry.id))
    }

    /// The gateways that keep leases, and this one.
    pub fn keepers(&self) -> impl Iterator<Item = &Arc<str>> {
        self.entries.keepers.iter().map(|(_, name, ())| name)
    }

    /// Who keeps what is granted here.
    #[must_use]
    pub fn me(&self) -> &str {
        self.entries.keepers.text(self.entries.me).map_or("", |name| name)
    }

    /// From now on this table is of gateway `me`. What it kept under its former name is another's.
    pub fn rename(&mut self, me: &str) {
        let Some(me) = self.entries.keepers.hold(me) else {
            return;
        };
        let before = std::mem::replace(&mut self.entries.me, me);
        self.entries.keepers.release(before);
        let all: Vec<u32> = self.entries.slots.iter_from(0).map(|(slot, _)| slot).collect();
        for slot in all {
            self.entries.list(slot);
        }
    }
}

impl fmt::Debug for LeaseTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseTable")
            .field("limits", &self.limits)
            .field("leases", &self.len())
            .field("sources", &self.entries.sources.len())
            .field("realms", &self.entries.realms.len())
            .finish_non_exhaustive()
    }
}
