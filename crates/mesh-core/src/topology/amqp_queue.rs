use super::{AmqpExchange, ConsumerSpec, MeshSubject, StreamName};
use crate::binding::{BindingPattern, Untranslatable};
use crate::identity::Principal;
use crate::name::{ModuleName, ToolName};
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
    /// The queue of this consumer. Nothing for the server's notices, which AMQP does not have.
    ///
    /// # Errors
    /// [`Untranslatable`] for a filter that has no binding pattern, with a counter-example.
    pub fn to_amqp(&self) -> Result<Option<AmqpQueue>, Untranslatable> {
        let name = self.reference.consumer.as_str();
        let plain = |name: &str, kind| AmqpQueue { name: name.into(), kind, bindings: Vec::new() };
        Ok(match self.reference.stream {
            StreamName::Advisories => None,
            StreamName::Control => Some(plain("control", AmqpQueueKind::SingleActive)),
            StreamName::Builds => Some(plain("builds", AmqpQueueKind::SingleActive)),
            StreamName::Nodes => Some(plain(&format!("node.{name}"), AmqpQueueKind::Newest)),
            StreamName::EventsDead => Some(AmqpQueue {
                bindings: vec![(AmqpExchange::EventsDead, all()?)],
                ..plain("mesh.events.dead", AmqpQueueKind::Quorum { delivery_limit: None })
            }),
            StreamName::Events => {
                let limit = self.rules.max_deliver.map(|tries| tries.saturating_sub(1));
                let mut bindings = Vec::new();
                for filter in &self.filters {
                    bindings.push((AmqpExchange::Events, event_binding(filter)?));
                }
                Some(AmqpQueue {
                    name: format!("{}.events", name.replacen('_', ".", 1)),
                    kind: AmqpQueueKind::Quorum { delivery_limit: limit },
                    bindings,
                })
            }
        })
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
        Self::called(format!("reply.{}", caller.amqp_user()))
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
