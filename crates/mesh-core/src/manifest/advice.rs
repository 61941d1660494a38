//! What to do about a problem, and its name for programs.

use std::borrow::Cow;
use std::fmt::Display;

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
            Self::Span { .. } => "bad-duration",
            Self::Number { .. } => "bad-number",
            Self::Choice { .. } => "bad-choice",
            Self::Address(_) => "bad-address",
            Self::NotLoopback(_) => "not-loopback",
            Self::SamePort(_) => "same-port",
            Self::AccountPrefix(_) => "bad-account-prefix",
            Self::NotConfigurable(_) => "not-configurable",
            Self::OneAccount => "one-account",
            Self::Idle { .. } => "idle",
            Self::Empty => "empty",
            Self::Folds { .. } => "folds",
            Self::Duplicate { .. } => "duplicate",
            Self::SubjectTooLong(_) => "subject-too-long",
            Self::ControllersTool(_) => "controllers-tool",
            Self::OwnTool(_) => "own-tool",
            Self::Unreadable { .. } => "unreadable-manifest",
            Self::Access => "access",
            Self::UnknownNode { .. } => "unknown-node",
            Self::UnknownModule { .. } => "unknown-module",
            Self::UnassignedManifest(_) => "unassigned-manifest",
            Self::ModuleTwice { .. } => "module-twice",
            Self::UnknownTool { .. } => "unknown-tool",
            Self::RefusedModule(_) => "refused-module",
            Self::NobodyServes(_) => "nobody-serves",
            Self::Nowhere(_) => "runs-nowhere",
            Self::NobodyEmits(_) => "nobody-emits",
            Self::NobodyConsumes(_) => "nobody-consumes",
            Self::NobodyProvides { .. } => "nobody-provides",
            Self::SeveralProvide { .. } => "several-provide",
            Self::SeatTaken { .. } => "seat-taken",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        let hint = match self {
            Self::UnknownKey { key, known } => return did_you_mean(key, known),
            Self::UnknownNode { near: Some(near), .. } => return meant(near),
            Self::UnknownModule { near: Some(near), .. } => return meant(near),
            Self::UnknownTool { near: Some(near), .. } => return meant(near),
            Self::NobodyProvides { near: Some(near), .. } => return meant(near),
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
            Self::Span { .. } => "write it as `30s` or `1m 30s`",
            Self::Number { .. } => "write a number within these",
            Self::Choice { .. } => "write one of these",
            Self::Address(_) => "write it as `10.0.0.1:4222` or `[::1]:4222`",
            Self::NotLoopback(_) => "use `127.0.0.1` or `[::1]`: it tells anybody who is connected",
            Self::SamePort(_) => "give each a port of its own",
            Self::AccountPrefix(_) => {
                "capital letters, digits and `_`, the first a letter, 32 at most"
            }
            Self::NotConfigurable(_) => "write it on one line, in 1024 bytes at most",
            Self::OneAccount => return accept_one_account(),
            Self::Idle { .. } => "leave it out, or write that too",
            Self::Folds { .. } => "name one of them otherwise",
            Self::Empty => "write something, or leave the key out if it may be",
            Self::Duplicate { .. } => "leave one of them out, or name it otherwise",
            Self::ControllersTool(_) => "`provides` and `requires` are enough",
            Self::OwnTool(_) => "leave it out: a module runs its own code without the mesh",
            Self::Unreadable { .. } => "`manifest` is a path relative to the mesh file",
            Self::Access => "give one of the two",
            Self::UnknownNode { near: None, .. } => "list it under `nodes`",
            Self::UnknownModule { near: None, .. } => "`module` must equal `name` in the manifest",
            Self::UnassignedManifest(_) => "add it to `assignments`; `nodes = []` runs it nowhere",
            Self::ModuleTwice { .. } => "give one of them another name",
            Self::UnknownTool { near: None, .. } => {
                "let its module list it under `tools`, or leave it out"
            }
            Self::RefusedModule(_) => "mend that manifest; the call stays granted",
            Self::NobodyServes(_) => "assign its module to a node",
            Self::Nowhere(_) => "list nodes that run it, if it is meant to run",
            Self::NobodyEmits(_) => "let a module emit one, or leave the pattern out",
            Self::NobodyConsumes(_) => "let a module consume it, if somebody should get it",
            Self::NobodyProvides { near: None, .. } => {
                "let a module list it under `provides`, or leave it out"
            }
            Self::SeveralProvide { .. } => "say which with `from`",
            Self::SeatTaken { .. } => "a seat has one holder in a mesh: leave one of the two out",
            Self::SubjectTooLong(_) => "shorten the event's name",
        };
        hint.into()
    }
}

fn accept_one_account() -> Cow<'static, str> {
    format!(
        "leave `isolation` out, or write `accept_one_account = \"{}\"`",
        super::ONE_ACCOUNT_SENTENCE
    )
    .into()
}

fn right_name(error: &NameError) -> &'static str {
    match (error.problem, error.kind) {
        (NameProblem::Reserved, _) => "choose another",
        (NameProblem::TooLong { .. }, _) => "shorten it",
        (_, "module name" | "node name" | "person name" | "seat name") => {
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
        "i64" => "write a number, without quotes",
        _ => "write a table: `[…]` on a line of its own, or `{ key = … }`",
    }
}

fn did_you_mean(key: &str, known: &[String]) -> Cow<'static, str> {
    match nearest(key, known) {
        Some(near) => meant(near),
        None if known.is_empty() => "leave it out".into(),
        None => format!("leave it out; there may be {}", known.join(", ")).into(),
    }
}

fn meant(near: &impl Display) -> Cow<'static, str> {
    format!("did you mean `{near}`?").into()
}

/// Which of these names is much like `found`, if any is. Short ones are too like each other to tell, and
/// where only a number differs another one is meant.
pub(super) fn near_name<T: ToString>(found: &str, known: impl IntoIterator<Item = T>) -> Option<T> {
    let unnumbered = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
    let found_unnumbered = unnumbered(found);
    let known = known.into_iter().filter(|known| {
        let known = known.to_string();
        known.len() >= 4 && unnumbered(&known) != found_unnumbered
    });
    nearest(found, known)
}

/// Which of them is much like `found`, if any is: a few characters apart, or begun and cut short.
fn nearest<T: ToString>(found: &str, known: impl IntoIterator<Item = T>) -> Option<T> {
    let near = known.into_iter().filter_map(|known| {
        let right = known.to_string();
        let distance = distance(found, &right);
        let begun = found.len() >= 3 && right.starts_with(found);
        (begun || distance <= right.len().div_ceil(3)).then_some((distance, right, known))
    });
    let near = near.min_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    near.map(|(_, _, known)| known)
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
