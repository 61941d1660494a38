use std::fmt;

use super::shape::{BadName, name};
use super::{MeshSubject, MeshSubjectError};
use crate::identity::Principal;
use crate::name::{CommandName, ConsumerName, EventName, ModuleName, NodeName, ToolName};
use crate::subject::Subject;

/// The exchanges of the wire that is being left (protocol §7). The substrate owns them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the legacy wire gets no new exchange")]
pub enum AmqpExchange {
    /// The default exchange: the key is a queue's name.
    Default,
    /// `mesh.events`, a topic exchange.
    Events,
    /// `mesh.events.dead`.
    EventsDead,
    /// `mesh.rpc`, a topic exchange.
    Rpc,
    /// `mesh.alive`, a topic exchange.
    Alive,
    /// `mesh.live`, a topic exchange: every subject that is none of the mesh's own, with the subject as
    /// its key. Federation's topics, above all.
    Live,
}

impl AmqpExchange {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "",
            Self::Events => "mesh.events",
            Self::EventsDead => "mesh.events.dead",
            Self::Rpc => "mesh.rpc",
            Self::Alive => "mesh.alive",
            Self::Live => "mesh.live",
        }
    }

    /// Every exchange that has a name, and that the substrate declares.
    pub const NAMED: [Self; 5] =
        [Self::Events, Self::EventsDead, Self::Rpc, Self::Alive, Self::Live];

    /// The exchange of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Default].into_iter().chain(Self::NAMED);
        all.into_iter().find(|exchange| exchange.as_str() == name)
    }
}

impl fmt::Display for AmqpExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How a subject of the mesh travels on AMQP.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is data that the adapter interprets whole")]
pub struct AmqpRoute {
    /// The exchange.
    pub exchange: AmqpExchange,
    /// The routing key.
    pub key: String,
    /// Whether an unroutable message is an error.
    pub mandatory: bool,
    /// Whether the broker writes it to disk.
    pub persistent: bool,
}

impl AmqpRoute {
    /// The route of any subject: that of the mesh's own, else `mesh.live` with the subject as its key,
    /// where nobody has to listen and nothing is written to disk.
    #[must_use]
    pub fn of(subject: &Subject) -> Self {
        match MeshSubject::parse(subject) {
            Ok(subject) => subject.to_amqp(),
            Err(_) => Self {
                exchange: AmqpExchange::Live,
                key: subject.as_str().to_owned(),
                mandatory: false,
                persistent: false,
            },
        }
    }
}

impl MeshSubject {
    /// Its route on AMQP.
    #[must_use]
    pub fn to_amqp(&self) -> AmqpRoute {
        let (exchange, key) = match self {
            Self::Report { .. } | Self::Enrol => (AmqpExchange::Default, "control".into()),
            Self::Built => (AmqpExchange::Default, "control.upgrades".into()),
            Self::Declare { node } => (AmqpExchange::Default, format!("node.{node}")),
            Self::BuildRequest => (AmqpExchange::Default, "builds".into()),
            Self::Alive { node } => (AmqpExchange::Alive, node.to_string()),
            Self::Event { module, event } => (AmqpExchange::Events, format!("{module}.{event}")),
            Self::Replay { consumer, module, event } => {
                (AmqpExchange::Events, format!("replay.{consumer}.{module}.{event}"))
            }
            Self::DeadLetter => (AmqpExchange::EventsDead, "dead".into()),
            Self::Tool { module, tool } => (AmqpExchange::Rpc, format!("serve.{module}.{tool}")),
            Self::Ask { node, command } => (AmqpExchange::Rpc, format!("ask.{node}.{command}")),
        };
        let lasting = !matches!(self, Self::Alive { .. } | Self::Tool { .. } | Self::Ask { .. });
        let optional = matches!(self, Self::Alive { .. } | Self::Event { .. } | Self::DeadLetter);
        AmqpRoute { exchange, key, mandatory: !optional, persistent: lasting }
    }

    /// What a routing key means. Reports and enrolments share a queue and have no key of their own:
    /// which it is follows from `sender`, the account that the broker proves by `user_id`.
    ///
    /// # Errors
    /// [`MeshSubjectError`] where it is none of the mesh's, or a name in it is none.
    pub fn from_amqp(
        exchange: AmqpExchange,
        key: &Subject,
        sender: Option<&Principal>,
    ) -> Result<Self, MeshSubjectError> {
        match read(exchange, key.as_str(), sender) {
            Ok(Some(parsed)) => Ok(parsed),
            Ok(None) => Err(MeshSubjectError::Unknown { subject: key.clone() }),
            Err(bad) => Err(MeshSubjectError::Name {
                subject: key.clone(),
                at: bad.place_in(key.as_str()),
                error: bad.error,
            }),
        }
    }
}

fn read<'k>(
    exchange: AmqpExchange,
    key: &'k str,
    sender: Option<&Principal>,
) -> Result<Option<MeshSubject>, BadName<'k>> {
    let (head, rest) = key.split_once('.').unwrap_or((key, ""));
    let two = || rest.split_once('.');
    Ok(Some(match (exchange, head) {
        (AmqpExchange::Default, "builds") if rest.is_empty() => MeshSubject::BuildRequest,
        (AmqpExchange::Default, "control") if rest == "upgrades" => MeshSubject::Built,
        (AmqpExchange::Default, "control") if matches!(rest, "" | "catchup") => match sender {
            Some(Principal::Host { node }) => MeshSubject::Report { node: node.clone() },
            Some(Principal::Enrolment { .. }) => MeshSubject::Enrol,
            _ => return Ok(None),
        },
        (AmqpExchange::Default, "node") => MeshSubject::Declare { node: name::<NodeName>(rest)? },
        (AmqpExchange::Alive, _) => MeshSubject::Alive { node: name::<NodeName>(key)? },
        (AmqpExchange::EventsDead, _) => MeshSubject::DeadLetter,
        (AmqpExchange::Events, "replay") => {
            let Some((consumer, rest)) = two() else {
                return Ok(None);
            };
            let Some((module, event)) = rest.split_once('.') else {
                return Ok(None);
            };
            MeshSubject::Replay {
                consumer: name::<ConsumerName>(consumer)?,
                module: name::<ModuleName>(module)?,
                event: name::<EventName>(event)?,
            }
        }
        (AmqpExchange::Events, module) => MeshSubject::Event {
            module: name::<ModuleName>(module)?,
            event: name::<EventName>(rest)?,
        },
        (AmqpExchange::Rpc, "serve") => {
            let Some((module, tool)) = two() else {
                return Ok(None);
            };
            MeshSubject::Tool { module: name::<ModuleName>(module)?, tool: name::<ToolName>(tool)? }
        }
        (AmqpExchange::Rpc, "ask") => {
            let Some((node, command)) = two() else {
                return Ok(None);
            };
            MeshSubject::Ask {
                node: name::<NodeName>(node)?,
                command: name::<CommandName>(command)?,
            }
        }
        _ => return Ok(None),
    }))
}
