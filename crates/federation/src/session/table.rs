use std::fmt;
use std::time::Duration;

use mesh_core::guard::Now;
use mesh_core::mx::Profile;
use mesh_core::name::RealmName;

use super::{Session, SessionLimits, SessionRefusal};
use crate::tables::{Due, Names, Slots, millis};

/// The directory of a realm: where its principals are present. No I/O; time is passed in.
///
/// - A session is a principal and a realm. To register it again extends it, and so does a heartbeat.
/// - At most [`SessionLimits::per_principal`] of a principal, [`per_realm`](SessionLimits::per_realm) of a
///   realm, and [`total`](SessionLimits::total) in all.
/// - One that has ended is not looked up, also before [`expire`](Self::expire) has taken it out.
/// - It takes about 200 bytes a session (`cargo xtask bench federation_state`), and a lookup time by the
///   number of the principal's tabs. A heartbeat costs no reordering.
///
/// Principal and realm are what the gateway says of a request, never what its body says; that a realm may
/// speak for a principal, MXSEC or a policy vouches for.
///
/// ```
/// use std::time::Duration;
/// use mesh_core::guard::Now;
/// use mesh_core::mx::Profile;
/// use mesh_core::name::RealmName;
/// use mesh_core::time::Timestamp;
/// use mesh_federation::session::{SessionLimits, SessionTable};
///
/// let mut table = SessionTable::new(SessionLimits::default());
/// let at = |seconds: i64| Now {
///     wall: Timestamp::from_millis(1_700_000_000_000 + seconds * 1_000),
///     monotonic: Duration::from_secs(seconds as u64),
/// };
/// let (desk, phone) = (RealmName::new("ada.desk")?, RealmName::new("ada.phone")?);
/// table.register("ada", &phone, Profile::MxEnv1, at(0))?;
/// table.register("ada", &desk, Profile::MxEnv1, at(10))?;
/// let tabs: Vec<_> = table.lookup("ada", at(20)).into_iter().map(|tab| tab.tab_realm).collect();
/// assert_eq!(tabs, [desk.clone(), phone.clone()]);
/// assert!(table.heartbeat("ada", &phone, at(31)).is_err());
/// assert_eq!(table.heartbeat("ada", &desk, at(31))?.expires_at(at(31)), at(61).wall);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SessionTable {
    limits: SessionLimits,
    slots: Slots<Entry>,
    /// Each principal with the first of its tabs.
    principals: Names<First>,
    realms: Names<()>,
    due: Due,
    stamp: u32,
}

#[derive(Debug)]
struct Entry {
    ends: u64,
    revision: u64,
    principal: u32,
    realm: u32,
    /// The next tab of the principal.
    next: u32,
    stamp: u32,
    profile: Profile,
}

#[derive(Debug, Clone, Copy)]
struct First(u32);

impl Default for First {
    fn default() -> Self {
        Self(NONE)
    }
}

const NONE: u32 = u32::MAX;

impl SessionTable {
    /// An empty table within these limits.
    #[must_use]
    pub fn new(limits: SessionLimits) -> Self {
        Self {
            limits,
            slots: Slots::new(),
            principals: Names::new(),
            realms: Names::new(),
            due: Due::default(),
            stamp: 0,
        }
    }

    /// How many sessions there are, ended ones included that nobody has asked [`expire`](Self::expire)
    /// for.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.slots.bytes() + self.principals.bytes() + self.realms.bytes() + self.due.bytes()
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &SessionLimits {
        &self.limits
    }

    /// Notes that `principal` is present in `tab_realm`, or extends that.
    ///
    /// # Errors
    /// [`SessionRefusal`]: too many, or too long.
    pub fn register(
        &mut self,
        principal: &str,
        tab_realm: &RealmName,
        profile: Profile,
        now: Now,
    ) -> Result<Session, SessionRefusal> {
        let session = self.plan(principal, tab_realm, profile, now)?;
        self.apply(&session)?;
        Ok(session)
    }

    /// The session that [`register`](Self::register) would note. Changes nothing.
    ///
    /// # Errors
    /// [`SessionRefusal`]: too many, or too long.
    pub fn plan(
        &self,
        principal: &str,
        tab_realm: &RealmName,
        profile: Profile,
        now: Now,
    ) -> Result<Session, SessionRefusal> {
        let users =
            |found: Option<u32>, count: &dyn Fn(u32) -> u32| found.map_or(0, count) as usize;
        if principal.len() > self.limits.max_principal_bytes {
            return Err(SessionRefusal::PrincipalTooLong);
        }
        if self.find(principal, tab_realm.as_str()).is_none() {
            let tabs = users(self.principals.find(principal), &|slot| self.principals.users(slot));
            if tabs >= self.limits.per_principal {
                return Err(SessionRefusal::PrincipalFull);
            }
            let held = users(self.realms.find(tab_realm.as_str()), &|slot| self.realms.users(slot));
            if held >= self.limits.per_realm {
                return Err(SessionRefusal::RealmFull);
            }
            if self.len() >= self.limits.total {
                return Err(SessionRefusal::Full);
            }
        }
        Ok(Session {
            principal: principal.to_owned(),
            tab_realm: tab_realm.clone(),
            profile,
            ends: self.end(now),
            revision: 0,
        })
    }

    /// Extends a session.
    ///
    /// # Errors
    /// [`SessionRefusal::NotFound`].
    pub fn heartbeat(
        &mut self,
        principal: &str,
        tab_realm: &RealmName,
        now: Now,
    ) -> Result<Session, SessionRefusal> {
        let mut session = self.session(principal, tab_realm, now)?;
        session.ends = self.end(now);
        self.apply(&session)?;
        Ok(session)
    }

    /// The session of `principal` in `tab_realm`.
    ///
    /// # Errors
    /// [`SessionRefusal::NotFound`].
    pub fn session(
        &self,
        principal: &str,
        tab_realm: &RealmName,
        now: Now,
    ) -> Result<Session, SessionRefusal> {
        let slot = self.find(principal, tab_realm.as_str());
        let session = slot.and_then(|slot| self.session_at(slot));
        let live = |session: &Session| session.ends > millis(now.monotonic);
        session.filter(live).ok_or(SessionRefusal::NotFound)
    }

    /// The sessions of `principal` that have not ended, by the names of their realms.
    #[must_use]
    pub fn lookup(&self, principal: &str, now: Now) -> Vec<Session> {
        let mut tabs: Vec<_> = self
            .tabs(self.principals.find(principal))
            .filter_map(|slot| self.session_at(slot))
            .filter(|session| session.ends > millis(now.monotonic))
            .collect();
        tabs.sort_unstable_by(|a, b| a.tab_realm.as_str().cmp(b.tab_realm.as_str()));
        tabs
    }

    /// Puts `session` in place of what is known of it, unless that is a later writing.
    ///
    /// # Errors
    /// [`SessionRefusal::Full`] where 2³² numbers are used up. The limits are [`plan`](Self::plan)'s.
    pub fn apply(&mut self, session: &Session) -> Result<(), SessionRefusal> {
        let Some(slot) = self.find(&session.principal, session.tab_realm.as_str()) else {
            return self.insert(session);
        };
        let Some(entry) = self.slots.get_mut(slot) else {
            return Ok(());
        };
        if session.revision < entry.revision {
            return Ok(());
        }
        let earlier = session.ends < entry.ends;
        entry.ends = session.ends;
        entry.revision = session.revision;
        entry.profile = session.profile;
        if earlier {
            self.stamp = self.stamp.wrapping_add(1);
            entry.stamp = self.stamp;
            self.due.push(session.ends, slot, self.stamp);
        }
        Ok(())
    }

    /// One session that has ended, taken out. Called until there is none.
    pub fn expire(&mut self, now: Now) -> Option<Session> {
        let Self { due, slots, .. } = self;
        let slot = due.pop(millis(now.monotonic), |slot, stamp| {
            slots.get(slot).filter(|entry| entry.stamp == stamp).map(|entry| entry.ends)
        })?;
        let session = self.session_at(slot);
        self.take(slot);
        session
    }

    /// When to call [`expire`](Self::expire) next, on the monotonic clock: nothing ends before.
    #[must_use]
    pub fn next_end(&self) -> Option<Duration> {
        self.due.next().map(Duration::from_millis)
    }

    /// At most `most` sessions from place `from` on, each with the place after it. What is noted or ended
    /// between two calls may be missed, or told twice.
    pub fn page(&self, from: u32, most: usize) -> impl Iterator<Item = (u32, Session)> {
        let slots = self.slots.iter_from(from).take(most);
        slots.filter_map(|(slot, _)| Some((slot.saturating_add(1), self.session_at(slot)?)))
    }

    fn end(&self, now: Now) -> u64 {
        millis(now.monotonic).saturating_add(millis(self.limits.lifetime))
    }

    fn insert(&mut self, session: &Session) -> Result<(), SessionRefusal> {
        let full = SessionRefusal::Full;
        self.slots.next().ok_or(full)?;
        let principal = self.principals.hold(&session.principal).ok_or(full)?;
        let realm = self.realms.hold(session.tab_realm.as_str()).ok_or(full)?;
        self.stamp = self.stamp.wrapping_add(1);
        let first = self.principals.value(principal).map_or(NONE, |first| first.0);
        let entry = Entry {
            ends: session.ends,
            revision: session.revision,
            principal,
            realm,
            next: first,
            stamp: self.stamp,
            profile: session.profile,
        };
        let slot = self.slots.insert(entry).ok_or(full)?;
        if let Some(first) = self.principals.value_mut(principal) {
            first.0 = slot;
        }
        self.due.push(session.ends, slot, self.stamp);
        Ok(())
    }

    fn take(&mut self, slot: u32) {
        let Some(&Entry { principal, next, .. }) = self.slots.get(slot) else {
            return;
        };
        let before = self
            .tabs(Some(principal))
            .find(|tab| self.slots.get(*tab).is_some_and(|entry| entry.next == slot));
        match before.and_then(|before| self.slots.get_mut(before)) {
            Some(before) => before.next = next,
            None => {
                if let Some(first) = self.principals.value_mut(principal) {
                    first.0 = next;
                }
            }
        }
        if let Some(entry) = self.slots.remove(slot) {
            self.principals.release(entry.principal);
            self.realms.release(entry.realm);
        }
        let Self { due, slots, .. } = self;
        due.tidy(slots.len(), |slot, stamp| {
            slots.get(slot).is_some_and(|entry| entry.stamp == stamp)
        });
    }

    fn find(&self, principal: &str, tab_realm: &str) -> Option<u32> {
        let realm = self.realms.find(tab_realm)?;
        self.tabs(self.principals.find(principal))
            .find(|slot| self.slots.get(*slot).is_some_and(|entry| entry.realm == realm))
    }

    fn tabs(&self, principal: Option<u32>) -> impl Iterator<Item = u32> {
        let first = principal.and_then(|slot| self.principals.value(slot)).map(|first| first.0);
        std::iter::successors(first, |slot| self.slots.get(*slot).map(|entry| entry.next))
            .take_while(|slot| *slot != NONE)
    }

    fn session_at(&self, slot: u32) -> Option<Session> {
        let entry = self.slots.get(slot)?;
        Some(Session {
            principal: self.principals.text(entry.principal)?.to_string(),
            // It was checked before it came in.
            tab_realm: RealmName::new(&**self.realms.text(entry.realm)?).ok()?,
            profile: entry.profile,
            ends: entry.ends,
            revision: entry.revision,
        })
    }
}

impl fmt::Debug for SessionTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionTable")
            .field("limits", &self.limits)
            .field("sessions", &self.len())
            .field("principals", &self.principals.len())
            .field("realms", &self.realms.len())
            .finish_non_exhaustive()
    }
}
