use std::sync::Arc;
use std::time::Duration;

use super::{EventPattern, PatternError, SchemaError, ToolRef, ToolRefError};
use crate::name::{EventName, ModuleName, NameError, NodeName, ProvisionName, SeatName};

/// What is wrong in a manifest or a mesh file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// More than [`MAX_FILE_BYTES`](super::MAX_FILE_BYTES).
    #[error("{0} bytes long, at most {max} are allowed", max = super::MAX_FILE_BYTES)]
    TooLarge(usize),
    /// Not TOML; the parser's words.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// Not UTF-8.
    #[error("not UTF-8 at byte offset {offset}")]
    NotUtf8 {
        /// The first byte that is part of no character.
        offset: usize,
    },
    /// A key that is not known where it is.
    #[error("unknown key {}", quoted(key))]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that may be given there.
        known: Vec<String>,
    },
    /// A key that must be given.
    #[error("the key {} is missing", quoted(.0))]
    MissingKey(String),
    /// A value of another type; the reader's words.
    #[error("{0}")]
    WrongType(String),
    /// There may be more mistakes, which were not looked for: those that were found are too many, or
    /// leave nothing to read. It is a warning, beside them.
    #[error("the rest of the file was not read")]
    Unfinished,
    /// Not a name.
    #[error("{} {}: {}", error.kind, quoted(found), error.problem)]
    Name {
        /// The text found.
        found: String,
        /// What is wrong with it.
        error: NameError,
    },
    /// Not a pattern of events.
    #[error("{}: {error}", quoted(found))]
    Pattern {
        /// The text found.
        found: String,
        /// What is wrong with it.
        error: PatternError,
    },
    /// Not `<module>.<tool>`.
    #[error("{}: {error}", quoted(found))]
    ToolRef {
        /// The text found.
        found: String,
        /// What is wrong with it.
        error: ToolRefError,
    },
    /// Not JSON, or not a JSON Schema that a tool can have.
    #[error("{0}")]
    Schema(#[from] SchemaError),
    /// Not a time that a tool can take.
    #[error("{} is not a duration from 1 ms to 1 h", quoted(.0))]
    Timeout(String),
    /// Not a time that is allowed there.
    #[error("{} is not a duration from {least:?} to {most:?}", quoted(found))]
    Span {
        /// The text found.
        found: String,
        /// The shortest.
        least: Duration,
        /// The longest.
        most: Duration,
    },
    /// A number that is not allowed there.
    #[error("{found} is not a number from {least} to {most}")]
    Number {
        /// The number found.
        found: i64,
        /// The least.
        least: i64,
        /// The most.
        most: i64,
    },
    /// None of the words that are allowed there.
    #[error("{} is none of {}", quoted(found), choices.join(", "))]
    Choice {
        /// The text found.
        found: String,
        /// The words.
        choices: Vec<&'static str>,
    },
    /// Not an address with a port.
    #[error("{} is not an IP address with a port", quoted(.0))]
    Address(String),
    /// Monitoring where others reach it: it tells who is connected, to anybody.
    #[error("{} is not on loopback", quoted(.0))]
    NotLoopback(String),
    /// Two listeners on one port.
    #[error("`listen` has the port {0} already")]
    SamePort(u16),
    /// Not what an account's name can begin with.
    #[error("{} can't begin an account's name", quoted(.0))]
    AccountPrefix(String),
    /// A text that a server's configuration can't hold.
    #[error("{} is too long, or has a control character", quoted(.0))]
    NotConfigurable(String),
    /// One account without the sentence that accepts what it lets through, or with another.
    #[error("one account is not safe: {}", super::ONE_ACCOUNT_SENTENCE)]
    OneAccount,
    /// A key that nothing looks at.
    #[error("it counts only with {unless}")]
    Idle {
        /// With what it would count.
        unless: &'static str,
    },
    /// No text where some is wanted.
    #[error("it is empty")]
    Empty,
    /// A name that is another one's, where capitals, `-` and `_` don't count: in file names, metrics and
    /// variables.
    #[error(
        "{} and {}, of {earlier} on line {line}, differ only in capitals, `-` and `_`",
        quoted(value),
        quoted(other)
    )]
    Folds {
        /// The name.
        value: String,
        /// The other.
        other: String,
        /// The path of the other's field.
        earlier: String,
        /// Its line, from 1.
        line: usize,
    },
    /// The same as an earlier field.
    #[error("{} is given already by {earlier}", quoted(value))]
    Duplicate {
        /// What is given twice.
        value: String,
        /// The path of the earlier field.
        earlier: String,
    },
    /// An event whose subject, or the one on which a dead letter goes back to a consumer, would be
    /// longer than a subject can be.
    #[error("its subject would be {0} bytes long, at most {max} are allowed", max = crate::subject::MAX_SUBJECT_BYTES)]
    SubjectTooLong(usize),
    /// A tool that only the controller calls.
    #[error("only the controller calls a tool named {0}")]
    ControllersTool(String),
    /// A call of a tool of the module's own.
    #[error("{0} is the module's own tool")]
    OwnTool(ToolRef),
    /// A manifest that could not be read.
    #[error("can't read {file}: {why}")]
    Unreadable {
        /// The file, as its reader names it.
        file: String,
        /// Why, in the reader's words.
        why: String,
    },
    /// A person with both or neither of `administrator = true` and `tools`.
    #[error("either `administrator = true` or `tools` is wanted")]
    Access,
    /// An assignment to a node that the mesh doesn't have.
    #[error("no node is named {node}")]
    UnknownNode {
        /// The name.
        node: NodeName,
        /// One that there is, and whose name is much like it.
        near: Option<NodeName>,
    },
    /// An assignment of a module that no manifest is called after.
    #[error("no manifest has the name {module}")]
    UnknownModule {
        /// The name.
        module: ModuleName,
        /// One that there is, and whose name is much like it.
        near: Option<ModuleName>,
    },
    /// A manifest of a module that the mesh file doesn't have.
    #[error("the mesh file has no module {0}")]
    UnassignedManifest(ModuleName),
    /// Two manifests of one name.
    #[error("{earlier} has the name {module} already")]
    ModuleTwice {
        /// The name.
        module: ModuleName,
        /// The file that has it already.
        earlier: Arc<str>,
    },
    /// A call or a grant of a tool that no module has.
    #[error("no module has the tool {tool}")]
    UnknownTool {
        /// The tool.
        tool: ToolRef,
        /// One that there is, and whose name is much like it.
        near: Option<ToolRef>,
    },
    /// A call or a grant of a tool whose module is refused: whether it has the tool is not known.
    #[error("the manifest of {}, whose tool {} would be, is refused", .0.module, .0)]
    RefusedModule(ToolRef),
    /// A tool that is called, of a module that runs nowhere.
    #[error("nobody serves {0}: its module is assigned to no node")]
    NobodyServes(ToolRef),
    /// A module that runs nowhere.
    #[error("{0} is assigned to no node")]
    Nowhere(ModuleName),
    /// A pattern that no module's events match.
    #[error("no module emits an event like {0}")]
    NobodyEmits(EventPattern),
    /// An event that no module's patterns match.
    #[error("no module consumes {0}")]
    NobodyConsumes(EventName),
    /// A requirement that no module meets.
    #[error("{} {provision}", provider(from.as_ref()))]
    NobodyProvides {
        /// What is required.
        provision: ProvisionName,
        /// Whose, where the requirement says so.
        from: Option<ModuleName>,
        /// One that is provided, and whose name is much like it.
        near: Option<ProvisionName>,
    },
    /// A requirement that several modules meet, without saying which is meant.
    #[error("several modules provide {provision}: {modules}")]
    SeveralProvide {
        /// What is required.
        provision: ProvisionName,
        /// The modules, with commas between them.
        modules: String,
    },
    /// A seat that somebody has already: of another module, or of the same on another node.
    #[error("the seat {seat} is {by}'s already, by {earlier}")]
    SeatTaken {
        /// The seat.
        seat: SeatName,
        /// Who has it: `nats on n1`.
        by: String,
        /// Where that is said: `file:line:column`.
        earlier: String,
    },
}

/// What was found in a file, in quotes, with nothing in it that a terminal would obey.
fn quoted(found: &str) -> String {
    const MOST: usize = 72;
    match found.char_indices().nth(MOST) {
        None => format!("{found:?}"),
        Some((end, _)) => format!("{:?}…", &found[..end]),
    }
}

fn provider(from: Option<&ModuleName>) -> String {
    match from {
        None => "no module provides".to_owned(),
        Some(from) => format!("{from} doesn't provide"),
    }
}
