//! The rows of protocol §4: what each kind of principal may do.

use super::{Permissions, Rule, Rules};
use crate::identity::Principal;
use crate::identity::Responder;
use crate::mx::MailboxKind;
use crate::name::{
    ConsumerName, EventName, InstanceName, ModuleName, NodeName, PersonName, RealmName, TokenId,
    ToolName,
};
use crate::port::QueueGroup;
use crate::provision::{GRANT_TOOL, WITHDRAW_TOOL, is_reserved_tool};
use crate::store::BucketName;
use crate::subject::{Filter, SubjectError};
use crate::topology::{
    AckAddress, BucketAddress, ConsumerRef, DeliverySubject, Inbox, MeshSubject, ReplyAddress,
    StreamName, api_filter,
};

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
    /// A module on a node. What the controller alone calls, nobody may call, and a provider alone
    /// serves, whatever the lists say.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn of_module(
        node: &NodeName,
        module: &ModuleName,
        grants: &ModuleGrants,
    ) -> Result<Self, SubjectError> {
        let inbox = Inbox::of(&Principal::Module { node: node.clone(), module: module.clone() });
        let mut publish = vec![inbox.echo_filter()];
        let mut subscribe = vec![Rule::from(inbox.filter())];
        for event in &grants.emits {
            let event = MeshSubject::Event { module: module.clone(), event: event.clone() };
            publish.push(event.to_subject()?.into());
        }
        let ordinary = |tool: &ToolName| !is_reserved_tool(tool.as_str());
        for (other, tool) in grants.calls.iter().filter(|(_, tool)| ordinary(tool)) {
            publish.push(tool_filter(other, tool)?);
        }
        if grants.consumes {
            let name = ConsumerName::of_module(node, module);
            let (delivery, acks) = consuming(ConsumerRef::new(StreamName::Events, name), true);
            subscribe.push(delivery);
            publish.extend(acks);
        }
        let mut tools = grants.tools.clone();
        tools.retain(ordinary);
        if grants.provides {
            tools.extend([GRANT_TOOL, WITHDRAW_TOOL].map(ToolName::fixed));
        }
        if !tools.is_empty() {
            publish.push(ReplyAddress::filter(&Responder::Module(module.clone())));
        }
        for tool in &tools {
            subscribe.push(Rule {
                filter: tool_filter(module, tool)?,
                group: Some(QueueGroup::serve()),
            });
        }
        Ok(Self { publish: Rules::allow(publish), subscribe: Rules::allow(subscribe) })
    }

    /// The host of a node.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn of_host(node: &NodeName) -> Result<Self, SubjectError> {
        let inbox = Inbox::of(&Principal::Host { node: node.clone() });
        let consumer = ConsumerRef::new(StreamName::Nodes, ConsumerName::of_node(node));
        let (delivery, acks) = consuming(consumer, false);
        let publish = [
            MeshSubject::Report { node: node.clone() }.to_subject()?.into(),
            MeshSubject::Alive { node: node.clone() }.to_subject()?.into(),
            Filter::new(format!("mesh.ask.{node}.*"))?,
            inbox.echo_filter(),
        ];
        Ok(Self {
            publish: Rules::allow(publish).also(acks),
            subscribe: Rules::allow([delivery, inbox.filter().into()]),
        })
    }

    /// The build machine on a node.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn of_builder(node: &NodeName) -> Result<Self, SubjectError> {
        let inbox = Inbox::of(&Principal::Builder { node: node.clone() });
        let consumer = ConsumerRef::new(StreamName::Builds, ConsumerName::fixed("builder"));
        let (delivery, acks) = consuming(consumer, true);
        let built = MeshSubject::Built.to_subject()?.into();
        Ok(Self {
            publish: Rules::allow([built, inbox.echo_filter()]).also(acks),
            subscribe: Rules::allow([delivery, inbox.filter().into()]),
        })
    }

    /// A person. Nobody may call what the controller alone calls, whatever the list says.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn of_person(name: &PersonName, grants: &PersonGrants) -> Result<Self, SubjectError> {
        let inbox = Inbox::of(&Principal::Person { name: name.clone() });
        let mut publish = vec![inbox.echo_filter()];
        match grants {
            PersonGrants::Administrator => publish.push(Filter::new("mesh.tools.>")?),
            PersonGrants::Tools(tools) => {
                for (module, tool) in tools {
                    publish.push(tool_filter(module, tool)?);
                }
            }
        }
        let mut denied = Vec::new();
        for tool in [GRANT_TOOL, WITHDRAW_TOOL] {
            denied.push(Filter::new(format!("mesh.tools.*.{tool}"))?);
        }
        Ok(Self {
            publish: Rules::allow(publish).except(denied),
            subscribe: Rules::allow([inbox.filter()]),
        })
    }

    /// Whoever holds an enrolment token: one subject to publish to, one inbox to listen on.
    #[must_use]
    pub fn of_enrolment(token: &TokenId) -> Self {
        let inbox = Inbox::of(&Principal::Enrolment { token: token.clone() });
        let enrol = Filter::from_checked("mesh.control.enrol".to_owned());
        Self {
            publish: Rules::allow([enrol, inbox.echo_filter()]),
            subscribe: Rules::allow([inbox.filter()]),
        }
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
        Self { publish: Rules::allow(publish), subscribe: Rules::allow(subscribe) }
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
        Self { publish: Rules::allow(publish), subscribe: Rules::allow([inbox.filter()]) }
    }

    /// The controller: both its users of the split layout together, for brokers in the process and a
    /// server with one account.
    #[must_use]
    pub fn of_controller() -> Self {
        Self::of_controller_bus().and(Self::of_controller_edge())
    }

    /// The controller's user beside the streams, `controller` in the account BUS: it declares, orders
    /// builds, keeps dead letters and sends them back, and alone has the server's API.
    #[must_use]
    pub fn of_controller_bus() -> Self {
        let mut publish =
            ["mesh.node.*.declare", "mesh.build.request", "mesh.events.dead"].map(fixed).to_vec();
        publish.extend([fixed("mesh.replay.>"), fixed(CONTROLLER_ECHO), api_filter()]);
        let mut subscribe = vec![Rule::from(fixed("mesh.control.*.alive")), controller_inbox()];
        for stream in [StreamName::Control, StreamName::Advisories] {
            let name = ConsumerName::fixed("controller");
            let (delivery, acks) = consuming(ConsumerRef::new(stream, name), true);
            subscribe.push(delivery);
            publish.extend(acks);
        }
        Self { publish: Rules::allow(publish), subscribe: Rules::allow(subscribe) }
    }

    /// The controller's user beside everybody else, `controller-edge` in the account EDGE: it answers
    /// what nodes ask and who enrols, and calls providers. It has no stream and no API there, so what
    /// it is made to answer reaches none.
    #[must_use]
    pub fn of_controller_edge() -> Self {
        let publish = [
            "mesh.tools.*.provision_grant",
            "mesh.tools.*.provision_withdraw",
            "_INBOX.host.*.controller.>",
            "_INBOX.enrol.*.answer",
            CONTROLLER_ECHO,
        ];
        let asks = Rule {
            filter: fixed("mesh.ask.*.*"),
            group: Some(QueueGroup::of_consumer(&ConsumerName::fixed("controller"))),
        };
        Self {
            publish: Rules::allow(publish.map(fixed)),
            subscribe: Rules::allow([asks, controller_inbox()]),
        }
    }
}

/// The controller's echoes, of each of its instances.
const CONTROLLER_ECHO: &str = "_INBOX.controller.*.echo.>";

fn controller_inbox() -> Rule {
    fixed("_INBOX.controller.>").into()
}

fn fixed(text: &str) -> Filter {
    Filter::from_checked(text.to_owned())
}

fn tool_filter(module: &ModuleName, tool: &ToolName) -> Result<Filter, SubjectError> {
    let subject = MeshSubject::Tool { module: module.clone(), tool: tool.clone() };
    Ok(subject.to_subject()?.into())
}

/// What reading a durable consumer takes: its deliveries, in its group where it is shared, and its
/// acknowledgements in both forms.
fn consuming(consumer: ConsumerRef, shared: bool) -> (Rule, [Filter; 2]) {
    let acks = AckAddress::filters(&consumer);
    let group = shared.then(|| QueueGroup::of_consumer(&consumer.consumer));
    (Rule { filter: DeliverySubject::of(consumer).to_subject().into(), group }, acks)
}
