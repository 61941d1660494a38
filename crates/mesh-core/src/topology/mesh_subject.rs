use crate::name::{
    CommandName, ConsumerName, EventName, ModuleName, NameError, NodeName, ToolName,
};
use crate::subject::{Subject, SubjectError};

use super::StreamName;

/// A subject of the mesh by what it means (protocol §2). Text and value go both ways.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MeshSubject {
    /// `mesh.control.<node>.report`: a node's report.
    Report {
        /// The node.
        node: NodeName,
    },
    /// `mesh.control.enrol`: a request to join.
    Enrol,
    /// `mesh.control.built`: the outcome of a build.
    Built,
    /// `mesh.control.<node>.alive`: a heartbeat, never stored.
    Alive {
        /// The node.
        node: NodeName,
    },
    /// `mesh.node.<node>.declare`: what a node is to be.
    Declare {
        /// The node.
        node: NodeName,
    },
    /// `mesh.build.request`: work for a builder.
    BuildRequest,
    /// `mesh.events.<module>.<event>`: an event.
    Event {
        /// Who emitted it, as the broker enforced it.
        module: ModuleName,
        /// What happened.
        event: EventName,
    },
    /// `mesh.events.dead`: dead letters.
    DeadLetter,
    /// `mesh.replay.<consumer>.<module>.<event>`: a dead letter on its way back to one consumer.
    Replay {
        /// The consumer that failed.
        consumer: ConsumerName,
        /// Who emitted the event.
        module: ModuleName,
        /// What had happened.
        event: EventName,
    },
    /// `mesh.tools.<module>.<tool>`: a call.
    Tool {
        /// Who serves it.
        module: ModuleName,
        /// Which tool.
        tool: ToolName,
    },
    /// `mesh.ask.<node>.<command>`: a question to the controller; the node is the asker.
    Ask {
        /// Who asks.
        node: NodeName,
        /// What is asked.
        command: CommandName,
    },
}

/// Why a subject is none of the mesh's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshSubjectError {
    /// It has none of the mesh's shapes.
    #[error("{subject} is not a subject of the mesh")]
    Unknown {
        /// The subject.
        subject: Subject,
    },
    /// It has a shape of the mesh, with a name in it that is none.
    #[error("in {subject}: {error}")]
    Name {
        /// The subject.
        subject: Subject,
        /// What is wrong with the name.
        error: NameError,
    },
}

impl MeshSubject {
    /// What `subject` means.
    ///
    /// # Errors
    /// [`MeshSubjectError`], with the name that is wrong where the shape is right.
    pub fn parse(subject: &Subject) -> Result<Self, MeshSubjectError> {
        let Some(shape) = shape(subject.as_str()) else {
            return Err(MeshSubjectError::Unknown { subject: subject.clone() });
        };
        shape.named().map_err(|error| MeshSubjectError::Name { subject: subject.clone(), error })
    }

    /// The stream that takes a subject of this shape, if one does, whatever the names in it.
    #[must_use]
    pub fn stream_of(subject: &Subject) -> Option<StreamName> {
        shape(subject.as_str())?.stream()
    }

    /// As text.
    ///
    /// # Errors
    /// `TooLong` where the names are legal each and too long together: an event's subject and its
    /// replay hold two to four of them.
    pub fn to_subject(&self) -> Result<Subject, SubjectError> {
        Subject::new(self.text())
    }

    /// The stream that takes it, if one does.
    #[must_use]
    pub fn stream(&self) -> Option<StreamName> {
        match self {
            Self::Report { .. } | Self::Enrol | Self::Built => Some(StreamName::Control),
            Self::Declare { .. } => Some(StreamName::Nodes),
            Self::BuildRequest => Some(StreamName::Builds),
            Self::Event { .. } | Self::Replay { .. } => Some(StreamName::Events),
            Self::DeadLetter => Some(StreamName::EventsDead),
            Self::Alive { .. } | Self::Tool { .. } | Self::Ask { .. } => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Report { node } => format!("mesh.control.{node}.report"),
            Self::Enrol => "mesh.control.enrol".into(),
            Self::Built => "mesh.control.built".into(),
            Self::Alive { node } => format!("mesh.control.{node}.alive"),
            Self::Declare { node } => format!("mesh.node.{node}.declare"),
            Self::BuildRequest => "mesh.build.request".into(),
            Self::Event { module, event } => format!("mesh.events.{module}.{event}"),
            Self::DeadLetter => "mesh.events.dead".into(),
            Self::Replay { consumer, module, event } => {
                format!("mesh.replay.{consumer}.{module}.{event}")
            }
            Self::Tool { module, tool } => format!("mesh.tools.{module}.{tool}"),
            Self::Ask { node, command } => format!("mesh.ask.{node}.{command}"),
        }
    }
}

/// What a text is by its shape; the names in it are not checked.
pub(super) enum Shape<'a> {
    Report(&'a str),
    Enrol,
    Built,
    Alive(&'a str),
    Declare(&'a str),
    BuildRequest,
    Event(&'a str, &'a str),
    DeadLetter,
    Replay(&'a str, &'a str, &'a str),
    Tool(&'a str, &'a str),
    Ask(&'a str, &'a str),
}

pub(super) fn shape(text: &str) -> Option<Shape<'_>> {
    let (branch, rest) = text.strip_prefix("mesh.")?.split_once('.')?;
    let pair = || rest.split_once('.');
    Some(match (branch, rest) {
        ("control", "enrol") => Shape::Enrol,
        ("control", "built") => Shape::Built,
        ("control", _) => match pair()? {
            (node, "report") => Shape::Report(node),
            (node, "alive") => Shape::Alive(node),
            _ => return None,
        },
        ("node", _) => match pair()? {
            (node, "declare") => Shape::Declare(node),
            _ => return None,
        },
        ("build", "request") => Shape::BuildRequest,
        ("events", "dead") => Shape::DeadLetter,
        ("events", _) => pair().map(|(module, event)| Shape::Event(module, event))?,
        ("replay", _) => {
            let (consumer, rest) = pair()?;
            let (module, event) = rest.split_once('.')?;
            Shape::Replay(consumer, module, event)
        }
        ("tools", _) => pair().map(|(module, tool)| Shape::Tool(module, tool))?,
        ("ask", _) => pair().map(|(node, command)| Shape::Ask(node, command))?,
        _ => return None,
    })
}

impl Shape<'_> {
    fn stream(&self) -> Option<StreamName> {
        match self {
            Self::Report(_) | Self::Enrol | Self::Built => Some(StreamName::Control),
            Self::Declare(_) => Some(StreamName::Nodes),
            Self::BuildRequest => Some(StreamName::Builds),
            Self::Event(..) | Self::Replay(..) => Some(StreamName::Events),
            Self::DeadLetter => Some(StreamName::EventsDead),
            Self::Alive(_) | Self::Tool(..) | Self::Ask(..) => None,
        }
    }

    fn named(&self) -> Result<MeshSubject, NameError> {
        Ok(match *self {
            Self::Report(node) => MeshSubject::Report { node: NodeName::new(node)? },
            Self::Enrol => MeshSubject::Enrol,
            Self::Built => MeshSubject::Built,
            Self::Alive(node) => MeshSubject::Alive { node: NodeName::new(node)? },
            Self::Declare(node) => MeshSubject::Declare { node: NodeName::new(node)? },
            Self::BuildRequest => MeshSubject::BuildRequest,
            Self::Event(module, event) => MeshSubject::Event {
                module: ModuleName::new(module)?,
                event: EventName::new(event)?,
            },
            Self::DeadLetter => MeshSubject::DeadLetter,
            Self::Replay(consumer, module, event) => MeshSubject::Replay {
                consumer: ConsumerName::new(consumer)?,
                module: ModuleName::new(module)?,
                event: EventName::new(event)?,
            },
            Self::Tool(module, tool) => {
                MeshSubject::Tool { module: ModuleName::new(module)?, tool: ToolName::new(tool)? }
            }
            Self::Ask(node, command) => {
                MeshSubject::Ask { node: NodeName::new(node)?, command: CommandName::new(command)? }
            }
        })
    }
}
