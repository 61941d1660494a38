use super::{Effect, Responses, Side};
use crate::port::QueueGroup;
use crate::subject::{Filter, Subject};

/// What one connection may do. Each side starts as nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "two sides and what it may answer")]
pub struct Permissions {
    /// Subjects it may publish to.
    pub publish: Rules,
    /// Filters it may subscribe to.
    pub subscribe: Rules,
    /// What it may send besides, where it is asked to answer; nothing, where answers are scoped.
    pub responses: Option<Responses>,
}

impl Permissions {
    /// Everything, both ways: the bootstrap account and brokers that enforce nothing.
    #[must_use]
    pub fn everything() -> Self {
        Self { publish: Rules::everything(), subscribe: Rules::everything(), responses: None }
    }

    /// Both of these together: what either allows and neither denies.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.publish = self.publish.and(other.publish);
        self.subscribe = self.subscribe.and(other.subscribe);
        self.responses = self.responses.or(other.responses);
        self
    }

    /// Adds one rule. A denied one counts for every group.
    pub fn put(&mut self, side: Side, effect: Effect, rule: Rule) {
        let rules = match side {
            Side::Publish => &mut self.publish,
            Side::Subscribe => &mut self.subscribe,
        };
        match effect {
            Effect::Allow => rules.allow.push(rule),
            Effect::Deny => rules.deny.push(rule.filter),
        }
    }
}

/// One side of [`Permissions`]: allowed filters less denied ones. Without an allowed filter it
/// allows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    allow: Vec<Rule>,
    deny: Vec<Filter>,
}

/// One allowed filter; with a group, for members of that queue group only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a filter and perhaps a group")]
pub struct Rule {
    /// What is allowed.
    pub filter: Filter,
    /// Only in this queue group.
    pub group: Option<QueueGroup>,
}

impl Rule {
    /// Whether it has to say something about a subscription to `filter`, in whatever group. As a nats-server
    /// sees it: token by token, each of the subscription's as it is written.
    #[must_use]
    pub fn holds_for(&self, filter: &Filter) -> bool {
        holds_for(&self.filter, filter)
    }
}

impl From<Filter> for Rule {
    fn from(filter: Filter) -> Self {
        Self { filter, group: None }
    }
}

impl Rules {
    /// Nothing at all.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Everything.
    #[must_use]
    pub fn everything() -> Self {
        Self::allow([Filter::from_checked(">".to_owned())])
    }

    /// These, and nothing else.
    #[must_use]
    pub fn allow<R: Into<Rule>>(rules: impl IntoIterator<Item = R>) -> Self {
        Self { allow: rules.into_iter().map(Into::into).collect(), deny: Vec::new() }
    }

    /// The same with these allowed too.
    #[must_use]
    pub fn also<R: Into<Rule>>(mut self, rules: impl IntoIterator<Item = R>) -> Self {
        self.allow.extend(rules.into_iter().map(Into::into));
        self
    }

    /// The same less these.
    #[must_use]
    pub fn except(mut self, filters: impl IntoIterator<Item = Filter>) -> Self {
        self.deny.extend(filters);
        self
    }

    fn and(mut self, other: Self) -> Self {
        for rule in other.allow {
            if !self.allow.contains(&rule) {
                self.allow.push(rule);
            }
        }
        self.deny.extend(other.deny);
        self
    }

    /// The allowed filters. None: nothing is allowed.
    #[must_use]
    pub fn allowed(&self) -> &[Rule] {
        &self.allow
    }

    /// The denied filters.
    #[must_use]
    pub fn denied(&self) -> &[Filter] {
        &self.deny
    }

    /// Whether one subject may be published to.
    #[must_use]
    pub fn permits(&self, subject: &Subject) -> bool {
        self.allows(subject) && !self.hides(subject)
    }

    /// Whether some rule allows one subject, whatever is denied.
    pub(super) fn allows(&self, subject: &Subject) -> bool {
        self.allow.iter().any(|rule| rule.filter.matches(subject))
    }

    /// Whether a filter may be subscribed to, in this group or in none. A filter that is denied in
    /// part may be, and then does not hear that part ([`hides`](Self::hides)), as on a nats-server.
    ///
    /// Where a rule with a group holds for the filter, groups are only those that such rules name, whatever
    /// rules without one allow. To a rule's last `*` a subscription's `>` is a token like any other, so `a.*`
    /// lets one subscribe to `a.>`. Nobody listens in the group `_sys_`. All as on a nats-server, measured on
    /// 2.15.1.
    #[must_use]
    pub fn permits_filter(&self, filter: &Filter, group: Option<&QueueGroup>) -> bool {
        let servers = group.is_some_and(|group| group.as_str() == SERVERS_GROUP);
        !servers && self.admits(filter, group) && !self.denies_filter(filter)
    }

    /// Whether all of a filter is denied, so that it may not be subscribed to whatever is allowed.
    #[must_use]
    pub fn denies_filter(&self, filter: &Filter) -> bool {
        self.deny.iter().any(|denied| holds_for(denied, filter))
    }

    fn admits(&self, filter: &Filter, group: Option<&QueueGroup>) -> bool {
        let rules = self.allow.iter().filter(|rule| rule.holds_for(filter));
        let mut plain = false;
        let mut grouped = false;
        for rule in rules {
            match &rule.group {
                None => plain = true,
                named if named.as_ref() == group => return true,
                Some(_) => grouped = true,
            }
        }
        plain && !(grouped && group.is_some())
    }

    /// Whether a subject is denied, though a filter around it may be allowed.
    #[must_use]
    pub fn hides(&self, subject: &Subject) -> bool {
        self.deny.iter().any(|denied| denied.matches(subject))
    }
}

/// The group that a nats-server keeps to itself: nobody listens in it.
const SERVERS_GROUP: &str = "_sys_";

fn holds_for(rule: &Filter, subscription: &Filter) -> bool {
    let mut theirs = subscription.tokens();
    for mine in rule.tokens() {
        match (mine, theirs.next()) {
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (mine, Some(their)) if mine == their => {}
            _ => return false,
        }
    }
    theirs.next().is_none()
}
