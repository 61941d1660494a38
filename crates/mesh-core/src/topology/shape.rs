//! What a subject of the mesh is by its shape, and the names in it.

use super::{MeshSubject, StreamName};
use crate::name::{
    CommandName, ConsumerName, EventName, ModuleName, NameError, NodeName, ToolName,
};

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

/// A part of a subject or a key that is not the name it should be.
pub(super) struct BadName<'a> {
    pub(super) part: &'a str,
    pub(super) error: NameError,
}

impl BadName<'_> {
    /// Where the part begins in `whole`, which it is cut from.
    pub(super) fn place_in(&self, whole: &str) -> usize {
        self.part.as_ptr().addr().saturating_sub(whole.as_ptr().addr())
    }
}

/// Checks a part.
pub(super) fn name<'a, N>(part: &'a str) -> Result<N, BadName<'a>>
where
    N: TryFrom<&'a str, Error = NameError>,
{
    N::try_from(part).map_err(|error| BadName { part, error })
}

impl<'a> Shape<'a> {
    pub(super) fn stream(&self) -> Option<StreamName> {
        match self {
            Self::Report(_) | Self::Enrol | Self::Built => Some(StreamName::Control),
            Self::Declare(_) => Some(StreamName::Nodes),
            Self::BuildRequest => Some(StreamName::Builds),
            Self::Event(..) | Self::Replay(..) => Some(StreamName::Events),
            Self::DeadLetter => Some(StreamName::EventsDead),
            Self::Alive(_) | Self::Tool(..) | Self::Ask(..) => None,
        }
    }

    pub(super) fn named(&self) -> Result<MeshSubject, BadName<'a>> {
        Ok(match *self {
            Self::Report(node) => MeshSubject::Report { node: name::<NodeName>(node)? },
            Self::Enrol => MeshSubject::Enrol,
            Self::Built => MeshSubject::Built,
            Self::Alive(node) => MeshSubject::Alive { node: name::<NodeName>(node)? },
            Self::Declare(node) => MeshSubject::Declare { node: name::<NodeName>(node)? },
            Self::BuildRequest => MeshSubject::BuildRequest,
            Self::Event(module, event) => MeshSubject::Event {
                module: name::<ModuleName>(module)?,
                event: name::<EventName>(event)?,
            },
            Self::DeadLetter => MeshSubject::DeadLetter,
            Self::Replay(consumer, module, event) => MeshSubject::Replay {
                consumer: name::<ConsumerName>(consumer)?,
                module: name::<ModuleName>(module)?,
                event: name::<EventName>(event)?,
            },
            Self::Tool(module, tool) => MeshSubject::Tool {
                module: name::<ModuleName>(module)?,
                tool: name::<ToolName>(tool)?,
            },
            Self::Ask(node, command) => MeshSubject::Ask {
                node: name::<NodeName>(node)?,
                command: name::<CommandName>(command)?,
            },
        })
    }
}
