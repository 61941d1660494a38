//! What each kind of principal may do: the rows of protocol §4 without their reasons, and those of gateways.

use super::{Answers, Permissions, Rights, Rule, Rules};
use crate::identity::Principal;
use crate::mx::MailboxKind;
use crate::name::{
    EventName, InstanceName, ModuleName, NodeName, PersonName, RealmName, TokenId, ToolName,
};
use crate::port::QueueGroup;
use crate::store::BucketName;
use crate::subject::{Filter, SubjectError};
use crate::topology::{BucketAddress, Inbox};

/// What a module's manifest says that its account follows from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct ModuleGrants {
    /// Events it emits.
    pub emits: Vec<EventName>,
    /// Whether it consumes events.
    pub consumes: bool,
    /// Tools of others that it calls.
    pub calls: Vec<(ModuleName, ToolName)>,
    /// Tools that it serves.
    pub tools: Vec<ToolName>,
    /// Whether it provides something, and so serves grants and withdrawals.
    pub provides: bool,
}

/// Which tools a person may call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a list or everything")]
pub enum PersonGrants {
    /// All of them, except those that the controller alone calls.
    Administrator,
    /// These.
    Tools(Vec<(ModuleName, ToolName)>),
}

impl Permissions {
    /// A module on a node, with scoped answers: [`Rights::of_module`] without the reasons.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn of_module(
        node: &NodeName,
        module: &ModuleName,
        grants: &ModuleGrants,
    ) -> Result<Self, SubjectError> {
        let rights = Rights::of_module(node, module, grants, Answers::Scoped)?;
        Ok(rights.permissions())
    }

    /// The host of a node: [`Rights::of_host`] without the reasons.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn of_host(node: &NodeName) -> Result<Self, SubjectError> {
        Ok(Rights::of_host(node)?.permissions())
    }

    /// The build machine on a node: [`Rights::of_builder`] without the reasons.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn of_builder(node: &NodeName) -> Result<Self, SubjectError> {
        Ok(Rights::of_builder(node)?.permissions())
    }

    /// A person: [`Rights::of_person`] without the reasons.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn of_person(name: &PersonName, grants: &PersonGrants) -> Result<Self, SubjectError> {
        Ok(Rights::of_person(name, grants)?.permissions())
    }

    /// Whoever holds an enrolment token: [`Rights::of_enrolment`] without the reasons.
    #[must_use]
    pub fn of_enrolment(token: &TokenId) -> Self {
        Rights::of_enrolment(token).permissions()
    }

    /// The controller, both its users together: [`Rights::of_controller`] without the reasons.
    #[must_use]
    pub fn of_controller() -> Self {
        Rights::of_controller().permissions()
    }

    /// The controller's user beside the streams: [`Rights::of_controller_bus`] without the reasons.
    #[must_use]
    pub fn of_controller_bus() -> Self {
        Rights::of_controller_bus().permissions()
    }

    /// The controller's user beside everybody else: [`Rights::of_controller_edge`] without the reasons.
    #[must_use]
    pub fn of_controller_edge() -> Self {
        Rights::of_controller_edge().permissions()
    }

    /// The gateway of `realm` on a backbone: exact subjects only, its own mailboxes to listen to and its
    /// peers' to publish to, each of the kinds given.
    #[must_use]
    pub fn of_gateway(
        name: &InstanceName,
        realm: &RealmName,
        kinds: &[MailboxKind],
        peers: &[(RealmName, MailboxKind)],
    ) -> Self {
        Self::between(name, realm, kinds, peers, None)
    }

    /// The same where several gateways share the realm's mailboxes in a group: none of them may listen
    /// outside it, to what another gets.
    #[must_use]
    pub fn of_shared_gateway(
        name: &InstanceName,
        realm: &RealmName,
        kinds: &[MailboxKind],
        peers: &[(RealmName, MailboxKind)],
        group: &QueueGroup,
    ) -> Self {
        Self::between(name, realm, kinds, peers, Some(group))
    }

    fn between(
        name: &InstanceName,
        realm: &RealmName,
        kinds: &[MailboxKind],
        peers: &[(RealmName, MailboxKind)],
        group: Option<&QueueGroup>,
    ) -> Self {
        let inbox = Inbox::of(&Principal::Gateway { name: name.clone() });
        let mine = kinds
            .iter()
            .map(|kind| Rule { filter: kind.subject(realm).into(), group: group.cloned() });
        let theirs = peers.iter().map(|(peer, kind)| Filter::from(kind.subject(peer)));
        Self {
            publish: Rules::allow([inbox.echo_filter()]).also(theirs),
            subscribe: Rules::allow([inbox.filter()]).also(mine),
            responses: None,
        }
    }

    /// The gateway `name` where its realm's shared state is (protocol §8): its own buckets to write, read and
    /// watch, and nothing else. On a nats-server that is an account of that realm alone, beside its backbone:
    /// whoever may store anything in an account can have the server's confirmations sent anywhere in it.
    ///
    /// It can neither make nor delete a bucket, has no consumer, and no right to have a stored message
    /// delivered as it is: what the server sends where a reply address points is its own JSON.
    #[must_use]
    pub fn of_gateway_state(name: &InstanceName, buckets: &[BucketName]) -> Self {
        let inbox = Inbox::of(&Principal::Gateway { name: name.clone() });
        let mut publish = vec![inbox.echo_filter()];
        let mut subscribe = vec![inbox.filter()];
        for bucket in buckets.iter().cloned().map(BucketAddress::of) {
            publish.extend([bucket.entries(), bucket.inspect().into(), bucket.read().into()]);
            subscribe.push(bucket.changes());
        }
        Self { publish: Rules::allow(publish), subscribe: Rules::allow(subscribe), responses: None }
    }

    /// The administrator `name` of a realm's shared state, who makes its buckets and leaves: a user of that
    /// account that no gateway has.
    #[must_use]
    pub fn of_state_administrator(name: &InstanceName, buckets: &[BucketName]) -> Self {
        let inbox = Inbox::of(&Principal::Controller { name: name.clone() });
        let mut publish = vec![inbox.echo_filter()];
        for bucket in buckets.iter().cloned().map(BucketAddress::of) {
            publish.extend([bucket.create().into(), bucket.inspect().into()]);
        }
        Self {
            publish: Rules::allow(publish),
            subscribe: Rules::allow([inbox.filter()]),
            responses: None,
        }
    }
}
