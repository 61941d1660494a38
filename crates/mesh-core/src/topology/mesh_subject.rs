use super::StreamName;
use super::shape::shape;
use crate::name::{
    CommandName, ConsumerName, EventName, ModuleName, NameError, NodeName, ToolName,
};
use crate::subject::{Subject, SubjectError};

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
        /// Byte offset in the subject where the name begins.
        at: usize,
        /// What is wrong with the name.
        error: NameError,
    },
}

impl MeshSubjectError {
    /// Byte offset in the subject of what is wrong, where it has a shape of the mesh.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        match self {
            Self::Unknown { .. } => None,
            Self::Name { at, error, .. } => Some(at + error.problem.offset()),
        }
    }
}

impl MeshSubject {
    /// The shapes, for people: a name in `<…>` stands for any of its kind, `<event>` for one or more
    /// tokens, every other for one.
    pub const SHAPES: [&'static str; 11] = [
        "mesh.control.<node>.report",
        "mesh.control.enrol",
        "mesh.control.built",
        "mesh.control.<node>.alive",
        "mesh.node.<node>.declare",
        "mesh.build.request",
        "mesh.events.<module>.<event>",
        "mesh.events.dead",
        "mesh.replay.<consumer>.<module>.<event>",
        "mesh.tools.<module>.<tool>",
        "mesh.ask.<node>.<command>",
    ];

    /// What `subject` means.
    ///
    /// # Errors
    /// [`MeshSubjectError`], with the name that is wrong where the shape is right.
    pub fn parse(subject: &Subject) -> Result<Self, MeshSubjectError> {
        let Some(shape) = shape(subject.as_str()) else {
            return Err(MeshSubjectError::Unknown { subject: subject.clone() });
        };
        shape.named().map_err(|bad| MeshSubjectError::Name {
            subject: subject.clone(),
            at: bad.place_in(subject.as_str()),
            error: bad.error,
        })
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
