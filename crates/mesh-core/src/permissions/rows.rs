//! The rows of protocol §4: what each kind of principal may do, and why.

use super::{Answers, ModuleGrants, Origin, PersonGrants, Rights, Rule};
use crate::identity::{Principal, Responder};
use crate::name::{ConsumerName, ModuleName, NodeName, PersonName, TokenId, ToolName};
use crate::port::QueueGroup;
use crate::provision::{GRANT_TOOL, WITHDRAW_TOOL, is_reserved_tool};
use crate::subject::{Filter, SubjectError};
use crate::topology::{
    AckAddress, ConsumerRef, DeliverySubject, Inbox, MeshSubject, ReplyAddress, StreamName,
    api_filter,
};

const OWN_INBOX: Origin = Origin::Rule("everybody hears the own inbox");
const ECHO: Origin = Origin::Rule("everybody may send to itself, to know what was handled before");
const DECLARATIONS: Origin = Origin::Rule("a host reads the declarations of its node");
const REPORTS: Origin = Origin::Rule("a host reports of its node");
const ALIVE: Origin = Origin::Rule("a host says that its node is there");
const ASKS: Origin = Origin::Rule("a host asks the controller as its node");
const REQUESTS: Origin = Origin::Rule("a builder reads what is to be built");
const BUILT: Origin = Origin::Rule("a builder says what it has built");
const PROVISIONING: Origin = Origin::Rule("the controller alone has providers grant and withdraw");
const ENROLS: Origin = Origin::Rule("who holds a token enrols its node");
const DECLARES: Origin = Origin::Rule("the controller declares what a node is to run");
const ORDERS: Origin = Origin::Rule("the controller orders builds");
const DEAD: Origin = Origin::Rule("the controller keeps dead letters");
const REPLAYS: Origin = Origin::Rule("the controller sends dead letters back");
const SERVER_API: Origin = Origin::Rule("the controller alone has the server's API");
const HEARS_ALIVE: Origin = Origin::Rule("the controller hears which nodes are there");
const WORK: Origin =
    Origin::Rule("the controller reads reports, enrolments and outcomes of builds");
const NOTICES: Origin =
    Origin::Rule("the controller reads the server's notices of given-up events");
const ASKED: Origin = Origin::Rule("the controller answers what nodes ask");
const ENROLLED: Origin = Origin::Rule("the controller answers who enrols");

impl Rights {
    /// A module on a node. What the controller alone calls, nobody may call, and a provider alone
    /// serves, whatever the lists say.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn of_module(
        node: &NodeName,
        module: &ModuleName,
        grants: &ModuleGrants,
        answers: Answers,
    ) -> Result<Self, SubjectError> {
        let who = Principal::Module { node: node.clone(), module: module.clone() };
        let mut rights = Self::of_anybody(&who);
        for (index, event) in grants.emits.iter().enumerate() {
            let event = MeshSubject::Event { module: module.clone(), event: event.clone() };
            rights.publishes(event.to_subject()?.into(), Origin::Emits(index));
        }
        let ordinary = |tool: &ToolName| !is_reserved_tool(tool.as_str());
        let calls = grants.calls.iter().enumerate();
        for (index, (other, tool)) in calls.filter(|(_, (_, tool))| ordinary(tool)) {
            rights.publishes(tool_filter(other, tool)?, Origin::Calls(index));
        }
        if grants.consumes {
            let name = ConsumerName::of_module(node, module);
            rights.consumes(ConsumerRef::new(StreamName::Events, name), true, Origin::Consumes);
        }
        let mut served = Vec::new();
        for (index, tool) in grants.tools.iter().enumerate().filter(|(_, tool)| ordinary(tool)) {
            served.push((tool.clone(), Origin::Tools(index)));
        }
        let mut because = Origin::Serves;
        if grants.provides {
            if served.is_empty() {
                because = Origin::Provides;
            }
            let reserved = [GRANT_TOOL, WITHDRAW_TOOL].map(ToolName::fixed);
            served.extend(reserved.map(|tool| (tool, Origin::Provides)));
        }
        if !served.is_empty() {
            match answers {
                Answers::Scoped => {
                    let mine = ReplyAddress::filter(&Responder::Module(module.clone()));
                    rights.publishes(mine, because);
                }
                Answers::AllowResponses(responses) => rights.answers_as_asked(responses),
            }
        }
        for (tool, origin) in served {
            let filter = tool_filter(module, &tool)?;
            rights.hears(Rule { filter, group: Some(QueueGroup::serve()) }, origin);
        }
        Ok(rights)
    }

    /// The host of a node.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn of_host(node: &NodeName) -> Result<Self, SubjectError> {
        let mut rights = Self::of_anybody(&Principal::Host { node: node.clone() });
        let report = MeshSubject::Report { node: node.clone() };
        rights.publishes(report.to_subject()?.into(), REPORTS);
        let alive = MeshSubject::Alive { node: node.clone() };
        rights.publishes(alive.to_subject()?.into(), ALIVE);
        rights.publishes(Filter::new(format!("mesh.ask.{node}.*"))?, ASKS);
        let consumer = ConsumerRef::new(StreamName::Nodes, ConsumerName::of_node(node));
        rights.consumes(consumer, false, DECLARATIONS);
        Ok(rights)
    }

    /// The build machine on a node.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn of_builder(node: &NodeName) -> Result<Self, SubjectError> {
        let mut rights = Self::of_anybody(&Principal::Builder { node: node.clone() });
        rights.publishes(MeshSubject::Built.to_subject()?.into(), BUILT);
        let consumer = ConsumerRef::new(StreamName::Builds, ConsumerName::fixed("builder"));
        rights.consumes(consumer, true, REQUESTS);
        Ok(rights)
    }

    /// A person. Nobody may call what the controller alone calls, whatever the list says.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn of_person(name: &PersonName, grants: &PersonGrants) -> Result<Self, SubjectError> {
        let mut rights = Self::of_anybody(&Principal::Person { name: name.clone() });
        match grants {
            PersonGrants::Administrator => {
                rights.publishes(Filter::new("mesh.tools.>")?, Origin::Administrator);
            }
            PersonGrants::Tools(tools) => {
                for (index, (module, tool)) in tools.iter().enumerate() {
                    rights.publishes(tool_filter(module, tool)?, Origin::Tools(index));
                }
            }
        }
        for tool in [GRANT_TOOL, WITHDRAW_TOOL] {
            rights.never_publishes(Filter::new(format!("mesh.tools.*.{tool}"))?, PROVISIONING);
        }
        Ok(rights)
    }

    /// Whoever holds an enrolment token: one subject to publish to, one inbox to listen on.
    #[must_use]
    pub fn of_enrolment(token: &TokenId) -> Self {
        let mut rights = Self::of_anybody(&Principal::Enrolment { token: token.clone() });
        rights.publishes(fixed("mesh.control.enrol"), ENROLS);
        rights
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
        let mut rights = Self::of_any_controller();
        rights.publishes(fixed("mesh.node.*.declare"), DECLARES);
        rights.publishes(fixed("mesh.build.request"), ORDERS);
        rights.publishes(fixed("mesh.events.dead"), DEAD);
        rights.publishes(fixed("mesh.replay.>"), REPLAYS);
        rights.publishes(api_filter(), SERVER_API);
        rights.hears(fixed("mesh.control.*.alive"), HEARS_ALIVE);
        for (stream, origin) in [(StreamName::Control, WORK), (StreamName::Advisories, NOTICES)] {
            let name = ConsumerName::fixed("controller");
            rights.consumes(ConsumerRef::new(stream, name), true, origin);
        }
        rights
    }

    /// The controller's user beside everybody else, `controller-edge` in the account EDGE: it answers
    /// what nodes ask and who enrols, and calls providers. It has no stream and no API there, so what
    /// it is made to answer reaches none.
    #[must_use]
    pub fn of_controller_edge() -> Self {
        let mut rights = Self::of_any_controller();
        for tool in [GRANT_TOOL, WITHDRAW_TOOL] {
            rights.publishes(fixed(&format!("mesh.tools.*.{tool}")), PROVISIONING);
        }
        rights.publishes(fixed("_INBOX.host.*.controller.>"), ASKED);
        rights.publishes(fixed("_INBOX.enrol.*.answer"), ENROLLED);
        let group = QueueGroup::of_consumer(&ConsumerName::fixed("controller"));
        rights.hears(Rule { filter: fixed("mesh.ask.*.*"), group: Some(group) }, ASKED);
        rights
    }

    fn of_any_controller() -> Self {
        let mut rights = Self::default();
        // Of each of its instances.
        rights.publishes(fixed("_INBOX.controller.*.echo.>"), ECHO);
        rights.hears(fixed("_INBOX.controller.>"), OWN_INBOX);
        rights
    }

    fn of_anybody(who: &Principal) -> Self {
        let inbox = Inbox::of(who);
        let mut rights = Self::default();
        rights.publishes(inbox.echo_filter(), ECHO);
        rights.hears(inbox.filter(), OWN_INBOX);
        rights
    }

    /// What reading a durable consumer takes: its deliveries, in its group where it is shared, and its
    /// acknowledgements in both forms.
    fn consumes(&mut self, consumer: ConsumerRef, shared: bool, origin: Origin) {
        for filter in AckAddress::filters(&consumer) {
            self.publishes(filter, origin);
        }
        let group = shared.then(|| QueueGroup::of_consumer(&consumer.consumer));
        let filter = DeliverySubject::of(consumer).to_subject().into();
        self.hears(Rule { filter, group }, origin);
    }
}

fn fixed(text: &str) -> Filter {
    Filter::from_checked(text.to_owned())
}

fn tool_filter(module: &ModuleName, tool: &ToolName) -> Result<Filter, SubjectError> {
    let subject = MeshSubject::Tool { module: module.clone(), tool: tool.clone() };
    Ok(subject.to_subject()?.into())
}
