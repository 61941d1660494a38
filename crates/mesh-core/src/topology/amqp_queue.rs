use super::{AmqpExchange, ConsumerRef, ConsumerSpec, MeshSubject, StreamName};
use crate::binding::{BindingPattern, Untranslatable};
use crate::identity::Principal;
use crate::name::{ConsumerName, ModuleName, NodeName, ToolName};
use crate::subject::Filter;

/// A queue of the wire that is being left (protocol §7), and what is bound to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is data that the adapter interprets whole")]
pub struct AmqpQueue {
    /// Its name.
    pub name: String,
    /// How it keeps messages.
    pub kind: AmqpQueueKind,
    /// The exchange that feeds it, and the binding patterns. A queue that is published to by its name
    /// has none.
    pub bindings: Vec<(AmqpExchange, BindingPattern)>,
}

/// How a queue keeps messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the legacy wire gets no new kind")]
pub enum AmqpQueueKind {
    /// A quorum queue: only these count deliveries. A delivery limit of one less than the tries.
    Quorum {
        /// The limit, where there is one.
        delivery_limit: Option<u32>,
    },
    /// A classic durable queue read by one consumer at a time: the only kind that keeps its order.
    SingleActive,
    /// A classic durable queue that keeps the newest message.
    Newest,
    /// A classic durable queue for calls and answers.
    Calls,
}

impl ConsumerSpec {
    /// The queues of this consumer, the one that it can't be without first
    /// ([`ConsumerRef::amqp_queues`]).
    ///
    /// # Errors
    /// [`Untranslatable`] for a filter that has no binding pattern, with a counter-example.
    pub fn to_amqp(&self) -> Result<Vec<AmqpQueue>, Untranslatable> {
        let mut bindings = Vec::new();
        let kind = match self.reference.stream {
            StreamName::Control | StreamName::Builds | StreamName::Advisories => {
                AmqpQueueKind::SingleActive
            }
            StreamName::Nodes => AmqpQueueKind::Newest,
            StreamName::EventsDead => {
                bindings.push((AmqpExchange::EventsDead, all()?));
                AmqpQueueKind::Quorum { delivery_limit: None }
            }
            StreamName::Events => {
                for filter in &self.filters {
                    bindings.push((AmqpExchange::Events, event_binding(filter)?));
                }
                let limit = self.rules.max_deliver.map(|tries| tries.saturating_sub(1));
                AmqpQueueKind::Quorum { delivery_limit: limit }
            }
        };
        let queue = |name| AmqpQueue { name, kind, bindings: bindings.clone() };
        Ok(self.reference.amqp_queues().into_iter().map(queue).collect())
    }
}

/// Before the user in the name of the queue of a caller's answers.
const ANSWERS: &str = "reply.";

/// Behind the names of node and module in the name of a module's queue.
const EVENTS: &str = ".events";

impl ConsumerRef {
    /// The names of its queues, the one that it can't be without first. Reports, outcomes of builds and
    /// what was reported while the controller was away have a queue each; the server's notices, which
    /// AMQP does not have, none.
    ///
    /// ```
    /// use mesh_core::name::ConsumerName;
    /// use mesh_core::topology::{ConsumerRef, StreamName};
    ///
    /// let audit = ConsumerRef::new(StreamName::Events, ConsumerName::new("n1_audit")?);
    /// assert_eq!(audit.amqp_queues(), ["n1.audit.events"]);
    /// assert_eq!(ConsumerRef::of_amqp_events("n1.audit.events"), Some(audit));
    /// # Ok::<(), mesh_core::name::NameError>(())
    /// ```
    #[must_use]
    pub fn amqp_queues(&self) -> Vec<String> {
        let name = self.consumer.as_str();
        match self.stream {
            StreamName::Advisories => Vec::new(),
            StreamName::Control => {
                ["control", "control.upgrades", "control.catchup"].map(String::from).to_vec()
            }
            StreamName::Builds => vec!["builds".into()],
            StreamName::Nodes => vec![format!("node.{name}")],
            StreamName::EventsDead => vec!["mesh.events.dead".into()],
            StreamName::Events => vec![format!("{}{EVENTS}", name.replacen('_', ".", 1))],
        }
    }

    /// Whose events the queue of that name keeps.
    #[must_use]
    pub fn of_amqp_events(queue: &str) -> Option<Self> {
        let (node, module) = queue.strip_suffix(EVENTS)?.split_once('.')?;
        let node = NodeName::new(node).ok()?;
        let module = ModuleName::new(module).ok()?;
        Some(Self::new(StreamName::Events, ConsumerName::of_module(&node, &module)))
    }
}

impl AmqpQueue {
    /// The queue of a tool's calls, shared by everybody who serves it: `serve.<module>.<tool>`.
    ///
    /// # Errors
    /// [`Untranslatable`] never in practice: names hold no wildcard.
    pub fn of_tool(module: &ModuleName, tool: &ToolName) -> Result<Self, Untranslatable> {
        let subject = MeshSubject::Tool { module: module.clone(), tool: tool.clone() };
        Self::called(subject.to_amqp().key)
    }

    /// The queue of a caller's answers: `reply.<node>.<module>`, `reply.person.<name>`.
    ///
    /// # Errors
    /// [`Untranslatable`] never in practice: names hold no wildcard.
    pub fn of_answers(caller: &Principal) -> Result<Self, Untranslatable> {
        Self::called(format!("{ANSWERS}{}", caller.amqp_user()))
    }

    /// Whose answers the queue of that name takes; the key by which they are sent is the same.
    ///
    /// ```
    /// use mesh_core::topology::AmqpQueue;
    ///
    /// let caller = AmqpQueue::caller_of_answers("reply.n1.mail");
    /// assert_eq!(caller.map(|caller| caller.to_string()).as_deref(), Some("module mail on n1"));
    /// ```
    #[must_use]
    pub fn caller_of_answers(queue: &str) -> Option<Principal> {
        Principal::from_amqp_user(queue.strip_prefix(ANSWERS)?)
    }

    fn called(name: String) -> Result<Self, Untranslatable> {
        let binding = BindingPattern::from_filter(&Filter::from_checked(name.clone()))?;
        let bindings = vec![(AmqpExchange::Rpc, binding)];
        Ok(Self { name, kind: AmqpQueueKind::Calls, bindings })
    }
}

/// A filter of events or replays as the key of its exchange has it.
fn event_binding(filter: &Filter) -> Result<BindingPattern, Untranslatable> {
    let text = filter.as_str();
    let key = text.strip_prefix("mesh.events.").or_else(|| text.strip_prefix("mesh."));
    BindingPattern::from_filter(&Filter::from_checked(key.unwrap_or(text).to_owned()))
}

fn all() -> Result<BindingPattern, Untranslatable> {
    BindingPattern::from_filter(&Filter::from_checked(">".to_owned()))
}
