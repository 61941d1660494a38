//! Why a text is no MXURI, by which rule, and what to do.

use mesh_core::mx::{UriError, UriProblem};

use super::near;
use crate::explain::{Fault, Place};

pub(super) fn fault(text: &str, error: UriError) -> Fault {
    let place = Place::of(text.as_bytes(), error.offset);
    let (code, rule, hint) = words(error.problem);
    let what = match error.problem {
        UriProblem::Empty => "something is missing".to_owned(),
        problem => problem.to_string(),
    };
    let mut fault = Fault::new(code, what, place, rule);
    fault.instead = near::instead(text);
    match (hint, fault.instead.is_empty()) {
        (Some(hint), true) => fault.hint(hint),
        (None, true) => fault.hint(FORMS),
        (_, false) => fault,
    }
}

const FORMS: &str = "write matrix://<realm>/<mount…>/<component>.<accepts or emits>.<message>, such as matrix://acme.com/mail.accepts.send";
const SCHEME: &str = "it begins with matrix://, in letters of either case (protocol §8)";
const BARE: &str = "no user information, port, query or fragment (protocol §8)";

/// Code, rule, and what to do where no text that is near is good.
fn words(problem: UriProblem) -> (&'static str, &'static str, Option<&'static str>) {
    match problem {
        UriProblem::Scheme => ("scheme", SCHEME, None),
        UriProblem::UserInfo => ("user-information", BARE, None),
        UriProblem::Port => ("port", BARE, None),
        UriProblem::Query => ("query", BARE, None),
        UriProblem::Fragment => ("fragment", BARE, None),
        UriProblem::Empty => (
            "empty",
            "a realm, then segments and labels none of which is empty (protocol §8)",
            None,
        ),
        UriProblem::BadEscape => (
            "escape",
            "% is followed by two hexadecimal digits, and stands for no % itself (protocol §8)",
            Some("write the two digits, or leave the % out"),
        ),
        UriProblem::NotUtf8 => (
            "escape-utf8",
            "escapes stand for UTF-8 (protocol §8)",
            Some("escape each byte of the character's UTF-8, such as %C3%A9 for é"),
        ),
        UriProblem::Character('*' | '>' | '#') => (
            "character",
            "no / * > # %, white space or control character, escaped or not (protocol §8)",
            Some("name one message: a URI is no pattern"),
        ),
        UriProblem::Character('.') => (
            "character",
            "a dot stands inside a mount alone; elsewhere it parts labels, and in the segmented form / does (protocol §8)",
            Some("write another character for the dot"),
        ),
        UriProblem::Character(_) => (
            "character",
            "no / * > # %, white space or control character, escaped or not (protocol §8)",
            Some("leave the character out, or write another for it"),
        ),
        UriProblem::Plane => (
            "plane",
            "before the message stands accepts or emits, in small letters (protocol §8)",
            None,
        ),
        UriProblem::TooLong { .. } => (
            "too-long",
            "realm and path are short enough that each of their topics stays within 255 bytes (protocol §1)",
            Some("shorten it"),
        ),
        _ => ("other", "the grammar of MXURI/1 (protocol §8)", None),
    }
}
