//! What there is to know beside yes and no.

use std::fmt;

use mesh_core::permissions::Responses;
use mesh_core::port::QueueGroup;
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::AddressError;

use super::Reach;

/// Something to know about a [`Decision`](super::Decision).
///
/// Shown as a sentence without its full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Refused, but it may send there what it is asked for: whoever sends it a message chooses where the answer goes.
    MayAnswer(Responses),
    /// Whom an allowed message reaches.
    Reaches(Reach),
    /// A call or a question without a reply address is not answered and not even handled (protocol §4).
    NoReply,
    /// A call or a question with this reply address is not answered and not even handled (protocol §4).
    NotAnswered(AddressError),
    /// The sender may not listen where it wants the answer, or the broker's confirmation.
    ReplyUnheard(Subject),
    /// Subscribed, but what is sent there does not arrive.
    Hidden(Vec<Filter>),
    /// Refused without one of these queue groups.
    OnlyInGroups {
        /// Those that are allowed.
        groups: Vec<QueueGroup>,
        /// The one that was tried.
        tried: Option<QueueGroup>,
    },
    /// Refused as a whole; these parts of it may be subscribed to.
    Narrower(Vec<Filter>),
    /// Who may send there: users by their names, and the streams' consumers.
    SentBy(Vec<String>),
    /// Nobody may send anything there.
    NobodySends,
    /// Nobody subscribes to events: they are delivered, by a consumer that `consumes` brings (protocol §4).
    EventsAreDelivered,
    /// What would allow it: this value in this field, of the module's manifest or the person's entry.
    Declare {
        /// The file.
        file: String,
        /// The field.
        field: &'static str,
        /// The value.
        value: String,
    },
}

/// The most names that are listed.
const NAMES: usize = 8;

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MayAnswer(Responses { max, expires }) => write!(
                f,
                "it may send to any subject at all what a message to it asks for: {}, within {} s",
                counted(*max, "answer"),
                expires.as_secs_f32()
            ),
            Self::Reaches(reach) => reach.fmt(f),
            Self::NoReply => f.write_str(
                "without a reply address nobody runs a tool, or answers a question: give one with --reply",
            ),
            Self::NotAnswered(why) => write!(f, "whoever is asked neither runs it nor answers: {why}"),
            Self::ReplyUnheard(reply) => {
                write!(f, "it may not listen at {reply}, so somebody else gets what is sent there")
            }
            Self::Hidden(denied) => write!(f, "it does not hear {}, which is denied", list(denied)),
            Self::OnlyInGroups { groups, tried } => {
                let only = if groups.len() == 1 { "queue group" } else { "queue groups" };
                match tried {
                    None => write!(f, "it may in the {only} {}, not alone", list(groups)),
                    Some(tried) => write!(f, "it may in the {only} {}, not in {tried}", list(groups)),
                }
            }
            Self::Narrower(parts) => write!(f, "of that it may subscribe to {} alone", list(parts)),
            Self::SentBy(names) => write!(f, "what is heard there is sent by {}", list(names)),
            Self::NobodySends => f.write_str("nobody may send anything there"),
            Self::EventsAreDelivered => f.write_str(
                "nobody subscribes to events: they are delivered, by what `consumes` of a manifest says",
            ),
            Self::Declare { file, field, value } => {
                write!(f, "`{field}` of {file} would have to list {value:?}")
            }
        }
    }
}

pub(super) fn counted(number: u32, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// `a, b and c`; of many the first ones, and how many more there are.
pub(super) fn list(all: &[impl fmt::Display]) -> String {
    let shown = if all.len() > NAMES { NAMES - 1 } else { all.len() };
    let mut words: Vec<String> = all[..shown].iter().map(ToString::to_string).collect();
    if all.len() > shown {
        words.push(format!("{} more", all.len() - shown));
    }
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => words.concat(),
    }
}
