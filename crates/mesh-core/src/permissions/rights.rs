#[cfg(test)]
mod tests;

use super::{Permissions, Responses, Rule};
use crate::subject::Filter;

/// Which side of an account a right is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "two sides and no more")]
pub enum Side {
    /// What it may publish to.
    Publish,
    /// What it may subscribe to.
    Subscribe,
}

/// Whether a right gives or takes. What is denied is denied whatever else is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "it gives or it takes")]
pub enum Effect {
    /// It gives.
    Allow,
    /// It takes.
    Deny,
}

/// What a right follows from: a field of a module's manifest or of a person's entry in the mesh file,
/// by its index, or the protocol itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The event `emits[i]`.
    Emits(usize),
    /// The tool `calls[i]` of another module.
    Calls(usize),
    /// The tool `tools[i]`: a module's own, or one that a person may call.
    Tools(usize),
    /// That it has `tools` at all.
    Serves,
    /// That it has something in `consumes`.
    Consumes,
    /// That it has something in `provides`.
    Provides,
    /// That a person is an `administrator`.
    Administrator,
    /// What the protocol gives to everybody of that kind, or takes from them, in words.
    Rule(&'static str),
}

impl Origin {
    /// The path of the field, in the manifest or in the person's entry; nothing for what the protocol says.
    #[must_use]
    pub fn field(self) -> Option<String> {
        Some(match self {
            Self::Emits(index) => format!("emits[{index}]"),
            Self::Calls(index) => format!("calls[{index}]"),
            Self::Tools(index) => format!("tools[{index}]"),
            Self::Serves => "tools".to_owned(),
            Self::Consumes => "consumes".to_owned(),
            Self::Provides => "provides".to_owned(),
            Self::Administrator => "administrator".to_owned(),
            Self::Rule(_) => return None,
        })
    }
}

/// One right of somebody's, and what it follows from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a rule, where it counts and why")]
pub struct Right {
    /// Where it counts.
    pub side: Side,
    /// Whether it gives or takes.
    pub effect: Effect,
    /// What. A denied rule has no group.
    pub rule: Rule,
    /// What it follows from.
    pub origin: Origin,
}

/// All rights of one account, each with what it follows from: the rows of protocol §4.
/// [`permissions`](Self::permissions) is what a broker holds of it.
///
/// ```
/// use mesh_core::permissions::{Answers, ModuleGrants, Rights};
///
/// let grants = ModuleGrants { emits: vec!["sent".parse()?], ..ModuleGrants::default() };
/// let rights = Rights::of_module(&"n1".parse()?, &"mail".parse()?, &grants, Answers::Scoped)?;
/// let event = rights.iter().find(|right| right.rule.filter.as_str() == "mesh.events.mail.sent");
/// assert_eq!(event.and_then(|right| right.origin.field()).as_deref(), Some("emits[0]"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights {
    list: Vec<Right>,
    responses: Option<Responses>,
}

impl Rights {
    /// The same permissions, each of them following from what the protocol says in these words.
    #[must_use]
    pub fn by_rule(permissions: &Permissions, words: &'static str) -> Self {
        let mut rights = Self { list: Vec::new(), responses: permissions.responses };
        let origin = Origin::Rule(words);
        for (side, rules) in
            [(Side::Publish, &permissions.publish), (Side::Subscribe, &permissions.subscribe)]
        {
            for rule in rules.allowed() {
                rights.push(side, Effect::Allow, rule.clone(), origin);
            }
            for filter in rules.denied() {
                rights.push(side, Effect::Deny, filter.clone().into(), origin);
            }
        }
        rights
    }

    /// The rights.
    pub fn iter(&self) -> std::slice::Iter<'_, Right> {
        self.list.iter()
    }

    /// What it may send besides, where it is asked to answer.
    #[must_use]
    pub fn responses(&self) -> Option<Responses> {
        self.responses
    }

    /// What a broker holds.
    #[must_use]
    pub fn permissions(&self) -> Permissions {
        let mut permissions = Permissions { responses: self.responses, ..Permissions::default() };
        for Right { side, effect, rule, .. } in &self.list {
            permissions.put(*side, *effect, rule.clone());
        }
        permissions
    }

    /// These and those.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for right in other.list {
            if !self.list.contains(&right) {
                self.list.push(right);
            }
        }
        self.responses = self.responses.or(other.responses);
        self
    }

    pub(super) fn publishes(&mut self, filter: Filter, origin: Origin) {
        self.push(Side::Publish, Effect::Allow, filter.into(), origin);
    }

    pub(super) fn hears(&mut self, rule: impl Into<Rule>, origin: Origin) {
        self.push(Side::Subscribe, Effect::Allow, rule.into(), origin);
    }

    pub(super) fn never_publishes(&mut self, filter: Filter, origin: Origin) {
        self.push(Side::Publish, Effect::Deny, filter.into(), origin);
    }

    pub(super) fn answers_as_asked(&mut self, responses: Responses) {
        self.responses = Some(responses);
    }

    fn push(&mut self, side: Side, effect: Effect, rule: Rule, origin: Origin) {
        self.list.push(Right { side, effect, rule, origin });
    }
}

impl IntoIterator for Rights {
    type Item = Right;
    type IntoIter = std::vec::IntoIter<Right>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a> IntoIterator for &'a Rights {
    type Item = &'a Right;
    type IntoIter = std::slice::Iter<'a, Right>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}
