//! What a change of a mesh's files gives and takes.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use mesh_core::permissions::{Effect, Permissions, Responses, Rules, Side};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::DeliverySubject;

use super::gain::{Compared, Gain, gains};
use super::settings::{Setting, settings};
use crate::compose::{Composition, Grant, Line, User};

/// What changes for the users of a mesh when its files do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diff<'c> {
    /// What changes for all of them.
    pub settings: Vec<Setting>,
    /// Those for whom something changes, by name.
    pub users: Vec<UserDiff<'c>>,
}

/// What changes for one user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserDiff<'c> {
    /// Its name.
    pub name: &'c str,
    /// Whether it was there, and is.
    pub presence: Presence,
    /// The line that it is there for, or was.
    pub line: Option<&'c Line>,
    /// What is allowed now, or no longer denied.
    pub granted: Vec<Step<'c>>,
    /// What is no longer allowed, or denied now.
    pub taken: Vec<Step<'c>>,
    /// What it may answer by having been asked, before and now, where that changes.
    pub responses: Option<(Option<Responses>, Option<Responses>)>,
}

/// Whether a user was there before and is there now. Exhaustive on purpose: there is no other way to differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It may do more, less or something else.
    Changed,
}

/// A grant that comes or goes; or one of a place of deliveries that stays, where more or less is delivered there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step<'c> {
    /// Which: of the new files, or of the old ones where it goes.
    pub grant: &'c Grant,
    /// What may be said or heard by it that could not be before; of one that is taken, what can't be any more.
    /// Nothing, where other grants allow the same, or allowed it.
    pub effect: Option<Gain>,
}

impl Step<'_> {
    /// What is delivered there or no longer, where the grant itself stays.
    #[must_use]
    pub fn delivered(&self) -> Option<&Filter> {
        let within = self.effect.as_ref().map(|gain| &gain.within);
        within.filter(|within| **within != self.grant.rule.filter && is_of_delivery(self.grant))
    }
}

impl<'c> Diff<'c> {
    /// What becomes of `old` when the files are those of `new`.
    ///
    /// It compares what grants stand for, not how they are written: `a.*` and `a.*.>` in place of `a.>` change
    /// nothing, `a.*` in place of `a.b` does. See [`gains`](super::gains). What the streams deliver to somebody counts
    /// as heard, although the grant is for the place of the deliveries.
    #[must_use]
    pub fn of(old: &'c Composition, new: &'c Composition) -> Self {
        let deliveries = (Deliveries::of(old), Deliveries::of(new));
        let (mut before, mut now) = (by_name(old), by_name(new));
        let mut users = Vec::new();
        let (mut old_user, mut new_user) = (before.next(), now.next());
        loop {
            let order = match (old_user, new_user) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.name().cmp(new.name()),
            };
            let pair = (old_user.filter(|_| order.is_le()), new_user.filter(|_| order.is_ge()));
            users.extend(UserDiff::of(pair, &deliveries));
            if order.is_le() {
                old_user = before.next();
            }
            if order.is_ge() {
                new_user = now.next();
            }
        }
        Self { settings: settings(old, new), users }
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.users.is_empty()
    }

    /// Whether somebody may do something now that nobody by that name could before, or a limit that holds for
    /// all is wider or gone.
    #[must_use]
    pub fn widens(&self) -> bool {
        self.settings.iter().any(|setting| setting.widens)
            || self.users.iter().any(UserDiff::widens)
    }
}

impl<'c> UserDiff<'c> {
    fn of(
        (old, new): (Option<&'c User>, Option<&'c User>),
        (delivered, delivers): &(Deliveries<'_>, Deliveries<'_>),
    ) -> Option<Self> {
        let user = new.or(old)?;
        let presence = match (old, new) {
            (None, _) => Presence::Added,
            (_, None) => Presence::Removed,
            _ => Presence::Changed,
        };
        let grants = |user: Option<&'c User>| user.map(User::grants).unwrap_or_default();
        let (had, has) = (grants(old), grants(new));
        let budget = |user: Option<&User>| user.and_then(User::responses);
        let responses = (budget(old), budget(new));
        let (came, went) = (without(has, had), without(had, has));
        let more = delivers.beyond(delivered, has, had);
        let less = delivered.beyond(delivers, had, has);
        let unchanged = came.is_empty() && went.is_empty() && responses.0 == responses.1;
        let unchanged = unchanged && more.is_empty() && less.is_empty();
        if presence == Presence::Changed && unchanged {
            return None;
        }
        let may = |user: Option<&User>| user.map(User::permissions).unwrap_or_default();
        let (before, now) = (may(old), may(new));
        let (allowed, no_longer) = split(came);
        let (gone, freed) = split(went);
        let mut granted = steps(&before, &now, allowed.into_iter().chain(freed));
        let mut taken = steps(&now, &before, gone.into_iter().chain(no_longer));
        granted.extend(more);
        taken.extend(less);
        Some(Self {
            name: user.name(),
            presence,
            line: user.line(),
            granted,
            taken,
            responses: (responses.0 != responses.1).then_some(responses),
        })
    }

    /// Whether it may say, hear or answer something now that it could not before.
    #[must_use]
    pub fn widens(&self) -> bool {
        self.granted.iter().any(|step| step.effect.is_some())
            || self.responses.is_some_and(|(old, new)| answers_more(old, new))
    }
}

/// What the streams deliver at each place.
struct Deliveries<'m>(HashMap<Subject, &'m [Filter]>);

impl<'m> Deliveries<'m> {
    fn of(mesh: &'m Composition) -> Self {
        let consumers = mesh.topology().consumers().iter();
        Self(
            consumers
                .map(|spec| {
                    let place = DeliverySubject::of(spec.reference.clone()).to_subject();
                    (place, spec.filters.as_slice())
                })
                .collect(),
        )
    }

    /// What somebody is delivered who has these grants.
    fn to(&self, grants: &[Grant]) -> Permissions {
        let places = grants.iter().filter_map(|grant| self.at(grant));
        let heard = Rules::allow(places.flatten().cloned());
        Permissions { subscribe: heard, ..Permissions::default() }
    }

    fn at(&self, grant: &Grant) -> Option<&'m [Filter]> {
        let heard = grant.side == Side::Subscribe && grant.effect == Effect::Allow;
        self.0.get(&grant.rule.filter.as_subject().filter(|_| heard)?).copied()
    }

    /// What somebody who `has` these grants, and `had` others of the same place, is delivered here and was not by
    /// `others`. A place that is new is told by its grant.
    fn beyond<'c>(&self, others: &Self, has: &'c [Grant], had: &[Grant]) -> Vec<Step<'c>> {
        let kept = |grant: &&Grant| {
            self.at(grant).is_some() && had.iter().any(|old| old.rule == grant.rule)
        };
        let kept: Vec<&'c Grant> = has.iter().filter(kept).collect();
        if kept.is_empty() {
            return Vec::new();
        }
        let before = others.to(had);
        let mut seen = HashSet::new();
        let mut steps = Vec::new();
        for grant in kept.into_iter().filter(|grant| seen.insert(&grant.rule)) {
            let gained = gains(&before, &self.to(std::slice::from_ref(grant)));
            steps.extend(gained.into_iter().map(|gain| Step { grant, effect: Some(gain) }));
        }
        steps
    }
}

/// Whether it is for a place of deliveries.
fn is_of_delivery(grant: &Grant) -> bool {
    let place = grant.rule.filter.as_subject();
    place.is_some_and(|place| DeliverySubject::parse(&place).is_ok())
}

/// Whether a budget of answers is larger in any way.
pub(super) fn answers_more(old: Option<Responses>, new: Option<Responses>) -> bool {
    match (old, new) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(old), Some(new)) => new.max > old.max || new.expires > old.expires,
    }
}

/// The users by name, whatever their order.
fn by_name(mesh: &Composition) -> std::vec::IntoIter<&User> {
    let mut users: Vec<&User> = mesh.users().iter().collect();
    users.sort_by(|a, b| a.name().cmp(b.name()));
    users.into_iter()
}

/// Those grants that say something that none of the others says, for whatever reason.
fn without<'c>(grants: &'c [Grant], others: &[Grant]) -> Vec<&'c Grant> {
    let says = |grant: &Grant| (grant.side, grant.effect, grant.rule.clone());
    let others: HashSet<_> = others.iter().map(says).collect();
    let mut seen = HashSet::new();
    let new = |grant: &&Grant| !others.contains(&says(grant)) && seen.insert(says(grant));
    grants.iter().filter(new).collect()
}

/// Those that allow, and those that deny.
fn split(grants: Vec<&Grant>) -> (Vec<&Grant>, Vec<&Grant>) {
    grants.into_iter().partition(|grant| grant.effect == Effect::Allow)
}

fn steps<'c>(
    old: &Permissions,
    new: &Permissions,
    grants: impl Iterator<Item = &'c Grant>,
) -> Vec<Step<'c>> {
    let compared = Compared::new(old, new);
    let step = |grant: &'c Grant| Step { grant, effect: compared.within(grant.side, &grant.rule) };
    grants.map(step).collect()
}
