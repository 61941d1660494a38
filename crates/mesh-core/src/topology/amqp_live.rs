//! Which exchanges carry what a live filter matches, and what a routing key says there (protocol §7).

use super::{AmqpExchange, AmqpQueue, AmqpQueueKind, AmqpRoute, MeshSubject};
use crate::binding::BindingPattern;
use crate::identity::Principal;
use crate::port::QueueGroup;
use crate::subject::{Filter, MAX_SUBJECT_BYTES, Subject};

/// Those of the mesh's own subjects that an exchange carries, and what stands in a key for the first
/// tokens of the subject.
struct Family {
    exchange: AmqpExchange,
    subjects: &'static str,
    drops: usize,
    adds: &'static str,
}

const fn family(
    exchange: AmqpExchange,
    subjects: &'static str,
    drops: usize,
    adds: &'static str,
) -> Family {
    Family { exchange, subjects, drops, adds }
}

const FAMILIES: [Family; 5] = [
    family(AmqpExchange::Events, "mesh.events.*.>", 2, ""),
    family(AmqpExchange::Events, "mesh.replay.*.*.>", 1, ""),
    family(AmqpExchange::Rpc, "mesh.tools.*.*", 2, "serve."),
    family(AmqpExchange::Rpc, "mesh.ask.*.*", 1, ""),
    // Its key is the node alone.
    family(AmqpExchange::Alive, "mesh.control.*.alive", 2, ""),
];

/// What goes to a queue by its name, and so is heard by nobody else.
const BY_NAME: [&str; 5] = [
    "mesh.control.*.report",
    "mesh.control.enrol",
    "mesh.control.built",
    "mesh.node.*.declare",
    "mesh.build.request",
];

/// Before the user and the filter in the name of a live subscription's queue.
const LIVE: &str = "live.";
/// Any key: whatever reaches the dead letters is one, under its own key.
const ANY: &str = "*.#";

impl AmqpExchange {
    /// Where a queue is to be bound to hear what `filter` matches: to the exchange of each kind of the
    /// mesh's own subjects that it may match, and to `mesh.live` unless it matches those alone. Nothing,
    /// if all that it matches goes to a queue by its name.
    ///
    /// What a binding lets through may be more than `filter` matches: whoever reads looks at each.
    #[must_use]
    pub fn bindings(filter: &Filter) -> Vec<(Self, BindingPattern)> {
        let wanted: Vec<&str> = filter.tokens().collect();
        let mut found: Vec<(Self, BindingPattern)> = Vec::new();
        // Of the mesh's shape with a name in it that is none, it travels like any other.
        let exact = filter.as_subject().is_some_and(|s| AmqpRoute::of(&s).exchange == Self::Live);
        if exact {
            return binding(filter.as_str()).map(|key| (Self::Live, key)).into_iter().collect();
        }
        let mut inside = BY_NAME.iter().any(|subjects| is_inside(&wanted, subjects));
        let mut add = |exchange, key: &str| found.extend(binding(key).map(|key| (exchange, key)));
        if common(&wanted, "mesh.events.dead").is_some() {
            inside |= is_inside(&wanted, "mesh.events.dead");
            add(Self::EventsDead, ANY);
        }
        for family in &FAMILIES {
            let Some(tokens) = common(&wanted, family.subjects) else { continue };
            inside |= is_inside(&wanted, family.subjects);
            let mut rest = tokens.get(family.drops..).unwrap_or_default();
            if family.exchange == Self::Alive {
                rest = rest.get(..1).unwrap_or_default();
            }
            add(family.exchange, &format!("{}{}", family.adds, rest.join(".")));
        }
        if !inside {
            add(Self::Live, filter.as_str());
        }
        found
    }
}

impl AmqpRoute {
    /// The subject of what came through an exchange under a key, if one may travel there: nothing of
    /// the mesh's own comes through `mesh.live`, where keys say whatever their senders like.
    #[must_use]
    pub fn subject(
        exchange: AmqpExchange,
        key: &Subject,
        sender: Option<&Principal>,
    ) -> Option<Subject> {
        if exchange == AmqpExchange::Live {
            return (Self::of(key).exchange == AmqpExchange::Live).then(|| key.clone());
        }
        MeshSubject::from_amqp(exchange, key, sender).ok()?.to_subject().ok()
    }
}

impl AmqpQueue {
    /// The queue of a live subscription of whoever may declare none: `live.<user>.<filter>`, for one reader
    /// at a time.
    #[must_use]
    pub fn of_subscription(user: &str, filter: &Filter) -> Self {
        let bindings = AmqpExchange::bindings(filter);
        Self { name: format!("{LIVE}{user}.{filter}"), kind: AmqpQueueKind::Calls, bindings }
    }

    /// The queue that the members of a group share, where it is declared for them: `live.@<group>.<filter>`.
    /// Nothing where that is longer than a queue's name may be.
    #[must_use]
    pub fn of_group(group: &QueueGroup, filter: &Filter) -> Option<Self> {
        let name = format!("{LIVE}@{group}.{filter}");
        let bindings = AmqpExchange::bindings(filter);
        (name.len() <= MAX_SUBJECT_BYTES).then_some(Self {
            name,
            kind: AmqpQueueKind::Calls,
            bindings,
        })
    }

    /// Whose queue of a live subscription it is, by its name, and what that listens to. Users have two
    /// tokens ([`Principal::amqp_user`]).
    #[must_use]
    pub fn subscription_of(queue: &str) -> Option<(Principal, Filter)> {
        let mut tokens = queue.strip_prefix(LIVE)?.splitn(3, '.');
        let user = format!("{}.{}", tokens.next()?, tokens.next()?);
        let filter = Filter::new(tokens.next()?).ok()?;
        Some((Principal::from_amqp_user(&user)?, filter))
    }
}

/// The binding of a filter's text. A token `#` is a wildcard there: that lets more through.
fn binding(text: &str) -> Option<BindingPattern> {
    let filter = Filter::new(text).ok()?;
    BindingPattern::from_filter(&filter)
        .or_else(|refused| BindingPattern::new(refused.nearest))
        .ok()
}

/// The filter of what both match.
fn common<'a>(wanted: &[&'a str], subjects: &'a str) -> Option<Vec<&'a str>> {
    let mut tokens = Vec::new();
    let (mut ours, mut theirs) = (wanted.iter().copied(), subjects.split('.'));
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return Some(tokens),
            (Some(">"), Some(token)) => {
                tokens.push(token);
                tokens.extend(theirs);
                return Some(tokens);
            }
            (Some(token), Some(">")) => {
                tokens.push(token);
                tokens.extend(ours);
                return Some(tokens);
            }
            (Some("*"), Some(token)) => tokens.push(token),
            (Some(token), Some(other)) if other == "*" || other == token => tokens.push(token),
            _ => return None,
        }
    }
}

/// Whether all that is wanted is of `subjects`.
fn is_inside(wanted: &[&str], subjects: &str) -> bool {
    common(wanted, subjects).is_some_and(|common| common == wanted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bindings(filter: &str) -> Vec<String> {
        AmqpExchange::bindings(&Filter::new(filter).unwrap())
            .iter()
            .map(|(exchange, key)| format!("{exchange} {key}"))
            .collect()
    }

    #[test]
    fn a_filter_is_bound_where_what_it_matches_travels() {
        assert_eq!(bindings("test.a"), ["mesh.live test.a"]);
        assert_eq!(bindings("test.>"), ["mesh.live test.*.#"]);
        assert_eq!(bindings("a.#.b"), ["mesh.live a.#.b"]);
        assert_eq!(bindings("mesh.events.mail.sent"), ["mesh.events mail.sent"]);
        assert_eq!(bindings("mesh.events.*.letter.>"), ["mesh.events *.letter.*.#"]);
        assert_eq!(bindings("mesh.replay.n1_mail.*.>"), ["mesh.events replay.n1_mail.*.*.#"]);
        assert_eq!(bindings("mesh.tools.mail.*"), ["mesh.rpc serve.mail.*"]);
        assert_eq!(bindings("mesh.ask.*.*"), ["mesh.rpc ask.*.*"]);
        assert_eq!(bindings("mesh.control.*.alive"), ["mesh.alive *"]);
        assert_eq!(bindings("mesh.events.dead"), ["mesh.events.dead *.#"]);
        assert_eq!(
            bindings("mesh.events.>"),
            ["mesh.events.dead *.#", "mesh.events *.*.#", "mesh.live mesh.events.*.#"]
        );
    }

    #[test]
    fn a_name_that_is_none_is_heard_where_it_travels() {
        assert_eq!(bindings("mesh.events.Mail.sent"), ["mesh.live mesh.events.Mail.sent"]);
    }

    #[test]
    fn what_goes_to_a_queue_by_its_name_is_bound_nowhere() {
        for filter in ["mesh.control.n1.report", "mesh.control.enrol", "mesh.node.*.declare"] {
            assert_eq!(bindings(filter), [""; 0], "{filter}");
        }
        assert_eq!(bindings("mesh.control.*.*"), ["mesh.alive *", "mesh.live mesh.control.*.*"]);
    }

    #[test]
    fn a_subscription_has_a_queue_that_can_be_provisioned() {
        let filter = Filter::new("public.ingress.b").unwrap();
        let queue = AmqpQueue::of_subscription("gateway.a", &filter);
        assert_eq!(queue.name, "live.gateway.a.public.ingress.b");
        assert_eq!(queue.bindings, AmqpExchange::bindings(&filter));
        let user = "n1.mail";
        let owner = Principal::from_amqp_user(user).unwrap();
        let queue = AmqpQueue::of_subscription(user, &filter);
        assert_eq!(AmqpQueue::subscription_of(&queue.name), Some((owner, filter)));
        for other in ["live.n1.mail", "live.n1", "n1.mail.events", "live.n1.mail..x"] {
            assert_eq!(AmqpQueue::subscription_of(other), None, "{other}");
        }
    }

    #[test]
    fn no_key_on_the_exchange_for_all_else_is_a_subject_of_the_mesh() {
        let read = |exchange, key| {
            AmqpRoute::subject(exchange, &Subject::new(key).unwrap(), None)
                .map(|subject| subject.to_string())
        };
        assert_eq!(read(AmqpExchange::Live, "test.a").as_deref(), Some("test.a"));
        assert_eq!(read(AmqpExchange::Live, "mesh.events.mail.sent"), None);
        let event = read(AmqpExchange::Events, "mail.sent");
        assert_eq!(event.as_deref(), Some("mesh.events.mail.sent"));
        assert_eq!(read(AmqpExchange::Default, "live.n1.mail.0a"), None);
    }

    fn token() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "mesh", "events", "mail", "dead", "tools", "ask", "n1", "control", "alive", "replay",
            "n1_mail", "test", "node", "declare",
        ])
    }

    proptest! {
        /// Nothing that a filter matches passes its queue by, but for what goes to a queue by its name.
        #[test]
        fn what_a_filter_matches_comes_through_its_bindings(
            subject in prop::collection::vec(token(), 1..6),
            stars in prop::collection::vec(any::<bool>(), 6),
            tail in prop::option::of(1_usize..6),
        ) {
            let mut tokens = subject.clone();
            for (token, star) in tokens.iter_mut().zip(stars) {
                if star { *token = "*"; }
            }
            if let Some(tail) = tail.filter(|tail| *tail <= tokens.len()) {
                tokens.truncate(tail - 1);
                tokens.push(">");
            }
            let subject = Subject::new(subject.join(".")).unwrap();
            let filter = Filter::new(tokens.join(".")).unwrap();
            prop_assert!(filter.matches(&subject));
            let route = AmqpRoute::of(&subject);
            let key = Subject::new(route.key).unwrap();
            let bindings = AmqpExchange::bindings(&filter);
            let heard = bindings
                .iter()
                .any(|(exchange, pattern)| *exchange == route.exchange && pattern.matches(&key));
            let unnamed = route.exchange == AmqpExchange::Live
                && bindings.iter().all(|(exchange, _)| *exchange != AmqpExchange::Live);
            if route.exchange != AmqpExchange::Default && !unnamed {
                prop_assert!(heard, "{filter} of {subject}");
                let back = AmqpRoute::subject(route.exchange, &key, None);
                prop_assert_eq!(back, Some(subject));
            }
        }
    }
}
