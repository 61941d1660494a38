//! What to do about a problem, and its name for programs.

use std::borrow::Cow;

use super::{PatternError, ProblemKind, SchemaError, ToolRefError};
use crate::name::{NameError, NameProblem};

impl ProblemKind {
    /// Its name for programs, in small letters and `-`. One that is published means the same for good.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "too-large",
            Self::NotUtf8 { .. } => "not-utf-8",
            Self::Syntax(_) => "not-toml",
            Self::UnknownKey { .. } => "unknown-key",
            Self::MissingKey(_) => "missing-key",
            Self::WrongType(_) => "wrong-type",
            Self::Unfinished => "unfinished",
            Self::Name { .. } => "bad-name",
            Self::Pattern { .. } => "bad-pattern",
            Self::ToolRef { .. } => "bad-tool",
            Self::Schema(_) => "bad-schema",
            Self::Timeout(_) => "bad-timeout",
            Self::Empty => "empty",
            Self::Duplicate { .. } => "duplicate",
            Self::SubjectTooLong(_) => "subject-too-long",
            Self::ControllersTool(_) => "controllers-tool",
            Self::OwnTool(_) => "own-tool",
            Self::Unreadable { .. } => "unreadable-manifest",
            Self::Access => "access",
            Self::UnknownNode(_) => "unknown-node",
            Self::UnknownModule(_) => "unknown-module",
            Self::UnassignedManifest(_) => "unassigned-manifest",
            Self::ModuleTwice { .. } => "module-twice",
            Self::UnknownTool(_) => "unknown-tool",
            Self::NobodyServes(_) => "nobody-serves",
            Self::Nowhere(_) => "runs-nowhere",
            Self::NobodyEmits(_) => "nobody-emits",
            Self::NobodyConsumes(_) => "nobody-consumes",
            Self::NobodyProvides { .. } => "nobody-provides",
            Self::SeveralProvide { .. } => "several-provide",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        let hint = match self {
            Self::UnknownKey { key, known } => return did_you_mean(key, known),
            Self::MissingKey(key) => return format!("add `{key} = …`").into(),
            Self::WrongType(words) => right_type(words),
            Self::Name { error, .. } => right_name(error),
            Self::Pattern { error, .. } => right_pattern(error),
            Self::ToolRef { error, .. } => match error {
                ToolRefError::NoDot => "write the tool's module before it, such as `mail.send`",
                ToolRefError::Module(error) | ToolRefError::Tool(error) => right_name(error),
            },
            Self::TooLarge(_) => "is it the file that is meant? Split what is larger into modules",
            Self::NotUtf8 { .. } => "save it as UTF-8",
            Self::Syntax(_) => {
                "TOML has lines like `name = \"mail\"` and `emits = [\"sent\", \"lost\"]`"
            }
            Self::Schema(error) => match error {
                SchemaError::Date => "put it in quotes",
                SchemaError::NotFinite => "write a number with digits, or a text in quotes",
                SchemaError::NotAnObject => "write that, or leave `type` out",
                SchemaError::Properties => {
                    "write it as `properties = { article = { type = \"string\" } }`"
                }
            },
            Self::Unfinished => "mend what is told of it, and check it again",
            Self::Timeout(_) => "write it as `30s` or `1m 30s`",
            Self::Empty => "write something, or leave the key out if it may be",
            Self::Duplicate { .. } => "leave one of them out, or name it otherwise",
            Self::ControllersTool(_) => "`provides` and `requires` are enough",
            Self::OwnTool(_) => "leave it out: a module runs its own code without the mesh",
            Self::Unreadable { .. } => "`manifest` is a path relative to the mesh file",
            Self::Access => "give one of the two",
            Self::UnknownNode(_) => "list it under `nodes`",
            Self::UnknownModule(_) => "`module` must equal `name` in the manifest",
            Self::UnassignedManifest(_) => "add it to `assignments`; `nodes = []` runs it nowhere",
            Self::ModuleTwice { .. } => "give one of them another name",
            Self::UnknownTool(_) => "let its module list it under `tools`, or leave it out",
            Self::NobodyServes(_) => "assign its module to a node",
            Self::Nowhere(_) => "list nodes that run it, if it is meant to run",
            Self::NobodyEmits(_) => "let a module emit one, or leave the pattern out",
            Self::NobodyConsumes(_) => "let a module consume it, if somebody should get it",
            Self::NobodyProvides { .. } => "let a module list it under `provides`, or leave it out",
            Self::SeveralProvide { .. } => "say which with `from`",
            Self::SubjectTooLong(_) => "shorten the event's name",
        };
        hint.into()
    }
}

fn right_name(error: &NameError) -> &'static str {
    match (error.problem, error.kind) {
        (NameProblem::Reserved, _) => "choose another",
        (NameProblem::TooLong { .. }, _) => "shorten it",
        (_, "module name" | "node name" | "person name") => {
            "small letters, digits and `-`, and no `-` first"
        }
        (_, "event name") => "words joined by `.`, each of letters, digits, `-` and `_`",
        _ => "letters, digits, `-` and `_`, the first a letter or a digit",
    }
}

fn right_pattern(error: &PatternError) -> &'static str {
    match error {
        PatternError::OneToken => {
            "a pattern is <module>.<event>; for all events of a module write `mail.>`"
        }
        PatternError::HashNotLast { .. } => {
            "`#` is AMQP's; write `*` for one word or a last `>` for the rest"
        }
        PatternError::TooLong { .. } => "shorten it",
        PatternError::Token { error, .. } => right_name(error),
        PatternError::Filter(_) => "words joined by `.`; `*` is one word and a last `>` the rest",
    }
}

/// By the words of whoever reads TOML, which end with what was expected.
fn right_type(words: &str) -> &'static str {
    let (_, expected) = words.rsplit_once("expected ").unwrap_or_default();
    match expected {
        "a string" => "put it in quotes",
        "a sequence" => "put it in brackets: a list",
        "a boolean" => "write `true` or `false`, without quotes",
        _ => "write a table: `[…]` on a line of its own, or `{ key = … }`",
    }
}

fn did_you_mean(key: &str, known: &[String]) -> Cow<'static, str> {
    let near = known.iter().map(|known| (distance(key, known), known));
    match near.filter(|(distance, known)| *distance <= known.len().div_ceil(3)).min() {
        Some((_, near)) => format!("did you mean `{near}`?").into(),
        None if known.is_empty() => "leave it out".into(),
        None => format!("leave it out; there may be {}", known.join(", ")).into(),
    }
}

/// How many characters to put in, take out or change to make `right` of `found`; no more than its
/// length is told of one that is much longer.
fn distance(found: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, c) in found.chars().take(2 * right.len() + 1).enumerate() {
        let mut diagonal = index;
        row[0] = index + 1;
        for (at, expected) in right.iter().enumerate() {
            let change = diagonal + usize::from(c != *expected);
            diagonal = row[at + 1];
            row[at + 1] = change.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[right.len()]
}
