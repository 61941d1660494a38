//! What one set of rules allows that another does not: decided by what they stand for, not by how they are written.

use std::collections::BTreeSet;

use mesh_core::permissions::{Permissions, Rule, Rules, Side};
use mesh_core::port::QueueGroup;
use mesh_core::subject::{Filter, Subject};

use super::walk::{Found, find, strange};

/// How many subjects are looked at to compare the rights of one user.
const LOOKS: usize = 200_000;

/// Something that is allowed now and was not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gain {
    /// Whether it is said or heard.
    pub side: Side,
    /// How it may be heard.
    pub how: How,
    /// Where it is. Of what is heard, the widest subscription.
    pub within: Filter,
    /// One of those subjects. Nothing, where it could not be decided in time whether there is one; it then counts
    /// as if there were.
    pub example: Option<Subject>,
}

/// In which queue group something is allowed. Exhaustive on purpose: there is no other way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    /// In none: as all that is published is, and what is heard whole.
    Plain,
    /// In this one, where others may have a share of it.
    Group(QueueGroup),
    /// In any group that no rule of either side names.
    OtherGroups,
}

/// What `new` lets somebody say or hear that `old` does not: subjects to publish to, and subjects to hear in each
/// queue group or in none. It is at most one example of each filter.
///
/// Ways to say the same differently are none: what is heard by one subscription to `a.>` may as well be heard by two.
/// Reply addresses need no right, and what may be answered is compared by its numbers alone, so neither is here.
///
/// ```
/// use mesh_control::perm::gains;
/// use mesh_core::permissions::{Permissions, Rules};
/// use mesh_core::subject::{Filter, SubjectError};
///
/// let of = |filters: &[&str]| -> Result<Permissions, SubjectError> {
///     let filters = filters.iter().map(|text| Filter::new(*text)).collect::<Result<Vec<_>, _>>()?;
///     Ok(Permissions { publish: Rules::allow(filters), ..Permissions::default() })
/// };
/// assert!(gains(&of(&["a.>"])?, &of(&["a.*", "a.*.>"])?).is_empty());
/// let wider = gains(&of(&["a.b"])?, &of(&["a.*"])?);
/// assert_eq!(wider[0].example.as_ref().map(|subject| subject.as_str()), Some("a.x"));
/// # Ok::<(), SubjectError>(())
/// ```
#[must_use]
pub fn gains(old: &Permissions, new: &Permissions) -> Vec<Gain> {
    let compared = Compared::new(old, new);
    let mut gains: Vec<Gain> = Vec::new();
    for (side, rules) in [(Side::Publish, &new.publish), (Side::Subscribe, &new.subscribe)] {
        for rule in rules.allowed() {
            gains.extend(compared.within(side, rule).filter(|gain| !gains.contains(gain)));
        }
    }
    gains
}

/// The rights of one user before and after, side by side.
#[derive(Debug)]
pub(super) struct Compared {
    ways: Vec<Way>,
}

/// What may be said, or heard in some group or in none: plain filters less others.
#[derive(Debug)]
struct Way {
    side: Side,
    how: How,
    old: Rules,
    new: Rules,
    /// Every filter that either has.
    filters: Vec<Filter>,
}

impl Compared {
    pub(super) fn new(old: &Permissions, new: &Permissions) -> Self {
        let publish = Way::new(Side::Publish, How::Plain, old.publish.clone(), new.publish.clone());
        let mut ways = vec![publish];
        let named = old.subscribe.allowed().iter().chain(new.subscribe.allowed());
        let named: BTreeSet<QueueGroup> = named.filter_map(|rule| rule.group.clone()).collect();
        // What holds for one group that no rule names holds for all of them.
        let other = QueueGroup::new(strange(named.iter().map(QueueGroup::as_str))).ok();
        let mut groups = vec![(How::Plain, None)];
        groups.extend(named.into_iter().map(|group| (How::Group(group.clone()), Some(group))));
        groups.extend(other.map(|group| (How::OtherGroups, Some(group))));
        for (how, group) in groups {
            let [old, new] = [&old.subscribe, &new.subscribe].map(|rules| {
                let heard = rules.heard_in(group.as_ref());
                Rules::allow(heard).except(rules.denied().iter().cloned())
            });
            ways.push(Way::new(Side::Subscribe, how, old, new));
        }
        ways.retain(|way| way.old != way.new);
        Self { ways }
    }

    /// What is gained within a rule, in the first way in which something is.
    pub(super) fn within(&self, side: Side, rule: &Rule) -> Option<Gain> {
        let within = match side {
            Side::Publish => rule.filter.clone(),
            Side::Subscribe => rule.widest(),
        };
        let mut budget = LOOKS;
        let mut ways = self.ways.iter().filter(|way| way.side == side);
        ways.find_map(|way| {
            let example = way.gained(&within, &mut budget)?;
            Some(Gain { side, how: way.how.clone(), within: within.clone(), example })
        })
    }
}

impl Way {
    fn new(side: Side, how: How, old: Rules, new: Rules) -> Self {
        let mut filters = BTreeSet::new();
        for rules in [&old, &new] {
            filters.extend(rules.allowed().iter().map(|rule| rule.filter.clone()));
            filters.extend(rules.denied().iter().cloned());
        }
        Self { side, how, old, new, filters: filters.into_iter().collect() }
    }

    /// A subject that is allowed now and was not; nothing in it, where it could not be decided.
    fn gained(&self, within: &Filter, budget: &mut usize) -> Option<Option<Subject>> {
        if self.is_kept(within) {
            return None;
        }
        let filters: Vec<&Filter> = self.filters.iter().collect();
        let gained = |subject: &Subject| self.new.permits(subject) && !self.old.permits(subject);
        match find(within, &filters, budget, gained) {
            Found::Nothing => None,
            Found::Subject(subject) => Some(Some(subject)),
            Found::GaveUp => Some(None),
        }
    }

    /// Whether it shows at once that all of this was allowed: by one rule, and no part of it was denied that is not
    /// denied still.
    fn is_kept(&self, within: &Filter) -> bool {
        let had = self.old.allowed().iter().any(|rule| rule.filter.contains(within));
        let mut denied = self.old.denied().iter().filter(|denied| denied.overlaps(within));
        let is_denied = |denied: &Filter| self.new.denied().iter().any(|d| d.contains(denied));
        had && denied.all(is_denied)
    }
}
