//! Why a captured message can't be read: where in the capture, by which rule, and what to do.

use mesh_core::event::{EventError, EventProblem};
use mesh_core::json::{JsonError, JsonProblem, MAX_DEPTH};
use mesh_core::mx::{DecodeError, DecodeProblem};

use super::capture::{Capture, Header};
use super::shape::{Members, kind};
use crate::explain::{Fault, Place, uri};

pub(super) fn of_decode(
    capture: &Capture<'_>,
    error: DecodeError,
    members: Option<&Members>,
) -> Fault {
    let place = capture.place(error.offset_in(&capture.body));
    let field = error.field;
    let whole = matches!(field, "envelope");
    let what = |problem: String| if whole { problem } else { format!("{field}: {problem}") };
    match error.problem {
        DecodeProblem::Json(problem) => json(capture, problem, error.offset, place, what),
        DecodeProblem::Shape => {
            let rule = "msgType and to make an MXENV/1; toPath and fromRealm a legacy request or event; ok and correlationId a legacy reply (protocol §8)";
            let fault = Fault::new("shape", "of no profile", place, rule);
            match members {
                Some(members) => fault.hint(nearest(members)),
                None if capture.body.trim_ascii().starts_with(b"[") => {
                    fault.hint("write one message a line, as `jq -c .[]` does")
                }
                None => fault.hint("an envelope is an object"),
            }
        }
        DecodeProblem::Missing => {
            let fault = Fault::new("missing", what("missing".into()), place, REQUIRED);
            fault.hint(format!("add {field}"))
        }
        DecodeProblem::Type { expected } => Fault::new(
            "type",
            what(format!("not {expected}")),
            place,
            "each field has one type (protocol §8)",
        )
        .hint(format!("write {expected}")),
        DecodeProblem::Empty => Fault::new(
            "empty",
            what("empty".into()),
            place,
            "an id is a text that is not empty (protocol §8)",
        )
        .hint("write an id that no other message of the realm has"),
        DecodeProblem::MsgType => Fault::new(
            "message-type",
            what("not a type of message".into()),
            place,
            "msgType is Cmd, Evt, Result, Sub, Unsub or Nack, in these letters (protocol §8)",
        )
        .hint("write one of the six"),
        DecodeProblem::Realm(problem) => {
            let rule = "a realm is labels joined by dots, without / * > # %, white space or control characters (protocol §1)";
            Fault::new("realm", what(problem.to_string()), place, rule)
                .hint("write the realm's name as it is")
        }
        DecodeProblem::Path(problem) => {
            let rule = "a path is <mount…>/<component>.<accepts or emits>.<message> (protocol §8)";
            let mut fault = Fault::new("path", what(problem.to_string()), place, rule);
            fault.instead = near_paths(capture, error.offset);
            if fault.instead.is_empty() {
                fault = fault.hint("write a path such as mail/box.accepts.send");
            }
            fault
        }
        problem => Fault::new(
            "other",
            what(problem.to_string()),
            place,
            "the form of envelopes (protocol §8)",
        )
        .hint("compare it with one that is good"),
    }
}

/// Of a body that is to be JSON, whatever is in it.
pub(super) fn of_json(capture: &Capture<'_>, error: JsonError) -> Fault {
    let place = capture.place(error.offset);
    json(capture, error.problem, error.offset, place, |problem| problem)
}

const REQUIRED: &str = "MXENV/1 has msgType, to, from and msgId; a legacy request fromRealm, toPath and correlationId; a legacy reply ok and correlationId (protocol §8)";

/// What to mend in an object that is of no profile.
fn nearest(members: &Members) -> String {
    let has = |key: &str| members.contains_key(key);
    let is = |key: &str| members.get(key).map_or("", |value| kind(value));
    if has("msgType") || is("to") == "an object" {
        return match (is("msgType"), is("to")) {
            ("a string", "") => "add to, an object with realm and path".to_owned(),
            ("a string", found) => {
                format!("for an MXENV/1, to is an object with realm and path, and not {found}")
            }
            ("", _) => "for an MXENV/1, add msgType, such as \"Cmd\"".to_owned(),
            (found, _) => format!("for an MXENV/1, msgType is a string, and not {found}"),
        };
    }
    if has("toPath") || has("fromRealm") {
        return match (is("toPath"), is("fromRealm")) {
            ("a string", _) => "for a legacy request, add fromRealm".to_owned(),
            ("", _) => "for a legacy request, add toPath".to_owned(),
            (found, _) => format!("for a legacy request, toPath is a string, and not {found}"),
        };
    }
    if has("ok") {
        return match is("ok") {
            "a boolean" => "for a legacy reply, add correlationId".to_owned(),
            found => format!("for a legacy reply, ok is true or false, and not {found}"),
        };
    }
    "if it is an event, give its headers too: lines `name: value`, an empty line, then the body"
        .to_owned()
}

fn json(
    capture: &Capture<'_>,
    problem: JsonProblem,
    offset: usize,
    place: Place,
    what: impl Fn(String) -> String,
) -> Fault {
    let rule = "strict JSON, RFC 8259 (protocol §8)";
    let plain = |code, hint: &str| {
        Fault::new(code, what(problem.to_string()), place.clone(), rule).hint(hint)
    };
    match problem {
        JsonProblem::TooLarge { .. } => {
            plain("too-large", "no gateway takes it: send less, or a reference to it")
        }
        JsonProblem::NotUtf8 => plain("utf8", "write it as UTF-8"),
        JsonProblem::ByteOrderMark => plain("byte-order-mark", "leave the first three bytes out"),
        JsonProblem::UnexpectedEnd => plain("end", "see whether the capture was cut off"),
        JsonProblem::TrailingText => {
            plain("trailing-text", "write one document a line, as `jq -c .` does")
        }
        JsonProblem::TooDeep => {
            let rule =
                format!("at most {MAX_DEPTH} arrays and objects in each other (protocol §8)");
            Fault::new("depth", what(problem.to_string()), place, rule).hint("nest less")
        }
        JsonProblem::ControlCharacter => {
            plain("control-character", r"escape it, such as \n or \u0000")
        }
        JsonProblem::BadEscape => {
            plain("escape", r#"escapes are \" \\ \/ \b \f \n \r \t and \u with four digits"#)
        }
        JsonProblem::LoneSurrogate => {
            let rule =
                r"an escape \ud800 to \udfff stands in a pair, high before low (protocol §8)";
            Fault::new("surrogate", what(problem.to_string()), place, rule)
                .hint("write the character itself, or both halves")
        }
        JsonProblem::BadNumber => plain(
            "number",
            "numbers have no leading zero or plus, and digits on both sides of the dot",
        ),
        JsonProblem::NotFinite => {
            plain("not-finite", "JSON has no such number: write null, or leave the field out")
        }
        JsonProblem::DuplicateKey => {
            let rule = "no key comes twice in the envelope's own objects; two readers might each see another message (protocol §8)";
            let what = match key(capture, offset) {
                Some(key) => what(format!("{key} comes twice")),
                // The body has come under another of its names.
                None => what("the body comes under two names".to_owned()),
            };
            Fault::new("duplicate-key", what, place, rule).hint("leave one of them out")
        }
        JsonProblem::TooManyFields => plain("too-many-fields", "put what is yours into the body"),
        JsonProblem::NotAnObject => plain("object", "an envelope is an object"),
        _ => {
            plain("syntax", "keys and texts are in double quotes, and values are parted by commas")
        }
    }
}

/// Paths that are good and near to the string at `offset` of the body.
fn near_paths(capture: &Capture<'_>, offset: usize) -> Vec<String> {
    let rest = capture.body.get(offset..).unwrap_or_default();
    let path = serde_json::Deserializer::from_slice(rest).into_iter::<String>().next();
    path.and_then(Result::ok).map_or_else(Vec::new, |path| uri::near_paths(&path))
}

/// The key at `offset` of the body, as it is written; nothing, where a value is.
fn key(capture: &Capture<'_>, offset: usize) -> Option<String> {
    let rest = capture.body.get(offset..)?.strip_prefix(b"\"")?;
    let mut escaped = false;
    let end = rest.iter().position(|b| {
        let ends = *b == b'"' && !escaped;
        escaped = *b == b'\\' && !escaped;
        ends
    })?;
    let (key, behind) = rest.split_at_checked(end)?;
    behind.get(1..)?.trim_ascii_start().starts_with(b":").then_some(())?;
    Some(crate::explain::cut(&String::from_utf8_lossy(key), 60))
}

/// Of a message that its headers or its keys make an event.
pub(super) fn of_event(capture: &Capture<'_>, error: &EventError) -> Fault {
    let field: &str = &error.field;
    let what = format!("{field}: {}", error.problem);
    // Of two that differ, the second.
    let header = capture.headers.iter().rfind(|header| header.is(field));
    let place = match (&error.problem, header) {
        (EventProblem::Json(error), _) => capture.place(error.offset),
        (EventProblem::NotText { offset }, _) => capture.place(*offset),
        (_, None) => capture.headers.first().map_or_else(|| capture.place(0), Header::start),
        (problem, Some(header)) => header.place(offset_of(problem)),
    };
    let (code, rule, hint) = event_words(&error.problem);
    let fields = match error.problem {
        EventProblem::Missing if REQUIRED_HEADERS.contains(&field) => missing(capture),
        _ => field.to_owned(),
    };
    Fault::new(code, what, place, rule).hint(hint.replace("FIELD", &fields))
}

/// Headers that each event has, in header mode.
const REQUIRED_HEADERS: [&str; 5] = ["x-event-id", "x-source", "x-node", "x-time", "content-type"];

/// All that are missing, since the first of them is what the parser stops at.
fn missing(capture: &Capture<'_>) -> String {
    let is_there = |name: &str| capture.headers.iter().any(|header| header.is(name));
    let missing = REQUIRED_HEADERS.into_iter().filter(|name| !is_there(name));
    missing.collect::<Vec<_>>().join(", ")
}

fn offset_of(problem: &EventProblem) -> usize {
    match problem {
        EventProblem::Escape { offset }
        | EventProblem::Utf8 { offset }
        | EventProblem::LineBreak { offset }
        | EventProblem::HeaderName { offset } => *offset,
        EventProblem::Name(error) => error.problem.offset(),
        EventProblem::Time(error) => error.offset,
        _ => 0,
    }
}

fn event_words(problem: &EventProblem) -> (&'static str, &'static str, &'static str) {
    match problem {
        EventProblem::Missing => (
            "missing",
            "an event has x-event-id, x-source, x-node, x-time and content-type (protocol §3)",
            "add FIELD",
        ),
        EventProblem::Conflict => (
            "conflict",
            "a header with two values that differ is refused: two readers might each take another (protocol §3)",
            "leave one of them out",
        ),
        EventProblem::Escape { .. } | EventProblem::Utf8 { .. } => (
            "escape",
            "values of x- headers are percent-encoded UTF-8 (protocol §3)",
            "write %25 for a % that is meant as one",
        ),
        EventProblem::LineBreak { .. } => {
            ("line-break", "no header holds CR, LF or NUL (protocol §3)", "encode it, such as %0A")
        }
        EventProblem::HeaderName { .. } => (
            "header-name",
            "a header's name is visible ASCII without a colon (protocol §3)",
            "name it otherwise",
        ),
        EventProblem::Id(_) => (
            "id",
            "an id is 1 to 128 printable bytes (protocol §3)",
            "write a UUIDv7, as emitters do",
        ),
        EventProblem::Name(_) => (
            "name",
            "names of modules and nodes have small letters, digits and - (protocol §1)",
            "write the name as the manifest has it",
        ),
        EventProblem::Time(_) => (
            "time",
            "a moment of RFC 3339 (protocol §3)",
            "write it such as 2026-03-01T12:00:00.250Z",
        ),
        EventProblem::ContentType => (
            "content-type",
            "application/json, or application/vnd.mesh.event+json in structured mode (protocol §3)",
            "write one of the two",
        ),
        EventProblem::NotText { .. } => {
            ("type", "the facts of a structured event are strings (protocol §3)", "write a string")
        }
        EventProblem::Json(_) => ("json", "the body is strict JSON (protocol §3)", "write JSON"),
        _ => ("other", "the form of events (protocol §3)", "compare it with one that is good"),
    }
}
