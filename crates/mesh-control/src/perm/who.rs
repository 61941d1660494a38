//! Who may do something, of all users.

use mesh_core::permissions::Side;
use mesh_core::port::QueueGroup;
use mesh_core::subject::{Filter, Subject};

use super::{Act, Decision, can};
use crate::compose::{Composition, User};

/// Somebody who may.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Who<'c> {
    /// Who.
    pub user: &'c User,
    /// In which queue group alone; nothing, where it needs none.
    pub group: Option<QueueGroup>,
    /// Why.
    pub decision: Decision<'c>,
}

/// Who may publish to a subject, by name. That includes nobody who may answer there only because it was asked.
#[must_use]
pub fn who_may_publish<'c>(mesh: &'c Composition, subject: &Subject) -> Vec<Who<'c>> {
    let act = Act::Publish { subject: subject.clone(), reply: None };
    let may = mesh.users().iter().filter(|user| user.permissions().publish.permits(subject));
    may.map(|user| Who { user, group: None, decision: can(mesh, user, &act) }).collect()
}

/// Who may subscribe to a filter, by name: without a queue group, and else in each group in which it may.
#[must_use]
pub fn who_may_subscribe<'c>(mesh: &'c Composition, filter: &Filter) -> Vec<Who<'c>> {
    let mut who = Vec::new();
    for user in mesh.users() {
        let rules = user.grants().iter().filter(|grant| grant.side == Side::Subscribe);
        let held = rules.filter(|grant| grant.rule.holds_for(filter));
        let mut groups: Vec<Option<QueueGroup>> =
            held.map(|grant| grant.rule.group.clone()).collect();
        groups.sort();
        groups.dedup();
        for group in groups {
            let act = Act::Subscribe { filter: filter.clone(), group: group.clone() };
            let decision = can(mesh, user, &act);
            if decision.is_allowed() {
                who.push(Who { user, group, decision });
            }
        }
    }
    who
}
