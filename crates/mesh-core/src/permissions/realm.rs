//! What somebody may do on a realm's own bus, and a router on the backbone (protocol §8).

use super::{Permissions, Rule, Rules};
use crate::identity::Principal;
use crate::mx::{MailboxKind, MxPath, Shard, Topic, TopicError};
use crate::name::{InstanceName, RealmName};
use crate::port::QueueGroup;
use crate::subject::Filter;
use crate::topology::Inbox;

/// What somebody does on the bus of a realm: a component, or the realm's gateway with what it serves
/// itself. The paths are exact, so nobody hears or says what is another's.
///
/// A gateway's `calls` are the paths that other realms may reach, its `emits` those that their events may
/// be put on, and its `hears` what they may take a lease on: the bus itself refuses the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct RealmGrants {
    /// Commands that it takes, in the group `serve`, and answers.
    pub accepts: Vec<MxPath<'static>>,
    /// Commands of others that it asks for.
    pub calls: Vec<MxPath<'static>>,
    /// Events that it says.
    pub emits: Vec<MxPath<'static>>,
    /// Events that it listens to.
    pub hears: Vec<MxPath<'static>>,
    /// Whether it watches events of other realms: they come to paths of its own, `watch.<random>.emits.*`.
    pub watches: bool,
    /// Whether it is a gateway, and so brings those to who watches.
    pub serves_watches: bool,
}

impl Permissions {
    /// Somebody on the bus of `realm`, which is an account, a virtual host or a server of that realm alone.
    ///
    /// Who calls may listen to the topics of answers, `mx/1/<realm>/_reply.*`, and who accepts may publish
    /// there. Their 128 random bits are all that keeps one component's answers from another: a broker can't
    /// tell which random topic is whose.
    ///
    /// # Errors
    /// [`TopicError::TooLong`] where realm and path are too long together.
    pub fn of_realm(
        principal: &Principal,
        realm: &RealmName,
        grants: &RealmGrants,
    ) -> Result<Self, TopicError> {
        let topics = |paths: &[MxPath<'static>]| -> Result<Vec<Filter>, TopicError> {
            paths.iter().map(|path| Ok(Topic::internal(realm, path)?.into())).collect()
        };
        let (accepts, calls) = (topics(&grants.accepts)?, topics(&grants.calls)?);
        let (emits, hears) = (topics(&grants.emits)?, topics(&grants.hears)?);
        let serve = |filter| Rule { filter, group: Some(QueueGroup::serve()) };
        let answers = Topic::internal_replies(realm);
        let watched = Topic::internal_watches(realm);
        let inbox = Inbox::of(principal);
        let answering = (!accepts.is_empty()).then(|| answers.clone());
        let answered = (!calls.is_empty()).then_some(answers);
        Ok(Self {
            publish: Rules::allow([inbox.echo_filter()])
                .also(calls)
                .also(emits)
                .also(grants.serves_watches.then(|| watched.clone()))
                .also(answering),
            subscribe: Rules::allow([inbox.filter()])
                .also(accepts.into_iter().map(serve))
                .also(hears)
                .also(grants.watches.then_some(watched))
                .also(answered.map(Rule::from)),
            responses: None,
        })
    }

    /// The router of `realm` on a backbone (protocol §8): its own route inbox to listen to; the inboxes of
    /// its parent and children, and its realm's mailbox, to publish to. Who may publish to a route inbox
    /// is what a router knows of where a message comes from, so nobody else is given that right than the
    /// routers beside it and the realm's own gateway.
    #[must_use]
    pub fn of_router(name: &InstanceName, realm: &RealmName, neighbours: &[RealmName]) -> Self {
        let inbox = Inbox::of(&Principal::Gateway { name: name.clone() });
        let route = |realm| Filter::from(Topic::route_inbox(realm, Shard::default()));
        let mailbox = Filter::from(MailboxKind::default().subject(realm));
        let publish = [inbox.echo_filter(), mailbox];
        // Several bridges of a realm share the work.
        let own = Rule { filter: route(realm), group: Some(QueueGroup::serve()) };
        Self {
            publish: Rules::allow(publish).also(neighbours.iter().map(route)),
            subscribe: Rules::allow([Rule::from(inbox.filter()), own]),
            responses: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Subject;

    fn path(text: &str) -> MxPath<'static> {
        text.parse().unwrap()
    }

    fn subject(text: &str) -> Subject {
        Subject::new(text).unwrap()
    }

    fn gateway() -> Principal {
        Principal::Gateway { name: "g1".parse().unwrap() }
    }

    #[test]
    fn a_component_hears_its_commands_and_answers_where_answers_go() {
        let grants = RealmGrants {
            accepts: vec![path("desk.accepts.greet")],
            emits: vec![path("desk.emits.greeted")],
            ..RealmGrants::default()
        };
        let desk =
            Principal::Module { node: "n1".parse().unwrap(), module: "desk".parse().unwrap() };
        let may = Permissions::of_realm(&desk, &"acme.com".parse().unwrap(), &grants).unwrap();
        let accepts = Filter::new("mx/1/acme.com/desk.accepts.greet").unwrap();
        assert!(may.subscribe.permits_filter(&accepts, Some(&QueueGroup::serve())));
        assert!(!may.subscribe.permits_filter(&accepts, None), "who shares calls reads no other's");
        let reply = "mx/1/acme.com/_reply.00112233445566778899aabbccddeeff";
        assert!(may.publish.permits(&subject(reply)));
        assert!(may.publish.permits(&subject("mx/1/acme.com/desk.emits.greeted")));
        for other in ["mx/1/acme.com/desk.accepts.greet", "mx/1/acme.com/shop.emits.sold"] {
            assert!(!may.publish.permits(&subject(other)), "{other}");
        }
        for other in [reply, "mx/1/acme.com/shop.accepts.buy", "mx/1/other/desk.accepts.greet"] {
            assert!(!may.subscribe.permits_filter(&Filter::new(other).unwrap(), None), "{other}");
        }
    }

    #[test]
    fn a_gateway_inside_reaches_the_open_paths_alone() {
        let grants =
            RealmGrants { calls: vec![path("desk.accepts.greet")], ..RealmGrants::default() };
        let may = Permissions::of_realm(&gateway(), &"acme.com".parse().unwrap(), &grants).unwrap();
        assert!(may.publish.permits(&subject("mx/1/acme.com/desk.accepts.greet")));
        assert!(!may.publish.permits(&subject("mx/1/acme.com/desk.accepts.delete")));
        let answers = Filter::new("mx/1/acme.com/_reply.*").unwrap();
        assert!(may.subscribe.permits_filter(&answers, None));
        assert!(!may.publish.permits(&subject("mx/1/acme.com/_reply.00")));
        let watched = subject("mx/1/acme.com/watch.0a.emits.event");
        assert!(!may.publish.permits(&watched));
        let grants = RealmGrants { serves_watches: true, ..RealmGrants::default() };
        let may = Permissions::of_realm(&gateway(), &"acme.com".parse().unwrap(), &grants).unwrap();
        assert!(may.publish.permits(&watched));
    }
}
